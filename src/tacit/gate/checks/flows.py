"""Secrets that meet a way out: a read of keys, logins or the whole environment beside something that sends. Pieces → findings.

Each alone has honest uses; together in one script, block or line they are theft. Python is followed value by value by
`python_flow`; here the two are looked for side by side.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tacit.domain.candidate import Finding, Severity
from tacit.gate.checks import secret_places as secret
from tacit.gate.checks.hosts import Place, place_of, places
from tacit.gate.checks.pieces import Piece
from tacit.gate.checks.rules import PER_RULE_MAX
from tacit.text.prefilter import GuardedPattern

_NEAR = 400
"""Characters within which a read and a send in prose belong together."""
_TEACHING = re.compile(
    r"\b(?:never|do not|don't|avoid|must not|should not|vulnerab\w{0,8}|attack\w{0,4}|insecure|bad example|detect\w{0,3})\b",
    re.IGNORECASE,
)
_SEND_SECRETLY = frozenset({Place.COLLECTOR, Place.HOSTILE, Place.NUMBER, Place.PASTE, Place.MESSENGER})
_TOLD_TO_SEND = GuardedPattern(
    r"\b(?:send|pass|post|upload|forward|submit|transmit|deliver|report)\w{0,3}\b[^.]{0,160}https?://[^\s`\"')]{4,200}"
)
_HOST = re.compile(r"[\"'`]((?:[\w-]{1,40}\.){1,5}[a-z]{2,12})[\"'`:/]", re.IGNORECASE)
_SOURCES = (
    (secret.PLACES, ""),
    (secret.WHOLE_ENVIRONMENT, "the whole environment"),
    (secret.SWEPT, "files of the whole home or machine"),
    (secret.WATCHED, "the clipboard or the screen"),
    (secret.ENV_FILE, "the secrets of an .env file"),
)
_COMMENT = {"python": "#", "shell": "#", "javascript": "//", "powershell": "#", "code": "#"}


class Spot(NamedTuple):
    """Where something stands in a piece, and what it is."""

    start: int
    end: int
    what: str
    is_strong: bool = True
    """Whether an honest script seldom does it, even alone."""


def flows(pieces: Iterable[Piece]) -> Iterator[Finding]:
    """What reads secrets beside a way out: in the same text, or in two scripts of one skill."""
    reads: list[tuple[Piece, Spot]] = []
    sends: set[str] = set()
    for piece in pieces:
        sources = list(_sources(piece))
        senders = list(_senders(piece)) if piece.is_code or sources else []
        yield from _collected(piece, senders)
        if sources and senders:
            yield from _met(piece, sources, senders=senders)
        elif sources and piece.is_code:
            reads.append((piece, sources[0]))
        elif senders and piece.path:
            sends.add(piece.path)
    for piece, spot in reads:
        others = sorted(sends - {piece.path})
        together = others and piece.path and spot.is_strong
        weight = Severity.HIGH if together else Severity.MEDIUM if spot.is_strong else Severity.LOW
        rule, rest = ("secret_sent", f", and {others[0]} sends") if together else ("secret_read", "")
        yield piece.finding(rule, weight, reason=f"reads {spot.what}{rest}", span=(spot.start, spot.end))


def _met(piece: Piece, sources: list[Spot], *, senders: list[Spot]) -> Iterator[Finding]:
    for source in sources[:PER_RULE_MAX]:
        sender = min(senders, key=lambda spot: abs(spot.start - source.start))
        near = abs(sender.start - source.start) <= _NEAR
        if not piece.is_code and not near and not piece.way:
            continue
        strong = piece.is_code or piece.text.count("\n", *sorted((source.start, sender.start))) <= 3
        taught = not piece.is_code and _TEACHING.search(piece.text[max(0, source.start - 200) : source.end + 200])
        weight = Severity.MEDIUM if taught or not strong else Severity.HIGH
        reason = f"reads {source.what}, and sends to {sender.what}"
        span = (min(source.start, sender.start), max(source.end, sender.end)) if near else (source.start, source.end)
        yield piece.finding("secret_sent", weight, reason=reason, span=span)
        return


def _collected(piece: Piece, senders: list[Spot]) -> Iterator[Finding]:
    """Code that sends to where nobody honest receives."""
    if not piece.is_code:
        return
    named = ((place_of(match[1]), match) for match in _HOST.finditer(piece.text))
    for place, match in (*places(piece.text), *named):
        if place in (Place.COLLECTOR, Place.HOSTILE, Place.NUMBER, Place.PASTE) and not _in_comment(
            piece, match.start()
        ):
            weight = Severity.MEDIUM if place is Place.PASTE and not senders else Severity.HIGH
            reason = f"talks to {place} ({match[1][:60]})"
            yield piece.finding("odd_address", weight, reason=reason, span=match.span())


def _sources(piece: Piece) -> Iterator[Spot]:
    for pattern, what in _SOURCES:
        for match in pattern.finditer(piece.text, piece.lowered):
            if not _in_comment(piece, match.start()):
                told = what or f"a place of secrets ({' '.join(match[0].split())[:40]})"
                yield Spot(*match.span(), told, not what)


def _senders(piece: Piece) -> Iterator[Spot]:
    if not piece.is_code:
        for match in _TOLD_TO_SEND.finditer(piece.text, piece.lowered):
            kinds = [place for place, _ in places(match[0])]
            if kinds and kinds[0] not in (Place.LOCAL, Place.INSTALLER, Place.CODE):
                yield Spot(*match.span(), str(kinds[0]))
    for match in secret.SEND.finditer(piece.text, piece.lowered):
        if _in_comment(piece, match.start()):
            continue
        after = piece.text[match.start() : match.end() + 300]
        kinds = [place for place, _ in places(after)]
        if kinds and kinds[0] is Place.LOCAL:
            continue
        yield Spot(*match.span(), str(kinds[0]) if kinds else "somewhere")


def _in_comment(piece: Piece, at: int) -> bool:
    mark = _COMMENT.get(piece.language)
    if mark is None:
        return False
    start = piece.text.rfind("\n", max(0, at - 400), at) + 1
    return piece.text[start : start + 60].lstrip().startswith(mark)
