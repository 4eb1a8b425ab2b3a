"""Makes rules of what a person said: norms and preferences in the person's own words.

A standing statement is a rule at once, and so is a wish that the agent visibly put into practice instead of what it had done
before. Any other wish becomes a rule when the person repeats it in several sessions; an opposite wish and silence weaken it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice, pairwise, product

from tacit.domain.candidate import Candidate
from tacit.domain.evidence import Assessment
from tacit.domain.outline import Outline, Wish
from tacit.domain.skill import MADE_BY_SYNTHESIS, Kind, Provenance, SkillContent
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Span, StepResult, Trajectory
from tacit.learn.attempt_outlines import acts
from tacit.learn.fixes import CODE_FILE
from tacit.learn.phrases import (
    AGAINST,
    CONDITION,
    FOR_ALL,
    IN_FORM,
    NEGATED,
    NEXT_CLAUSE,
    ONE_TIME,
    OTHER_LANGUAGES,
    OWN_TASTE,
    PART_OF_RULE,
    PRONOUN,
    STATED,
    TOOL_NAME,
    WITH_TOOL,
)
from tacit.learn.statements import UNSPACED, Statement, rule_of
from tacit.learn.values import FieldOrigins, Timeline, literals
from tacit.learn.wording import code, shorten, slug
from tacit.text.command_forms import command_forms
from tacit.text.opposition import opposed
from tacit.text.shell import Command
from tacit.text.similarity import jaccard
from tacit.text.tool_calls import Effect, ToolCall, changes_nothing, tool_calls
from tacit.text.words import STOP_WORDS, stem, term_set, terms

_NAME_WORDS = 6
_IN_CODE = 0.4
"""The share of a statement's words that the code written for it holds, if the code is what it is about."""
_MAX_OCCASION = 60
_ORDINARY_WORDS = frozenset(map(stem, "cut go just make open run sort task touch use".split()))
"""Programs and subcommands that are also words of any sentence."""
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


def _occasion(statement: Statement) -> tuple[ToolCall, str] | None:
    """Return the last call before the message that it speaks of: they have a word in common."""
    stems = _stems(statement.text)
    for action in reversed(statement.before[-_MAX_BEFORE:]):
        for form in filter(acts, command_forms(action.command)):
            words = form.tokens[len(form.text.split()) :]
            named = [
                word
                for before, word in zip(("", *words), words, strict=False)
                if (word.startswith("-") or before.startswith("-")) and " " not in word
            ]
            spoken = [word for word in named if _stems(word) & stems]
            flags = [word for word, value in pairwise(named) if value in spoken]
            shown = " ".join([form.text, *(word for word in named if word in spoken or word in flags)])
            if (spoken or _stems(form.text) & stems) and len(shown) <= _MAX_OCCASION:
                return action, shown
    return None


def _stems(text: str) -> set[str]:
    return {stem(word).removesuffix("s") for word in terms(text)} - _ORDINARY_WORDS


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
    occasion = None if swap else _occasion(statement)
    content = SkillContent(
        kind=_kind(rule),
        name=slug(swap.words if swap else _name_words(rule)) or "way-of-working",
        description=rule,
        category="convention",
        tags=swap.subjects if swap else (),
        body=swap.text() if swap else f"Said after {code(occasion[1])}." if occasion else "",
    )
    if occasion:
        origins.add_spans("body", [Span(trajectory.id, occasion[0].index, "arguments")])
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
    parts = [
        part for part in re.split(r"\s[–—-]\s|[;:]|,\s(?=(?:we|use|in this|always|instead)\b)", rule) if part.strip()
    ]
    positive = [
        part for part in parts if not re.search(r"\b(?:don't|do not|dont|never|stop|avoid)\b", part, re.IGNORECASE)
    ]
    source = positive[-1] if positive else rule
    keep = {"not", "no", "use", "never", "always"}
    words = [word.lower() for word in re.findall(r"[\w]+", source.replace("don't", "not").replace("Don't", "not"))]
    drop = (STOP_WORDS - keep) | {"project", "repo", "repository", "codebase", "always", "here", "please", "instead"}
    return [word for word in words if word not in drop and len(word) > 1][:_NAME_WORDS]


# --- wishes that are repeated -----------------------------------------------------------------------------------------

MIN_REPEATS = 3
"""Sessions in which a person must have asked for the same means."""
MIN_REPEATED_SHARE = 0.15
"""Of a project's sessions, the share that must have asked for it: what is asked for less often belongs to those tasks."""
MIN_SAME = 2
"""Sessions in which a person must have said nearly the same words."""
_SAME = 0.5
_VERBATIM = 0.8
_LONG = 7
"""Terms of a request that a person does not happen to word in the same way twice."""
_MAX_MENTIONS = 1000
"""The newest of a project that are compared with each other."""
_PATH = re.compile(r"(?:^|\s)~?/\w+/\w")
_ADDRESS = re.compile(r"\S*https?://\S+")
_FRESH = timedelta(days=90)
"""What was not said again for so long does not count any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mention:
    """One clause in which a person asked for something."""

    outline: Outline
    wish: Wish
    clause: str
    words: frozenset[str]
    against: bool
    """Whether it is asked not to be done."""


def repeated_wishes(
    outlines: Sequence[Outline], waiting: set[str], trajectory_of: Callable[[str], Trajectory]
) -> Iterator[Candidate]:
    """Yield the wishes that were said again in an attempt that waits to be mined, once enough sessions have them."""
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
        for name, group in _groups(mentions[-_MAX_MENTIONS:]):
            general = [each for each in group if not ONE_TIME.search(each.clause) and not _PATH.search(each.clause)]
            is_usual = _is_unasked(general) or _sessions(general) >= MIN_REPEATED_SHARE * len(sessions[project])
            if general and is_usual and group[-1].outline.trajectory_id in waiting:
                yield _repeated(name, general, trajectory_of)


def _mentions(outline: Outline, wish: Wish) -> Iterator[_Mention]:
    for clause in NEXT_CLAUSE.split(wish.text):
        if not STATED.search(rule_of(clause)):
            against = bool(NEGATED.search(clause))
            yield _Mention(outline=outline, wish=wish, clause=clause, words=term_set(clause), against=against)


def _means(clause: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the tools and forms that a clause asks for: the terms to count by, and the words."""
    for groups in WITH_TOOL.findall(clause):
        words = next(filter(None, groups))
        if named := terms(words):
            yield (named[0],), words
    for words in IN_FORM.findall(clause):
        if len(pair := terms(words)) == 2:
            yield tuple(pair), words


def _groups(mentions: Sequence[_Mention]) -> Iterator[tuple[list[str], list[_Mention]]]:
    """Yield what was asked for often enough: the words for its name, and the mentions, oldest first."""
    by_means: dict[tuple[str, ...], list[tuple[_Mention, str]]] = defaultdict(list)
    for mention in mentions:
        for means, words in _means(mention.clause):
            by_means[means].append((mention, words))
    taken: set[int] = set()
    for means, found in by_means.items():
        group = [each for each in _fresh([mention for mention, _ in found]) if id(each) not in taken]
        named = next((words for _, words in found if len(means) > 1 or TOOL_NAME.match(words)), "")
        if named and _is_repeated(group):
            taken |= {id(each) for each in group}
            plain = [word for word in re.findall(r"\w+", named.lower()) if word not in STOP_WORDS]
            yield ["use", *plain[:2]][len(means) - 1 :], [each for each in group if not each.against]
    left = [each for each in mentions if id(each) not in taken]
    conditional = [each for each in left if each.against or CONDITION.search(each.clause)]
    groups = [*_alike(conditional, MIN_SAME)]
    long = [
        each for each in _long_requests(left) if not any(each.wish is one.wish for group in groups for one in group)
    ]
    for group in (*groups, *_alike(long, MIN_REPEATS), *_alike(long, MIN_SAME, same=_VERBATIM)):
        if id(group[0]) not in taken:
            taken |= {id(each) for each in group}
            yield _name_words(rule_of(group[0].clause)), group


def _alike(mentions: Sequence[_Mention], least: int, *, same: float = _SAME) -> Iterator[list[_Mention]]:
    """Yield the mentions in nearly the same words, if so many sessions have them."""
    taken: set[int] = set()
    for first in mentions:
        alike = [
            each
            for each in mentions
            if id(each) not in taken and first.against == each.against and jaccard(first.words, each.words) >= same
        ]
        if id(first) not in taken and _sessions(alike := _fresh(alike)) >= least:
            taken |= {id(each) for each in alike}
            yield alike


def _long_requests(mentions: Iterable[_Mention]) -> list[_Mention]:
    """Return whole sentences with so many words that it is the way, not the task, that is the same every time."""
    whole = {(each.outline.trajectory_id, each.wish.text): each for each in mentions if not each.against}.values()
    found = [replace(each, clause=each.wish.text, words=term_set(each.wish.text)) for each in whole]
    return [each for each in found if len(each.words) >= _LONG and each.clause.count(" ") >= _LONG]


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


def _is_repeated(group: Sequence[_Mention]) -> bool:
    """Whether enough sessions ask for it, in different words, and the opposite is neither said last nor half as often."""
    wanted = [each for each in group if not each.against]
    several = _sessions(wanted) >= MIN_REPEATS and len({each.clause for each in wanted}) > 1
    return several and not group[-1].against and 2 * (len(group) - len(wanted)) < len(wanted)


def _is_unasked(group: Sequence[_Mention]) -> bool:
    """Whether it holds also in sessions that do not ask for it: it says when, or what not to do."""
    return any(each.against or CONDITION.search(each.clause) for each in group)


def _repeated(name: Sequence[str], group: Sequence[_Mention], trajectory_of: Callable[[str], Trajectory]) -> Candidate:
    """Make a rule of the mention that is most like the other early ones, so that later ones do not change it."""
    clear = [each for each in group if len(each.words) > 2 and not PRONOUN.search(each.clause)]
    early = (clear or group)[:MIN_REPEATS]
    chosen = max(early, key=lambda one: sum(jaccard(one.words, each.words) for each in early))
    cited = list({each.outline.trajectory_id: each for each in (chosen, *group)}.values())
    origins = FieldOrigins(load=trajectory_of)
    spans = tuple(Span(each.outline.trajectory_id, each.wish.step, "text") for each in cited)
    for path in _FIELDS:
        origins.add_spans(path, spans)
    rule = rule_of(chosen.clause)
    origins.add_spans("body", spans)
    content = SkillContent(
        kind=_kind(rule),
        name=slug(name) or "way-of-working",
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


# --- wishes that are taken back ---------------------------------------------------------------------------------------

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
