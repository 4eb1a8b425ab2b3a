"""What speaks for and against a waiting version: how many attempts show it, a few of them, and what is doubtful about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tacit.domain.errors import TacitError
from tacit.domain.reach import CARD
from tacit.domain.skill import Kind, SkillVersion
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Role, Span, Step, Trajectory
from tacit.store import Store
from tacit.text.error_signatures import shows_failure, telling_lines
from tacit.text.tool_calls import tool_calls

MAX_SNIPPETS = 3
MAX_OF_CARD = 12
MAX_LOADED = 12
_FIELDS = ("evidence", "signature", "steps.0", "body", "description")
"""Where the places behind a version are looked for, the most telling first."""
_IDS = re.compile(r"\b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b|\b\d{6,}\b|\b\d{4}-\d\d-\d\d\b")
_COMMAND_END = re.compile(r"\n|&&|;|\|\|?")
_WORD = re.compile(r"[\w.:/=-]*\w/?")
_SPEAKERS = {Role.USER: "person", Role.AGENT: "agent"}
_ORDER = (Kind.NORM, Kind.PREFERENCE, Kind.FACT, Kind.LESSON)


class Doubt(StrEnum):
    """Why a candidate may be wrong although nothing forbids it."""

    QUESTION = "question"
    ONE_DAY = "one_day"
    FIX_SHOWS_ERROR = "fix_shows_error"
    EDITED_BETWEEN = "edited_between"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """One place in a session that a version rests on."""

    at: datetime | None
    who: str
    """`person`, `agent`, `client` (what it put before the agent), `command` or `output`."""
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """What a version rests on."""

    attempts: int
    snippets: tuple[Snippet, ...] = ()
    doubts: tuple[Doubt, ...] = ()


def attempts_behind(store: Store, version: SkillVersion) -> int:
    """Count the attempts that the gate saw behind a version."""
    seen = {identity for verdict in store.verdicts(version_id=version.id) for identity in verdict.trajectory_ids}
    return len(seen.union(version.provenance.trajectory_ids))


def by_support(store: Store, waiting: Sequence[StoredVersion]) -> list[StoredVersion]:
    """Order what waits: what most attempts show first, rules before lessons, older before newer."""

    def rank(stored: StoredVersion) -> tuple[bool, int, int, int]:
        kind = stored.version.content.kind
        place = _ORDER.index(kind) if kind in _ORDER else len(_ORDER)
        return is_weak(store, stored), -attempts_behind(store, stored.version), place, stored.sequence

    return sorted(waiting, key=rank)


def is_weak(store: Store, stored: StoredVersion) -> bool:
    """Whether one attempt alone shows something that is not a person's rule, or its text tells that it is of one day."""
    content = stored.version.content
    alone = content.kind not in (Kind.NORM, Kind.PREFERENCE) and attempts_behind(store, stored.version) < 2
    return alone or bool(list(_doubts_of_text(stored.version)))


def support_of(store: Store, version: SkillVersion) -> Support:
    """Return what speaks for and against a version; attempts that were pruned are left out."""
    loaded: dict[str, Trajectory] = {}
    for identity in version.provenance.trajectory_ids[-MAX_LOADED:]:
        try:
            loaded[identity] = store.trajectory(identity)
        except TacitError:
            continue
    doubts = [*_doubts_of_text(version), *_doubts_of_fix(version, loaded)]
    return Support(
        attempts=attempts_behind(store, version),
        snippets=tuple(_snippets(version, loaded)),
        doubts=tuple(dict.fromkeys(doubts)),
    )


def _snippets(version: SkillVersion, loaded: dict[str, Trajectory]) -> Iterator[Snippet]:
    """Yield what a person said, which call failed and which worked; of each attempt first one place, then further ones."""
    if version.name == CARD:
        yield from _snippets_of_card(version, loaded)
        return
    grounding = version.provenance.grounding
    spans = list(dict.fromkeys(span for field in _FIELDS for span in grounding.get(field, ())))
    first = {span.trajectory_id: span for span in reversed(spans)}
    chosen: dict[tuple[str, str], Snippet] = {}
    for span in (*first.values(), *spans):
        trajectory = loaded.get(span.trajectory_id)
        step = next((each for each in trajectory.steps if each.index == span.step), None) if trajectory else None
        snippet = _snippet(span, step) if step else None
        if snippet and snippet.text:
            chosen.setdefault((snippet.who, snippet.text), snippet)
    yield from list(chosen.values())[:MAX_SNIPPETS]


def _snippets_of_card(version: SkillVersion, loaded: dict[str, Trajectory]) -> Iterator[Snippet]:
    """Yield for each value of a card, else for the purpose of its line, the part of a command that has most of its words."""
    parts: dict[str, Step] = {}
    for span in version.provenance.grounding.get("body", ()):
        trajectory = loaded.get(span.trajectory_id)
        step = next((each for each in trajectory.steps if each.index == span.step), None) if trajectory else None
        if step:
            parts |= dict.fromkeys(filter(None, map(str.strip, _COMMAND_END.split(_snippet(span, step).text))), step)
    words = {part: set(_WORD.findall(part)) for part in parts}
    shown: dict[str, Step] = {}
    for line in version.content.body.splitlines():
        for value in (*line.split("`")[1::2], line.partition(":")[0]):
            wanted = set(_WORD.findall(value))
            best = max(parts, key=lambda part: (len(wanted & words[part]), -len(part)), default="")
            if 2 * len(wanted & words.get(best, set())) > len(wanted):
                shown.setdefault(best, parts[best])
    for part, step in list(shown.items())[:MAX_OF_CARD]:
        yield Snippet(at=step.at, who="command", text=part, failed=step.failed)


def _snippet(span: Span, step: Step) -> Snippet:
    if span.part == "text":
        return Snippet(at=step.at, who=_SPEAKERS.get(step.role, "client"), text=step.text)
    if span.part == "observation":
        line = next(iter(telling_lines(step.observation)), "")
        return Snippet(at=step.at, who="output", text=line, failed=step.failed)
    command = next((value for value in step.arguments.values() if isinstance(value, str)), "")
    return Snippet(at=step.at, who="command", text=command, failed=step.failed)


def _doubts_of_text(version: SkillVersion) -> Iterator[Doubt]:
    content = version.content
    if content.description.rstrip().endswith(("?", "？")):
        yield Doubt.QUESTION
    values = (str(value) for step in content.steps for value in step.arguments.values())
    if _IDS.search(" ".join((content.description, *values))):
        yield Doubt.ONE_DAY


def _doubts_of_fix(version: SkillVersion, loaded: dict[str, Trajectory]) -> Iterator[Doubt]:
    """Yield what the record shows against a fix: it printed an error itself, or files were edited before the call worked."""
    if version.content.kind is not Kind.LESSON:
        return
    grounding = version.provenance.grounding
    failed = {span.trajectory_id: span.step for span in grounding.get("signature", ())}
    for span in grounding.get("steps.0", ()):
        trajectory = loaded.get(span.trajectory_id)
        if trajectory is None or span.part != "arguments":
            continue
        step = next((each for each in trajectory.steps if each.index == span.step), None)
        if step and not step.failed and shows_failure(step.observation):
            yield Doubt.FIX_SHOWS_ERROR
        begin = failed.get(span.trajectory_id)
        if begin is not None and any(
            begin < action.index < span.step and action.edits for action in tool_calls(trajectory)
        ):
            yield Doubt.EDITED_BETWEEN
