"""A skill's files and a sandbox → what each script tried. Chooses what to run and how; the verdict is made elsewhere."""

from __future__ import annotations

import base64
import binascii
import json
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import PurePosixPath

from tacit.domain.candidate import Finding, Severity
from tacit.domain.errors import Mistake
from tacit.domain.sandbox import Alteration, BoxFile, Confines, Ended, Errand, Ran, Sandbox
from tacit.domain.skill import SkillFile
from tacit.features.scan.canaries import Bait, lay_bait
from tacit.text.bundled_files import FileKind, bytes_of, file_kind

EACH_S, TOTAL_S = 8.0, 60.0
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
"""How programs of other systems begin."""
_OWN = "the file itself"
"""Stands for a program that needs no other to run it."""
_ASKS = re.compile(r"usage|argument|argv|missing|required|IndexError|unbound variable|parameter", re.IGNORECASE)
_LONGEST_PATH, _LONGEST_NAME = 1000, 255
_ROOMY = 8192
"""Megabytes of address space for `node`, which reserves far more than it uses; the limit on what is held stays."""
# The witness is only read here, not imported: it needs what a start of Tacit should not have to load.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Detonation:
    """What a skill's scripts tried."""

    findings: tuple[Finding, ...] = ()
    ran: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    """Paths that were not run, each with the reason."""
    level: str = ""
    """What confined them; empty where nothing was run."""
    seconds: float = 0.0


def detonate(
    files: Sequence[SkillFile],
    sandbox: Sandbox,
    *,
    token: Callable[[int], str] = secrets.token_hex,
    clock: Callable[[], float] = time.monotonic,
    total_s: float = TOTAL_S,
    find: Callable[[str], str | None] = _of_the_system,
) -> Detonation:
    """Run every script of a skill by itself, each in a new sandbox with new bait.

    `find` tells where a program lies; it must be below /usr, since nothing else is there inside.
    """
    begun = clock()
    given = tuple(box for file in files if (box := _box_file(file)))
    found: list[Finding] = []
    ran: list[str] = []
    skipped: list[tuple[str, str]] = []
    level = ""
    for number, file in enumerate(files):
        runner = runner_of(file)
        if not runner:
            continue
        program = _OWN if runner == (_OWN,) else next((path for name in runner if (path := find(name))), "")
        if reason := _obstacle(file, runner, program=program):
            skipped.append((file.path, reason))
            continue
        if total_s <= clock() - begun:
            skipped.append((file.path, f"the {total_s:g} s for all scripts were used up"))
            continue
        bait = lay_bait(token)
        try:
            results = _run(file, program, given=given, bait=bait, sandbox=sandbox)
        except Mistake as error:  # what this skill holds does not fit; that says nothing of the next one
            skipped.append((file.path, error.message))
            continue
        for result in results:
            level = result.level
            found += findings_of(result, bait, field=f"files.{number}", path=file.path)
        ran.append(file.path)
    return Detonation(
        findings=tuple(dict.fromkeys(found)),
        ran=tuple(ran),
        skipped=tuple(skipped),
        level=level,
        seconds=clock() - begun,
    )


def _obstacle(file: SkillFile, runner: tuple[str, ...], *, program: str) -> str:
    """Why a script is not run; empty if nothing is in the way."""
    if not _box_file(file):
        return "its path leads out of the skill's folder or is too long, or its content cannot be read"
    if not runner[0]:
        return "what would run it is not known here"
    if not program:
        return f"there is no {runner[0]} in {_SYSTEM.partition(':')[0]}"
    return ""


def runner_of(file: SkillFile) -> tuple[str, ...]:
    """The programs that could run a file, best first; an empty name where none is known, and none for what is no script."""
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


def _run(file: SkillFile, program: str, *, given: tuple[BoxFile, ...], bait: Bait, sandbox: Sandbox) -> Sequence[Ran]:
    """Without arguments; where it asks for some, once more with files to work on."""
    confines = Confines(wall_s=EACH_S, address_mb=_ROOMY if program.endswith("node") else 512)
    mine = {box.path for box in given}
    place = f"./{PurePosixPath(file.path)}"  # a name may begin like an option
    command = (place,) if program == _OWN else (program, place if file.path.startswith("-") else file.path)
    if program == _OWN:
        given = tuple(replace(box, executable=True) if f"./{box.path}" == place else box for box in given)

    def sandbox_request(*arguments: str) -> Errand:
        return Errand(
            command=(*command, *arguments),
            files=(*(box for box in bait.workspace if box.path not in mine), *given),
            home=bait.home,
            environment=_SURROUNDINGS | bait.environment,
            witness=resources.files(__package__).joinpath("witness.py").read_text(encoding="utf-8"),
            confines=confines,
        )

    first = sandbox.run(sandbox_request())
    if first.status and _ASKS.search(first.output):
        return first, sandbox.run(sandbox_request("data.csv", "out.txt"))
    return (first,)


def _box_file(file: SkillFile) -> BoxFile | None:
    """A file as it goes in; nothing for a path that leads elsewhere or a content that cannot be read."""
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
    return BoxFile(path=str(path), content=content, executable=file.executable)


_STARTUP = re.compile(
    r"^\.(?:bashrc|bash_profile|bash_login|bash_logout|profile|zshrc|zprofile|zshenv|zlogin|xinitrc|xprofile|gitconfig|vimrc|pythonrc)$"
    r"|^\.ssh/|^\.config/(?:autostart|systemd|fish|git|environment\.d)/|^\.(?:claude|codex|cursor|gemini)/|^\.git/hooks/|^\.local/bin/"
    r"|^\.local/lib/python[^/]+/site-packages/[^/]+\.pth$|^\.config/pip/|^\.pip/|^\.npmrc$|crontab"
)
"""Files of a home that are run, or believed, at the next start of something."""
_OWN_LINES = ("/bin/sh -c exec 3>&2", "/usr/bin/bwrap", "/usr/bin/python3 -I -S /witness.py")
_CPU_SIGNAL = 128 + 24
_FEW = 3
_NAME_SHOWN_MAX = 80
_NO_FORK = re.compile(
    r"fork: (?:retry: )?Resource temporarily unavailable|[Cc]annot fork|can't start new thread|spawn \S+ EAGAIN"
)
_CROWD = 48
"""Processes at once that no script of a skill needs; the limit is at 64."""


@dataclass(slots=True)
class _Seen:
    """The testimony, by what was seen."""

    texts: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, testimony: str) -> _Seen:
        seen = cls()
        for line in testimony.splitlines():
            try:
                event = json.loads(line)
                saw, text = str(event["saw"]), str(event["text"])
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # the last line, or one that something else wrote to the channel
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
        """Whether it tried an address outside that no name had led to."""
        return bool(self.counted("no route"))

    @property
    def reached_out(self) -> bool:
        """Whether it tried to leave the machine, by the proxy, by name or by number."""
        return bool(self.hosts or self.numbered or self.counted("datagrams"))

    def counted(self, what: str) -> int:
        """A figure of the end; 0 where the witness did not come to it."""
        try:
            return int(json.loads(self.all("counters")[-1])[what])
        except (LookupError, ValueError, TypeError, RecursionError):
            return 0


def findings_of(ran: Ran, bait: Bait, *, field: str, path: str) -> tuple[Finding, ...]:
    """What a reviewer must know of this run."""
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


def _secrets(ran: Ran, bait: Bait, seen: _Seen) -> _Observations:
    pieces = "".join(name.partition(".")[0] for name in seen.all("host"))  # a secret cut into labels
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
    # A copy of the whole workspace, such as a build, holds its settings too.
    copied = tuple(what for what in bait.met(*changed, *seen.all("content")) if what != "the .env file")
    if copied:
        yield "secret_copied", Severity.HIGH, f"wrote {_listed(copied)} to a file"
    read = tuple(dict.fromkeys(what for name in seen.all("read") if (what := bait.guarded.get(name))))
    if read:
        away = " and tried to reach another machine" if seen.reached_out else ""
        yield "secret_read", graver, f"read {_listed(read)}{away}"


def _actions(ran: Ran, bait: Bait, seen: _Seen) -> _Observations:
    if seen.all("ran"):
        yield "runs_download", Severity.CRITICAL, "ran what it had fetched from another machine"
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
        yield "destruction", Severity.HIGH, f"removed or overwrote files that it was not told of: {_listed(hurt)}"
    if seen.numbered:
        yield "address", Severity.HIGH, "went straight to a machine by its number, past every name"
    if seen.hosts:
        yield "network", Severity.MEDIUM, f"tried to reach {_listed(seen.hosts)}"


def _endings(ran: Ran, seen: _Seen) -> _Observations:
    if ran.ended is Ended.MEMORY:
        yield "resources", Severity.HIGH, "took memory without end, and was stopped"
    elif seen.counted("processes") > _CROWD or _NO_FORK.search(ran.output):
        yield "resources", Severity.HIGH, "started processes without end, and was stopped"
    elif ran.alarms:
        yield "tampering", Severity.HIGH, f"could not be followed to its end: {'; '.join(ran.alarms)}"
    if ran.ended is Ended.OUTPUT:
        yield "resources", Severity.MEDIUM, "printed without end, and was stopped"
    elif ran.status == _CPU_SIGNAL:
        yield "resources", Severity.MEDIUM, "used up its processor time, and was stopped"
    elif ran.ended is Ended.TIME:
        yield "unfinished", Severity.INFO, f"had not ended after {ran.seconds:.0f} s, so not all of it was seen"


def _host_of(request: str) -> str:
    """Of `CONNECT host:443`, `GET http://host/path` or `https://host GET …`."""
    found = re.match(r"(?:[A-Z]+ )?(?:https?://)?([^\s/:?#]+)", request)
    return found[1] if found else ""


def _listed(names: tuple[str, ...] | list[str]) -> str:
    # A name comes from the script: no sign of it may move a cursor or fill a screen.
    plain = ["".join(sign if sign.isprintable() else "?" for sign in name)[:_NAME_SHOWN_MAX] for name in names[:_FEW]]
    shown = ", ".join(dict.fromkeys(plain))
    return f"{shown} and {len(names) - _FEW} more" if len(names) > _FEW else shown
