"""aider's chat history → trajectories: `.aider.chat.history.md` in a repository, one chat after another.

What was asked stands behind `####`, what aider printed behind `>`, all else is the model's answer. Commands that a person
ran with `/run` or `/test`, and the files that were edited, become calls. A text file holds no more than that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tacit.domain.stored import Mark
from tacit.domain.trajectory import StepResult, Trajectory
from tacit.ingest.log_files import KeyedReader, Line, Part, Parts, Place, moment_of, numbered_lines, read_lines
from tacit.ingest.session_log import Record, SessionLog

NAME = ".aider.chat.history.md"
_STARTED = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*\Z")
_RAN = re.compile(r"/(?:run|test)\s+(\S.*)\Z|!\s*(\S.*)\Z", re.DOTALL)
_EDITED = re.compile(r"Applied edit to (\S.*)\Z")
_NOT_MATCHED = re.compile(r"# \d+ SEARCH/REPLACE blocks? failed to match|The LLM did not conform to the edit format")
_MODEL = re.compile(r"(?:Main )?[Mm]odels?: (\S+)")
_VERSION = re.compile(r"Aider v(\S+)")
_SPENT = re.compile(r"Tokens: ([\d.,]+)(k?) sent, (?:[^.]*? )?([\d.,]+)(k?) received")
_MAX_LINES = 20_000


class AiderLog(SessionLog):
    """Follows the chats of one file: lines of one kind that follow each other are one record."""

    client = "aider"

    def __init__(self, path: Path | str, *, agent_id: str = "") -> None:
        super().__init__(path, agent_id=agent_id)
        self._kind, self._lines = "", list[str]()
        self._began = self._here
        self._started = ""
        self._command = ""

    def add(self, line: Line, place: Place) -> Iterator[Trajectory]:
        """Take in a line; yields the attempts that it ends."""
        text = line.data.decode("utf-8", "replace").rstrip()
        started = _STARTED.match(text)
        kind = "started" if started else next((kind for kind in ("####", ">") if text.startswith(kind)), "answer")
        if kind != self._kind or started or len(self._lines) >= _MAX_LINES:
            yield from self.flush()
            self._kind, self._began = kind, line.mark
        self._place = place
        self._lines.append(started[1] if started else text.removeprefix(kind).removeprefix(" "))

    def finish(self) -> Iterator[Trajectory]:
        """Yield what is still open."""
        yield from self.flush()
        yield from super().finish()

    def flush(self) -> Iterator[Trajectory]:
        """Take in the lines that stand together so far."""
        lines, self._lines = self._lines, []
        self._here = self._began
        if any(line.strip() for line in lines):
            yield from self.add_record({"kind": self._kind, "lines": lines})

    def take(self, record: Record) -> None:
        """Take in what stands together: the beginning of a chat, a prompt, an answer, or what aider printed."""
        kind, lines = record["kind"], record["lines"]
        text = "\n".join(lines).strip()
        if kind == "started":
            last = self.attempts.finish()  # every start of aider is a session of its own
            if last is not None:
                self._end(last)
            self.begin(lines[0])
        elif kind == "####":
            self._ask(text)
        elif kind == "answer":
            self.answer(text, message_id=f"{self._here.offset}")
        else:
            self._print(lines)

    def begin(self, started: str) -> None:
        """Take in when the chat began, which names it."""
        if started:
            self.note(workspace=str(self.path.resolve().parent))
        self._started = started
        self.attempts.note(session_id=started)

    def _ask(self, text: str) -> None:
        self.attempts.note(session_id=self._started)
        command = _RAN.match(text)
        if command:  # a person runs it; what it prints is shown to the model
            self._command = (command[1] or command[2]).strip()
        elif not text.startswith("/") or text.startswith(("/ask ", "/code ", "/architect ")):
            self.prompt(re.sub(r"\A/(?:ask|code|architect) ", "", text), at=moment_of(self._started))

    def _print(self, lines: list[str]) -> None:
        if self._command:
            self.context("\n".join((f"$ {self._command}", *lines)), source="run")
            self._command = ""
            return
        for line in (line.strip() for line in lines):
            if edited := _EDITED.match(line):
                self._edit(edited[1], StepResult.OK, line)
            elif _NOT_MATCHED.search(line):
                self._edit("", StepResult.NO_MATCH, line)
            elif spent := _SPENT.match(line):
                sent, written = (_tokens(spent[at], spent[at + 1]) for at in (1, 3))
                self.spend(f"{self._here.offset}", sent=sent, written=written)
            elif model := _MODEL.match(line):
                self.attempts.note(model=model[1])
            elif version := _VERSION.match(line):
                self.attempts.note(version=version[1])

    def _edit(self, file: str, result: StepResult, text: str) -> None:
        call_id = f"edit {self._place.line}"
        self.call("edit", {"file_path": file} if file else {}, call_id=call_id)
        self.result(call_id, text, result)


def _tokens(number: str, thousands: str) -> float:
    try:
        return float(number.replace(",", "")) * (1000 if thousands else 1)
    except ValueError:
        return 0


class AiderReader(KeyedReader):
    """Reads aider's history of a repository."""

    name = "aider"

    def recognises(self, head: bytes, path: Path | None) -> bool:
        """Whether the first line that is not blank is the beginning of a chat."""
        return head.lstrip().startswith(b"# aider chat started at ")

    def read(self, path: Path, *, start: Mark | None = None) -> Parts:
        """Yield the attempts from the mark on."""
        return Parts(self._parts(path, start))

    def _parts(self, path: Path, start: Mark | None) -> Iterator[Part]:
        log = AiderLog(path)
        log.begin(_chat_around(path, start) if start else "")
        yield from read_lines(path, start, log.add)
        yield from log.flush()
        if log.mark is not None:
            yield log.mark
        yield from log.finish()


def _chat_around(path: Path, mark: Mark) -> str:
    """Return when the chat began in which a mark lies."""
    started = ""
    for line in numbered_lines(path):
        if not isinstance(line, Line) or line.offset >= mark.offset:
            break
        found = _STARTED.match(line.data.decode("utf-8", "replace").rstrip())
        started = found[1] if found else started
    return started
