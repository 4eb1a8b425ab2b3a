"""The full-text search itself: terms in → numbers of matching rows with their scores and words out.

Asks only for a way to run statements and to read a row's words, so that the store and the quick view of it (`glance`)
search alike. Candidates come from the index, scores from the one measure of `lexical`. A term outside plain ASCII is
written as its bytes in hex, so that the index splits exactly where `tacit.text.words` does, whatever the script.
"""

from __future__ import annotations

import json

from tacit.store.lexical import distinct, rarity, score

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    Run = Callable[..., list[tuple[Any, ...]]]
    """Executes a statement with values; gives all its rows."""
    Read = Callable[[Sequence[int]], Iterable[tuple[int, Sequence[str]]]]
    """Gives the words of rows by field, as they are stored; passes over those that are not to be found."""

SPARE = 50
"""Candidates beyond the limit, since the index ranks a little differently from `lexical`."""
_SIEVED = 4
"""How many times the wanted rows are taken before the condition sieves them."""
_EFFORT = 160_000
"""The most words times rows that the index is asked to weigh. Beyond it, a long request is searched by its rarest words."""


class Match:
    """A row that matches: its number, how well, and its terms by field."""

    __slots__ = ("score", "seq", "words")

    def __init__(self, seq: int, score: float, words: tuple[list[str], ...]) -> None:
        self.seq = seq
        self.score = score
        self.words = words


class Matching:
    """Searches one full-text index (`version` or `episode`)."""

    def __init__(self, run: Run, name: str, *, weights: Sequence[float]) -> None:
        self._run = run
        self._weights = tuple(weights)
        self._index = f"{name}_index"
        self._counts = f"{name}_counts"

    def frequencies(
        self, terms: Sequence[str], *, recallable: bool = False, total: int | None = None
    ) -> tuple[dict[str, int], int]:
        """In how many rows each term occurs, and how many rows there are; of versions, if so wanted, the recallable ones.

        Counting the rows takes longer the more there are: who knows the `total` already, says it.
        """
        forms = {stored_form(term): term for term in distinct(terms)}
        found = dict.fromkeys(forms.values(), 0)
        counts = "recallable_counts" if recallable else self._counts
        listed = f"SELECT term, documents FROM {counts} WHERE term IN (SELECT value FROM json_each(?))"
        found.update((forms[form], count) for form, count in self._run(listed, json.dumps(list(forms))))
        if total is not None:
            return found, total
        rows = "versions WHERE status IN ('trial', 'trusted')" if recallable else f"{self._index}_docsize"
        return found, int(self._run(f"SELECT count(*) FROM {rows}")[0][0])

    def search(
        self,
        counted: tuple[Mapping[str, int], int],
        read: Read,
        *,
        limit: int,
        condition: str = "TRUE",
        values: Sequence[str] = (),
    ) -> list[Match]:
        """Rows that match terms with their `frequencies`, best first, newer first among equals.

        `condition` is asked of each row and names the row's number ``{row}``.
        """
        frequencies, total = counted
        present = {term: count for term, count in frequencies.items() if count}
        if not present or limit <= 0:
            return []
        worth = {term: rarity(count, total, term=term) for term, count in present.items()}
        telling = {term: count for term, count in present.items() if count * 2 < total}
        found = self._candidates(telling, total, wanted=limit + SPARE, condition=condition, values=values)
        if len(found) < limit + SPARE and len(telling) < len(present):  # too few: let words that most rows have decide
            found = self._candidates(present, total, wanted=limit + SPARE, condition=condition, values=values)
        matches = []
        for seq, texts in read(found):
            words = tuple(map(_terms_in, texts))
            matches.append(Match(seq, score(worth, words, weights=self._weights), words))
        matches.sort(key=lambda match: (-match.score, -match.seq))
        return matches[:limit]

    def _candidates(
        self, counts: dict[str, int], total: int, *, wanted: int, condition: str, values: Sequence[str]
    ) -> list[int]:
        """The rows that the index ranks first. The condition is asked of the first few only, if enough of them meet it."""
        chosen = affordable(counts, total)
        if not chosen:
            return []
        match = " OR ".join(f'"{stored_form(term)}"' for term in chosen)
        ranked = f"bm25({self._index}, {', '.join(map(str, self._weights))}), rowid DESC"
        first = f"SELECT rowid FROM {self._index} WHERE {self._index} MATCH ?"
        if condition != "TRUE":
            few = [row[0] for row in self._run(f"{first} ORDER BY {ranked} LIMIT {wanted * _SIEVED}", match)]
            kept = self._sieved(few, wanted=wanted, condition=condition, values=values)
            if len(kept) >= wanted or len(few) < wanted * _SIEVED:
                return kept[:wanted]
        each = condition.format(row=f"+{self._index}.rowid")  # without the plus SQLite would ask the index row by row
        rows = self._run(f"{first} AND ({each}) ORDER BY {ranked} LIMIT {wanted}", match, *values)
        return [row[0] for row in rows]

    def _sieved(self, rows: list[int], *, wanted: int, condition: str, values: Sequence[str]) -> list[int]:
        """The rows that meet the condition, in order; at least as many as wanted, if there are. Most do: few are asked."""
        each = condition.format(row="few.value")
        sieve = f"SELECT few.value FROM json_each(?) AS few WHERE {each} ORDER BY few.key"
        kept: list[int] = []
        for begin in range(0, len(rows), wanted):
            if len(kept) >= wanted:
                break
            kept += [row[0] for row in self._run(sieve, json.dumps(rows[begin : begin + wanted]), *values)]
        return kept


def stored_form(term: str) -> str:
    """A term as the index holds it."""
    if term.isascii() and term.isalnum():
        return term
    return "_" + term.encode("utf-8", "surrogatepass").hex()


def term_of(form: str) -> str:
    """The term that a stored form stands for."""
    return bytes.fromhex(form[1:]).decode("utf-8", "surrogatepass") if form.startswith("_") else form


def _terms_in(text: str) -> list[str]:
    return text.split() if "_" not in text else [term_of(form) for form in text.split()]


def affordable(counts: dict[str, int], total: int) -> list[str]:
    """The terms to search by: all of them, or as many of the rarest as the index weighs quickly."""
    rows, chosen = 0, list[str]()
    for term in sorted(counts, key=counts.__getitem__):
        rows = min(total, rows + counts[term])
        if chosen and rows * (len(chosen) + 1) > _EFFORT:
            break
        chosen.append(term)
    return chosen
