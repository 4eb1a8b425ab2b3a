"""A target's files → what was graduated into them, as their markers tell it. Pure; changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.features.cards.graduation.markers import BLOCK_END, CARD_END, Marked, card_ids, header_meta, read_markers
from tacit.features.cards.graduation.targets import Target
from tacit.features.cards.graduation.text_file import read_text

_MARKERS = {
    "skill_start": "<!-- self-learning:backport:start id=... -->",
    "skill_end": BLOCK_END,
    "aha_start": "<!-- self-learning:aha:start id=... -->",
    "aha_end": CARD_END,
}


def inspect_target(
    target: Target, held: Mapping[str, bytes | None], *, backport_id: str = "", card_id: str = ""
) -> dict[str, Any]:
    """Tell what a target holds, by the keys of the aha-card workflow and some more."""
    main = read_text(held[target.main], path=target.main).text
    host = read_text(held[target.host], path=target.host).text
    shown, marks = read_markers(main), read_markers(host)
    ids = card_ids(host)
    by_backport: dict[str, list[str]] = {}
    for card in marks.cards:
        by_backport.setdefault(card.backport_id, []).append(card.id)
    return {
        "skill_md_markers": {
            "has_backport_start": shown.has_start,
            "has_backport_end": shown.has_end,
            "backport_ids": list(shown.backport_ids),
        },
        "aha_reference": {
            "exists": held[target.host] is not None,
            "header_meta": header_meta(host) if target.reference else {},
            "card_count": len(ids),
            "card_ids": ids,
            "legacy_ids": bool(ids) and not marks.cards,
        },
        "by_backport": by_backport,
        "requested": {"backport_id": backport_id or None, "aha_id": card_id or None},
        "found": _found(shown, by_backport, ids, backport_id, card_id),
        "hook_markers": shown.hooks + (marks.hooks if target.reference else 0),
        "problems": _problems(target, shown, marks),
        "remove_instructions": _hints(target, backport_id, card_id),
        "markers": dict(_MARKERS),
    }


def _found(
    shown: Marked, by_backport: Mapping[str, list[str]], ids: list[str], backport_id: str, card_id: str
) -> dict[str, bool]:
    """Whether what was asked for is there; of nothing asked for, nothing is told."""
    asked = {}
    if backport_id:
        asked["backport_id"] = backport_id in shown.backport_ids or backport_id in by_backport
    if card_id:
        asked["aha_id"] = card_id in ids
    return asked


def _problems(target: Target, shown: Marked, marks: Marked) -> list[str]:
    told = [f"{target.main}: {problem}" for problem in shown.problems]
    if target.reference:
        told += [f"{target.reference}: {problem}" for problem in marks.problems]
    if hooks := shown.hooks + (marks.hooks if target.reference else 0):
        told.append(f"{hooks} markers of old hooks (self-learning:hook) are there; remove them by hand")
    return told


def _hints(target: Target, backport_id: str, card_id: str) -> list[str]:
    of = f"in {target.host}"
    hints = [
        f"`tacit backport --undo {backport_id or 'BACKPORT_ID'}` takes out what Tacit applied; or revert the commit.",
        f"By hand: delete the block between the backport markers in {target.main} and the pieces {of}.",
    ]
    if backport_id:
        hints.append(f"Of {backport_id}: the pieces {of} whose opening marker says backport_id={backport_id}.")
    if card_id:
        hints.append(f"Of {card_id}: the lines {of} from the marker with id={card_id} to the next {CARD_END}.")
    return hints
