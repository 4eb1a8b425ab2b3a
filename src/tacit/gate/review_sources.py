"""What a version rests on, as a reviewer sees it: attempts, places in them, doubts, and the sources of text from outside."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from tacit.config.location import is_tracked
from tacit.domain.errors import NotFound, TacitError
from tacit.domain.ledger import About, Remark
from tacit.domain.lifecycle import CodedReason, Status, parse_reasons
from tacit.domain.reach import CARD
from tacit.domain.skill import Kind, SkillVersion, fields_without_origin
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Origin, Role, Span, Step, Trajectory
from tacit.gate.findings import GateReason
from tacit.gate.review_rules import has_reason
from tacit.store import Store
from tacit.store.context import StoreContext
from tacit.text.error_signatures import masked_line, output_lines, shows_failure, telling_lines
from tacit.text.shell import parse_command
from tacit.text.tool_calls import tool_calls

MAX_SNIPPETS = 3
"""Places that a reviewer is shown; of the card of project facts, which has many lines, `MAX_OF_CARD`."""
MAX_OF_CARD = 12
MAX_LOADED = 12
"""Attempts that are read, the newest: each costs a read of the store."""
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
    span: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """What a version rests on."""

    sessions: frozenset[str]
    """The sessions that show it."""
    snippets: tuple[Snippet, ...] = ()
    doubts: tuple[Doubt, ...] = ()


def sessions_behind(context: StoreContext, version: SkillVersion) -> frozenset[str]:
    """Return the sessions that the gate saw behind a version, and behind what was closed as a duplicate of its skill.

    A subagent's session counts as that of the agent that started it.
    """
    return _sessions_behind(context.store, version, context.store.remarks(version.skill_id, about=About.DUPLICATE))


def _sessions_behind(store: Store, version: SkillVersion, duplicates: Iterable[Remark]) -> frozenset[str]:
    seen = _attempts_behind(store, version)
    for remark in duplicates:
        with suppress(NotFound):  # purged since
            last = store.transitions(remark.other)[-1]
            if has_reason(last, GateReason.FORECAST_MERGED):  # not undone
                seen |= _attempts_behind(store, store.version(remark.other).version)
    return frozenset(_session_of(store, identity) for identity in seen)


def _attempts_behind(store: Store, version: SkillVersion) -> set[str]:
    verdicts = store.verdicts(version_id=version.id)
    return {*version.provenance.trajectory_ids, *(each for verdict in verdicts for each in verdict.trajectory_ids)}


def _session_of(store: Store, trajectory_id: str) -> str:
    with suppress(NotFound):  # it was pruned, or is in another store
        episode = store.episode(trajectory_id)
        return episode.parent_session_id or episode.session_id or trajectory_id
    return trajectory_id


def folded_away(context: StoreContext) -> dict[str, CodedReason]:
    """Return the waiting versions that were folded away, each with the reason."""
    subjects = {remark.subject for remark in context.store.remarks(about=About.FOLD)}
    folds = {subject: fold_of(context, context.store.version(subject)) for subject in subjects}
    return {subject: reason for subject, reason in folds.items() if reason}


def fold_of(context: StoreContext, stored: StoredVersion) -> CodedReason | None:
    """Return why a version was folded away; None where it was not.

    A fold ends where somebody unfolds or decides on the version, and where more sessions show it than then.
    """
    store, version = context.store, stored.version
    remarks = store.remarks(version.id, about=About.FOLD)
    reason = next(iter(parse_reasons(remarks[-1].text) or ()), None) if remarks and remarks[-1].text else None
    if not reason or stored.status is not Status.CANDIDATE or store.transitions(version.id)[-1].at > remarks[-1].at:
        return None
    return reason if len(sessions_behind(context, version)) <= int(reason.values.get("sessions", 0)) else None


def by_support(
    context: StoreContext, waiting: Sequence[StoredVersion]
) -> tuple[list[StoredVersion], list[StoredVersion]]:
    """Return what waits, what most sessions show first, rules before lessons, older before newer; and the weak ones apart.

    Weak is what one session alone shows and is not a person's rule, and what its own text makes doubtful.
    """
    store, duplicates = context.store, defaultdict[str, list[Remark]](list)
    for remark in store.remarks(about=About.DUPLICATE):  # all at once: thousands may wait
        duplicates[remark.subject].append(remark)
    sessions = {
        stored.version.id: len(_sessions_behind(store, stored.version, duplicates[stored.skill.id]))
        for stored in waiting
    }

    def sort_key(stored: StoredVersion) -> tuple[int, int, int]:
        return -sessions[stored.version.id], kind_rank(stored), stored.sequence

    def is_weak(stored: StoredVersion) -> bool:
        alone = stored.version.content.kind not in (Kind.NORM, Kind.PREFERENCE) and sessions[stored.version.id] < 2
        return alone or any(_doubts_of_text(stored.version))

    ordered = sorted(waiting, key=sort_key)
    weak = {stored.version.id for stored in ordered if is_weak(stored)}
    return (
        [stored for stored in ordered if stored.version.id not in weak],
        [stored for stored in ordered if stored.version.id in weak],
    )


def kind_rank(stored: StoredVersion) -> int:
    """Return the place of a version's kind in the review: rules first, procedures last."""
    kind = stored.version.content.kind
    return _ORDER.index(kind) if kind in _ORDER else len(_ORDER)


def group_alike(waiting: Sequence[StoredVersion]) -> list[list[StoredVersion]]:
    """Return versions in groups that can be decided together: lessons with the same fix, procedures with the same calls.

    Groups and their members stay in the order in which they came.
    """
    groups: dict[object, list[StoredVersion]] = {}
    for stored in waiting:
        groups.setdefault(_likeness(stored.version) or stored.version.id, []).append(stored)
    return list(groups.values())


def _likeness(version: SkillVersion) -> object:
    """Return what versions that are alike have in common; None where nothing else is like it."""
    content = version.content
    calls = tuple((step.tool, *filter(None, map(str, step.arguments.values()))) for step in content.steps)
    if not any(len(call) > 1 for call in calls):
        return None
    if content.kind is Kind.LESSON:
        return content.kind, calls
    if content.kind is Kind.PROCEDURE:
        return content.kind, tuple(tuple(text.split()[0] for text in call if text.strip()) for call in calls)
    return None


def support_of(context: StoreContext, version: SkillVersion) -> Support:
    """Return what speaks for and against a version; attempts that were pruned are left out."""
    loaded: dict[str, Trajectory] = {}
    for identity in version.provenance.trajectory_ids[-MAX_LOADED:]:
        try:
            loaded[identity] = context.store.trajectory(identity)
        except TacitError:
            continue
    doubts = [*_doubts_of_text(version), *_doubts_of_fix(version, loaded)]
    return Support(
        sessions=sessions_behind(context, version),
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
        snippet = _snippet(span, step, about=version.content.signature) if step else None
        if snippet and snippet.text:
            chosen.setdefault((snippet.who, snippet.text), snippet)
    yield from list(chosen.values())[:MAX_SNIPPETS]


def _snippets_of_card(version: SkillVersion, loaded: dict[str, Trajectory]) -> Iterator[Snippet]:
    """Yield the parts of commands that the card of project facts rests on.

    The card has many lines from many commands, so three whole commands would show little of it: for each value of a line,
    else for its purpose, this is the part of a command that has most of its words.
    """
    parts: dict[str, tuple[Step, Span]] = {}
    for span in version.provenance.grounding.get("body", ()):
        trajectory = loaded.get(span.trajectory_id)
        step = next((each for each in trajectory.steps if each.index == span.step), None) if trajectory else None
        if step:
            parts |= dict.fromkeys(
                filter(None, map(str.strip, _COMMAND_END.split(_snippet(span, step).text))), (step, span)
            )
    words = {part: set(_WORD.findall(part)) for part in parts}
    shown: dict[str, tuple[Step, Span]] = {}
    for line in version.content.body.splitlines():
        for value in (*line.split("`")[1::2], line.partition(":")[0]):
            wanted = set(_WORD.findall(value))
            best = max(parts, key=lambda part: (len(wanted & words[part]), -len(part)), default="")
            if 2 * len(wanted & words.get(best, set())) > len(wanted):
                shown.setdefault(best, parts[best])
    for part, (step, span) in list(shown.items())[:MAX_OF_CARD]:
        yield Snippet(at=step.at, who="command", text=part, failed=step.failed, span=span)


def _snippet(span: Span, step: Step, *, about: str = "") -> Snippet:
    """Return what a span shows; of a call's output the line that has most words of the error it is about."""
    if span.part == "text":
        return Snippet(at=step.at, who=_SPEAKERS.get(step.role, "client"), text=step.text, span=span)
    if span.part == "observation":
        words = set(_WORD.findall(about))
        lines = [*telling_lines(step.observation), *step.observation.splitlines()] if words else []
        line = max(lines, key=lambda each: len(words.intersection(_WORD.findall(each))), default="")
        line = line or next(iter(telling_lines(step.observation)), "")
        return Snippet(at=step.at, who="output", text=line, failed=step.failed, span=span)
    command = next((value for value in step.arguments.values() if isinstance(value, str)), "")
    return Snippet(at=step.at, who="command", text=command, failed=step.failed, span=span)


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
        met = step is not None and version.content.signature in map(masked_line, output_lines(step.observation))
        if step and not met and not step.failed and shows_failure(step.observation):
            yield Doubt.FIX_SHOWS_ERROR  # a call that met the lesson's error, its status hidden by a pipe, is no fix
        begin = failed.get(span.trajectory_id)
        if begin is not None and any(
            begin < action.index < span.step and action.edits for action in tool_calls(trajectory)
        ):
            yield Doubt.EDITED_BETWEEN


# --- where text from outside comes from ---------------------------------------------------------------------------------

MAX_SOURCES = 3
"""Sources that a reviewer is shown of one field."""
_NAMING = ("file_path", "path", "notebook_path", "url", "uri", "command", "cmd", "query", "pattern", "skill", "task")
"""Arguments that name what a call looked at, the most telling first."""
_PLACE_MAX = 120
"""Characters of a source's place, so that it fits into a line or two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideSource:
    """One place that a text from outside comes from; without a session nothing is known of it."""

    session: str = ""
    client: str = ""
    step: int = 0
    """Of the session's attempt, from 1; 0 for the task itself."""
    kind: str = "unknown"
    """`tool` (its answer), `client` (what it put before the agent), `program`, `agent`, `pasted`, `import` or `unknown`."""
    tool: str = ""
    place: str = ""
    """File, address, command or attachment."""
    tracked: tuple[str, ...] = ()
    """The project's own tracked files that it names."""


def outside_fields(version: SkillVersion) -> list[str]:
    """Return the fields whose text is from outside or from an unknown source."""
    external = [path for path, origin in version.origins.items() if origin is Origin.EXTERNAL]
    unknown = fields_without_origin(version.content, version.origins)
    return sorted({path.removesuffix(".arguments") for path in (*external, *unknown)})


def outside_sources(context: StoreContext, version: SkillVersion) -> dict[str, tuple[OutsideSource, ...]]:
    """Return the sources of each field with text from outside; what cannot be attributed has one that says so."""
    project = context.project

    @cache
    def is_own(path: str) -> bool:
        """Whether a path below the workspace is a tracked file of the project."""
        return project is not None and (project / path).is_file() and is_tracked(str(project), path)

    loaded: dict[str, Trajectory | None] = {}

    def load(identity: str) -> Trajectory | None:
        if identity not in loaded:
            try:
                loaded[identity] = context.store.trajectory(identity)
            except TacitError:
                loaded[identity] = None
        return loaded[identity]

    found: dict[str, tuple[OutsideSource, ...]] = {}
    for path in outside_fields(version):
        spans = _spans_behind(path, version.provenance.grounding)
        sources = [source for span in spans if (source := _source(span, load(span.trajectory_id), is_own))]
        outside = dict.fromkeys(source for source in sources if source.kind != "pasted") or dict.fromkeys(sources)
        found[path] = tuple(outside)[:MAX_SOURCES] or (_without_session(version),)
    return found


def _spans_behind(path: str, grounding: Mapping[str, Sequence[Span]]) -> list[Span]:
    """Return the spans of a field, of its parts, or else of the list that it is in."""
    own = [span for name, spans in grounding.items() if name == path or name.startswith(f"{path}.") for span in spans]
    return list(dict.fromkeys(own or grounding.get(path.partition(".")[0], ())))


def _without_session(version: SkillVersion) -> OutsideSource:
    imported = version.provenance.source if not version.provenance.trajectory_ids else ""
    return OutsideSource(kind="import", place=imported) if imported else OutsideSource()


def _source(span: Span, trajectory: Trajectory | None, is_own: Callable[[str], bool]) -> OutsideSource | None:
    """Return what a span shows of a source from outside; nothing for what the agent or a person wrote."""
    if trajectory is None:
        return None
    step = next((each for each in trajectory.steps if each.index == span.step), None)
    kind, tool, place = _named(span, trajectory, step)
    if not kind:
        return None
    return OutsideSource(
        session=trajectory.session_id,
        client=trajectory.environment.client,
        step=span.step + 1 if step else 0,
        kind=kind,
        tool=tool,
        place=place,
        tracked=tuple(_tracked_in(place, trajectory.environment.workspace, is_own)),
    )


def _named(span: Span, trajectory: Trajectory, step: Step | None) -> tuple[str, str, str]:
    """Return the kind of a source, its tool and its place."""
    if step is None or (step.role is Role.CONTEXT and step.text.strip() == trajectory.task.text.strip()):
        by_program = trajectory.task_origin is Origin.EXTERNAL
        return ("program" if by_program else "agent" if trajectory.parent_session_id else "pasted"), "", ""
    if span.part == "observation":
        return "tool", step.tool, _place_of(step.arguments)
    if span.part == "text" and step.role is Role.CONTEXT:
        given = step.arguments
        names = (given.get("attachment"), given.get("block"), given.get("place"))
        return "client", "", ": ".join(name for name in names if isinstance(name, str) and name)
    if span.part == "text" and step.role is Role.USER:
        return "pasted", "", ""
    return "", "", ""


def _place_of(arguments: Mapping[str, Any]) -> str:
    named = (arguments.get(name) for name in _NAMING)
    text = next((value for value in named if isinstance(value, str) and value.strip()), "")
    return " ".join(text.split())[:_PLACE_MAX]


def _tracked_in(place: str, workspace: str, is_own: Callable[[str], bool]) -> Iterator[str]:
    """Yield the tracked files of the project that a place names: itself, or a word of a command."""
    words = [word for command in parse_command(place) for word in command.operands] if " " in place else []
    for word in dict.fromkeys((place.rpartition(": ")[2], *words)):
        inside = word.removeprefix(workspace.rstrip("/") + "/") if workspace else word
        path = PurePosixPath(inside)
        if inside and not path.is_absolute() and ".." not in path.parts and is_own(inside):
            yield inside


def text_of_source(source: OutsideSource) -> str:
    """Return one source as a reader sees it."""
    session = f"session {source.session[:8]}" if source.session else "a session without a name"
    where = f"{session}, step {source.step}" if source.step else session
    own = f", the project's own {', '.join(source.tracked)}" if source.tracked else ""
    match source.kind:
        case "tool":
            return f"answer of {source.tool or 'a tool'}{f' ({source.place})' if source.place else ''}, {where}{own}"
        case "client":
            return (
                f"shown by {source.client or 'the client'}{f' ({source.place})' if source.place else ''}, {where}{own}"
            )
        case "program":
            return f"asked by a program that ran {source.client or 'the client'}, {where}"
        case "agent":
            return f"asked by the agent that started this one, {where}"
        case "pasted":
            return f"pasted into a message, {where}"
        case "import":
            return f"imported from {source.place}"
        case _:
            return "source not known"
