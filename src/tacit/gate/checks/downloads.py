"""What is fetched and then run: from where decides how much it weighs. Pieces → findings.

A line such as `curl … | bash` is how half the world installs tools, and how malware arrives. A well-known installer is
good to know; an unknown host must be looked at; a paste site, a bare number or a tunnel is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tacit.domain.candidate import Finding, Severity
from tacit.gate.checks.hosts import URL, Place, place_of, places
from tacit.gate.checks.pieces import Piece
from tacit.gate.checks.rules import PER_RULE_MAX
from tacit.text.prefilter import GuardedPattern

_FETCH = (
    r"(?:curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod|aria2c|start-bitstransfer|bitsadmin|certutil)(?:\.exe)?"
)
_SHELL = r"(?:sudo (?:-\w{1,2} )?)?(?:/(?:usr/)?bin/(?:env )?)?(?:(?:ba|z|da|k|fi)?sh|python[\d.]{0,4}|node|perl|ruby|php|osascript|iex|invoke-expression|source|deno run|bun)\b"
_PIPED = GuardedPattern(
    rf"\b{_FETCH}\b([^\n|]{{0,300}})(?:\\\n[^\n|]{{0,200}})?\|(?:[^\n|]{{0,60}}\|)? ?{_SHELL}(?! ?-m json| -c [\"']import|/)",
    re.IGNORECASE,
)
_INNER = GuardedPattern(
    rf"\b(?:(?:ba|z|da)?sh|python[\d.]{{0,4}}|node|eval|source|exec|iex|invoke-expression)(?: -\w{{1,4}})? ?[\"'({{]{{0,3}}(?:[$<@&`(\"'{{ ]|New-Object [\w.]{{1,40}}){{1,8}}{_FETCH}\b([^\n]{{0,300}})",
    re.IGNORECASE,
)
_WINDOWS = GuardedPattern(
    r"\b(?:iex|invoke-expression)\b[^\n]{0,80}(?:DownloadString|DownloadFile|Invoke-WebRequest|iwr|irm)\b([^\n]{0,300})|\b(?:mshta|regsvr32|rundll32|msiexec)(?:\.exe)? [^\n]{0,60}(https?:[^\n]{0,200})",
    re.IGNORECASE,
)
_SAVED = GuardedPattern(rf"\b(?:{_FETCH}|urlretrieve|DownloadFile)\b([^\n]{{0,400}})", re.IGNORECASE)
_UNPACKED = GuardedPattern(
    r"\b(?:base64 (?:-d|-D|--decode)|openssl (?:enc|aes[\w-]{0,12}|smime) [^\n]{0,80}-d|xxd -r|gpg [^\n]{0,60}-d|uudecode|b64decode|certutil -decode|rev\b|tr [\"']?[A-Za-z]-)([^\n]{0,300})",
    re.IGNORECASE,
)
_DATA_RUN = GuardedPattern(
    r"(?:^|[\s;&|(`\"'])(?:(?:ba|z|da)?sh|python3?|node|perl|ruby|source|\.) (?:\./)?((?:[\w.-]{1,40}/){0,4}[\w.-]{1,60}\.(?:png|jpe?g|gif|ico|pdf|dat|bin|log|csv|json|ya?ml|txt|md|svg|woff2?|db|cfg|conf))(?=[\s;&|)`\"']|$)",
    re.IGNORECASE | re.MULTILINE,
)
_TARGET = re.compile(
    r"(?:-out\b|(?<![\w-])-[a-zA-Z]{0,6}[oO]|--output(?:-document)?|-OutFile|>)[= ]{0,2}[\"']?([\w./~${}:\\%-]{2,120})",
    re.IGNORECASE,
)

_WEIGHT = {
    Place.INSTALLER: Severity.LOW,
    Place.LOCAL: Severity.LOW,
    Place.CODE: Severity.MEDIUM,
    Place.UNKNOWN: Severity.HIGH,
    Place.MESSENGER: Severity.HIGH,
    Place.SHORTENER: Severity.HIGH,
    Place.PASTE: Severity.CRITICAL,
    Place.COLLECTOR: Severity.CRITICAL,
    Place.HOSTILE: Severity.CRITICAL,
    Place.NUMBER: Severity.CRITICAL,
}


_ORDER = list(Severity)
_PERMISSION = re.compile(r"bash\(\w+:\*\)", re.IGNORECASE)
"""How a list of allowed tools names a command; nothing is run there."""


def downloads(pieces: Iterable[Piece]) -> Iterator[Finding]:
    """What of these texts fetches something to run it, at once or later."""
    for piece in pieces:
        if piece.is_code or piece.is_hidden:
            yield from _data_run(piece)
        if piece.is_block:
            continue
        yield from _at_once(piece)
        yield from _later(piece)
        yield from _unpacked(piece)


def _at_once(piece: Piece) -> Iterator[Finding]:
    for pattern in (_PIPED, _INNER, _WINDOWS):
        for count, match in enumerate(pattern.finditer(piece.text, piece.lowered)):
            if count == PER_RULE_MAX:
                break
            if _PERMISSION.match(match[0]):
                continue
            place, address = _source(match[0])
            weight = Severity.HIGH if piece.is_hidden and place is Place.CODE else _WEIGHT[place]
            reason = f"fetches a program from {place} ({address}) and runs it unseen"
            yield piece.finding("fetch_and_run", weight, reason=reason, span=match.span())


def _source(line: str) -> tuple[Place, str]:
    """The worst place a command fetches from. Plain http lets anybody on the way put in a program of his own."""
    found = places(line)
    if not found:
        bare = re.search(r"\b((?:[\w-]{1,60}\.){1,4}[a-z]{2,8})(/[^\s|\"']{0,200})?", line)
        return (place_of(bare[1], bare[2] or ""), bare[1]) if bare else (Place.CODE, "an address given elsewhere")
    order = list(_WEIGHT)
    place, match = max(found, key=lambda each: order.index(each[0]))
    return place, match[1][:60]


def _later(piece: Piece) -> Iterator[Finding]:
    """A file that is fetched and, some lines further, made to run."""
    for count, match in enumerate(_SAVED.finditer(piece.text, piece.lowered)):
        if count == 4 * PER_RULE_MAX:
            return
        target = _TARGET.search(match[1])
        address = URL.search(match[0])
        name = target[1] if target else address[2].rpartition("/")[2] if address else ""
        name = re.split(r"[/\\]", name)[-1]
        if len(name) < 2 or not re.search(r"\w", name):
            continue
        ran = _run_of(name, piece.text, match)
        if ran is None:
            continue
        place, host = _source(match[0])
        honest = place in (Place.CODE, Place.INSTALLER, Place.LOCAL)
        weight = (
            _WEIGHT[place] if honest and not piece.is_hidden else max(_WEIGHT[place], Severity.HIGH, key=_ORDER.index)
        )
        reason = f"fetches {name[:40]} from {place} ({host}) and runs it"
        yield piece.finding("fetch_then_run", weight, reason=reason, span=(match.start(), ran))


def _unpacked(piece: Piece) -> Iterator[Finding]:
    """A file that is decoded and then run."""
    for match in list(_UNPACKED.finditer(piece.text, piece.lowered))[:PER_RULE_MAX]:
        target = _TARGET.search(match[1])
        name = re.split(r"[/\\]", target[1])[-1] if target else ""
        ran = _run_of(name, piece.text, match) if len(name) > 1 else None
        if ran is not None:
            reason = f"decodes {name[:40]} and runs it"
            yield piece.finding("decode_and_run", Severity.HIGH, reason=reason, span=(match.start(), ran))


def _data_run(piece: Piece) -> Iterator[Finding]:
    """A file that is named as data, and run as a program."""
    for match in list(_DATA_RUN.finditer(piece.text, piece.lowered))[:PER_RULE_MAX]:
        reason = f"runs {match[1][-60:]}, which is named as data, as a program"
        yield piece.finding("data_run", Severity.HIGH, reason=reason, span=match.span())


def _run_of(name: str, text: str, fetched: re.Match[str]) -> int | None:
    """Where, behind the command that made it, a file is started or made to run."""
    escaped = re.escape(name)
    after = text[fetched.start() : fetched.end() + 500]
    ran = re.search(
        rf"(?:chmod (?:\+x|[0-7]*[157][0-7]*|[aug]\+x) [^\n]{{0,60}}{escaped}|"
        rf"(?:^|[\s;&|(\"'])(?:(?:ba|z)?sh|python3?|node|open|start|Start-Process|source|nohup|exec|eval|installer -pkg) "
        rf"[^\n]{{0,30}}{escaped}|"
        rf"(?:^|[\s;&|])(?:\./|/tmp/|\$TMPDIR/){escaped}(?:\s|$|&))",
        after,
        re.IGNORECASE | re.MULTILINE,
    )
    return None if ran is None or not ran.start() else fetched.start() + ran.end()
