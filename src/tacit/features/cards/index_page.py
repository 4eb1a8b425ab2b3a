"""INDEX.md, the page of a card folder for people who skim: what the deck holds → the same bytes for the same day.

Seven sections in a fixed order. Titles are other people's words, so each stays on one line and within its bold marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from tacit.domain.card import Backport, Card, CardStatus
from tacit.domain.ledger import E
from tacit.domain.recommendation import Recommendation
from tacit.features.cards.records import UNKNOWN_SKILL, parse_time
from tacit.features.cards.scores import GONE, OPEN, Score, backported_ids, is_candidate, priority
from tacit.text.safe_markdown import inert_line

STALE_DAYS = 7
TOP, CANDIDATES, LATEST = 5, 5, 10
_LONGEST_TITLE = 160
_PLAIN_ID = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_HEAD = """# Self-learning index

Written by `tacit cards` from what its store holds; changes made here are lost.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexContent:
    """What INDEX.md tells of: the newest version of everything, in the order in which it came."""

    cards: Sequence[Card]
    recommendations: Sequence[Recommendation]
    backports: Sequence[Backport]
    scores: Mapping[str, Score]
    shows: Callable[[Card], bool]
    """Whether a card may be shown; the gate holds some back."""
    is_reviewed: Callable[[Card], bool]
    """Whether a person, or policy, let it in; others are marked."""
    advises: Callable[[Recommendation], bool] = lambda _: True
    """Whether a recommendation may be shown; some hold what nobody should follow unread."""


def index_page(held: IndexContent, now: datetime) -> str:
    """Write the page."""
    open_ones = [each for each in held.recommendations if each.standing in OPEN]
    by_priority = sorted(open_ones, key=lambda each: (-priority(each), -(_age(each, now) or 0), each.key))
    stale = [each for each in open_ones if (_age(each, now) or 0) >= STALE_DAYS]
    by_age = sorted(stale, key=lambda each: (-(_age(each, now) or 0), -priority(each), each.key))
    latest = [_card(card, held) for card in _newest(held.cards, held.shows)]
    ported = [_line(each.target_skill, each.key, each.ts) for each in _latest(held.backports)]
    advised = [
        _line(each.title, each.key, each.ts) + _whence(each) for each in _newest(held.recommendations, held.advises)
    ]
    sections = (
        ("Top Aha Cards (score)", _top(held), "_(none yet)_"),
        ("Open Recommendations", [_recommendation(each, now) for each in _first(by_priority, held)], "_(none)_"),
        (
            f"Stale Recommendations (≥{STALE_DAYS}d)",
            [_recommendation(each, now) for each in _first(by_age, held)],
            "_(none)_",
        ),
        ("Backport Candidates (preview)", _candidates(held), "_(none yet)_"),
        ("Latest Aha Cards", latest, "_(none yet)_"),
        ("Latest Backports", ported, "_(none yet)_"),
        ("Latest Recommendations", advised, "_(none yet)_"),
    )
    body = "\n".join(f"## {title}\n\n{chr(10).join(lines) or empty}\n" for title, lines, empty in sections)
    return f"{_HEAD}\n{body}"


def plain_title(text: str) -> str:
    """A title that cannot leave its line or its bold marks, and in which nothing is fetched, followed or run."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    line = line.replace("**", "* *").replace("<!--", "< !--")
    short = line if len(line) <= _LONGEST_TITLE else line[: _LONGEST_TITLE - 1] + "…"
    return _TAG.sub("&lt;", inert_line(short)) or "(untitled)"


def _ranked(cards: Iterable[Card], held: IndexContent, most: int) -> list[Card]:
    """The best that may be shown; only as many are asked about as are needed."""
    ranked = sorted(cards, key=lambda card: (-held.scores[card.key].total, card.title.casefold(), card.key))
    return list(islice(filter(held.shows, ranked), most))


def _top(held: IndexContent) -> list[str]:
    standing = [card for card in held.cards if card.status not in GONE]
    return [_scored(card, held) for card in _ranked(standing, held, TOP)]


def _candidates(held: IndexContent) -> list[str]:
    done = backported_ids(held.cards, held.backports)
    found = [
        card
        for card in held.cards
        if is_candidate(card, held.scores[card.key], done, is_reviewed=_is_accepted(card, held))
    ]
    ranked = _ranked(found, held, CANDIDATES)
    return [f"{_scored(card, held)} [{plain_title(card.primary_skill or UNKNOWN_SKILL)}]" for card in ranked]


def _scored(card: Card, held: IndexContent) -> str:
    return _line(card.title, card.key, f"score {held.scores[card.key].total}") + _mark(card, held)


def _card(card: Card, held: IndexContent) -> str:
    return _line(card.title, card.key, card.ts) + _mark(card, held)


def _mark(card: Card, held: IndexContent) -> str:
    return "" if held.is_reviewed(card) else " (not reviewed)"


def _recommendation(each: Recommendation, now: datetime) -> str:
    age = _age(each, now)
    since = "unknown age" if age is None else f"{age}d ago"
    return _line(each.title, each.key, f"{each.standing}, {each.scope}, {since}") + _whence(each)


def _first(ranked: Iterable[Recommendation], held: IndexContent) -> list[Recommendation]:
    """The first that may be shown; only as many are looked at as are needed."""
    return list(islice(filter(held.advises, ranked), LATEST))


def _is_accepted(card: Card, held: IndexContent) -> bool:
    return card.status is CardStatus.ACCEPTED and held.is_reviewed(card)


def _whence(each: Recommendation) -> str:
    return " (from a file, nobody looked at it)" if each.from_file else ""


def _line(title: str, key: str, rest: str) -> str:
    name = f"`{key}`" if _PLAIN_ID.fullmatch(key) else plain_title(key).replace("`", "'")
    return f"- **{plain_title(title)}** ({name}, {plain_title(rest)})"


def _latest(items: Iterable[E]) -> list[E]:
    """The last that were written or changed, newest first."""
    return _newest(items, lambda _: True)


def _newest(items: Iterable[E], shows: Callable[[E], bool]) -> list[E]:
    ordered = sorted(items, key=lambda each: (each.at, each.key), reverse=True)
    return list(islice(filter(shows, ordered), LATEST))


def _age(each: Recommendation, now: datetime) -> int | None:
    """Whole days since somebody touched it."""
    touched = parse_time(each.last_touched_ts) or parse_time(each.ts)
    return None if touched is None else max(0, (now - touched).days)
