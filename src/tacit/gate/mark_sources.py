"""Where the text of a version that is marked as from outside comes from: session, step, and tool, file or address."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from tacit.domain.errors import TacitError
from tacit.domain.skill import SkillVersion, fields_without_origin
from tacit.domain.trajectory import Origin, Role, Span, Step, Trajectory
from tacit.store import Store
from tacit.text.shell import parse_command

MAX_SOURCES = 3
"""Of one field."""
_NAMING = ("file_path", "path", "notebook_path", "url", "uri", "command", "cmd", "query", "pattern", "skill", "task")
"""Arguments that name what a call looked at, the most telling first."""
_MAX_PLACE = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkSource:
    """One place that a marked text comes from; without a session nothing is known of it."""

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


def marked_fields(version: SkillVersion) -> list[str]:
    """Return the fields whose text is from outside or from an unknown source."""
    marked = [path for path, origin in version.origins.items() if origin is Origin.EXTERNAL]
    unknown = fields_without_origin(version.content, version.origins)
    return sorted({path.removesuffix(".arguments") for path in (*marked, *unknown)})


def sources_of_marks(
    store: Store, version: SkillVersion, *, is_tracked: Callable[[str], bool] = lambda _: False
) -> dict[str, tuple[MarkSource, ...]]:
    """Return the sources of each marked field; what cannot be attributed has one that says so.

    `is_tracked` says of a path below the workspace whether it is a tracked file of the project.
    """
    loaded: dict[str, Trajectory | None] = {}

    def load(identity: str) -> Trajectory | None:
        if identity not in loaded:
            try:
                loaded[identity] = store.trajectory(identity)
            except TacitError:
                loaded[identity] = None
        return loaded[identity]

    found: dict[str, tuple[MarkSource, ...]] = {}
    for path in marked_fields(version):
        spans = _spans_behind(path, version.provenance.grounding)
        sources = [source for span in spans if (source := _source(span, load(span.trajectory_id), is_tracked))]
        outside = dict.fromkeys(source for source in sources if source.kind != "pasted") or dict.fromkeys(sources)
        found[path] = tuple(outside)[:MAX_SOURCES] or (_without_session(version),)
    return found


def _spans_behind(path: str, grounding: Mapping[str, Sequence[Span]]) -> list[Span]:
    """Return the spans of a field, of its parts, or else of the list that it is in."""
    own = [span for name, spans in grounding.items() if name == path or name.startswith(f"{path}.") for span in spans]
    return list(dict.fromkeys(own or grounding.get(path.partition(".")[0], ())))


def _without_session(version: SkillVersion) -> MarkSource:
    imported = version.provenance.source if not version.provenance.trajectory_ids else ""
    return MarkSource(kind="import", place=imported) if imported else MarkSource()


def _source(span: Span, trajectory: Trajectory | None, is_tracked: Callable[[str], bool]) -> MarkSource | None:
    """Return what a span shows of a source from outside; nothing for what the agent or a person wrote."""
    if trajectory is None:
        return None
    step = next((each for each in trajectory.steps if each.index == span.step), None)
    kind, tool, place = _named(span, trajectory, step)
    if not kind:
        return None
    return MarkSource(
        session=trajectory.session_id,
        client=trajectory.environment.client,
        step=span.step + 1 if step else 0,
        kind=kind,
        tool=tool,
        place=place,
        tracked=tuple(_tracked_in(place, trajectory.environment.workspace, is_tracked)),
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
    return " ".join(text.split())[:_MAX_PLACE]


def _tracked_in(place: str, workspace: str, is_tracked: Callable[[str], bool]) -> Iterator[str]:
    """Yield the tracked files of the project that a place names: itself, or a word of a command."""
    words = [word for command in parse_command(place) for word in command.operands] if " " in place else []
    for word in dict.fromkeys((place.rpartition(": ")[2], *words)):
        inside = word.removeprefix(workspace.rstrip("/") + "/") if workspace else word
        path = PurePosixPath(inside)
        if inside and not path.is_absolute() and ".." not in path.parts and is_tracked(inside):
            yield inside


def text_of_source(source: MarkSource) -> str:
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
