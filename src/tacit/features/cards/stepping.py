"""Ledger beside folder: what each holds → what the other lacks, and whose word is the last where they disagree. Pure.

Lines are known again by what they mean, not by where they stand, so that neither a crash, nor a copy, nor another tool that
appends at the same time can make anything count twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tacit.domain.entry import Entry
from tacit.features.cards.aha.records import FILES, Record, meaning

Sorted = Mapping[type[Entry], Sequence[Record]]


@dataclass(frozen=True, slots=True)
class Step:
    """What it takes to bring ledger and folder in step."""

    unknown: list[Record] = field(default_factory=list)
    """Of the folder, and not in the ledger; in the order of its lines."""
    unwritten: list[Record] = field(default_factory=list)
    """Of the ledger, and not in the folder."""
    last_words: list[Record] = field(default_factory=list)
    """What holds after both took over what they lacked, where the ledger would end with another version."""


def with_own(files: Sorted, ledger: Sorted) -> Step:
    """Compare with the folder that is kept in step: after both have everything, the last line of the files holds."""
    step = Step()
    for sort in FILES:
        lines, kept = files.get(sort, ()), ledger.get(sort, ())
        unknown, unwritten = _lacking(lines, kept)
        step.unknown.extend(unknown)
        step.unwritten.extend(unwritten)
        ends = _last([*kept, *unknown])
        held = _last([*lines, *unwritten])
        step.last_words.extend(last for key, (said, last) in held.items() if ends[key][0] != said)
    return step


def with_foreign(files: Sorted, ledger: Sorted) -> Step:
    """Compare with a folder that is only read: of each thing the version with the later time holds."""
    step = Step()
    for sort in FILES:
        kept = ledger.get(sort, ())
        unknown, unwritten = _lacking(files.get(sort, ()), kept)
        step.unknown.extend(unknown)
        step.unwritten.extend(unwritten)
        before = _last(kept)
        for key, (_, last) in _last(unknown).items():
            if key in before and before[key][1].at > last.at:
                step.last_words.append(before[key][1])
    return step


def _lacking(lines: Sequence[Record], kept: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    """Lines that the ledger does not know, and entries that no line says; each meaning once."""
    read = {meaning(entry): entry for entry in reversed(lines)}
    held = {meaning(entry): entry for entry in reversed(kept)}
    unknown = [entry for said, entry in reversed(read.items()) if said not in held]
    unwritten = [entry for said, entry in reversed(held.items()) if said not in read]
    return unknown, unwritten


def _last(entries: Iterable[Record]) -> dict[str, tuple[str, Record]]:
    """Key → the meaning of its last entry, and that entry."""
    return {key: (meaning(entry), entry) for key, entry in {each.key: each for each in entries}.items()}
