"""Errand → `Ran`, by bubblewrap with a seccomp filter and limits. Refuses, with the reason, where that does not work.

The programs it starts are looked up in the system's own folders, never in the caller's PATH.
"""

from __future__ import annotations

import functools
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

from tacit.domain.errors import Mistake, SandboxOutage
from tacit.domain.sandbox import HOME, Change, Errand, Ran
from tacit.providers.sandbox import profile, reasons, staging, watching
from tacit.providers.sandbox.filter import seccomp_filter

LEVEL = "bubblewrap"
NOBODY_ELSE = 65533
"""The user that a root caller becomes: a number that no system gives to anybody."""
_SYSTEM = "/usr/bin:/bin:/usr/local/bin:/usr/sbin"
_LINKED = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bubblewrap:
    """A sandbox by bubblewrap. `open_sandbox` makes one after a trial."""

    program: str
    setpriv: str = ""
    """Given for a root caller alone: then everything runs as another user."""
    machine: str = "x86_64"

    def run(self, errand: Errand) -> Ran:
        """Run an errand; nothing of it is left on the machine but what is returned."""
        _refuse_bad(errand)
        # Root's own temporary folder may be closed to the user that root becomes.
        place = "/tmp" if self.setpriv else None
        with tempfile.TemporaryDirectory(prefix="tacit-sandbox-", dir=place) as name:
            folder = Path(name)
            self._lay_out(errand, folder)
            status, seen = self._confined(errand, folder)
            with seen.archive:
                return _told(errand, status, seen=seen, given=folder / staging.GIVEN)

    def _lay_out(self, errand: Errand, folder: Path) -> None:
        try:
            staging.lay_out(errand, folder)
            if self.setpriv:
                staging.give_to(NOBODY_ELSE, folder)
        except (OSError, UnicodeError) as error:
            hint = "see that all files can be read, that their names are short enough, and that the disk has room"
            raise SandboxOutage(
                f"the files could not be copied: {error}; this script was not run", hint=hint
            ) from error

    def _confined(self, errand: Errand, folder: Path) -> tuple[int, watching.Watched]:
        with ExitStack() as open_files:
            program = open_files.enter_context(_holding(seccomp_filter(self.machine)))
            contents = {f"/etc/{name}": text.encode() for name, text in profile.ETC.items()}
            contents |= {f"{HOME}/{staging.inside(file.path)}": file.content for file in errand.home}
            files = {path: open_files.enter_context(_holding(content)).fileno() for path, content in contents.items()}
            witness = open_files.enter_context(_holding(errand.witness.encode())).fileno() if errand.witness else None
            grounds = _grounds(folder / staging.GIVEN, files=files, witness=witness)
            told = profile.options(
                grounds, confines=errand.confines, environment=errand.environment, seccomp=program.fileno()
            )
            options = open_files.enter_context(_holding(b"".join(os.fsencode(word) + b"\0" for word in told)))
            passed = [options.fileno(), program.fileno(), *files.values(), *([] if witness is None else [witness])]
            line = profile.arguments(
                self.program, told=options.fileno(), confines=errand.confines, command=errand.command
            )
            before = profile.as_user(self.setpriv, NOBODY_ELSE) if self.setpriv else []
            return _start([*before, *line], passed, errand)


def open_sandbox() -> Bubblewrap:
    """A sandbox that has been tried once in this process; raises `SandboxOutage` with the reason where there is none."""
    return _tried(os.geteuid() == 0)


@functools.cache
def _tried(root: bool) -> Bubblewrap:
    if not sys.platform.startswith("linux"):
        raise reasons.not_linux(platform.system())
    program = shutil.which("bwrap", path=_SYSTEM)
    if program is None:
        raise reasons.not_installed()
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, env={}).stdout.strip()
    if reasons.is_too_old(version):
        raise reasons.too_old(version)
    setpriv = shutil.which("setpriv", path=_SYSTEM) if root else ""
    if setpriv is None:
        raise reasons.no_setpriv()
    found = Bubblewrap(program=program, setpriv=setpriv, machine=platform.machine())
    ran = found.run(Errand(command=("true",)))
    if not ran.passed or ran.alarms:
        raise reasons.explain(ran.output or "; ".join(ran.alarms), reasons.Signs.read())
    return found


def _start(line: Sequence[str], passed: Sequence[int], errand: Errand) -> tuple[int, watching.Watched]:
    with ExitStack() as channels:
        ends: dict[str, tuple[IO[bytes], IO[bytes]]] = {}
        for name in ("output", "files", "witness"):
            reading, writing = os.pipe()
            ends[name] = (channels.enter_context(os.fdopen(reading, "rb", 0)), os.fdopen(writing, "wb", 0))
        try:
            process = subprocess.Popen(
                line,
                stdin=ends["witness"][1],
                stdout=ends["output"][1],
                stderr=ends["files"][1],
                pass_fds=passed,
                start_new_session=True,
                cwd="/",
                env={},
            )
        except OSError as error:
            raise SandboxOutage(
                f"the sandbox could not be started: {error}; this script was not run", hint="try again"
            ) from error
        finally:
            for _, writing_end in ends.values():
                writing_end.close()
        try:
            seen = watching.watch(process, {name: pair[0] for name, pair in ends.items()}, errand.confines)
        finally:
            watching.kill(process, wait_s=0.0)  # an interrupt from the keyboard ends it too
    return process.returncode, seen


def _told(errand: Errand, status: int, *, seen: watching.Watched, given: Path) -> Ran:
    """Read the channels; without the first word of the script it never came to a run."""
    output = seen.output.decode("utf-8", "replace")
    seen.archive.seek(0)
    if seen.archive.read(len(profile.BEGUN)) != profile.BEGUN:
        seen.archive.seek(0)
        said = seen.archive.read(4000).decode("utf-8", "replace") + output[:4000]
        if status == profile.NOT_SET_UP:
            said = f"the files could not be copied or the limits not set: {said}"
        raise reasons.explain(said, reasons.Signs.read())
    alarms: list[str] = []
    changes: tuple[Change, ...] = ()
    try:
        if seen.overfull:
            raise staging.Unreadable("it is larger than the workspace")
        changes = tuple(staging.changes(seen.archive, given))
    except (staging.Unreadable, OSError, ValueError) as error:
        alarms.append(f"the files could not be brought back: {error}")
    testimony = seen.testimony.decode("utf-8", "replace")
    if errand.witness and not _whole(testimony):
        alarms.append("the witness was ended or disturbed before the run was over")
    return Ran(
        level=LEVEL,
        status=status if status >= 0 else 128 - status,
        output=output,
        seconds=seen.seconds,
        ended=seen.ended,
        changes=changes,
        testimony=testimony,
        alarms=tuple(alarms),
    )


def _whole(testimony: str) -> bool:
    """Whether all that the witness wrote is here, and nothing else."""
    first, *lines, last = testimony.splitlines() if testimony.count("\n") > 1 else ("", "")
    word, _, nonce = first.partition(" ")
    return word == "begin" and bool(nonce) and last == f"end {nonce} {len(lines)}"


def _grounds(given: Path, *, files: dict[str, int], witness: int | None) -> profile.Grounds:
    present = [Path("/", name) for name in _LINKED if Path("/", name).exists()]
    return profile.Grounds(
        given=str(given) if given.exists() else "",
        links={path.name: str(path.readlink()) for path in present if path.is_symlink()},
        folders=tuple(path.name for path in present if not path.is_symlink()),
        alternatives=Path("/etc/alternatives").is_dir(),
        files=files,
        witness=witness,
    )


@contextmanager
def _holding(content: bytes) -> Iterator[BinaryIO]:
    """A file in memory that holds this, open at its start."""
    with os.fdopen(os.memfd_create("tacit"), "w+b", 0) as file:
        file.write(content)
        file.seek(0)
        yield file


def _refuse_bad(errand: Errand) -> None:
    words = (*errand.command, *errand.environment, *errand.environment.values())
    if not errand.command or not errand.command[0]:
        raise Mistake("there is no command to run in the sandbox", hint="give a program and its arguments")
    if any("\0" in word for word in words):
        raise Mistake("a command or variable holds a NUL character", hint="take it out")
    if any(not name or "=" in name for name in errand.environment):
        raise Mistake("a variable's name is empty or holds `=`", hint="give names such as TOKEN")
    if min(errand.confines.wall_s, errand.confines.cpu_s, errand.confines.workspace_mb) <= 0:
        raise Mistake("a limit of the sandbox is not above 0", hint="leave the defaults, or give larger ones")
