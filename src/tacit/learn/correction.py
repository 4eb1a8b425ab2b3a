"""Makes a preference or norm of a person's correction, together with the corrected action.

Only statements about the way of working count: a rule ("always", "never", "we use"), a ban ("don't use print"), a preference
("I prefer"). In doubt it is no correction: a wrong norm is loaded every time. An objection ("no, call it Save") gives no
rule, but the step it objects to is not used as an example.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from tacit.domain.candidate import Candidate
from tacit.domain.evidence import Assessment
from tacit.domain.skill import Kind, Provenance, SkillContent
from tacit.domain.trajectory import Role, Span, Step, Trajectory
from tacit.learn.values import FieldOrigins, Timeline, literals
from tacit.learn.wording import MAX_DESCRIPTION, code, shorten, slug
from tacit.text.shell import Command
from tacit.text.tool_calls import Effect, ToolCall, ToolKind, changes_nothing
from tacit.text.words import STOP_WORDS, stem

_MAX_BEFORE, _MAX_AFTER = 12, 6
_MAX_SHOWN = 120
_TELLING = 4  # letters of a word in a long flag that say something
_IDENTIFIER = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_POINTED = re.compile(
    r"`([^`\n]{1,80})`|\b(\w[\w.]*)\(\)|\b(?:us(?:e|es|ing)|prefer|avoid|of|than|not|never|no|over|with|import(?:ing)?|call(?:ing)?)"
    r"\s+(?:the\s+|a\s+|our\s+)?([^\W\d][\w.]*\w)",
    re.IGNORECASE,
)
"""What a sentence points at by name: set as code, or after "use", "instead of", "not" and the like."""
_TOKEN = re.compile(r"(?<!\w)--?[a-z][\w-]*|[^\W_](?:[\w./-]*\w)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """The corrected action, what was done in its place, and the words for both."""

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
    """The first thing done after the correction that stands for something done before it, the last of those first."""
    message_text = _MessageText(sentence)
    later = islice((action for action in after if action.worked and action.effect is not Effect.READ), _MAX_AFTER)
    earlier = [action for action in before if action.effect is not Effect.READ][-_MAX_BEFORE:][::-1]
    return next((found for action in later for found in _swaps(action, earlier, message_text)), None)


def _swaps(action: ToolCall, earlier: Sequence[ToolCall], message_text: _MessageText) -> Iterator[Swap]:
    if action.kind is ToolKind.SHELL:
        for other in earlier:
            if other.kind is ToolKind.SHELL:
                yield from _commands(other, action, message_text)
    for edit in action.edits:
        hunks = ((hunk.old, hunk.new) for hunk in edit.hunks if hunk.old and hunk.new)
        written = next((other for other in earlier if any(mine.file == edit.file for mine in other.edits)), None)
        if written is not None:
            yield from (swap for old, new in hunks if (swap := _texts((written, action), old, new, message_text)))


def _commands(earlier: ToolCall, later: ToolCall, message_text: _MessageText) -> Iterator[Swap]:
    for old in earlier.programs:
        for new in later.programs:
            if changes_nothing(old) or changes_nothing(new):
                continue
            words = _words(old, new, message_text, checks=earlier.effect is later.effect is Effect.CHECK)
            if words:
                yield Swap(before=earlier, after=later, old=old.text, new=new.text, words=words)


def _words(old: Command, new: Command, message_text: _MessageText, *, checks: bool) -> tuple[str, ...]:
    """What is wanted of the new command, if the person named it; nothing if the two are not about the same."""
    if old.program == new.program:
        if old.subcommand != new.subcommand:
            return ()
        gained, lost = (message_text.flags(set(a.flags) - set(b.flags)) for a, b in ((new, old), (old, new)))
        flags = ("with", *gained) if gained else ("without", *lost)
        return (new.program, *new.subcommand.split(), *flags) if gained or lost else ()
    about = (old.subcommand and old.subcommand == new.subcommand) or set(old.operands) & set(new.operands)
    if (about or checks) and message_text.programs([new.program, *new.runner.split(), old.program]):
        return ("use", *new.runner.split(), new.program, "not", old.program)
    return ()


def _texts(actions: tuple[ToolCall, ToolCall], old: str, new: str, message_text: _MessageText) -> Swap | None:
    """An edit that took out one name and put in another, of which the person named one."""
    before, after = (dict.fromkeys(_IDENTIFIER.findall(text)) for text in (old, new))
    lost, gained = [name for name in before if name not in after], [name for name in after if name not in before]
    meant, unmeant = message_text.names(gained), message_text.names(lost)
    wanted, unwanted = meant or gained[: len(gained) == 1], unmeant or lost[: len(lost) == 1]
    if not (meant or unmeant) or not wanted:
        return None
    words = ("use", wanted[0], *(("not", unwanted[0]) if unwanted else ()))
    shown = (_line(old, unwanted), _line(new, wanted))
    return Swap(before=actions[0], after=actions[1], old=shown[0], new=shown[1], words=words)


def _line(text: str, names: Sequence[str]) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if any(name in line for name in names)), lines[0] if lines else "")


class _MessageText:
    """The words of a sentence, and those that point at something by its name."""

    def __init__(self, sentence: str) -> None:
        words = {word.lower() for word in _TOKEN.findall(sentence)}
        self._words = frozenset(words | {stem(word) for word in words})
        pointed = (word for found in _POINTED.findall(sentence) for part in found for word in _IDENTIFIER.findall(part))
        self._pointed = frozenset(word for word in pointed if word.lower() not in STOP_WORDS)

    def programs(self, programs: Sequence[str]) -> list[str]:
        """The programs that are named."""
        return [program for program in programs if program.lower() in self._words]

    def flags(self, flags: Iterable[str]) -> list[str]:
        """The flags that are named, as they are or by a word of theirs."""
        return sorted(flag for flag in flags if flag in self._words or self._by_word(flag))

    def names(self, names: Sequence[str]) -> list[str]:
        """The names in a program text that the sentence points at."""
        return [name for name in names if name in self._pointed]

    def _by_word(self, flag: str) -> bool:
        words = flag.strip("-").partition("=")[0].split("-") if flag.startswith("--") else []
        return any(len(word) >= _TELLING and stem(word) in self._words for word in words)


MADE_BY = "tacit.synthesis/1"
_MAX_MESSAGE = 1500  # longer messages state a task or paste a document
_MAX_SENTENCES = 6
_NAME_WORDS = 6

_DOING = (
    "use add run create write commit push touch edit change modify put install import print mock skip call format "
    "name keep make test log hardcode hard-code rewrite refactor delete remove guess assume invent start rebase "
    "merge squash amend stage generate cast catch swallow ignore disable suppress ask send reply answer check "
    "read open prefix suffix document comment type annotate return wrap leave sort indent pin upgrade downgrade "
    "deploy publish bump tag sign include exclude prefer stick follow avoid"
)
_VERB = "(?:" + "|".join(_DOING.split()) + ")"
_GERUND = r"\w{3,}ing"
_LEAD = r"(?:^|[,;:–—-]\s*|\b(?:and|but|so|no|please|stop|wait|actually|instead)\b[,.!:]?\s+)"
_PLACE = r"(?:project|repo|repository|codebase)"
_RULE = re.compile(rf"{_LEAD}(?:please\s+)?(?:always|never)\s+{_VERB}\b", re.IGNORECASE)
_BAN = re.compile(
    rf"{_LEAD}(?:please\s+)?(?:(?:do not|don't|dont|never)\s+(?:ever\s+)?{_VERB}\b|stop\s+{_GERUND}|"
    rf"no\s+need\s+to\s+{_VERB}\b|avoid\s+{_GERUND})",
    re.IGNORECASE,
)
_CUSTOM = re.compile(
    rf"\b(?:we|our team|this {_PLACE})\s+(?:(?:always|never|only|usually|generally|don't|do not|does not|doesn't)\s+)?"
    rf"(?:{_VERB}|uses|prefers|keeps|names|formats|requires)\b|"
    r"\b(?:our|the project's|this repo's) (?:convention|style|standard|policy|rule|guideline)s?\b",
    re.IGNORECASE,
)
_SWAP = re.compile(
    rf"{_LEAD}(?:please\s+)?use\s+\S+.{{0,60}}?\b(?:instead|rather than|not|here|in this {_PLACE})\b|"
    rf"{_LEAD}(?:that's|that is|this is)?\s*wrong\b.{{0,40}}\buse\s|"
    rf"{_LEAD}(?:please\s+)?always\s+(?!\w+(?:s|ed|ing)\b)[\w@./`-]{{1,80}},?\s+(?:please|here|in this {_PLACE})\b",
    re.IGNORECASE,
)
_TASTE = re.compile(
    r"\bI(?:'d| would)?\s+(?:always\s+|really\s+|much\s+)?(?:prefer|rather|like (?:it|my|to have|when))\b|"
    r"\bI want you to (?:always|never)\b",
    re.IGNORECASE,
)
_PROJECT = re.compile(
    rf"\b(?:in|for|of) (?:this|our|the) (?:{_PLACE}|team|company)\b|\bthis {_PLACE}\b|\b(?:here|we|our|always|never)\b",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"(?:(?:wait|hm+|sorry|stop|ah|oh)\b\W{0,3})?(?:no|nope)\b"
    r"(?!\W{0,3}(?:problem|worr|need|thank|rush|hurry|idea|matter|more|objection|issue|that's all|that is all|all good|"
    r"it's fine|go ahead))",
    re.IGNORECASE,
)
"""A no, unless it is one of thanks. Behind a question it may be no more than the answer."""
_OBJECTED = re.compile(
    r"(?:(?:that|this|it|\S{1,40})(?:'s| is| was| looks) )?(?:wrong|incorrect)\b"
    r"|(?:(?:that|this)(?:'s| is| was) not|(?:that|this) (?:isn't|wasn't)) (?:right|correct|it\b|what\b)"
    r"|.{0,80}\bnot what I (?:asked|wanted|meant|said)\b"
    r"|not (?!bad|yet|now|sure|really|only)[^,;.\n]{1,40}[,;]\s?\S",
    re.IGNORECASE,
)
_WORK = frozenset(
    stem(word)
    for word in (
        "code test tests commit commits file files function functions branch branches import imports type types style "
        "comment comments docstring docstrings lint linter format formatter library libraries package packages "
        "dependency dependencies tool command commands script scripts print log logs logging logger helper helpers "
        "module modules class classes variable variables naming exception exceptions error errors mock mocks fixture "
        "fixtures migration migrations sql query queries config configuration pull request requests merge rebase "
        "changelog readme documentation docs tabs spaces indentation typing async api endpoint endpoints schema "
        "database framework directory folder repo repository push terminal shell version emoji emojis abbreviation "
        "bullet markdown summary summaries sentence sentences paragraph heading headings pnpm npm yarn pip poetry uv "
        "docker pytest"
    ).split()
)
_CODE = re.compile(
    r"`[^`\n]+`|\b\w+\(\)|\b[a-z]+_[a-z_]+\b|\b[\w-]{1,80}\.(?:py|ts|js|go|rs|md|toml|yaml|yml|json|sh|sql)\b|(?<!\w)--[a-z][\w-]+"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What a person said, and what the agent did before and after."""

    message: Step
    sentence: str
    kind: Kind
    before: tuple[ToolCall, ...] = ()
    after: tuple[ToolCall, ...] = ()


def corrections_of(trajectory: Trajectory, actions: Sequence[ToolCall]) -> tuple[Correction, ...]:
    """The messages in which a person corrected the agent's way of working."""
    found: list[Correction] = []
    message_text = [step.index for step in trajectory.steps if step.role is Role.USER]
    places = [action.index for action in actions]
    earlier = -1
    for step in trajectory.steps:
        if step.role is not Role.USER or step.is_action:
            continue
        before = tuple(actions[bisect_right(places, earlier) : bisect_left(places, step.index)])
        earlier = step.index
        sentence = directive(step.text) if before else ""
        if sentence:
            later = bisect_right(message_text, step.index)
            until = message_text[later] if later < len(message_text) else len(trajectory.steps) + step.index
            after = tuple(actions[bisect_right(places, step.index) : bisect_left(places, until)])
            kind = _kind(sentence)
            found.append(Correction(message=step, sentence=sentence, kind=kind, before=before, after=after))
    return tuple(found)


def objections_of(trajectory: Trajectory, actions: Sequence[ToolCall]) -> tuple[int, ...]:
    """The messages in which a person took exception to what was just done, whether or not they laid down a rule."""
    found: list[int] = []
    done = asked = False
    acted = {action.index for action in actions if action.effect is not Effect.READ}
    for step in trajectory.steps:
        if step.index in acted:
            done = True
        if step.role is Role.AGENT and step.text.strip():
            asked = step.text.rstrip().endswith("?")
        if step.role is not Role.USER or step.is_action:
            continue
        message_text = step.text.strip()[:_MAX_MESSAGE]
        if done and (_OBJECTED.match(message_text) or (not asked and _REFUSED.match(message_text))):
            found.append(step.index)
        done = asked = False
    return tuple(found)


def directive(text: str) -> str:
    """The sentence of a message that lays down how to work; empty if there is none."""
    if len(text) > _MAX_MESSAGE:
        return ""
    for sentence in re.split(r"(?<=[.!?])\s+(?=\S)|\n+", text.strip())[:_MAX_SENTENCES]:
        if _lays_down(sentence.strip()):
            return sentence.strip()
    return ""


def candidate_of(trajectory: Trajectory, correction: Correction, *, assessment: Assessment) -> Candidate | None:
    """Make a norm or preference, if the agent acted on what was said."""
    acted = [action for action in correction.after if action.worked and action.effect is not Effect.READ]
    if not acted:
        return None
    field_origins = FieldOrigins(trajectory)
    message_text = Span(trajectory.id, correction.message.index, "text")
    for path in ("name", "description", "category", "body"):
        field_origins.add_spans(path, [message_text])
    rule = rule_of(correction.sentence)
    swap = swap_of(correction.sentence, correction.before, correction.after)
    shown = f"\n\n{swap.text()}" if swap else ""
    content = SkillContent(
        kind=correction.kind,
        name=slug(swap.words if swap else _name_words(rule)) or "way-of-working",
        description=shorten(rule, MAX_DESCRIPTION),
        category="convention",
        tags=swap.subjects if swap else (),
        body=f"> {shorten(correction.message.text, 600)}{shown}",
    )
    if swap:
        timeline = Timeline(trajectory)
        for action, text in ((swap.before, swap.old), (swap.after, swap.new)):
            for path in ("name", "body", "tags"):
                field_origins.add_spans(path, _spans_of_text(action, text, timeline))
    pair = (swap.before, swap.after) if swap else ()
    corrected = [Span(trajectory.id, action.index, "arguments") for action in (*pair, *acted[:3])]
    grounding = {**field_origins.spans, "evidence": tuple(dict.fromkeys((message_text, *corrected)))}
    return Candidate(
        content=content,
        scope=trajectory.task.scope,
        origins=field_origins.origins,
        provenance=Provenance(trajectory_ids=(trajectory.id,), grounding=grounding, made_by=MADE_BY),
        assessment=assessment,
    )


def _spans_of_text(action: ToolCall, text: str, timeline: Timeline) -> list[Span]:
    """The call, and every observation that what is told of it was copied from."""
    copied = [timeline.copied(piece, before=action.index) for piece in dict.fromkeys((text, *literals(text)))]
    own = Span(timeline.trajectory_id, action.index, "arguments")
    return [own, *(timeline.span(place) for place in copied if place is not None)]


def rule_of(sentence: str) -> str:
    """The sentence as a rule: without the "no," in front, with a capital and a full stop."""
    rule = re.sub(
        r"^(?:(?:no|nope|stop|wait|hey|hmm|actually|ok|okay|sorry|please)\b[,.!:;–—-]*\s*)+",
        "",
        sentence,
        flags=re.IGNORECASE,
    )
    rule = re.sub(r"\s+", " ", rule).strip().rstrip(".!")
    return f"{rule[:1].upper()}{rule[1:]}." if rule else sentence


def _lays_down(sentence: str) -> bool:
    if sentence.endswith("?") or not 8 <= len(sentence) <= 400:
        return False
    if _RULE.search(sentence) or (_CUSTOM.search(sentence) and _about_work(sentence)):
        return True
    return bool(_BAN.search(sentence) or _SWAP.search(sentence) or _TASTE.search(sentence)) and _about_work(sentence)


def _about_work(sentence: str) -> bool:
    """Whether it speaks of code, files, commands or texts, and not of the matter at hand."""
    if _CODE.search(sentence):
        return True
    return any(stem(word.lower()) in _WORK for word in re.findall(r"[A-Za-z]+", sentence))


def _kind(sentence: str) -> Kind:
    if re.search(r"\bI\b(?:'d)?(?: \w+)? (?:prefer|rather|like|want)\b", sentence):
        return Kind.PREFERENCE
    return Kind.NORM if _PROJECT.search(sentence) else Kind.PREFERENCE


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
