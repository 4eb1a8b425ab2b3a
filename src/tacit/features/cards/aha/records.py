"""Entries of the ledger ↔ lines of the card workflow's JSONL files, for all five sorts. Pure, and lossless in meaning.

A line → an entry: secrets go, defaults and aliases are settled, and fields that nobody here knows, or that have another
shape than they should, come along in `extra`. An entry → its line: what a line said before is said again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from tacit.domain.card import Backport, Card, CardEvent, Signal, SignalKind
from tacit.domain.entry import Entry
from tacit.domain.errors import Mistake
from tacit.domain.identity import digest
from tacit.domain.recommendation import Recommendation
from tacit.features.cards.aha import fields, ids
from tacit.features.cards.aha.fields import MISFIT, Reader
from tacit.features.cards.aha.stamps import moment, stamp
from tacit.text.redaction import redact_value

Record = Card | Recommendation | CardEvent | Signal | Backport
R = TypeVar("R", Card, Recommendation, CardEvent, Signal, Backport)
FILES: dict[type[Entry], str] = {
    CardEvent: "events.jsonl",
    Card: "aha_cards.jsonl",
    Recommendation: "recommendations.jsonl",
    Backport: "backports.jsonl",
    Signal: "signals.jsonl",
}
"""Sort → the file that its lines stand in."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a line: the attribute that holds it, how it is read, and whether it is written even when empty."""

    attribute: str
    read: Reader = fields.text
    always: bool = True


_CARD = {
    "ts": _Field("ts"),
    "title": _Field("title"),
    "when_to_use": _Field("when_to_use"),
    "problem": _Field("problem"),
    "solution_steps": _Field("solution_steps", fields.texts),
    "evidence": _Field("evidence", fields.texts),
    "primary_skill": _Field("primary_skill"),
    "scope": _Field("scope", fields.scope),
    "shareable": _Field("shareable", fields.flag),
    "tags": _Field("tags", fields.texts),
    "status": _Field("status", fields.card_status),
    "input_shape": _Field("input_shape", fields.mapping, always=False),
    "output_shape": _Field("output_shape", fields.mapping, always=False),
    "gotchas": _Field("gotchas", fields.texts, always=False),
    "links": _Field("links", fields.texts, always=False),
    "last_touched_ts": _Field("last_touched_ts", always=False),
    "note": _Field("note", always=False),
    "key": _Field("equivalence", always=False),
}
_RECOMMENDATION = {
    "ts": _Field("ts"),
    "title": _Field("title"),
    "why": _Field("why"),
    "expected_impact": _Field("expected_impact", fields.impact),
    "implementation_hint": _Field("implementation_hint"),
    "primary_skill": _Field("primary_skill"),
    "scope": _Field("scope", fields.scope),
    "shareable": _Field("shareable", fields.flag),
    "status": _Field("status", fields.recommendation_status),
    "last_touched_ts": _Field("last_touched_ts", always=False),
    "note": _Field("note", always=False),
    "tags": _Field("tags", fields.texts),
    "backport": _Field("backport", fields.mapping, always=False),
}
_EVENT = {
    "ts": _Field("ts"),
    "task_summary": _Field("task_summary"),
    "primary_skill": _Field("primary_skill"),
    "notes": _Field("notes", fields.texts),
}
_SIGNAL = {"ts": _Field("ts"), "source": _Field("source"), "context": _Field("context", always=False)}
_BACKPORT = {
    "ts": _Field("ts"),
    "target_skill": _Field("target_skill"),
    "target_skill_path": _Field("target_path"),
    "requested_card_ids": _Field("requested", fields.texts),
    "added_card_ids": _Field("added", fields.texts),
    "result_card_ids": _Field("result", fields.texts),
    "applied": _Field("applied", fields.flag),
    "diff_written": _Field("diff_written", fields.flag),
    "bundle_dir": _Field("bundle"),
    "undone": _Field("undone", fields.flag, always=False),
    "hashes": _Field("hashes", fields.impact, always=False),
}
_FIELDS: dict[type[Entry], dict[str, _Field]] = {
    Card: _CARD,
    Recommendation: _RECOMMENDATION,
    CardEvent: _EVENT,
    Signal: _SIGNAL,
    Backport: _BACKPORT,
}
_OWN_NAMES: dict[type[Entry], tuple[str, ...]] = {Backport: ("backport_id", "id")}
_TARGETS = ("aha_id", "rec_id")


def entry_of(sort: type[R], line: Mapping[str, Any], *, by: str, at: datetime) -> R:
    """Read a line at the time `at`, which stands in for one that it does not tell, or that has not come yet.

    A signal that tells nothing is a `Mistake`, and so is an id that holds a secret.
    """
    said = _said(sort, line)
    return sort(**said, at=min(moment(said["ts"]) or at, at), by=by)


def _said(sort: type[Entry], line: Mapping[str, Any]) -> dict[str, Any]:
    """What a line says, by attribute of its entry."""
    known, names = _FIELDS[sort], _OWN_NAMES.get(sort, ("id",))
    clean: dict[str, Any] = {**redact_value(dict(line)).value}
    said = _aim(line) if sort is Signal else {}
    settled = {*known, *names, *(("kind", *_TARGETS) if said else ())}
    extra = {name: value for name, value in clean.items() if name not in settled}
    for name, field in known.items():
        value = field.read(clean.get(name))
        if value is MISFIT or (name == "status" and clean.get(name) and clean[name] != value):
            extra[name] = clean[name]  # an older word stays until `repair` writes it anew
        said[field.attribute] = field.read(None) if value is MISFIT else value
    key = next((str(line[name]) for name in names if line.get(name)), "") or _derived(sort, said)
    if redact_value(key).value != key:
        raise Mistake("its id holds what looks like a secret", hint="give it another id, or none")
    return said | {"key": key, "extra": extra}


def line_of(entry: Record) -> dict[str, Any]:
    """Write an entry as its file has it, with all that nobody here knows behind the rest."""
    own = "backport_id" if isinstance(entry, Backport) else "id"
    line: dict[str, Any] = {own: entry.key}
    if isinstance(entry, Signal):
        line |= {"kind": str(entry.kind), "aha_id" if entry.kind.startswith("aha_") else "rec_id": entry.target}
    for name, field in _FIELDS[type(entry)].items():
        value = getattr(entry, field.attribute)
        if field.always or value:
            line[name] = str(value) if name == "status" else fields.written(value)
    return line | dict(entry.extra)


def meaning(entry: Record) -> str:
    """A digest of what an entry's line says, by which it is known again in a file."""
    return digest((entry.SORT, line_of(entry)))


def renewed(entry: R, *, at: datetime, **changes: Any) -> R:
    """The next version of an entry: with a time of its own, and without what did not fit into the fields that changed."""
    names = {name for name, field in _FIELDS[type(entry)].items() if field.attribute in changes}
    extra = {name: value for name, value in entry.extra.items() if name not in names and name != "ts"}
    said: dict[str, Any] = {"at": at, "ts": stamp(at), "extra": extra, "id": ""} | changes
    return dataclasses.replace(entry, **said)


def _aim(line: Mapping[str, Any]) -> dict[str, Any]:
    """What a signal is about, and of which kind; exactly one of the two targets is told."""
    kind = line.get("kind")
    if not isinstance(kind, str) or kind not in set(SignalKind):
        raise Mistake(f"unknown kind of signal {str(kind)[:40]!r}", hint=f"the kinds are {', '.join(SignalKind)}")
    target = line.get("aha_id" if kind.startswith("aha_") else "rec_id")
    if not isinstance(target, str) or not target or all(line.get(name) for name in _TARGETS):
        raise Mistake(f"a signal {kind} names exactly one target", hint="give aha_id or rec_id, as the kind says")
    return {"kind": SignalKind(kind), "target": target}


def _derived(sort: type[Entry], said: Mapping[str, Any]) -> str:
    """The id of a line that has none."""
    if sort is Card:
        return ids.card_id(said["ts"], said["title"], said["when_to_use"], said["primary_skill"])
    if sort is Recommendation:
        return ids.recommendation_id(said["ts"], said["title"], said["primary_skill"])
    if sort is CardEvent:
        return ids.event_id(said["ts"], said["task_summary"], said["primary_skill"])
    if sort is Signal:
        return ids.signal_id(said["ts"], said["kind"], said["target"], said["source"], context=said["context"])
    at = moment(said["ts"])
    if at is None:
        raise Mistake("a backport without id and time", hint="give it a backport_id")
    return ids.backport_id(at, said["target_skill"], said["requested"])
