"""Words that make a person fetch and start something: locked archives, links to programs, commands to paste. Pieces → findings.

A false prerequisite is how malware is brought in by hand: the skill "will not work" without a program from a stranger.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tacit.domain.candidate import Finding, Severity
from tacit.gate.checks.hosts import Place, places
from tacit.gate.checks.pieces import Piece
from tacit.gate.checks.rules import PER_RULE_MAX
from tacit.text.prefilter import GuardedPattern

_AROUND = 300
_PASSWORD = GuardedPattern(
    r"\b(?:unzip [^\n]{0,60}(?-i:-P) ?\S|7za? [xe] [^\n]{0,80}(?-i:-p)\S|unrar [xe] [^\n]{0,40}(?-i:-p)\S)|"
    r"\b(?:archive|extract|unzip|unpack|zip|rar|7z|download)[^\n]{0,140}\b(?:pass(?:word|code|phrase)?|pwd)\b[ :=`*\"'(]{1,6}(?:is |with )?[`\"'*]{0,3}[\w!@#$-]{3,}|"
    r"\bpass(?:word|code)?\b[ :=`*\"']{1,6}[\w!@#$-]{3,24}[`*\"')]{0,3}[^\n]{0,60}(?:to extract|to unzip|to unpack|\.zip|\.rar|\.7z|\barchive)",
)
_RUNNABLE = re.compile(
    r"\.(?:exe|msi|dmg|pkg|scr|bat|cmd|ps1|vbs|apk|deb|rpm|appimage|jar|run|command)\b", re.IGNORECASE
)
_ARCHIVE = re.compile(r"\.(?:zip|rar|7z|tar\.gz|tgz|dmg|iso)\b", re.IGNORECASE)
_NAMED = re.compile(r"\barchives?\b", re.IGNORECASE)
_PASTE_STEP = re.compile(
    r"\b(?:run|execute|paste|install|launch|copy|script|command|terminal|powershell|download|setup|fetch|curl|wget|follow)",
    re.IGNORECASE,
)
_NEED = re.compile(
    r"\b(?:requir\w{1,6}|must|mandatory|prerequisite\w{0,1}|before (?:you|using|proceeding|running|first)|will not (?:work|function|run)|won't work|necessary|needed|critical|important)\b",
    re.IGNORECASE,
)
_START = re.compile(r"\b(?:run|execute|launch|start|open|double-click|install)\b", re.IGNORECASE)
_PACKAGE = re.compile(r"\.(?:deb|rpm|sh|tar\.gz|tgz|appimage)\b", re.IGNORECASE)
_MARKS = tuple(
    re.compile(mark, re.IGNORECASE)
    for mark in (
        r"will not (?:work|function|operate|run)|won't work|cannot (?:work|function|operate)|must be (?:installed|running)|"
        r"before (?:using|proceeding|continuing)|without (?:it|this)",
        r"\bwindows\b[\s\S]{0,300}\bmac ?os\b|\bmac ?os\b[\s\S]{0,300}\bwindows\b",
        r"\bdownload\b[^\n]{0,120}\b(?:run|execute|launch|install|extract)\b",
        r"\b(?:copy|paste)\b[^\n]{0,80}\b(?:terminal|powershell|command prompt|console)\b|\bcopy the (?:install|setup)",
    )
)


def lures(pieces: Iterable[Piece]) -> Iterator[Finding]:
    """What of these texts sends the reader for a program."""
    for piece in pieces:
        if piece.is_code:
            continue
        yield from _locked(piece)
        for place, match in places(piece.text):
            around = piece.text[max(0, match.start() - _AROUND) : match.end() + _AROUND]
            if told := _told(piece, place, match=match, around=around):
                rule, severity, reason = told
                yield piece.finding(rule, severity, reason=reason, span=match.span())


def _locked(piece: Piece) -> Iterator[Finding]:
    for match in list(_PASSWORD.finditer(piece.text, piece.lowered))[:PER_RULE_MAX]:
        around = piece.text[max(0, match.start() - _AROUND) : match.end() + _AROUND]
        if _ARCHIVE.search(around) or _NAMED.search(around):
            reason = "asks for an archive locked with a password, which no scanner can look into"
            yield piece.finding("locked_archive", Severity.HIGH, reason=reason, span=match.span())


def _told(piece: Piece, place: Place, *, match: re.Match[str], around: str) -> tuple[str, Severity, str] | None:
    """What one address in its surroundings amounts to."""
    host, path = match[1][:60], match[2]
    started = bool(_NEED.search(around) and _START.search(around))
    if place is Place.PASTE and _PASTE_STEP.search(around):
        severity = Severity.HIGH if _START.search(around) or _NEED.search(around) else Severity.MEDIUM
        return "paste_site", severity, f"sends the reader to {place} ({host}) for something to run or follow"
    if place in (Place.NUMBER, Place.HOSTILE, Place.COLLECTOR):
        prose = piece.language in ("markdown", "text") and not piece.is_hidden
        severity = Severity.MEDIUM if prose and place is Place.NUMBER else Severity.HIGH
        return "odd_address", severity, f"leads to {place} ({host})"
    if started and (_RUNNABLE.search(path) or _ARCHIVE.search(path)):
        plain = _PACKAGE.search(path) or not (_RUNNABLE.search(path) or "releases/download" in path)
        severity = Severity.LOW if plain else Severity.HIGH
        return "wanted_program", severity, f"wants a program fetched from {host} and started before the skill works"
    if place in (Place.UNKNOWN, Place.CODE) and sum(bool(mark.search(around)) for mark in _MARKS) >= 3:
        reason = f"will not go on unless something from {host} is fetched and started by hand"
        return "wanted_program", Severity.MEDIUM, reason
    return None
