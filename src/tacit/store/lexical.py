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

    from tacit.domain.document import Passage
    from tacit.domain.ports import Episode
    from tacit.domain.skill import SkillContent

VERSION_FIELDS = ("name", "description", "body", "extra")
VERSION_WEIGHTS = (2.0, 1.0, 0.5, 1.0)
EPISODE_FIELDS = ("task", "files", "project")
EPISODE_WEIGHTS = (2.0, 1.0, 1.0)
PASSAGE_FIELDS = ("section", "text")
PASSAGE_WEIGHTS = (1.0, 1.0)

LIBRARY = 1000
"""The size of library that a smaller one is taken for a sample of."""
EVERYDAY_SHARE = 0.25
"""The part of a large library that has a given everyday word, assumed until the library is that large itself."""
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


def passage_words(passage: Passage) -> tuple[list[str], ...]:
    """The index terms of a passage, by `PASSAGE_FIELDS`."""
    return terms(passage.section), terms(passage.text)


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
