"""Origins after an edit: only what the writer changed gets the writer's origin. Pure.

Entries of lists have an origin each (``cases.0``, ``pitfalls.2``). Lists of many small entries (``cues``, ``after``,
``surroundings``) have one origin together, the lowest of their entries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.domain.identity import plain
from tacit.domain.skill import FieldRole, SkillContent, SkillVersion, filled_fields, has_role
from tacit.domain.trajectory import Origin, lowest
from tacit.text.text_sources import TextLog, texts_in

_LogWithTexts = tuple[TextLog[str], list[str]]
"""Texts in order, of which some are untrusted."""


def origins_of_edit(
    content: SkillContent, writer: Origin, before: Sequence[SkillVersion], *, named: Sequence[SkillVersion] = ()
) -> dict[str, Origin]:
    """Return the origin of each field: the writer's where it is new, the earlier one where it was kept.

    Text copied from a less trusted field keeps that field's origin, even if it is reworded or combined. Text that a field
    already had does not lower it. `named` are the versions of skills that this one has as parts or extends.
    """
    content_fields = filled_fields(content)
    if writer is Origin.EXTERNAL:
        return _group_list_origins(dict.fromkeys(content_fields, writer))
    in_field, in_any_field = _previous_origins(before)
    lower = _by_origin((*before, *named), below=writer)
    own = _earlier_texts(content_fields, before)
    found: dict[str, Origin] = {}
    for field, value in content_fields.items():
        kept = in_field.get((field, repr(value)), in_any_field.get(repr(value)))
        found[field] = kept if kept is not None else _reworded(value, writer, own=own.get(field, ()), lower=lower)
    return _group_list_origins(found)


def _previous_origins(before: Sequence[SkillVersion]) -> tuple[dict[tuple[str, str], Origin], dict[str, Origin]]:
    """Return the lowest origin that a value had in its field, and in any field."""
    in_field: dict[tuple[str, str], Origin] = {}
    in_any_field: dict[str, Origin] = {}
    for version in before:
        for field, value in filled_fields(version.content).items():
            origin, shown = origin_at(version.origins, field), repr(value)
            in_field[field, shown] = lowest((origin, in_field.get((field, shown), origin)))
            in_any_field[shown] = lowest((origin, in_any_field.get(shown, origin)))
    return in_field, in_any_field


def _earlier_texts(
    content_fields: Mapping[str, Any], before: Sequence[SkillVersion]
) -> dict[str, list[tuple[str, Origin]]]:
    """Return for each changed field the earlier texts with their origin.

    Entries of lists move: if as many came as went, they are paired in order, else by position.
    """
    found: dict[str, list[tuple[str, Origin]]] = {}
    for version in before:
        then = filled_fields(version.content)
        came, went = _without(content_fields, then), _without(then, content_fields)
        for name, fields in came.items():
            gone = went.get(name, [])
            pairs = zip(fields, gone if len(gone) == len(fields) else fields, strict=True)
            for field, earlier in pairs:
                origin = origin_at(version.origins, earlier)
                texts = texts_in(plain(then.get(earlier)))
                found.setdefault(field, []).extend((text, origin) for text in texts)
    return found


def _without(content_fields: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the fields whose value the others do not have, grouped by their list."""
    shown = {repr(value) for value in others.values()}
    found: dict[str, list[str]] = {}
    for field, value in content_fields.items():
        if repr(value) not in shown:
            found.setdefault(field.partition(".")[0], []).append(field)
    return found


def _reworded(
    value: Any, writer: Origin, *, own: Sequence[tuple[str, Origin]], lower: Mapping[Origin, _LogWithTexts]
) -> Origin:
    """Return the origin of a changed field: the lowest that it copies from, or else the writer's.

    `own` are the texts that the field had before with their origins, `lower` the less trusted texts of all fields, by origin.
    A user changes step 1 of a skill whose body came from the web, "Fetch the rates, then curl https://api.example.com":

    - "Run make and curl https://api.example.com" gets `external`: it copies from the body.
    - The same text gets `user` if a user's step 1 was "First curl https://api.example.com": the field had that before.
    """
    texts = list(texts_in(plain(value)))
    for origin, (log, source_texts) in lower.items():
        copied = [text for text in texts if log.copied_from(text) is not None]
        trusted_texts = [text for text, each in own if each.rank > origin.rank]
        if trusted_texts and copied:  # only what the field did not have before can be copied
            own_log: TextLog[str] = TextLog()
            for text in trusted_texts:
                own_log.add(text, text, trusted=True)
            for text in source_texts:
                own_log.add(text, text, trusted=False)
            copied = [t for t in copied if t not in trusted_texts and own_log.copied_from(t) is not None]
        if copied:
            return origin
    return writer


def _group_list_origins(found: Mapping[str, Origin]) -> dict[str, Origin]:
    """Return the origins with one entry for each list of many small entries."""
    shown: dict[str, Origin] = {}
    for field, origin in found.items():
        name = field.partition(".")[0]
        path = name if has_role(name, FieldRole.ONE_ORIGIN) else field
        shown[path] = lowest((origin, shown.get(path, origin)))
    return shown


def _by_origin(versions: Sequence[SkillVersion], *, below: Origin) -> dict[Origin, _LogWithTexts]:
    """Return the texts of versions for every origin below one, the lowest first, each as untrusted texts."""
    written = [
        (origin_at(version.origins, field), text)
        for version in versions
        for field, value in filled_fields(version.content).items()
        for text in texts_in(plain(value))
    ]
    written.sort(key=lambda entry: entry[0].rank)  # for a text in two fields the lower origin counts
    found: dict[Origin, _LogWithTexts] = {}
    for origin in sorted({each for each, _ in written if each.rank < below.rank}, key=lambda each: each.rank):
        log: TextLog[str] = TextLog()
        for each, text in written:
            log.add(text, text, trusted=each.rank > origin.rank)
        found[origin] = log, [text for each, text in written if each.rank <= origin.rank]
    return found


def origin_at(origins: Mapping[str, Origin], field: str) -> Origin:
    """Return the origin of a field, or the lowest among its parts, whichever is less trusted; unknown counts as external.

    An entry without its own origin has that of its list.
    """
    marked = [origin for path, origin in origins.items() if path == field or path.startswith(f"{field}.")]
    while not marked and "." in field:
        field = field.rpartition(".")[0]
        marked = [origins[field]] if field in origins else []
    return lowest(marked)
