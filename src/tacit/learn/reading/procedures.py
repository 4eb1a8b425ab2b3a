"""A procedure from sessions that a person names, or from three that showed the same way of working.

The model writes the steps; each one stays only where a session shows it. A step's command must have been typed in one of the
sessions, word for word apart from the values that stand as {name}. What stands beside the steps names what the sessions have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tacit.domain.candidate import Candidate
from tacit.domain.scope import Scope
from tacit.domain.skill import Kind, Parameter, Pitfall, Provenance, SkillContent, SkillStep
from tacit.domain.trajectory import Origin, Span, lowest
from tacit.learn.reading.consolidation import MADE_BY
from tacit.learn.reading.digest import SessionRecord, digest_within
from tacit.learn.reading.proposals import Proposal, ProposedKind, Quote, RecordCheck, SupportedProposal
from tacit.learn.wording import slug

MAX_TOKENS = 5_200
MAX_SESSIONS = 6
MIN_TOKENS_EACH = 1_000
"""Tokens that each session has at least in a request."""
MAX_STEPS = 20
MAX_PITFALLS = 3
"""Steps and pitfalls of one procedure; what a model writes beyond that is not read by an agent either."""
_PARAMETER = re.compile(r"\{(\w{1,40})\}")


def procedure_material(title: str, records: Sequence[SessionRecord]) -> str:
    """Return the records of some sessions, each told in its share of the limit."""
    share = max(MIN_TOKENS_EACH, MAX_TOKENS // max(1, len(records)))
    digests = (f"## session {number}\n{digest_within(record, share)}" for number, record in enumerate(records, start=1))
    return "\n\n".join([f"title: {title}", *digests])


def procedure_candidate(
    title: str, answer: Mapping[str, Any], records: Sequence[SessionRecord], *, scope: Scope, model: str, prompt: str
) -> Candidate | None:
    """Make the procedure of an answer; nothing where fewer than two steps are borne out."""
    checks = [RecordCheck(record) for record in records]
    kept: list[tuple[SkillStep, SupportedProposal]] = []
    entries = answer.get("steps")
    for entry in entries[:MAX_STEPS] if isinstance(entries, list) else ():
        if (
            isinstance(entry, Mapping)
            and (found := _supported_step(title, entry, checks))
            and (made := _step(entry, records))
        ):
            kept.append((made, found))
    whole = RecordCheck(SessionRecord("", tuple(each for record in records for each in record.attempts)))
    described, when, *pitfalls = (
        text if whole.bears_out(text) else ""
        for text in map(_line, (answer.get("description"), answer.get("when"), *_texts(answer.get("pitfalls"))))
    )
    if len(kept) < 2 or not described:
        return None
    other_texts = (described, when, *pitfalls)
    origin = lowest([*(each.origin for _, each in kept), *(whole.origin_of_text(text) for text in other_texts if text)])
    content = SkillContent(
        kind=Kind.PROCEDURE,
        name=slug(title.split()) or "procedure",
        description=described,
        category="procedure",
        example_queries=(when,) if when else (),
        steps=tuple(step for step, _ in kept),
        parameters=_parameters([step for step, _ in kept]),
        pitfalls=tuple(Pitfall(text=each) for each in pitfalls if each)[:MAX_PITFALLS],
    )
    spans = tuple(dict.fromkeys(span for _, each in kept for span in each.spans))
    grounding: dict[str, tuple[Span, ...]] = {f"steps.{n}": each.spans for n, (_, each) in enumerate(kept)}
    worded = ("name", "description", "category", "example_queries", "parameters", "pitfalls")
    filled = [name for name in worded if getattr(content, name)]
    grounding |= dict.fromkeys(filled, spans)
    origins = dict.fromkeys(filled, origin) | {f"steps.{n}": each.origin for n, (_, each) in enumerate(kept)}
    return Candidate(
        content=content,
        scope=scope,
        origins=origins | {"category": Origin.AGENT},
        provenance=Provenance(
            trajectory_ids=tuple(dict.fromkeys(span.trajectory_id for span in spans)),
            grounding=grounding,
            made_by=MADE_BY,
            model=model,
            prompt_version=prompt,
        ),
    )


def _supported_step(title: str, entry: Mapping[str, Any], checks: Sequence[RecordCheck]) -> SupportedProposal | None:
    """Return what a step rests on; nothing where no session shows it."""
    text, command = _line(entry.get("text")), _line(entry.get("command"))
    written = f"{text} `{_PARAMETER.sub('<value>', command)}`" if command else text
    quotes = entry.get("evidence")
    for number, checker in enumerate(checks, start=1):
        evidence = tuple(
            Quote(each["step"], str(each.get("quote", "")))
            for each in (quotes if isinstance(quotes, list) else ())
            if isinstance(each, Mapping) and each.get("session") == number and isinstance(each.get("step"), int)
        )
        proposal = Proposal(kind=ProposedKind.PROCEDURE, title=title, text=written, evidence=evidence)
        found = checker.check(proposal) if text and evidence else None
        if isinstance(found, SupportedProposal):
            return found
    return None


def _step(entry: Mapping[str, Any], records: Sequence[SessionRecord]) -> SkillStep | None:
    """Return a step with the tool of the call that shows its command; nothing where no call that worked does."""
    text, command = _line(entry.get("text")), _line(entry.get("command"))
    if not command:
        return SkillStep(text=text)
    for each in (each for record in records for each in record.steps if each.step.is_action):
        call = each.call
        if call.command and call.worked and _is_typed(command, each.relative(call.command)):
            key = next((key for key, value in each.step.arguments.items() if value == call.command), "command")
            return SkillStep(text=text, tool=each.step.tool, arguments={key: command})
    return None


def _is_typed(command: str, line: str) -> bool:
    """Whether a line has a command as one or more whole commands of it; `{name}` stands for any words of one command."""
    wanted, typed = _shell_words(command), _shell_words(line)
    places = {at for at in range(len(typed)) if at == 0 or typed[at - 1] in _OPERATORS}
    for word in wanted:
        if _PARAMETER.fullmatch(word):
            places = {end for start in places for end in _ends_of_value(typed, start)}
        else:
            form = re.compile(".+?".join(map(re.escape, _PARAMETER.sub("\0", word).split("\0"))))
            places = {at + 1 for at in places if at < len(typed) and form.fullmatch(typed[at])}
    ends = (at == len(typed) or typed[at] in _OPERATORS or typed[at].startswith(">") for at in places)
    return bool(wanted) and not _PARAMETER.fullmatch(wanted[0]) and any(ends)


def _ends_of_value(typed: Sequence[str], start: int) -> Iterator[int]:
    """Yield where a value that begins at a word may end: before the next operator at the latest."""
    for at in range(start, len(typed)):
        if typed[at] in _OPERATORS:
            return
        yield at + 1


def _shell_words(line: str) -> list[str]:
    """Split a line into words and operators, with quoted text as one word; messages that go nowhere are left out."""
    shown = _DISCARDED.sub(" ", line.replace("⏎", "\n").strip())
    return [word.strip("\t ").translate(_QUOTES) if word.strip() else "\n" for word in _SHELL_WORD.findall(shown)]


_QUOTES = str.maketrans("", "", "\"'")
_OPERATORS = frozenset({"&&", "||", ";", "|", "&", "\n"})
_DISCARDED = re.compile(r"\d?>&\d|(?:\d|&)?>\s*/dev/null|\\\n")
_SHELL_WORD = re.compile(r"""(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s;|&"'])+|&&|\|\||[;|&]|\s*\n\s*|["']""", re.DOTALL)


def _parameters(steps: Sequence[SkillStep]) -> tuple[Parameter, ...]:
    texts = (f"{step.text} {' '.join(map(str, step.arguments.values()))}" for step in steps)
    names = dict.fromkeys(name for text in texts for name in _PARAMETER.findall(text))
    return tuple(Parameter(name=name) for name in names)


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str) and each.strip()] if isinstance(value, list) else []


def _line(value: Any) -> str:
    return " ".join(value.split())[:480] if isinstance(value, str) else ""
