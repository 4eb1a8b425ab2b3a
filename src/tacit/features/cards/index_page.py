"""INDEX.md, the overview page of a card folder: the same content gives the same bytes on the same day.

Seven sections in a fixed order. Titles are foreign text, so each stays on one line and inside its bold marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from tacit.domain.ledger import E
from tacit.features.cards.card import Backport, Card, CardStatus, Recommendation
from tacit.features.cards.card_records import UNKNOWN_SKILL, parse_time
from tacit.features.cards.scores import GONE, OPEN, Score, backported_ids, is_candidate, priority
from tacit.text.safe_markdown import inert_line

STALE_DAYS = 7
TOP, CANDIDATES, LATEST = 5, 5, 10
_MAX_TITLE = 160
_PLAIN_ID = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_HEAD = """# Self-learning index

Written by `tacit cards` from what its store holds; changes made here are lost.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexContent:
    """What INDEX.md lists: the newest version of everything, in the order in which it came."""

    cards: Sequence[Card]
    recommendations: Sequence[Recommendation]
    backports: Sequence[Backport]
    scores: Mapping[str, Score]
    shows: Callable[[Card], bool]
    """Whether a card may be shown."""
    is_reviewed: Callable[[Card], bool]
    """Whether a card was reviewed; others are marked."""
    advises: Callable[[Recommendation], bool] = lambda _: True
    """Whether a recommendation may be shown."""


def index_page(content: IndexContent, now: datetime) -> str:
    """Return the text of the page."""
    open_ones = [each for each in content.recommendations if each.effective_status in OPEN]
    by_priority = sorted(open_ones, key=lambda each: (-priority(each), -(_age_days(each, now) or 0), each.key))
    stale = [each for each in open_ones if (_age_days(each, now) or 0) >= STALE_DAYS]
    by_age = sorted(stale, key=lambda each: (-(_age_days(each, now) or 0), -priority(each), each.key))
    latest = [
        _line(card.title, card.key, card.ts) + _review_mark(card, content)
        for card in _newest(content.cards, content.shows)
    ]
    current = [card for card in content.cards if card.status not in GONE]
    top = [_scored_line(card, content) for card in _best(current, content, TOP)]
    backports = [_line(each.target_skill, each.key, each.ts) for each in _newest(content.backports, lambda _: True)]
    advised = _newest(content.recommendations, content.advises)
    recommendations = [_line(each.title, each.key, each.ts) + _file_mark(each) for each in advised]
    sections = (
        ("Top Aha Cards (score)", top, "_(none yet)_"),
        ("Open Recommendations", _recommendation_lines(by_priority, content, now), "_(none)_"),
        (f"Stale Recommendations (≥{STALE_DAYS}d)", _recommendation_lines(by_age, content, now), "_(none)_"),
        ("Backport Candidates (preview)", _candidates(content), "_(none yet)_"),
        ("Latest Aha Cards", latest, "_(none yet)_"),
        ("Latest Backports", backports, "_(none yet)_"),
        ("Latest Recommendations", recommendations, "_(none yet)_"),
    )
    body = "\n".join(f"## {title}\n\n{chr(10).join(lines) or empty}\n" for title, lines, empty in sections)
    return f"{_HEAD}\n{body}"


def plain_title(text: str) -> str:
    """Return a title that cannot leave its line or its bold marks, and in which nothing is fetched or run."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    line = line.replace("**", "* *").replace("<!--", "< !--")
    short = line if len(line) <= _MAX_TITLE else line[: _MAX_TITLE - 1] + "…"
    return _TAG.sub("&lt;", inert_line(short)) or "(untitled)"


def _best(cards: Iterable[Card], content: IndexContent, limit: int) -> list[Card]:
    """Return the best cards that may be shown; only as many are checked as needed."""
    ranked = sorted(cards, key=lambda card: (-content.scores[card.key].total, card.title.casefold(), card.key))
    return list(islice(filter(content.shows, ranked), limit))


def _candidates(content: IndexContent) -> list[str]:
    done = backported_ids(content.cards, content.backports)
    accepted = {card.key for card in content.cards if card.status is CardStatus.ACCEPTED and content.is_reviewed(card)}
    found = [
        card
        for card in content.cards
        if is_candidate(card, content.scores[card.key], done, is_reviewed=card.key in accepted)
    ]
    ranked = _best(found, content, CANDIDATES)
    return [f"{_scored_line(card, content)} [{plain_title(card.primary_skill or UNKNOWN_SKILL)}]" for card in ranked]


def _scored_line(card: Card, content: IndexContent) -> str:
    return _line(card.title, card.key, f"score {content.scores[card.key].total}") + _review_mark(card, content)


def _review_mark(card: Card, content: IndexContent) -> str:
    return "" if content.is_reviewed(card) else " (not reviewed)"


def _recommendation_lines(ranked: Iterable[Recommendation], content: IndexContent, now: datetime) -> list[str]:
    """Return the first that may be shown; only as many are checked as needed."""
    lines = []
    for each in islice(filter(content.advises, ranked), LATEST):
        age = _age_days(each, now)
        since = "unknown age" if age is None else f"{age}d ago"
        lines.append(_line(each.title, each.key, f"{each.effective_status}, {each.scope}, {since}") + _file_mark(each))
    return lines


def _file_mark(each: Recommendation) -> str:
    return " (from a file, nobody looked at it)" if each.from_file else ""


def _line(title: str, key: str, rest: str) -> str:
    name = f"`{key}`" if _PLAIN_ID.fullmatch(key) else plain_title(key).replace("`", "'")
    return f"- **{plain_title(title)}** ({name}, {plain_title(rest)})"


def _newest(items: Iterable[E], shows: Callable[[E], bool]) -> list[E]:
    ordered = sorted(items, key=lambda each: (each.at, each.key), reverse=True)
    return list(islice(filter(shows, ordered), LATEST))


def _age_days(each: Recommendation, now: datetime) -> int | None:
    """Return whole days since it was touched; None where that is not known."""
    touched = parse_time(each.last_touched_ts) or parse_time(each.ts)
    return None if touched is None else max(0, (now - touched).days)
