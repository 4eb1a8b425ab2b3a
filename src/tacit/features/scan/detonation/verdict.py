"""One run of a script among bait → findings. Pure: the run is over, and its testimony is only read here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tacit.domain.candidate import Finding, Severity
from tacit.domain.sandbox import Alteration, Ended, Ran
from tacit.features.scan.detonation.canaries import Bait

_STARTUP = re.compile(
    r"^\.(?:bashrc|bash_profile|bash_login|bash_logout|profile|zshrc|zprofile|zshenv|zlogin|xinitrc|xprofile|gitconfig|vimrc|pythonrc)$"
    r"|^\.ssh/|^\.config/(?:autostart|systemd|fish|git|environment\.d)/|^\.(?:claude|codex|cursor|gemini)/|^\.git/hooks/|^\.local/bin/"
    r"|^\.local/lib/python[^/]+/site-packages/[^/]+\.pth$|^\.config/pip/|^\.pip/|^\.npmrc$|crontab"
)
"""Files of a home that are run, or believed, at the next start of something."""
_OWN_LINES = ("/bin/sh -c exec 3>&2", "/usr/bin/bwrap", "/usr/bin/python3 -I -S /witness.py")
_CPU_SIGNAL = 128 + 24
_FEW = 3
_LONGEST_NAME = 80
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
                told = json.loads(line)
                saw, text = str(told["saw"]), str(told["text"])
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
            *_doings(ran, bait, seen),
            *_endings(ran, seen),
        )
    )


_Told = Iterator[tuple[str, Severity, str]]


def _secrets(ran: Ran, bait: Bait, seen: _Seen) -> _Told:
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


def _doings(ran: Ran, bait: Bait, seen: _Seen) -> _Told:
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


def _endings(ran: Ran, seen: _Seen) -> _Told:
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
    plain = ["".join(sign if sign.isprintable() else "?" for sign in name)[:_LONGEST_NAME] for name in names[:_FEW]]
    shown = ", ".join(dict.fromkeys(plain))
    return f"{shown} and {len(names) - _FEW} more" if len(names) > _FEW else shown
