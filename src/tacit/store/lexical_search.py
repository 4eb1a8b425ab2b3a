"""Full-text search: index terms of skills, episodes and passages, their scores, and the search itself.

The score is BM25 with field weights, a fixed pivot for length, and an inverse document frequency that treats a small library
as a sample of a larger one. So a score depends on other skills only through the number of those with the same words. The
index proposes candidates, the score ranks them. The store and `hook_index` both use it, so it imports nothing slow. A term
outside ASCII is indexed as its bytes in hex, so that the index splits exactly where `tacit.text.words` does.
"""

from __future__ import annotations

import json
import math

from tacit.text.words import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from typing import Any

    from tacit.domain.skill import SkillContent
    from tacit.domain.stored import Episode, Passage

    Run = Callable[..., list[tuple[Any, ...]]]
    """Executes a statement with values; gives all its rows."""
    ReadWords = Callable[[Sequence[int]], Iterable[tuple[int, Sequence[str]]]]
    """Gives the stored words of rows by field; leaves out rows that do not exist."""

VERSION_FIELDS = ("name", "description", "body", "extra")
VERSION_WEIGHTS = (2.0, 1.0, 0.5, 1.0)
EPISODE_FIELDS = ("task", "files", "project")
EPISODE_WEIGHTS = (2.0, 1.0, 1.0)
PASSAGE_FIELDS = ("section", "text")
PASSAGE_WEIGHTS = (1.0, 1.0)

LIBRARY = 1000
"""A smaller library is treated as a sample of one of this size."""
EVERYDAY_SHARE = 0.25
"""The assumed share of a large library with a given everyday word, until the library is that large itself."""
EVERYDAY = frozenset(
    "0 1 2 3 4 5 6 7 8 9 abl about across actually add after again against all along already also alway answer any "
    "anyon anyth apply around ask attempt availabl away back bad bas becaus befor begin believ best better between "
    "big bit both bring build call cas chang check child city clear clo cod com command common company complet "
    "confirm contain content correct count country creat customer data day default descript detail different "
    "directory document don down dur each early easy end enough ensur environment error etc even every everyon "
    "everyth exampl execut exist expect fact fail failur family feel few fil find first fix follow format fre friend "
    "full further gam generat get giv go good great hand handl happen happy hard hear hello help her hi high hold hom "
    "hous idea includ input issu job keep key kind know last lat least leav left less let lif lik limit lin list liv "
    "load long look los lot low mak man many match mayb mean meet messag miss money month mor morn most mov much "
    "multipl must nam need new next nic night noth now number ok okay old one only open other out output over own "
    "part pass path pattern pay peopl per perhap person plac play point print problem process project properly provid "
    "put quest quickly quit rather read really referenc report request requir result return right run sam sav say "
    "school script search see seem set short show simply singl small somebody someon someth sort sourc specific stand "
    "start stat status step still stop structur such sur system tak talk target task team tell test text thank thing "
    "think tim today together tomorrow too tool toward try turn two typ under until updat upon user validat valu "
    "verify very via want way week within without woman work world writ wrong year yes yesterday".split()
)
"""Terms with little meaning in a library of any subject."""

_SATURATION = 1.2
_LENGTH_SHARE = 0.75
_PIVOT_TERMS = 150.0
"""The usual constants of BM25 (k1, b); the average length is fixed, so that a score does not change with other documents."""


def version_words(content: SkillContent) -> tuple[list[str], ...]:
    """The index terms of a skill's content, by `VERSION_FIELDS`."""
    body = [content.body, *(step.text for step in content.steps)]
    extra = [*content.example_queries, *content.tags, content.signature, content.category]
    cues = [cue.term for cue in content.cues if cue.weight > 0 and cue.term.isalnum()]  # terms already
    return terms(content.name), terms(content.description), terms("\n".join(body)), [*terms("\n".join(extra)), *cues]


def episode_words(episode: Episode) -> tuple[list[str], ...]:
    """The index terms of a past trajectory, by `EPISODE_FIELDS`."""
    return terms(episode.task), terms("\n".join(episode.files)), terms(episode.project)


def passage_words(passage: Passage) -> tuple[list[str], ...]:
    """The index terms of a passage, by `PASSAGE_FIELDS`."""
    return terms(passage.section), terms(passage.text)


def distinct(wanted: Iterable[str]) -> list[str]:
    """The terms of a query, each once, in order, without empty ones."""
    return [term for term in dict.fromkeys(wanted) if term]


def rarity(frequency: int, total: int, *, term: str = "") -> float:
    """The information of a term that occurs in `frequency` of `total` documents, in nats; always above zero."""
    unseen = max(0, LIBRARY - total)
    expected = frequency + (EVERYDAY_SHARE * unseen if term in EVERYDAY else 0.0)
    return math.log(1.0 + (total + unseen - expected + 0.5) / (expected + 0.5))


def occurrences(
    document: Sequence[Sequence[str]], wanted: AbstractSet[str] | Mapping[str, float], *, weights: Sequence[float]
) -> dict[str, float]:
    """The weight of each wanted term in a document: repetitions count less and less, and less in a long document."""
    length = sum(map(len, document))
    damping = _SATURATION * (1.0 - _LENGTH_SHARE + _LENGTH_SHARE * length / _PIVOT_TERMS)
    found: dict[str, float] = {}
    for field, weight in zip(document, weights, strict=True):
        for term in filter(wanted.__contains__, field):
            found[term] = found.get(term, 0.0) + weight
    return {term: times * (_SATURATION + 1.0) / (times + damping) for term, times in found.items()}


def score(query: Mapping[str, float], document: Sequence[Sequence[str]], *, weights: Sequence[float]) -> float:
    """The score of a document for a query of term → rarity, in nats; 0 where no term occurs."""
    present = occurrences(document, query, weights=weights)
    return math.fsum(query[term] * share for term, share in present.items())


EXTRA_CANDIDATES = 50
"""Candidates beyond the limit, since the index ranks a little differently from `score`."""
_CANDIDATES_PER_ROW = 4
"""Candidates per wanted row before the condition filters them."""
_RANKING_LIMIT = 100_000
"""The most words times rows that the index ranks; a longer query is searched by its rarest words."""


class WordMatch:
    """A matching row: its number, its score, and its terms by field."""

    __slots__ = ("score", "seq", "words")

    def __init__(self, seq: int, score: float, words: tuple[list[str], ...]) -> None:
        self.seq = seq
        self.score = score
        self.words = words


class LexicalSearch:
    """Searches one full-text index (`version`, `episode` or `passage`)."""

    def __init__(self, run: Run, name: str, *, read: ReadWords, weights: Sequence[float]) -> None:
        self._run = run
        self._read = read
        self._weights = tuple(weights)
        self._index = f"{name}_index"
        self._counts = f"{name}_counts"

    def frequencies(
        self, terms: Sequence[str], *, recallable: bool = False, total: int | None = None
    ) -> tuple[dict[str, int], int]:
        """In how many rows each term occurs, and how many rows there are; of versions, optionally only recallable ones.

        Counting the rows takes longer the more there are, so a caller that knows the `total` passes it.
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
        *,
        limit: int,
        condition: str = "TRUE",
        values: Sequence[str] = (),
    ) -> list[WordMatch]:
        """Rows that match terms with their `frequencies`, best first, newer first among equals.

        `condition` filters the rows; it names the row's number ``{row}``.
        """
        frequencies, total = counted
        present = {term: count for term, count in frequencies.items() if count}
        if not present or limit <= 0:
            return []
        worth = {term: rarity(count, total, term=term) for term, count in present.items()}
        telling, wanted = (
            {term: count for term, count in present.items() if count * 2 < total},
            limit + EXTRA_CANDIDATES,
        )
        found = self._candidates(telling, total, wanted=wanted, condition=condition, values=values)
        if len(found) < wanted and len(telling) < len(present):  # search by words that most rows have, too
            found = self._candidates(present, total, wanted=wanted, condition=condition, values=values)
        matches = []
        for seq, texts in self._read(found):
            words = tuple(map(terms_in, texts))
            matches.append(WordMatch(seq, score(worth, words, weights=self._weights), words))
        matches.sort(key=lambda match: (-match.score, -match.seq))
        return matches[:limit]

    def _candidates(
        self, counts: dict[str, int], total: int, *, wanted: int, condition: str, values: Sequence[str]
    ) -> list[int]:
        """The rows that the index ranks first. Only the first few are filtered, if enough of them meet the condition."""
        chosen = affordable(counts, total)
        if not chosen:
            return []
        match = " OR ".join(f'"{stored_form(term)}"' for term in chosen)
        ranked = f"bm25({self._index}, {', '.join(map(str, self._weights))}), rowid DESC"
        first = f"SELECT rowid FROM {self._index} WHERE {self._index} MATCH ?"
        if condition != "TRUE":
            few = [
                row[0] for row in self._run(f"{first} ORDER BY {ranked} LIMIT {wanted * _CANDIDATES_PER_ROW}", match)
            ]
            each = condition.format(row="few.value")
            # The values of an array come in its order, and the condition is asked only as long as more are wanted.
            filtering = f"SELECT few.value FROM json_each(?) AS few WHERE {each} LIMIT {wanted}"
            kept = [row[0] for row in self._run(filtering, json.dumps(few), *values)]
            if len(kept) == wanted or len(few) < wanted * _CANDIDATES_PER_ROW:
                return kept
        each = condition.format(row=f"+{self._index}.rowid")  # without the plus SQLite would query the index row by row
        rows = self._run(f"{first} AND ({each}) ORDER BY {ranked} LIMIT {wanted}", match, *values)
        return [row[0] for row in rows]


def stored_form(term: str) -> str:
    """A term as the index stores it."""
    if term.isascii() and term.isalnum():
        return term
    return "_" + term.encode("utf-8", "surrogatepass").hex()


def term_of(form: str) -> str:
    """The term that a stored form stands for."""
    return bytes.fromhex(form[1:]).decode("utf-8", "surrogatepass") if form.startswith("_") else form


def terms_in(text: str) -> list[str]:
    """The terms in the stored words of a field."""
    return text.split() if "_" not in text else [form if form[0] != "_" else term_of(form) for form in text.split()]


def affordable(counts: dict[str, int], total: int) -> list[str]:
    """The terms to search by: all of them, or as many of the rarest as the index ranks quickly."""
    rows, chosen = 0, list[str]()
    for term in sorted(counts, key=counts.__getitem__):
        rows = min(total, rows + counts[term])
        if chosen and rows * (len(chosen) + 1) > _RANKING_LIMIT:
            break
        chosen.append(term)
    return chosen
