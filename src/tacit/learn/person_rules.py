"""Makes rules of what a person said: norms and preferences in the person's own words.

A standing statement is a rule at once, and so is a request that the agent visibly put into practice instead of what it had
done before. Any other request becomes a rule when the person makes it in nearly the same words in several sessions.

    "In this project we always use pnpm."                               a rule at once
    "no, use pnpm here", and the agent runs `pnpm` instead of `npm`     a rule at once
    "also update the changelog", once                                   nothing yet
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, product

from tacit.domain.candidate import Candidate
from tacit.domain.evidence import Assessment
from tacit.domain.outline import Outline, Wish
from tacit.domain.skill import MADE_BY_SYNTHESIS, Kind, Provenance, SkillContent
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Span, StepResult, Trajectory
from tacit.learn.fixes import CODE_FILE
from tacit.learn.phrases import (
    AGAINST,
    CONDITION,
    FOR_ALL,
    NEGATED,
    ONE_TIME,
    OTHER_LANGUAGES,
    OWN_TASTE,
    PART_OF_RULE,
    PRONOUN,
    STATED,
)
from tacit.learn.statements import UNSPACED, Statement, rule_of
from tacit.learn.values import FieldOrigins, Timeline, literals
from tacit.learn.wording import code, shorten, slug
from tacit.text.opposition import opposed
from tacit.text.shell import Command
from tacit.text.similarity import jaccard
from tacit.text.tool_calls import Effect, ToolCall, changes_nothing, tool_calls
from tacit.text.words import STOP_WORDS, stem, term_set, terms

_NAME_WORDS = 6
_IN_CODE = 0.4
"""The share of a statement's words that the code written for it holds, if the code is what it is about."""
_FIELDS = ("name", "description", "category")


def candidates_of(
    trajectory: Trajectory, statements: Iterable[Statement], *, assessment: Assessment
) -> Iterator[Candidate]:
    """Yield a norm or preference for each statement that is a rule at once."""
    actions = tool_calls(trajectory)
    for statement in statements:
        swap = swap_of(statement.text, statement.before, statement.after)
        is_rule = statement.standing and not _is_put_into_code(statement, actions)
        if is_rule or (swap is not None and _corrects(statement)):
            yield _candidate(trajectory, statement, swap, assessment)


def _is_put_into_code(statement: Statement, actions: Sequence[ToolCall]) -> bool:
    """Whether it says how the product is to behave: what it names is then found in the code, not in commands or documents."""
    spaced = not UNSPACED.search(statement.text)
    named = terms(statement.text) if spaced else re.findall(r"[A-Za-z]{3,}", statement.text)
    words = {stem(word.lower()) for word in named}
    written: dict[bool, set[str]] = {True: set(), False: set()}
    for action in actions:
        if action.index > statement.message.index or not spaced:  # few names: what was done before counts, too
            for edit in action.edits:
                texts = terms(" ".join(hunk.new for hunk in edit.hunks))
                written[bool(CODE_FILE.search(edit.file))].update(map(stem, texts))
    code, text = (len(words & written[is_code]) for is_code in (True, False))
    return bool(words) and code >= _IN_CODE * len(words) and code >= text


def _corrects(statement: Statement) -> bool:
    """Whether the words turn against what was done: the call was refused, or they say what not to do."""
    refused = statement.before[-1].step.result in (StepResult.DENIED, StepResult.INTERRUPTED)
    return refused or bool(AGAINST.search(statement.text))


def _candidate(
    trajectory: Trajectory, statement: Statement, swap: Swap | None, assessment: Assessment | None
) -> Candidate:
    origins = FieldOrigins(trajectory)
    message = Span(trajectory.id, statement.message.index, "text")
    for path in _FIELDS:
        origins.add_spans(path, [message])
    rule = rule_of(statement.text)
    content = SkillContent(
        kind=_kind(rule),
        name=slug(swap.words if swap else _name_words(rule)) or "way-of-working",
        description=rule,
        category="convention",
        tags=swap.subjects if swap else (),
        body=swap.text() if swap else "",
    )
    if swap:
        timeline = Timeline(trajectory)
        for action, text in ((swap.before, swap.old), (swap.after, swap.new)):
            for path in ("name", "body", "tags"):
                origins.add_spans(path, _spans_of_text(action, text, timeline))
    acted = [action for action in statement.after if action.worked and action.effect is not Effect.READ]
    pair = (swap.before, swap.after) if swap else ()
    shown = [Span(trajectory.id, action.index, "arguments") for action in (*pair, *acted[:3])]
    grounding = {**origins.spans, "evidence": tuple(dict.fromkeys((message, *shown)))}
    return Candidate(
        content=content,
        scope=trajectory.task.scope,
        origins=origins.origins,
        provenance=Provenance(trajectory_ids=(trajectory.id,), grounding=grounding, made_by=MADE_BY_SYNTHESIS),
        assessment=assessment,
    )


def _spans_of_text(action: ToolCall, text: str, timeline: Timeline) -> list[Span]:
    """The call, and every observation that what is told of it was copied from."""
    copied = [timeline.copied(piece, before=action.index) for piece in dict.fromkeys((text, *literals(text)))]
    own = Span(timeline.trajectory_id, action.index, "arguments")
    return [own, *(timeline.span(place) for place in copied if place is not None)]


def _kind(rule: str) -> Kind:
    if OWN_TASTE.search(rule):
        return Kind.PREFERENCE
    holds_for_all = FOR_ALL.search(rule) or OTHER_LANGUAGES.search(rule)
    return Kind.NORM if holds_for_all else Kind.PREFERENCE


def _name_words(rule: str) -> list[str]:
    """Words for the name: those of the part that says what to do, if it is told apart from what not to do."""
    split = re.split(r"\s[–—-]\s|[;:]|,\s(?=(?:we|use|in this|always|instead)\b)", rule)
    parts = [part for part in split if len(part.split()) > 1]  # "No - in this project …": one word names nothing
    positive = [
        part for part in parts if not re.search(r"\b(?:don't|do not|dont|never|stop|avoid)\b", part, re.IGNORECASE)
    ]
    source = positive[-1] if positive else rule
    keep = {"not", "no", "use", "never", "always"}
    words = [word.lower() for word in re.findall(r"[\w]+", source.replace("don't", "not").replace("Don't", "not"))]
    drop = (STOP_WORDS - keep) | {"project", "repo", "repository", "codebase", "always", "here", "please", "instead"}
    return [word for word in words if word not in drop and len(word) > 1][:_NAME_WORDS]


# --- requests that are repeated ---------------------------------------------------------------------------------------

MIN_REPEATS = 3
"""Sessions in which a person must have made a request; two may be about one piece of work."""
MIN_REPEATED_SHARE = 0.15
"""Of a project's sessions, the share that must have asked for it: what is asked for less often belongs to those tasks."""
_SAME = 0.5
"""The share of common words from which two requests are the same; larger: only copies of one text are."""
_LONG = 7
"""Words of a request that a person does not happen to word in the same way twice. What says when, or what not to do, may be
shorter."""
_MAX_MENTIONS = 1000
"""The newest of a project that are compared with each other; it bounds the time."""
_PATH = re.compile(r"(?:^|\s)~?/\w+/\w")
_ADDRESS = re.compile(r"\S*https?://\S+")
_FRESH = timedelta(days=90)
"""What was not said again for so long does not count any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mention:
    """One message in which a person asked for something."""

    outline: Outline
    wish: Wish
    words: frozenset[str]
    is_ban: bool
    """Whether it is asked not to be done."""


def repeated_wishes(
    outlines: Sequence[Outline], waiting: set[str], trajectory_of: Callable[[str], Trajectory]
) -> Iterator[Candidate]:
    """Yield the requests that were made again in an attempt that waits to be mined, once enough sessions have them."""
    by_project: dict[str, list[_Mention]] = defaultdict(list)
    sessions: dict[str, set[str]] = defaultdict(set)
    seen: set[tuple[str, object]] = set()
    for outline in outlines:
        sessions[outline.project].add(outline.session or outline.trajectory_id)
        for wish in outline.wishes:
            copy = (wish.text, wish.at or outline.trajectory_id)
            if copy not in seen:  # a session that was continued in another file holds the same message
                seen.add(copy)
                by_project[outline.project] += _mentions(outline, wish)
    for project, mentions in by_project.items():
        for group in _repeated_groups(mentions[-_MAX_MENTIONS:]):
            is_usual = _is_unasked(group) or _sessions(group) >= MIN_REPEATED_SHARE * len(sessions[project])
            if is_usual and group[-1].outline.trajectory_id in waiting:
                yield _repeated(group, trajectory_of)


def _mentions(outline: Outline, wish: Wish) -> Iterator[_Mention]:
    """Yield a wish that is more than an answer, a report or a request about something at hand."""
    if STATED.search(rule_of(wish.text)) or ONE_TIME.search(wish.text) or _PATH.search(wish.text):
        return
    mention = _Mention(outline=outline, wish=wish, words=term_set(wish.text), is_ban=bool(NEGATED.search(wish.text)))
    if len(mention.words) >= _LONG or _is_unasked([mention]):
        yield mention


def _repeated_groups(mentions: Sequence[_Mention]) -> Iterator[list[_Mention]]:
    """Yield the mentions in nearly the same words, oldest first, if enough sessions have them."""
    taken: set[int] = set()
    for first in mentions:
        group = [
            each
            for each in mentions
            if id(each) not in taken and first.is_ban == each.is_ban and jaccard(first.words, each.words) >= _SAME
        ]
        if id(first) not in taken and _sessions(group := _fresh(group)) >= MIN_REPEATS:
            taken |= {id(each) for each in group}
            yield group


def _sessions(mentions: Iterable[_Mention]) -> int:
    """Count the sessions, those that began with the same long message as one: the task was only started again."""
    tasks: dict[str, frozenset[str]] = {}
    for each in mentions:
        task = term_set(_ADDRESS.sub("", each.outline.task))
        if not any(len(task) >= _LONG and jaccard(task, known) >= _SAME for known in tasks.values()):
            tasks.setdefault(each.outline.session_id or each.outline.trajectory_id, task)
    return len(tasks)


def _fresh(mentions: list[_Mention]) -> list[_Mention]:
    newest = max((each.wish.at for each in mentions if each.wish.at), default=None)
    return [each for each in mentions if not (newest and each.wish.at) or newest - each.wish.at <= _FRESH]


def _is_unasked(group: Sequence[_Mention]) -> bool:
    """Whether it holds also in sessions that do not ask for it: it says when, or what not to do."""
    return any(each.is_ban or CONDITION.search(each.wish.text) for each in group)


def _repeated(group: Sequence[_Mention], trajectory_of: Callable[[str], Trajectory]) -> Candidate:
    """Make a rule of the mention that is most like the other early ones, so that later ones do not change it."""
    early = ([each for each in group if not PRONOUN.search(each.wish.text)] or group)[:MIN_REPEATS]
    chosen = max(early, key=lambda one: sum(jaccard(one.words, each.words) for each in early))
    cited = list({each.outline.trajectory_id: each for each in (chosen, *group)}.values())
    origins = FieldOrigins(load=trajectory_of)
    spans = tuple(Span(each.outline.trajectory_id, each.wish.step, "text") for each in cited)
    for path in _FIELDS:
        origins.add_spans(path, spans)
    rule = rule_of(chosen.wish.text)
    origins.add_spans("body", spans)
    content = SkillContent(
        kind=_kind(rule),
        name=slug(_name_words(rule)) or "way-of-working",
        description=rule,
        category="convention",
        body=f"**Asked for** in {_sessions(group)} sessions.",
    )
    return Candidate(
        content=content,
        scope=trajectory_of(chosen.outline.trajectory_id).task.scope,
        origins=origins.origins,
        provenance=Provenance(
            trajectory_ids=tuple(each.outline.trajectory_id for each in cited),
            grounding={**origins.spans, "evidence": spans},
            made_by=MADE_BY_SYNTHESIS,
        ),
    )


# --- rules that are taken back ---------------------------------------------------------------------------------------

_LEAST_SHARED = 2
"""Words that a rule and a later wish must share before they are compared."""


def taken_back(
    rules: Iterable[tuple[StoredVersion, datetime | None]], outlines: Sequence[Outline]
) -> Iterator[tuple[StoredVersion, str]]:
    """Yield the rules that a person spoke against later, each with the two sentences.

    Each rule comes with the time when it was approved, if it was: what was said before that does not count against it.
    """
    dated_wishes = [(each, wish, term_set(wish.text)) for each in outlines for wish in each.wishes if wish.at]
    began = {each.trajectory_id: each.at for each in outlines}
    for stored, approved_at in rules:
        version = stored.version
        times = [at for each in version.provenance.trajectory_ids if (at := began.get(each))]
        if not times:
            continue
        since = max([*times, approved_at] if approved_at else times)
        own, words = set(version.provenance.trajectory_ids), term_set(version.content.description)
        bans = filter(NEGATED.search, PART_OF_RULE.split(version.content.description))
        rule = "\n".join([version.content.description, *bans])
        later = (
            wish.text
            for outline, wish, wished in dated_wishes
            if wish.at and wish.at > since and outline.trajectory_id not in own and len(words & wished) >= _LEAST_SHARED
        )
        if why := next(filter(None, (opposed(rule, text) for text in later)), ""):
            yield stored, why


# --- the corrected action ---------------------------------------------------------------------------------------------

_MAX_BEFORE, _MAX_AFTER = 12, 6
"""Calls before and after the message among which the corrected one and the one in its place are looked for."""
_MAX_SHOWN = 120
"""Characters of a command in a rule: one line of a terminal."""
_TELLING = 4  # letters of a word in a long flag that say something
_TOKEN = re.compile(r"(?<!\w)--?[a-z][\w-]*|[^\W_](?:[\w./-]*\w)?", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """The corrected command, what was run in its place, and the words for both."""

    before: ToolCall
    after: ToolCall
    old: str
    new: str
    """Both as a person would be shown them."""
    words: tuple[str, ...]
    """What is wanted and what is not, the same however it was said: `use pnpm not npm`."""

    @property
    def subjects(self) -> tuple[str, ...]:
        """What it is about: the words without those that join them."""
        return tuple(word for word in self.words if word not in ("use", "not", "with", "without"))

    def text(self) -> str:
        """The pair in a sentence."""
        return f"Instead of {code(shorten(self.old, _MAX_SHOWN))}: {code(shorten(self.new, _MAX_SHOWN))}."


def swap_of(sentence: str, before: Sequence[ToolCall], after: Sequence[ToolCall]) -> Swap | None:
    """Return the first command after the correction that stands for one before it, the last of those first."""
    named = {word.lower() for word in _TOKEN.findall(sentence)}
    named |= {stem(word) for word in named}
    later = islice((call for call in after if call.worked and call.effect is not Effect.READ), _MAX_AFTER)
    earlier = [call for call in before if call.effect is not Effect.READ][-_MAX_BEFORE:][::-1]
    for call, other in product(later, earlier):
        checks = call.effect is other.effect is Effect.CHECK
        for old, new in product(other.programs, call.programs):
            looks = changes_nothing(old) or changes_nothing(new)
            if words := () if looks else _words(old, new, named, checks=checks):
                return Swap(before=other, after=call, old=old.text, new=new.text, words=words)
    return None


def _words(old: Command, new: Command, named: Collection[str], *, checks: bool) -> tuple[str, ...]:
    """Return what is wanted of the new command, if the person named it; nothing if the two are not about the same."""
    if old.program == new.program:
        gained, lost = (
            sorted(flag for flag in set(one.flags) - set(other.flags) if _is_named(flag, named))
            for one, other in ((new, old), (old, new))
        )
        flags = ("with", *gained) if gained else ("without", *lost)
        is_same = old.subcommand == new.subcommand and (gained or lost)
        return (new.program, *new.subcommand.split(), *flags) if is_same else ()
    about = (old.subcommand and old.subcommand == new.subcommand) or set(old.operands) & set(new.operands)
    programs = {program.lower() for program in (new.program, *new.runner.split(), old.program)}
    if (about or checks) and not programs.isdisjoint(named):
        return ("use", *new.runner.split(), new.program, "not", old.program)
    return ()


def _is_named(flag: str, named: Collection[str]) -> bool:
    """Whether a flag is named, as it is or by a word of it."""
    words = flag.strip("-").partition("=")[0].split("-") if flag.startswith("--") else []
    return flag in named or any(len(word) >= _TELLING and stem(word) in named for word in words)
