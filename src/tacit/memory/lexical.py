"""Words of what is kept, and how well a query's words match them. Pure: terms in, numbers out.

The measure is BM25 with field weights, a fixed pivot for length, and an inverse document frequency that takes a small
library for a sample of a larger one. So a score depends on other skills only through the number of those that have the
same words; a skill that shares no word with a query changes nothing. Which hits are good enough is not decided here.
"""

from __future__ import annotations

import math

from tacit.text.words import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from tacit.domain.ports import Episode
    from tacit.domain.skill import SkillContent

VERSION_FIELDS = ("name", "description", "body", "extra")
VERSION_WEIGHTS = (2.0, 1.0, 0.5, 1.0)
EPISODE_FIELDS = ("task", "files", "project")
EPISODE_WEIGHTS = (2.0, 1.0, 1.0)

LIBRARY = 1000
"""The size of library that a smaller one is taken for a sample of."""
EVERYDAY_SHARE = 0.25
"""The part of a large library that has a given everyday word, assumed until the library is that large itself."""
EVERYDAY = frozenset(
    "0 1 2 3 4 5 6 7 8 9 add again all also alway any apply attempt availabl bas befor best build call chang check "
    "clear cod command common complet confirm contain content correct count creat data default descript detail "
    "different directory document each ensur environment error exampl execut exist expect fail failur fil find first "
    "fix follow format generat get handl help includ input issu keep key let limit lin list load look mak match "
    "messag miss mor multipl must nam need new now number one only open other output pass path pattern print problem "
    "process project properly provid read referenc report request requir result return run sav script search set show "
    "singl sourc specific start stat status step still structur system target task test text thing tim tool try two "
    "typ updat user validat valu verify want way work writ wrong".split()
)
"""Terms that tell little in a library of any subject."""

_SATURATION = 1.2
_LENGTH_SHARE = 0.75
_PIVOT_TERMS = 150.0


def version_words(content: SkillContent) -> tuple[list[str], ...]:
    """The index terms of a skill's content, by `VERSION_FIELDS`."""
    body = [content.body, *(step.text for step in content.steps)]
    extra = [*content.example_queries, *content.tags, content.signature, content.category]
    cues = [cue.term for cue in content.cues if cue.weight > 0 and cue.term.isalnum()]  # terms already
    return terms(content.name), terms(content.description), terms("\n".join(body)), [*terms("\n".join(extra)), *cues]


def episode_words(episode: Episode) -> tuple[list[str], ...]:
    """The index terms of a past trajectory, by `EPISODE_FIELDS`."""
    return terms(episode.task), terms("\n".join(episode.files)), terms(episode.project)


def distinct(wanted: Iterable[str]) -> list[str]:
    """The terms of a query, each once, in order, without empty ones."""
    return [term for term in dict.fromkeys(wanted) if term]


def rarity(frequency: int, total: int, *, term: str = "") -> float:
    """How much a term that occurs in `frequency` of `total` documents tells, in nats; always above zero."""
    unseen = max(0, LIBRARY - total)
    expected = frequency + (EVERYDAY_SHARE * unseen if term in EVERYDAY else 0.0)
    return math.log(1.0 + (total + unseen - expected + 0.5) / (expected + 0.5))


def occurrences(
    document: Sequence[Sequence[str]], wanted: AbstractSet[str] | Mapping[str, float], *, weights: Sequence[float]
) -> dict[str, float]:
    """How much each wanted term is present in a document: more often counts less and less, and less in a long document."""
    length = sum(map(len, document))
    damping = _SATURATION * (1.0 - _LENGTH_SHARE + _LENGTH_SHARE * length / _PIVOT_TERMS)
    found: dict[str, float] = {}
    for field, weight in zip(document, weights, strict=True):
        for term in filter(wanted.__contains__, field):
            found[term] = found.get(term, 0.0) + weight
    return {term: times * (_SATURATION + 1.0) / (times + damping) for term, times in found.items()}


def score(query: Mapping[str, float], document: Sequence[Sequence[str]], *, weights: Sequence[float]) -> float:
    """Weigh a document's fields against a query of term → rarity, in nats; 0 where no term occurs."""
    present = occurrences(document, query, weights=weights)
    return math.fsum(query[term] * share for term, share in present.items())
