"""Commands that instruction files and clients' memories name and that sessions show to be gone. Changes no file.

A command counts as gone if it failed because its program or target is missing and has not worked since, in the latest
sessions. A person decides what becomes of the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tacit.domain.outline import CallRecord, Outline
from tacit.ingest.client_memories import Statement, known_statements
from tacit.learn.attempt_outlines import forms_of, in_their_folders, without_copies
from tacit.store.context import StoreContext
from tacit.text.command_forms import CommandForm, command_forms, same_goal
from tacit.text.error_signatures import missing_name

SESSIONS = 30
"""How many of the latest sessions are looked at."""
_GONE = re.compile(
    r"no rule to make target|missing script|not found|does not exist|doesn['’]t exist|"
    r"no such (?:file|command|task|recipe|service)|"
    r"unknown (?:command|task|target|subcommand|script)|does not contain recipe|can['’]t open file|cannot find|"
    r"no module named|failed to spawn|not recognized as|is not an? \w+ command|unrecognized subcommand",
    re.IGNORECASE,
)
_OF_ANOTHER = re.compile(r"needed by|required by|imported by", re.IGNORECASE)
"""The line reports something else that the command needs."""
_VERBS = frozenset({"run", "exec"})
_CODE = re.compile(r"(\b(?:run|runs|use|execute|call|start|invoke) )?`([^`\n]+)`", re.IGNORECASE)
"""Code, and the word that makes a command of it: a single word may be any name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleCommand:
    """A command that a file names, and the sessions in which it was missing."""

    statement: Statement
    command: str
    error: str
    """What the last failure printed."""
    sessions: int
    first: datetime | None
    last: datetime | None
    worked: datetime | None = None
    """When it last worked, before it failed."""
    instead: str = ""
    """What worked for the same goal since."""


@dataclass(frozen=True, slots=True)
class _Call:
    """One command of a session, and how it ended."""

    session: int
    at: datetime | None
    form: CommandForm
    record: CallRecord


def stale_commands(
    statements: Iterable[Statement], outlines: Sequence[Outline], *, workspace: Path
) -> list[StaleCommand]:
    """Return the commands named in statements that the latest sessions found missing, the latest evidence first."""
    calls = list(_calls(outlines))
    found: list[StaleCommand] = []
    for statement in statements:
        # A file's commands run in its own folder in the project; files of clients speak of the whole project.
        inside = statement.path.is_relative_to(workspace)
        folder = statement.path.parent.relative_to(workspace).as_posix() if inside else "."
        for named in _named(statement):
            stale = _stale(statement, named, calls, folder="" if folder.startswith(".") else folder)
            found += [stale] if stale else []
    return sorted(found, key=lambda each: (each.last.timestamp() if each.last else 0.0, each.sessions), reverse=True)


def stale_commands_of(
    context: StoreContext, home: Path, *, client_folders: Mapping[str, Path] | None = None
) -> list[StaleCommand]:
    """Return the stale commands of the files that agents in this project read, by the sessions in its store."""
    outlines = context.store.outlines.all()
    if not outlines or context.project is None:
        return []
    known = known_statements(context.project, home, client_folders=client_folders)
    return stale_commands(known, outlines, workspace=context.project)


def _calls(outlines: Sequence[Outline]) -> Iterator[_Call]:
    """Yield the commands of the latest sessions, oldest first."""
    sessions: dict[str, list[Outline]] = {}
    for outline in without_copies(outlines):
        sessions.setdefault(outline.session or outline.trajectory_id, []).append(outline)
    for number, session in enumerate(list(sessions.values())[-SESSIONS:]):
        here = ""
        for outline in session:
            records: Sequence[CallRecord] = outline.calls
            if outline.keeps_folder:
                records, here = in_their_folders(records, here)
            for record in records:
                for form in forms_of(record) if record.command else ():
                    yield _Call(number, outline.at, form, record)


def _named(statement: Statement) -> Iterator[CommandForm]:
    texts = [("run ", statement.text)] if statement.is_command else _CODE.findall(statement.text)
    for before, text in texts:
        if before or " " in text.strip() or "/" in text:
            yield from command_forms(re.sub(r"\s#\s.*", "", text))


def _stale(statement: Statement, named: CommandForm, calls: Sequence[_Call], *, folder: str) -> StaleCommand | None:
    same = [
        call
        for call in calls
        if f"{call.form.text} ".startswith(f"{named.text} ")  # `pytest` is meant by `pytest tests`, too
        and set(named.targets) <= set(call.form.targets)
        and call.form.directory == folder
    ]
    gone = [(call, error) for call in same if (error := _missing(call, named))]
    worked = [call for call in same if call.record.worked]
    if not gone or any(call.session >= gone[0][0].session for call in worked):
        return None
    last, error = gone[-1]
    instead = [call for call in calls if call.record.worked and call.session >= gone[0][0].session]
    return StaleCommand(
        statement=statement,
        command=named.typed,
        error=error,
        sessions=len({call.session for call, _ in gone}),
        first=gone[0][0].at,
        last=last.at,
        worked=worked[-1].at if worked else None,
        instead=next((call.form.text for call in reversed(instead) if same_goal(call.form, named)), ""),
    )


def _missing(call: _Call, named: CommandForm) -> str:
    """Return the line that reports the program or target of a named command as missing; empty where none does."""
    typed = named.command.typed
    script = [typed.removeprefix("./")] if "/" in typed or named.command.runner else []
    targets = {*named.goal.split()[1:], *named.targets, *script} - _VERBS
    words = "|".join(re.escape(word) for word in targets if re.search(r"\w", word))
    target = re.compile(rf"(?<![\w-])(?:{words})(?![\w-])") if words else None
    for line in call.record.lines if call.record.worked is False else ():
        is_gone = target and _GONE.search(line) and not _OF_ANOTHER.search(line) and target.search(line)
        if is_gone or missing_name(line) == named.program:
            return line
    return ""
