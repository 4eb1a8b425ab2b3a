"""Origins of what somebody writes over an earlier version: only what they changed is theirs. Pure.

Entries of lists each have an origin (``cases.0``, ``pitfalls.2``), but for lists of many small things, which have one
together (``cues``, ``after``, ``surroundings``): the lowest of their entries'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.domain.identity import plain
from tacit.domain.origin import Origin, lowest
from tacit.domain.skill import SkillContent, SkillVersion, said_in
from tacit.text.text_sources import Heard, texts_in

_Heard = tuple[Heard[str], list[str]]
"""All that was said, and of it what nobody vouches for."""
_TOGETHER = frozenset({"cues", "after", "surroundings"})


def origins_of_edit(
    content: SkillContent, writer: Origin, before: Sequence[SkillVersion], *, named: Sequence[SkillVersion] = ()
) -> dict[str, Origin]:
    """Give each field its origin: the writer's where it is new, and the earlier one, never raised, where it was kept.

    What repeats a less trusted field in other dress is no more trusted than that: rewording raises nothing, nor does
    putting together with others. Nor does it lower: what a field said before is its own, wherever else that stands. `named`
    are the versions of skills that this one names as its parts or as what it extends.
    """
    content_fields = said_in(content)
    if writer is Origin.EXTERNAL:
        return _together(dict.fromkeys(content_fields, writer))
    at_place, anywhere = _kept(before)
    lower = _by_origin((*before, *named), below=writer)
    own = _earlier_texts(content_fields, before)
    found: dict[str, Origin] = {}
    for field, value in content_fields.items():
        kept = at_place.get((field, repr(value)), anywhere.get(repr(value)))
        found[field] = kept if kept is not None else _reworded(value, writer, own=own.get(field, ()), lower=lower)
    return _together(found)


def _kept(before: Sequence[SkillVersion]) -> tuple[dict[tuple[str, str], Origin], dict[str, Origin]]:
    """The lowest origin that a value had in its field, and in any field: what was left as it was keeps that."""
    at_place: dict[tuple[str, str], Origin] = {}
    anywhere: dict[str, Origin] = {}
    for version in before:
        for field, value in said_in(version.content).items():
            origin, shown = origin_at(version.origins, field), repr(value)
            at_place[field, shown] = lowest((origin, at_place.get((field, shown), origin)))
            anywhere[shown] = lowest((origin, anywhere.get(shown, origin)))
    return at_place, anywhere


def _earlier_texts(
    content_fields: Mapping[str, Any], before: Sequence[SkillVersion]
) -> dict[str, list[tuple[str, Origin]]]:
    """For each field that says something else now, the texts that stood there before, with their origin.

    Entries of lists move: as many as came are taken for those that went, in order, and else each for the one in its place.
    """
    found: dict[str, list[tuple[str, Origin]]] = {}
    for version in before:
        then = said_in(version.content)
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
    """Fields whose value stands nowhere among the others, under the name of their list."""
    shown = {repr(value) for value in others.values()}
    found: dict[str, list[str]] = {}
    for field, value in content_fields.items():
        if repr(value) not in shown:
            found.setdefault(field.partition(".")[0], []).append(field)
    return found


def _reworded(
    value: Any, writer: Origin, *, own: Sequence[tuple[str, Origin]], lower: Mapping[Origin, _Heard]
) -> Origin:
    """Origin of a field that says something else now: the lowest that it borrows from, or else the writer's."""
    texts = list(texts_in(plain(value)))
    for origin, (heard, lent) in lower.items():
        borrowing = [text for text in texts if heard.lender(text) is not None]
        above = [text for text, each in own if each.rank > origin.rank]
        if above and borrowing:  # what it said before is its own, and only the rest can be borrowed
            borrowing = _borrowing_more(borrowing, above, lent)
        if borrowing:
            return origin
    return writer


def _borrowing_more(texts: Sequence[str], above: Sequence[str], lent: Sequence[str]) -> list[str]:
    """The texts that borrow something that their own field did not say before."""
    heard: Heard[str] = Heard()
    for vouched, each in (*((True, each) for each in above), *((False, each) for each in lent)):
        heard.add(each, each, vouched=vouched)
    return [text for text in texts if text not in above and heard.lender(text) is not None]


def _together(found: Mapping[str, Origin]) -> dict[str, Origin]:
    """The same with one entry for each list of many small things."""
    shown: dict[str, Origin] = {}
    for field, origin in found.items():
        name = field.partition(".")[0]
        path = name if name in _TOGETHER else field
        shown[path] = lowest((origin, shown.get(path, origin)))
    return shown


def _by_origin(versions: Sequence[SkillVersion], *, below: Origin) -> dict[Origin, _Heard]:
    """What the versions say, for every origin below one, the lowest first: as texts that nobody above it vouches for."""
    written = [
        (origin_at(version.origins, field), text)
        for version in versions
        for field, value in said_in(version.content).items()
        for text in texts_in(plain(value))
    ]
    written.sort(key=lambda entry: entry[0].rank)  # of a text in two places the lower origin counts
    found: dict[Origin, _Heard] = {}
    for origin in sorted({each for each, _ in written if each.rank < below.rank}, key=lambda each: each.rank):
        heard: Heard[str] = Heard()
        for each, text in written:
            heard.add(text, text, vouched=each.rank > origin.rank)
        found[origin] = heard, [text for each, text in written if each.rank <= origin.rank]
    return found


def origin_at(origins: Mapping[str, Origin], field: str) -> Origin:
    """Origin of a field, or the lowest among its parts, whichever is less trusted; unknown counts as external.

    An entry without an origin of its own has that of what it belongs to.
    """
    known = [origin for path, origin in origins.items() if path == field or path.startswith(f"{field}.")]
    while not known and "." in field:
        field = field.rpartition(".")[0]
        known = [origins[field]] if field in origins else []
    return lowest(known)
