"""Words of what is kept, and how well a query's words match them. Pure: terms in, numbers out.

The measure is BM25 with field weights, an inverse document frequency that stays positive in a store of three skills, and
a fixed pivot for length, so that a score depends on the store only through document frequencies. Which hits are good
enough is not decided here.
"""

from __future__ import annotations

import math

from tacit.text.words import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tacit.domain.ports import Episode
    from tacit.domain.skill import SkillContent

VERSION_FIELDS = ("name", "description", "body", "extra")
VERSION_WEIGHTS = (4.0, 3.0, 1.0, 2.0)
EPISODE_FIELDS = ("task", "files", "project")
EPISODE_WEIGHTS = (2.0, 1.0, 1.0)

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


def rarity(frequency: int, total: int) -> float:
    """How much a term that occurs in `frequency` of `total` documents tells; always above zero."""
    return math.log(1.0 + (total - frequency + 0.5) / (frequency + 0.5))


def score(query: Mapping[str, float], document: Sequence[Sequence[str]], *, weights: Sequence[float]) -> float:
    """Weigh a document's fields against a query of term → rarity; 0 where no term occurs."""
    length = sum(len(field) for field in document)
    damping = _SATURATION * (1.0 - _LENGTH_SHARE + _LENGTH_SHARE * length / _PIVOT_TERMS)
    found: dict[str, float] = {}
    for field, weight in zip(document, weights, strict=True):
        for term in [term for term in field if term in query]:
            found[term] = found.get(term, 0.0) + weight
    return math.fsum(query[term] * times * (_SATURATION + 1.0) / (times + damping) for term, times in found.items())
