"""Detonation: run a skill's scripts in a sandbox with fake secrets, and report what they tried.

Each script runs without arguments, and once more with a file name if it asks for one: first every script for a short time,
the most suspicious first, then longer those that had not finished. What was not run or did not finish is a finding. What
waits for a date, a certain machine or a longer time stays hidden, so finding nothing does not prove that a skill is harmless.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from importlib import resources
from pathlib import PurePosixPath
from types import MappingProxyType

from tacit.domain.candidate import Finding, Severity
from tacit.domain.errors import Mistake
from tacit.domain.lifecycle import CodedReason, coded
from tacit.domain.sandbox import Alteration, Ended, Sandbox, SandboxFile, SandboxLimits, SandboxRequest, SandboxResult
from tacit.domain.skill import SkillFile
from tacit.features.scan.canaries import CanarySet, make_canaries
from tacit.text.bundled_files import FileKind, bytes_of, file_kind

FIRST_S, EACH_S, TOTAL_S = 2.0, 8.0, 60.0
"""Seconds of a script's first run, of its second one, and of all runs of a skill."""
_SYSTEM = "/usr/bin:/usr/local/bin"
_RUNNERS = {
    ".py": ("python3",),
    ".sh": ("bash", "sh"),
    ".bash": ("bash",),
    ".js": ("node",),
    ".cjs": ("node",),
    ".mjs": ("node",),
    ".pl": ("perl",),
    ".rb": ("ruby",),
    ".zsh": ("zsh", "bash"),
    ".ksh": ("ksh", "bash"),
    ".command": ("bash", "sh"),
    ".pyw": ("python3",),
    ".ts": ("tsx", "deno", "bun"),
    ".fish": ("fish",),
    ".php": ("php",),
    ".lua": ("lua",),
    ".ps1": ("pwsh",),
    ".bat": ("cmd.exe",),
    ".cmd": ("cmd.exe",),
    ".vbs": ("cscript.exe",),
}
_SHEBANG = re.compile(r"\ufeff?#![^\n]*?\b(python|bash|dash|zsh|ksh|fish|sh|node|perl|ruby|php|lua|pwsh)[\d.]*\b")
_BY_SHEBANG = {
    "python": ".py",
    "node": ".js",
    "perl": ".pl",
    "ruby": ".rb",
    "zsh": ".zsh",
    "ksh": ".ksh",
    "fish": ".fish",
    "php": ".php",
    "lua": ".lua",
    "pwsh": ".ps1",
}
_FOREIGN = (b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""First bytes of programs for other systems."""
_OWN = "the file itself"
"""The runner of a program that runs by itself."""
_ASKS = re.compile(r"usage|argument|argv|missing|required|IndexError|unbound variable|parameter", re.IGNORECASE)
_LONGEST_PATH, _LONGEST_NAME = 1000, 255
_ROOMY = 8192
"""Megabytes of address space for `node`, which reserves far more than it uses."""
# The witness is read as text, not imported: its imports would slow down every start of Tacit.
PROXY = "http://127.0.0.1:3128"
CERTIFICATE = "/run/witness/ca.pem"
_SURROUNDINGS = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"), PROXY),
    **dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1"),
    **dict.fromkeys(("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"), CERTIFICATE),
    "NODE_USE_ENV_PROXY": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def _of_the_system(program: str) -> str | None:
    return shutil.which(program, path=_SYSTEM)


class SkipReason(StrEnum):
    """Why a script was not run."""

    UNREADABLE = "unreadable"
    NO_KNOWN_PROGRAM = "no_known_program"
    PROGRAM_MISSING = "program_missing"
    TIME_USED_UP = "time_used_up"
    DOES_NOT_FIT = "does_not_fit"


SKIP_SENTENCES = {
    SkipReason.UNREADABLE: "its path is outside the skill or too long, or its content is unreadable",
    SkipReason.NO_KNOWN_PROGRAM: "no known program runs it",
    SkipReason.PROGRAM_MISSING: "{program} is not installed in {folder}",
    SkipReason.TIME_USED_UP: "the {seconds:g} s for all scripts are used up",
    SkipReason.DOES_NOT_FIT: "{why}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Detonation:
    """What a skill's scripts tried."""

    findings: tuple[Finding, ...] = ()
    ran: tuple[str, ...] = ()
    skipped: tuple[tuple[str, CodedReason], ...] = ()
    """Paths that were not run, each with the reason."""
    level: str = ""
    """The kind of sandbox; empty where nothing was run."""
    seconds: float = 0.0


def detonate(
    files: Sequence[SkillFile],
    sandbox: Sandbox,
    *,
    suspicion: Mapping[int, int] = MappingProxyType({}),
    token: Callable[[int], str] = secrets.token_hex,
    clock: Callable[[], float] = time.monotonic,
    total_s: float = TOTAL_S,
    find: Callable[[str], str | None] = _of_the_system,
) -> Detonation:
    """Run every script of a skill by itself, each in a new sandbox with new canaries.

    `suspicion` ranks files by their number; the highest is run first. `find` returns the path of a program; it must be
    below /usr, since the sandbox has nothing else.
    """
    begun = clock()
    given = tuple(box for file in files if (box := _sandbox_file(file)))
    waiting, skipped = _runnable(files, suspicion, find)
    found: dict[int, tuple[Finding, ...]] = {}
    level = ""
    for seconds in (FIRST_S, EACH_S):
        unfinished: dict[int, str] = {}
        for number, program in waiting.items():
            if total_s <= clock() - begun:
                break
            bait = make_canaries(token)
            try:
                results = _run(files[number], program, given=given, bait=bait, sandbox=sandbox, seconds=seconds)
            except Mistake as error:  # this script does not fit into the sandbox; the next one may
                skipped[number] = coded(SkipReason.DOES_NOT_FIT, why=error.message)
                continue
            level = results[0].level
            earlier = [each for each in found.get(number, ()) if each.rule != _UNFINISHED]
            seen = (findings_of(run, bait, field=f"files.{number}", path=files[number].path) for run in results)
            found[number] = (*earlier, *(finding for findings in seen for finding in findings))
            if any(run.ended is Ended.TIME for run in results):
                unfinished[number] = program
        for number in waiting.keys() - found.keys() - skipped.keys():
            skipped[number] = coded(SkipReason.TIME_USED_UP, seconds=total_s)
            message = f"{files[number].path} was not run: the {total_s:g} s for all scripts are used up"
            found[number] = (
                Finding(rule="detonation_not_run", severity=Severity.HIGH, message=message, field=f"files.{number}"),
            )
        waiting = unfinished
    return Detonation(
        findings=tuple(dict.fromkeys(finding for number in sorted(found) for finding in found[number])),
        ran=tuple(files[number].path for number in sorted(found.keys() - skipped.keys())),
        skipped=tuple((files[number].path, skipped[number]) for number in sorted(skipped)),
        level=level,
        seconds=clock() - begun,
    )


def _runnable(
    files: Sequence[SkillFile], suspicion: Mapping[int, int], find: Callable[[str], str | None]
) -> tuple[dict[int, str], dict[int, CodedReason]]:
    """Return the scripts that can be run, each with its program and the most suspicious first, and why others cannot."""
    programs: dict[int, str] = {}
    skipped: dict[int, CodedReason] = {}
    for number in sorted(range(len(files)), key=lambda each: (-suspicion.get(each, 0), each)):
        if runner := runner_of(files[number]):
            program = _OWN if runner == (_OWN,) else next((path for name in runner if (path := find(name))), "")
            if reason := _obstacle(files[number], runner, program=program):
                skipped[number] = reason
            else:
                programs[number] = program
    return programs, skipped


def _obstacle(file: SkillFile, runner: tuple[str, ...], *, program: str) -> CodedReason | None:
    """Return why a script cannot be run; None if it can."""
    if not _sandbox_file(file):
        return coded(SkipReason.UNREADABLE)
    if not runner[0]:
        return coded(SkipReason.NO_KNOWN_PROGRAM)
    if not program:
        return coded(SkipReason.PROGRAM_MISSING, program=runner[0], folder=_SYSTEM.partition(":")[0])
    return None


def runner_of(file: SkillFile) -> tuple[str, ...]:
    """Return the programs that can run a file, best first; an empty name if none is known; empty for what is no script."""
    known = _RUNNERS.get(PurePosixPath(file.path).suffix.lower())
    if known:
        return known
    data = bytes_of(file) if file.encoding == "base64" else file.content[:400].encode("utf-8", "replace")
    if data.startswith(b"\x7fELF"):
        return (_OWN,)
    head = data[:400].decode("utf-8", "replace")
    if shebang := _SHEBANG.match(head):
        return _RUNNERS[_BY_SHEBANG.get(shebang[1], ".sh")]
    unknown = head.startswith(("#!", "\ufeff#!")) or file.executable or data.startswith(_FOREIGN)
    return ("",) if unknown and file_kind(file.path) is not FileKind.DATA else ()


def _run(
    file: SkillFile, program: str, *, given: tuple[SandboxFile, ...], bait: CanarySet, sandbox: Sandbox, seconds: float
) -> Sequence[SandboxResult]:
    """Run a script without arguments; if it asks for some, once more with files to work on."""
    limits = SandboxLimits(wall_s=seconds, address_mb=_ROOMY if program.endswith("node") else 512)
    mine = {box.path for box in given}
    place = f"./{PurePosixPath(file.path)}"  # a name may begin like an option
    command = (place,) if program == _OWN else (program, place if file.path.startswith("-") else file.path)
    if program == _OWN:
        given = tuple(replace(box, executable=True) if f"./{box.path}" == place else box for box in given)

    def sandbox_request(*arguments: str) -> SandboxRequest:
        return SandboxRequest(
            command=(*command, *arguments),
            files=(*(box for box in bait.workspace if box.path not in mine), *given),
            home=bait.home,
            environment=_SURROUNDINGS | bait.environment,
            witness=resources.files(__package__).joinpath("witness.py").read_text(encoding="utf-8"),
            limits=limits,
        )

    first = sandbox.run(sandbox_request())
    if first.status and _ASKS.search(first.output):
        return first, sandbox.run(sandbox_request("data.csv", "out.txt"))
    return (first,)


def _sandbox_file(file: SkillFile) -> SandboxFile | None:
    """Return a file for the sandbox; None for a path outside the skill or an unreadable content."""
    path = PurePosixPath(file.path)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        return None
    try:
        path_bytes = file.path.encode()
        content = file.content.encode() if file.encoding == "utf-8" else base64.b64decode(file.content)
    except (UnicodeEncodeError, binascii.Error):
        return None
    if len(path_bytes) > _LONGEST_PATH or b"\0" in path_bytes:
        return None
    if any(len(part.encode()) > _LONGEST_NAME for part in path.parts):
        return None
    return SandboxFile(path=str(path), content=content, executable=file.executable)


_STARTUP = re.compile(
    r"^\.(?:bashrc|bash_profile|bash_login|bash_logout|profile|zshrc|zprofile|zshenv|zlogin|xinitrc|xprofile|gitconfig|vimrc|pythonrc)$"
    r"|^\.ssh/|^\.config/(?:autostart|systemd|fish|git|environment\.d)/|^\.(?:claude|codex|cursor|gemini)/|^\.git/hooks/|^\.local/bin/"
    r"|^\.local/lib/python[^/]+/site-packages/[^/]+\.pth$|^\.config/pip/|^\.pip/|^\.npmrc$|crontab"
)
"""Files of a home folder that are run or read at the next start of a program."""
_OWN_LINES = ("/bin/sh -c exec 3>&2", "/usr/bin/bwrap", "/usr/bin/python3 -I -S /witness.py")
_UNFINISHED = "detonation_unfinished"
_CPU_SIGNAL = 128 + 24
_FEW = 3
_NAME_SHOWN_MAX = 80
_NO_FORK = re.compile(
    r"fork: (?:retry: )?Resource temporarily unavailable|[Cc]annot fork|can't start new thread|spawn \S+ EAGAIN"
)
_CROWD = 48
"""More processes at once than a script needs; the sandbox allows 64."""


@dataclass(slots=True)
class _Seen:
    """What the witness observed, by kind."""

    texts: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, testimony: str) -> _Seen:
        seen = cls()
        for line in testimony.splitlines():
            try:
                event = json.loads(line)
                saw, text = str(event["saw"]), str(event["text"])
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # a cut last line, or one that the script wrote itself
            seen.texts.setdefault(saw, []).append(text)
        return seen

    def all(self, *saw: str) -> list[str]:
        return [text for one in saw for text in self.texts.get(one, ())]

    @property
    def hosts(self) -> tuple[str, ...]:
        named = [_host_of(request) for request in self.all("request")] + self.all("host")
        return tuple(dict.fromkeys(name for name in named if name and name not in ("localhost", "box", "127.0.0.1")))

    @property
    def numbered(self) -> bool:
        """Whether it contacted an IP address directly."""
        return bool(self.counted("no route"))

    @property
    def reached_out(self) -> bool:
        """Whether it tried to reach another machine, by the proxy, by name or by IP address."""
        return bool(self.hosts or self.numbered or self.counted("datagrams"))

    def counted(self, what: str) -> int:
        """Return a counter from the end of the run; 0 where the witness did not get there."""
        try:
            return int(json.loads(self.all("counters")[-1])[what])
        except (LookupError, ValueError, TypeError, RecursionError):
            return 0


def findings_of(ran: SandboxResult, bait: CanarySet, *, field: str, path: str) -> tuple[Finding, ...]:
    """Return the findings of one run."""
    seen = _Seen.read(ran.testimony)
    return tuple(
        Finding(rule=f"detonation_{rule}", severity=severity, message=f"{path} {message}", field=field)
        for rule, severity, message in (
            *_secrets(ran, bait, seen),
            *_actions(ran, bait, seen),
            *_endings(ran, seen),
        )
    )


_Observations = Iterator[tuple[str, Severity, str]]


def _secrets(ran: SandboxResult, bait: CanarySet, seen: _Seen) -> _Observations:
    pieces = "".join(name.partition(".")[0] for name in seen.all("host"))  # a secret split into labels of a host name
    sent = bait.met(*seen.all("request", "host"), pieces, brought_back=True)
    if sent:
        to = _listed(seen.hosts) or "another machine"
        yield "secret_sent", Severity.CRITICAL, f"sent {_listed(sent)} to {to}"
    graver = Severity.CRITICAL if seen.reached_out else Severity.HIGH
    lines = [line for line in seen.all("argv") if not line.startswith(_OWN_LINES)]
    passed_on = bait.met(*lines, brought_back=True)
    if passed_on:
        yield "secret_passed", graver, f"gave {_listed(passed_on)} to another program on its command line"
    shown = bait.met(ran.output)
    if shown:
        yield "secret_shown", Severity.HIGH, f"printed {_listed(shown)}"
    changed = [change.content.decode("utf-8", "replace") for change in ran.changes]
    # A copy of the whole workspace, such as a build, contains its settings too.
    copied = tuple(what for what in bait.met(*changed, *seen.all("content")) if what != "the .env file")
    if copied:
        yield "secret_copied", Severity.HIGH, f"wrote {_listed(copied)} to a file"
    read = tuple(dict.fromkeys(what for name in seen.all("read") if (what := bait.guarded.get(name))))
    if read:
        away = " and tried to reach another machine" if seen.reached_out else ""
        yield "secret_read", graver, f"read {_listed(read)}{away}"


def _actions(ran: SandboxResult, bait: CanarySet, seen: _Seen) -> _Observations:
    if seen.all("ran"):
        yield "runs_download", Severity.CRITICAL, "ran what it had downloaded"
    startup = [name for name in seen.all("altered", "added", "removed") if _STARTUP.search(name)]
    if startup:
        yield "persistence", Severity.HIGH, f"changed {_listed(startup)}, which is used at the next start"
    hooks = [change.path for change in ran.changes if change.path.startswith((".git/hooks/", ".claude/", ".codex/"))]
    if hooks:
        yield "persistence", Severity.HIGH, f"wrote {_listed(hooks)}, which is run later"
    laid_out = {box.path for box in (*bait.home, *bait.workspace)}
    hurt = [name for name in seen.all("removed", "altered") if name in laid_out and not _STARTUP.search(name)]
    hurt += [change.path for change in ran.changes if change.path in laid_out and change.how is not Alteration.ADDED]
    if len(hurt) >= _FEW:
        yield "destruction", Severity.HIGH, f"removed or overwrote files that it was not given: {_listed(hurt)}"
    if seen.numbered:
        yield "address", Severity.HIGH, "contacted an IP address directly, without a host name"
    if seen.hosts:
        yield "network", Severity.MEDIUM, f"tried to reach {_listed(seen.hosts)}"


def _endings(ran: SandboxResult, seen: _Seen) -> _Observations:
    if ran.ended is Ended.MEMORY:
        yield "resources", Severity.HIGH, "used too much memory and was stopped"
    elif seen.counted("processes") > _CROWD or _NO_FORK.search(ran.output):
        yield "resources", Severity.HIGH, "started too many processes and was stopped"
    elif ran.alarms:
        yield "tampering", Severity.HIGH, f"could not be observed to its end: {'; '.join(ran.alarms)}"
    if ran.ended is Ended.OUTPUT:
        yield "resources", Severity.MEDIUM, "printed too much and was stopped"
    elif ran.status == _CPU_SIGNAL:
        yield "resources", Severity.MEDIUM, "used up its processor time and was stopped"
    elif ran.ended is Ended.TIME:
        yield "unfinished", Severity.MEDIUM, f"was still running after {ran.seconds:.0f} s; the rest was not observed"


def _host_of(request: str) -> str:
    """Return the host of `CONNECT host:443`, `GET http://host/path` or `https://host GET …`."""
    found = re.match(r"(?:[A-Z]+ )?(?:https?://)?([^\s/:?#]+)", request)
    return found[1] if found else ""


def _listed(names: tuple[str, ...] | list[str]) -> str:
    # The script chose the name: it must not control the terminal.
    plain = ["".join(sign if sign.isprintable() else "?" for sign in name)[:_NAME_SHOWN_MAX] for name in names[:_FEW]]
    shown = ", ".join(dict.fromkeys(plain))
    return f"{shown} and {len(names) - _FEW} more" if len(names) > _FEW else shown
