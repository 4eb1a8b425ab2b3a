"""Entries of the ledger ↔ lines of the card workflow's JSONL files, for all five sorts; ids, times, and a card as a lesson.

Line → entry: secrets are redacted, defaults and aliases are applied, and unknown fields, or fields of the wrong shape, go into
`extra`. Entry → line: the line keeps everything it had. The files are those of self-learning-skills, store format v1.

Ids are a prefix and twelve digits of SHA-1 over the identifying fields of a record; SHA-1 names things here and protects
nothing. Two records of one second may have the same fields: `unused_id` then gives the second one another id.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from tacit.domain.errors import Mistake
from tacit.domain.identity import digest
from tacit.domain.ledger import LedgerEntry
from tacit.domain.skill import Kind, SkillContent
from tacit.features.cards.card import (
    Backport,
    Card,
    CardEvent,
    CardStatus,
    Recommendation,
    RecommendationStatus,
    Signal,
    SignalKind,
)
from tacit.render.validation import skill_name
from tacit.text.redaction import redact_value


def format_time(at: datetime) -> str:
    """Return a time as text: `2026-01-31T09:05:00Z`."""
    return at.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def parse_time(text: object) -> datetime | None:
    """Parse a time; a blank may replace the `T`, and a time without a zone is UTC. None if it is not a time."""
    if not isinstance(text, str):
        return None
    try:
        read = datetime.fromisoformat(text.strip().replace(" ", "T", 1))
        return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


UNKNOWN_SKILL = "unknown"
DEFAULT_USER = "default"
_LONGEST = 64
_NOT_IN_A_FOLDER = re.compile(r"[^a-zA-Z0-9_.-]+")
_BETWEEN_SKILLS = re.compile(r"[+,;|]")


def user_slug(account: str) -> str:
    """Return the name of a person's card folder: without a mail domain, and valid in every file system."""
    name = account.strip().partition("@")[0].strip() or DEFAULT_USER
    slug = _NOT_IN_A_FOLDER.sub("_", name)[:_LONGEST]
    return DEFAULT_USER if slug in (".", "..") else slug


def first_skill_name(values: object) -> str:
    """Return one skill's name, so that filters work: the first word of the first of several; else `unknown`."""
    if not isinstance(values, str):
        return UNKNOWN_SKILL
    words = _BETWEEN_SKILLS.split(values, maxsplit=1)[0].split()
    return words[0] if words else UNKNOWN_SKILL


WELL_FORMED = re.compile(r"(?:aha|rec|evt|sig)_[A-Za-z0-9_.-]{1,80}")
"""Ids that somebody may choose; they are written into comments of files and must not end one."""


def card_id(ts: str, title: str, when_to_use: str, primary_skill: str) -> str:
    """Return the id of a card."""
    return _named("aha", ts, title, when_to_use, primary_skill)


def recommendation_id(ts: str, title: str, primary_skill: str, *, when_to_use: str = "") -> str:
    """Return the id of a recommendation, which usually has no `when_to_use`."""
    return _named("rec", ts, title, when_to_use, primary_skill)


def event_id(ts: str, task_summary: str, primary_skill: str) -> str:
    """Return the id of an event."""
    return _named("evt", ts, task_summary, primary_skill)


def signal_id(ts: str, kind: str, target: str, source: str, *, context: str = "") -> str:
    """Return the id of a signal; `target` is a card or a recommendation, depending on the kind."""
    is_card = kind.startswith("aha_")
    return _named("sig", ts, kind, target if is_card else "", "" if is_card else target, source, context)


def backport_id(at: datetime, skill_name: str, ids: Sequence[str]) -> str:
    """Return the id of a backport: its time, and six digits over time, target and cards."""
    ts = at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    return f"slbp_{ts}_{_digits('|'.join((ts, skill_name, ','.join(ids))), 6)}"


def unused_id(make: Callable[[str], str], taken: Container[str], last: str) -> str:
    """Return the id that `make` gives for the last identifying field, with a number appended until it is unused."""
    found, number = make(last), 2
    while found in taken:
        found, number = make(f"{last}#{number}"), number + 1
    return found


def _named(prefix: str, *values: str) -> str:
    return f"{prefix}_{_digits('|'.join(values), 12)}"


def _digits(text: str, length: int) -> str:
    return hashlib.sha1(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:length]


MISFIT: Final = object()
SCOPES = ("project", "portable")
Reader = Callable[[Any], Any]

_ALIASES = {
    "implemented": RecommendationStatus.DONE,
    "complete": RecommendationStatus.DONE,
    "completed": RecommendationStatus.DONE,
    "in-progress": RecommendationStatus.IN_PROGRESS,
    "inprogress": RecommendationStatus.IN_PROGRESS,
}
_NO = frozenset({"", "0", "false", "no", "off", "null", "none"})


def as_text(value: Any) -> Any:
    """Return a text; None is the empty one."""
    if value is None:
        return ""
    return value if isinstance(value, str) else MISFIT


def as_texts(value: Any) -> Any:
    """Return a tuple of texts; a single text is a tuple of one."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return MISFIT
    return tuple(value)


def id_list(value: Any) -> list[str]:
    """Return the ids of a list, or of one text with commas; each once."""
    if value is None:
        return []
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(part is None or isinstance(part, str) for part in parts):
        raise Mistake("ids are a list of texts, or one text with commas", code="invalid_ids")
    return list(dict.fromkeys(part.strip() for part in parts if part and part.strip()))


def as_object(value: Any) -> Any:
    """Return an object."""
    if value is None:
        return {}
    return value if isinstance(value, dict) else MISFIT


def as_text_object(value: Any) -> Any:
    """Return an object of texts."""
    if value is None:
        return {}
    fits = isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
    return value if fits else MISFIT


def as_flag(value: Any) -> bool:
    """Return yes or no; missing means no, since sharing needs consent."""
    return value.strip().lower() not in _NO if isinstance(value, str) else bool(value)


def as_scope(value: Any) -> str:
    """Return one of the two scopes; anything else is `project`."""
    values = value.strip().lower() if isinstance(value, str) else ""
    return values if values in SCOPES else SCOPES[0]


def card_status(value: Any) -> CardStatus:
    """Return the status of a card; unknown words mean `proposed`."""
    values = value.strip() if isinstance(value, str) else ""
    return CardStatus(values) if values in set(CardStatus) else CardStatus.PROPOSED


def recommendation_status(value: Any) -> RecommendationStatus:
    """Return the status of a recommendation; older spellings are understood, unknown words mean `proposed`."""
    values = value.strip() if isinstance(value, str) else ""
    if values in _ALIASES:
        return _ALIASES[values]
    return RecommendationStatus(values) if values in set(RecommendationStatus) else RecommendationStatus.PROPOSED


def is_alias(value: Any) -> bool:
    """Return whether a status is a known older spelling, which `repair` updates; unknown ones are left alone."""
    return isinstance(value, str) and value.strip() in _ALIASES


def as_json(value: Any) -> Any:
    """Return an entry's value for JSON."""
    return list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value


Record = Card | Recommendation | CardEvent | Signal | Backport
R = TypeVar("R", Card, Recommendation, CardEvent, Signal, Backport)
FILES: dict[type[LedgerEntry], str] = {
    CardEvent: "events.jsonl",
    Card: "aha_cards.jsonl",
    Recommendation: "recommendations.jsonl",
    Backport: "backports.jsonl",
    Signal: "signals.jsonl",
}
"""Sort of entry → the name of its file."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a line: the attribute that holds it, how it is read, and whether it is written even when empty."""

    attribute: str
    read: Reader = as_text
    always: bool = True


def _fields(names: str, read: Reader = as_text, *, always: bool = True) -> dict[str, _Field]:
    """Return fields whose attributes have the same names."""
    return {name: _Field(name, read, always) for name in names.split()}


_CARD = {
    **_fields("ts title when_to_use problem"),
    **_fields("solution_steps evidence", as_texts),
    **_fields("primary_skill"),
    **_fields("scope", as_scope),
    **_fields("shareable", as_flag),
    **_fields("tags", as_texts),
    **_fields("status", card_status),
    **_fields("input_shape output_shape", as_object, always=False),
    **_fields("gotchas links", as_texts, always=False),
    **_fields("last_touched_ts note", always=False),
    "key": _Field("equivalence", always=False),
}
_RECOMMENDATION = {
    **_fields("ts title why"),
    **_fields("expected_impact", as_text_object),
    **_fields("implementation_hint primary_skill"),
    **_fields("scope", as_scope),
    **_fields("shareable", as_flag),
    **_fields("status", recommendation_status),
    **_fields("last_touched_ts note", always=False),
    **_fields("tags", as_texts),
    **_fields("backport", as_object, always=False),
}
_EVENT = {**_fields("ts task_summary primary_skill"), **_fields("notes", as_texts)}
_SIGNAL = {**_fields("ts source"), **_fields("context", always=False)}
_BACKPORT = {
    **_fields("ts target_skill"),
    "target_skill_path": _Field("target_path"),
    **{f"{name}_card_ids": _Field(name, as_texts) for name in ("requested", "added", "result")},
    **_fields("applied diff_written", as_flag),
    "bundle_dir": _Field("bundle"),
    **_fields("undone", as_flag, always=False),
    **_fields("hashes", as_text_object, always=False),
}
_FIELDS: dict[type[LedgerEntry], dict[str, _Field]] = {
    Card: _CARD,
    Recommendation: _RECOMMENDATION,
    CardEvent: _EVENT,
    Signal: _SIGNAL,
    Backport: _BACKPORT,
}
_OWN_NAMES: dict[type[LedgerEntry], tuple[str, ...]] = {Backport: ("backport_id", "id")}
_TARGETS = ("aha_id", "rec_id")
_NOT_TEXT = frozenset({"ts", "status", "note", "last_touched_ts"})


def entry_of(sort: type[R], line: Mapping[str, Any], *, by: str, at: datetime) -> R:
    """Parse a line; `at` replaces a time that is missing or in the future.

    Raises `Mistake` for a signal without kind or target, and for an id that contains a secret.
    """
    values = _values_of_line(sort, line)
    return sort(**values, at=min(parse_time(values["ts"]) or at, at), by=by)


def _values_of_line(sort: type[LedgerEntry], line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a line by attribute of its entry."""
    known, names = _FIELDS[sort], _OWN_NAMES.get(sort, ("id",))
    clean: dict[str, Any] = {**redact_value(dict(line)).value}
    values = _aim(line) if sort is Signal else {}
    settled = {*known, *names, *(("kind", *_TARGETS) if values else ())}
    extra = {name: value for name, value in clean.items() if name not in settled}
    for name, field in known.items():
        value = field.read(clean.get(name))
        if value is MISFIT or (name == "status" and clean.get(name) and clean[name] != value):
            extra[name] = clean[name]  # an older spelling stays until `repair` updates it
        values[field.attribute] = field.read(None) if value is MISFIT else value
    key = next((str(line[name]) for name in names if line.get(name)), "") or _derived(sort, values)
    if redact_value(key).value != key:
        raise Mistake("the id looks like a secret", code="secret_in_id", hint="give it another id, or none")
    return values | {"key": key, "extra": extra}


def line_of(entry: Record) -> dict[str, Any]:
    """Return the line of an entry, with unknown fields at the end."""
    own = "backport_id" if isinstance(entry, Backport) else "id"
    line: dict[str, Any] = {own: entry.key}
    if isinstance(entry, Signal):
        line |= {"kind": str(entry.kind), "aha_id" if entry.kind.startswith("aha_") else "rec_id": entry.target}
    for name, field in _FIELDS[type(entry)].items():
        value = getattr(entry, field.attribute)
        if field.always or value:
            line[name] = str(value) if name == "status" else as_json(value)
    return line | dict(entry.extra)


def text_fields(card: Card) -> dict[str, Any]:
    """Return the line of a card without its status and times."""
    return {name: value for name, value in line_of(card).items() if name not in _NOT_TEXT}


def meaning(entry: Record) -> str:
    """Return a digest of an entry's line, by which it is recognised in a file."""
    return digest((entry.SORT, line_of(entry)))


def renewed(entry: R, *, at: datetime, **changes: Any) -> R:
    """Return the next version of an entry with its own time; misshapen values of the changed fields are dropped."""
    names = {name for name, field in _FIELDS[type(entry)].items() if field.attribute in changes}
    extra = {name: value for name, value in entry.extra.items() if name not in names and name != "ts"}
    values: dict[str, Any] = {"at": at, "ts": format_time(at), "extra": extra, "id": ""} | changes
    return dataclasses.replace(entry, **values)


def _aim(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return kind and target of a signal; exactly one of the two targets is given."""
    kind = line.get("kind")
    if not isinstance(kind, str) or kind not in set(SignalKind):
        hint = f"the kinds are {', '.join(SignalKind)}"
        raise Mistake(f"unknown kind of signal {str(kind)[:40]!r}", code="unknown_signal", hint=hint)
    target = line.get("aha_id" if kind.startswith("aha_") else "rec_id")
    if not isinstance(target, str) or not target or all(line.get(name) for name in _TARGETS):
        hint = "give aha_id or rec_id, as the kind requires"
        raise Mistake(f"a signal {kind} has exactly one target", code="one_target", hint=hint)
    return {"kind": SignalKind(kind), "target": target}


def _derived(sort: type[LedgerEntry], values: Mapping[str, Any]) -> str:
    """Return the id of a line that has none."""
    if sort is Card:
        return card_id(values["ts"], values["title"], values["when_to_use"], values["primary_skill"])
    if sort is Recommendation:
        return recommendation_id(values["ts"], values["title"], values["primary_skill"])
    if sort is CardEvent:
        return event_id(values["ts"], values["task_summary"], values["primary_skill"])
    if sort is Signal:
        return signal_id(values["ts"], values["kind"], values["target"], values["source"], context=values["context"])
    at = parse_time(values["ts"])
    if at is None:
        raise Mistake("a backport without id and time", code="no_backport_id", hint="give it a backport_id")
    return backport_id(at, values["target_skill"], values["requested"])


AHA_ID = "aha-id"
"""The metadata key of a lesson with the id of its card."""


def lesson_of(card: Card) -> SkillContent:
    """Return the lesson with the text of a card."""
    return SkillContent(
        kind=Kind.LESSON,
        name=skill_name(card.title or card.key),
        description=card.when_to_use or card.title or card.problem,
        tags=card.tags,
        body=_body(card),
        metadata={AHA_ID: card.key} | ({"primary-skill": card.primary_skill} if card.primary_skill else {}),
        portable=card.scope == "portable",
        shareable=card.shareable,
    )


def _body(card: Card) -> str:
    parts = (
        ("", [card.title] if card.title and card.title != card.when_to_use else []),
        ("Problem", [card.problem] if card.problem else []),
        ("Solution", [f"{number}. {step}" for number, step in enumerate(card.solution_steps, start=1)]),
        ("Gotchas", [f"- {each}" for each in card.gotchas]),
        ("Evidence", [f"- {each}" for each in card.evidence]),
        ("Input", _shape(card.input_shape)),
        ("Output", _shape(card.output_shape)),
        ("Links", [f"- {each}" for each in card.links]),
    )
    values = [(f"**{head}**\n\n" if head else "") + "\n".join(lines) for head, lines in parts if lines]
    return "\n\n".join(values)


def _shape(values: Mapping[str, Any]) -> list[str]:
    return [json.dumps(dict(values), ensure_ascii=False, sort_keys=True)] if values else []
