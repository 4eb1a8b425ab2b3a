"""A skill's files and a sandbox → what each script tried. Chooses what to run and how; the verdict is made elsewhere."""

from __future__ import annotations

import base64
import binascii
import re
import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import PurePosixPath

from tacit.domain.candidate import Finding
from tacit.domain.sandbox import BoxFile, Confines, Errand, Ran, Sandbox
from tacit.domain.skill import SkillFile
from tacit.gate.detonation.canaries import Bait, lay_bait
from tacit.gate.detonation.verdict import findings_of

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
}
_SHEBANG = re.compile(r"#![^\n]*?\b(python|bash|dash|zsh|sh|node|perl|ruby)[\d.]*\b")
_BY_SHEBANG = {"python": ".py", "node": ".js", "perl": ".pl", "ruby": ".rb"}
_ASKS = re.compile(r"usage|argument|argv|missing|required|IndexError|unbound variable|parameter", re.IGNORECASE)
_LONGEST_PATH = 1000
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
        program = next((path for name in runner if (path := find(name))), "")
        left = total_s - (clock() - begun)
        if not _box_file(file):
            skipped.append((file.path, "its path leads out of the skill's folder, or its content cannot be read"))
        elif not program:
            skipped.append((file.path, f"there is no {runner[0]} in {_SYSTEM.partition(':')[0]}"))
        elif left <= 0:
            skipped.append((file.path, f"the {total_s:g} s for all scripts were used up"))
        else:
            bait = lay_bait(token)
            for result in _run(file, program, given=given, bait=bait, sandbox=sandbox):
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


def runner_of(file: SkillFile) -> tuple[str, ...]:
    """The programs that could run a file, best first; none for what is no script."""
    known = _RUNNERS.get(PurePosixPath(file.path).suffix.lower())
    if known or file.encoding != "utf-8":
        return known or ()
    shebang = _SHEBANG.match(file.content)
    return _RUNNERS[_BY_SHEBANG.get(shebang[1], ".sh")] if shebang else ()


def _run(file: SkillFile, program: str, *, given: tuple[BoxFile, ...], bait: Bait, sandbox: Sandbox) -> Sequence[Ran]:
    """Without arguments; where it asks for some, once more with files to work on."""
    confines = Confines(wall_s=EACH_S, address_mb=_ROOMY if program.endswith("node") else 512)
    mine = {box.path for box in given}

    def errand(*arguments: str) -> Errand:
        return Errand(
            command=(program, file.path, *arguments),
            files=(*(box for box in bait.workspace if box.path not in mine), *given),
            home=bait.home,
            environment=_SURROUNDINGS | bait.environment,
            witness=resources.files(__package__).joinpath("witness.py").read_text(encoding="utf-8"),
            confines=confines,
        )

    first = sandbox.run(errand())
    if first.status and _ASKS.search(first.output):
        return first, sandbox.run(errand("data.csv", "out.txt"))
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
    return BoxFile(path=str(path), content=content, executable=file.executable)
