"""Sandbox request → result, by bubblewrap with a seccomp filter and limits. Refuses, with the reason, where that does not work.

The programs it starts are looked up in the system's own folders, never in the caller's PATH. A run past one of its limits of
time, output or memory is killed as a whole: killing bubblewrap kills the first process of its namespace, and with that one
the kernel ends all others, however they hid.
"""

from __future__ import annotations

import functools
import os
import platform
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, BinaryIO

from tacit.domain.errors import Mistake, SandboxOutage
from tacit.domain.sandbox import HOME, WORKSPACE, Ended, FileChange, SandboxLimits, SandboxRequest, SandboxResult
from tacit.providers.sandbox import profile, staging
from tacit.providers.sandbox.profile import seccomp_filter

OLDEST = (0, 8)
"""The first bubblewrap that can forbid further user namespaces."""

_NAMESPACE = re.compile(r"namespace|uid map|gid map|setgroups|clone", re.IGNORECASE)
_SETPRIV = re.compile(r"^setpriv: ", re.MULTILINE)
_HINTS = {
    "not_installed": "install it: apt-get install bubblewrap (Debian, Ubuntu) or dnf install bubblewrap (Fedora)",
    "unsupported_system": "run it on Linux, or in a Linux virtual machine",
    "too_old": f"install bubblewrap {'.'.join(map(str, OLDEST))} or newer",
    "no_setpriv": "install util-linux, or run this as an ordinary user",
    "apparmor": "AppArmor restricts user namespaces here, as on Ubuntu 24.04: give /usr/bin/bwrap a profile with `userns,` "
    "(the package apparmor-profiles has bwrap-userns-restrict), or set kernel.apparmor_restrict_unprivileged_userns=0",
    "namespaces_off": "user namespaces are switched off: set user.max_user_namespaces above 0 and "
    "kernel.unprivileged_userns_clone=1",
    "container": "this is a container, which may not make namespaces of its own or mount /proc: run this on the host, or start "
    "the container with --security-opt seccomp=unconfined --security-opt systempaths=unconfined",
    "not_started": "try `bwrap --unshare-all --ro-bind / / true` by hand; the message tells what is missing",
}
"""What helps, by the code of the reason why there is no sandbox."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSigns:
    """What the machine shows of its rules for user namespaces."""

    apparmor: bool = False
    """AppArmor lets only programs with a profile make them, as Ubuntu does since 23.10."""
    namespaces_off: bool = False
    """A setting of the kernel forbids them to users, or allows none at all."""
    container: bool = False

    @classmethod
    def read(cls, root: Path = Path("/")) -> MachineSigns:
        """Look them up in /proc and where container runtimes leave their marks."""
        kernel = root / "proc" / "sys"
        clone = _setting(kernel / "kernel" / "unprivileged_userns_clone")
        most = _setting(kernel / "user" / "max_user_namespaces")
        marks = (root / ".dockerenv", root / "run" / ".containerenv")
        return cls(
            apparmor=_setting(kernel / "kernel" / "apparmor_restrict_unprivileged_userns") == "1",
            namespaces_off=clone == "0" or most == "0",
            container=any(mark.exists() for mark in marks) or "kubepods" in _setting(root / "proc" / "1" / "cgroup"),
        )


def no_sandbox(code: str, what: str, *, hint: str = "") -> SandboxOutage:
    """Return the error that says why there is no sandbox; `what` completes the sentence."""
    return SandboxOutage(f"there is no sandbox{what}; nothing was run", code=code, hint=hint or _HINTS[code])


def explain_failure(output: str, signs: MachineSigns) -> SandboxOutage:
    """Return the error that says why a trial run failed."""
    output = " ".join(output.split())[:300] or "it ended without a word"
    what = f": bubblewrap could not start ({output})"
    if _SETPRIV.search(output):
        return no_sandbox("no_setpriv", what, hint="root may not change its user here; run this as an ordinary user")
    about_namespaces = _NAMESPACE.search(output)
    if about_namespaces and signs.apparmor:
        return no_sandbox("apparmor", what)
    if about_namespaces and signs.namespaces_off:
        return no_sandbox("namespaces_off", what)
    return no_sandbox("container" if signs.container else "not_started", what)


def is_too_old(version: str) -> bool:
    """Whether the text of `bwrap --version` names one that cannot be used; what cannot be read counts as too old."""
    found = re.search(r"(\d+)\.(\d+)", version)
    return found is None or (int(found[1]), int(found[2])) < OLDEST


def _setting(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


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

    def run(self, request: SandboxRequest) -> SandboxResult:
        """Run a request; nothing of it is left on the machine but what is returned."""
        _refuse_bad(request)
        # Root's own temporary folder may be closed to the user that root becomes.
        place = "/tmp" if self.setpriv else None
        with tempfile.TemporaryDirectory(prefix="tacit-sandbox-", dir=place) as name:
            folder = Path(name)
            try:
                staging.prepare_workspace(request, folder)
                if self.setpriv:
                    staging.change_owner(NOBODY_ELSE, folder)
            except (OSError, UnicodeError) as error:
                hint = "see that all files can be read, that their names are short enough, and that the disk has room"
                message = f"the files could not be copied: {error}; this script was not run"
                raise SandboxOutage(message, code="files_not_copied", hint=hint) from error
            status, seen = self._confined(request, folder)
            with seen.archive:
                return _result(request, status, seen=seen, given=folder / staging.GIVEN)

    def _confined(self, request: SandboxRequest, folder: Path) -> tuple[int, _WatchedRun]:
        with ExitStack() as open_files:
            program = open_files.enter_context(_holding(seccomp_filter(self.machine)))
            contents = {f"/etc/{name}": text.encode() for name, text in profile.ETC.items()}
            contents |= {f"{HOME}/{staging.inside(file.path)}": file.content for file in request.home}
            files = {path: open_files.enter_context(_holding(content)).fileno() for path, content in contents.items()}
            witness = open_files.enter_context(_holding(request.witness.encode())).fileno() if request.witness else None
            given = folder / staging.GIVEN
            present = [Path("/", name) for name in _LINKED if Path("/", name).exists()]
            mounts = profile.SandboxMounts(
                given=str(given) if given.exists() else "",
                links={path.name: str(path.readlink()) for path in present if path.is_symlink()},
                folders=tuple(path.name for path in present if not path.is_symlink()),
                alternatives=Path("/etc/alternatives").is_dir(),
                files=files,
                witness=witness,
            )
            words = profile.options(
                mounts, limits=request.limits, environment=request.environment, seccomp=program.fileno()
            )
            options = open_files.enter_context(_holding(b"".join(os.fsencode(word) + b"\0" for word in words)))
            passed = [options.fileno(), program.fileno(), *files.values(), *([] if witness is None else [witness])]
            line = profile.arguments(
                self.program, arguments_list=options.fileno(), limits=request.limits, command=request.command
            )
            before = profile.as_user(self.setpriv, NOBODY_ELSE) if self.setpriv else []
            return _start([*before, *line], passed, request)


def open_sandbox() -> Bubblewrap:
    """A sandbox that has been tried once in this process; raises `SandboxOutage` with the reason where there is none."""
    return _tried(os.geteuid() == 0)


@functools.cache
def _tried(root: bool) -> Bubblewrap:
    if not sys.platform.startswith("linux"):
        raise no_sandbox("unsupported_system", f" for {platform.system()}")
    program = shutil.which("bwrap", path=_SYSTEM)
    if program is None:
        raise no_sandbox("not_installed", ": bubblewrap is not installed")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, env={}).stdout.strip()
    if is_too_old(version):
        needed = ".".join(map(str, OLDEST))
        raise no_sandbox("too_old", f": {version or 'this bubblewrap'} is older than {needed}")
    setpriv = shutil.which("setpriv", path=_SYSTEM) if root else ""
    if setpriv is None:
        raise no_sandbox("no_setpriv", " for root without `setpriv`")
    found = Bubblewrap(program=program, setpriv=setpriv, machine=platform.machine())
    ran = found.run(SandboxRequest(command=("true",)))
    if not ran.passed or ran.alarms:
        raise explain_failure(ran.output or "; ".join(ran.alarms), MachineSigns.read())
    return found


def _start(line: Sequence[str], passed: Sequence[int], request: SandboxRequest) -> tuple[int, _WatchedRun]:
    with ExitStack() as channels:
        ends: dict[str, tuple[IO[bytes], IO[bytes]]] = {}
        for name in ("output", "files", "witness"):
            reading, writing = os.pipe()
            ends[name] = (channels.enter_context(os.fdopen(reading, "rb", 0)), os.fdopen(writing, "wb", 0))
        try:
            process = subprocess.Popen(
                line, stdin=ends["witness"][1], stdout=ends["output"][1], stderr=ends["files"][1], pass_fds=passed,
                start_new_session=True, cwd="/", env={},
            )  # fmt: skip
        except OSError as error:
            message = f"the sandbox could not be started: {error}; this script was not run"
            raise SandboxOutage(message, code="not_started", hint="try again") from error
        finally:
            for _, writing_end in ends.values():
                writing_end.close()
        try:
            seen = _watch(process, {name: pair[0] for name, pair in ends.items()}, request.limits)
        finally:
            _kill(process, wait_s=0.0)  # an interrupt from the keyboard ends it too
    return process.returncode, seen


def _result(request: SandboxRequest, status: int, *, seen: _WatchedRun, given: Path) -> SandboxResult:
    """Read the channels; without the first word of the script it never came to a run."""
    output = seen.output.decode("utf-8", "replace")
    seen.archive.seek(0)
    if seen.archive.read(len(profile.BEGUN)) != profile.BEGUN:
        seen.archive.seek(0)
        output = seen.archive.read(4000).decode("utf-8", "replace") + output[:4000]
        if status == profile.NOT_SET_UP:
            output = f"the files could not be copied or the limits not set: {output}"
        raise explain_failure(output, MachineSigns.read())
    alarms: list[str] = []
    changes: tuple[FileChange, ...] = ()
    try:
        if seen.overfull:
            raise staging.InvalidArchive("too_large", "it is larger than the workspace")
        changes = tuple(staging.changes(seen.archive, given))
    except (staging.InvalidArchive, OSError, ValueError) as error:
        alarms.append(f"the files could not be brought back: {error}")
    testimony = seen.testimony.decode("utf-8", "replace")
    if request.witness and not _whole(testimony):
        alarms.append("the witness was ended or disturbed before the run was over")
    return SandboxResult(
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


@contextmanager
def _holding(content: bytes) -> Iterator[BinaryIO]:
    """A file in memory that holds this, open at its start."""
    with os.fdopen(os.memfd_create("tacit"), "w+b", 0) as file:
        file.write(content)
        file.seek(0)
        yield file


def _refuse_bad(request: SandboxRequest) -> None:
    words = (*request.command, *request.environment, *request.environment.values())
    if not request.command or not request.command[0]:
        hint = "give a program and its arguments"
        raise Mistake("there is no command to run in the sandbox", code="no_command", hint=hint)
    if any("\0" in word for word in words):
        raise Mistake("a command or variable holds a NUL character", code="nul_character", hint="take it out")
    if any(not name or "=" in name for name in request.environment):
        raise Mistake("a variable's name is empty or holds `=`", code="bad_variable", hint="give names such as TOKEN")
    if min(request.limits.wall_s, request.limits.cpu_s, request.limits.workspace_mb) <= 0:
        hint = "leave the defaults, or give larger ones"
        raise Mistake("a limit of the sandbox is not above 0", code="bad_limit", hint=hint)


_LOOK_S = 0.1
_CHUNK = 1 << 16
_MEBI = 1024 * 1024
_TESTIMONY_BYTES = 16_000_000
_MOST_FILES = 200_000
"""In the workspace. A file system in memory limits bytes; empty files take memory that it does not count."""
_PAGE = os.sysconf("SC_PAGESIZE")


@dataclass(slots=True)
class _WatchedRun:
    """What was seen of a run."""

    output: bytearray = field(default_factory=bytearray)
    testimony: bytearray = field(default_factory=bytearray)
    archive: BinaryIO = field(default_factory=tempfile.TemporaryFile)
    archived: int = 0
    ended: Ended = Ended.EXIT
    seconds: float = 0.0
    started: float | None = None
    """When the command did, by the monotonic clock."""
    stopped: bool = False
    """Whether the command was ended at its limit of time; what it left is brought back all the same."""
    overfull: bool = False
    """Whether more came back than a workspace can hold."""


def _grace(limits: SandboxLimits) -> float:
    """Seconds beyond the command's own limit, in which its files are copied in and brought back."""
    return 5.0 + limits.workspace_mb / 32


def _watch(process: subprocess.Popen[bytes], channels: dict[str, IO[bytes]], limits: SandboxLimits) -> _WatchedRun:
    """Follow a sandbox to its end."""
    begun = time.monotonic()
    seen = _WatchedRun()
    next_look = begun + _LOOK_S
    with selectors.DefaultSelector() as selector:
        for name, channel in channels.items():
            selector.register(channel, selectors.EVENT_READ, name)
        while selector.get_map():
            for key, _ in selector.select(min(_LOOK_S, limits.wall_s)):
                if not _take(key.data, os.read(key.fd, _CHUNK), seen=seen, limits=limits):
                    selector.unregister(key.fileobj)
            now = time.monotonic()
            if now >= next_look:
                next_look = now + _LOOK_S
                _look(process.pid, seen, limits)
            _keep_time(process.pid, seen, limits=limits, begun=begun)
            if seen.ended is not Ended.EXIT:
                break
    _kill(process, wait_s=0.0 if seen.ended is not Ended.EXIT else _grace(limits))
    seen.seconds = time.monotonic() - (begun if seen.started is None else seen.started)
    if seen.stopped and seen.ended is Ended.EXIT:
        seen.ended = Ended.TIME
    return seen


def _kill(process: subprocess.Popen[bytes], *, wait_s: float) -> None:
    """Give it that long to end by itself, then end it and its group."""
    try:
        process.wait(wait_s)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _take(channel: str, chunk: bytes, *, seen: _WatchedRun, limits: SandboxLimits) -> bool:
    """Keep what came; false at the end of a channel."""
    if channel == "output":
        room = limits.output_bytes - len(seen.output)
        seen.output += chunk[:room]
        if len(chunk) > room:
            seen.ended = Ended.OUTPUT
    elif channel == "witness":
        seen.testimony += chunk[: _TESTIMONY_BYTES - len(seen.testimony)]
    else:
        seen.started = seen.started or time.monotonic()
        seen.archived += len(chunk)
        # Headers come on top of the contents: one block and the rounding for each file.
        seen.overfull = seen.archived > 2 * limits.workspace_mb * _MEBI + 16 * _MEBI
        if not seen.overfull:
            seen.archive.write(chunk)
    return bool(chunk)


def _keep_time(pid: int, seen: _WatchedRun, *, limits: SandboxLimits, begun: float) -> None:
    """End the command at its limit, and everything where that does not help in time."""
    now = time.monotonic()
    limit = (begun if seen.started is None else seen.started) + limits.wall_s
    if now >= limit and seen.started is not None and not seen.stopped:
        seen.stopped = True
        for number in _commands(pid):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)
    if now >= limit + _grace(limits):
        seen.ended = Ended.TIME


def _commands(pid: int) -> list[int]:
    """What the shell inside has started: it is the first in the line of descent that is not bubblewrap."""
    for number in _descendants(pid):
        with suppress(OSError):
            if Path(f"/proc/{number}/cmdline").read_bytes().startswith(b"/bin/sh\0-c\0"):
                return _children(number)
    return []


def _look(pid: int, seen: _WatchedRun, limits: SandboxLimits) -> None:
    """End it where its processes hold too much memory, or too many files."""
    held = files = 0
    for number in _descendants(pid):
        with suppress(OSError, ValueError):
            # What it shares with others, such as a library, is not counted once more for each.
            _, resident, shared, *_ = Path(f"/proc/{number}/statm").read_text().split()
            held += max(0, int(resident) - int(shared)) * _PAGE
        with suppress(OSError):
            found = os.statvfs(f"/proc/{number}/root{WORKSPACE}")
            if found.f_blocks * found.f_frsize < 1 << 32:
                files = max(files, found.f_files - found.f_ffree)
    if held > limits.memory_mb * _MEBI or files > _MOST_FILES:
        seen.ended = Ended.MEMORY


def _descendants(pid: int) -> Iterator[int]:
    """The processes that it started, and those that these started."""
    waiting = deque([pid])
    while waiting:
        number = waiting.popleft()
        yield number
        waiting += _children(number)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):  # it may end while it is looked at, and so may each of its threads
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found += map(int, (thread / "children").read_text().split())
    return found
