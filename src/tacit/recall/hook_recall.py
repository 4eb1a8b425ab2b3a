"""Recall for hooks: a prompt or an error's signature → what to show, from a glance at the store. Quick to load.

Weighs and abstains by the functions of `ranking`, as `selection` does. What cannot be had at a glance is left away: texts
come as they were rendered, at full length or in brief, and there are no filters by tool or category.
"""

from __future__ import annotations

from tacit.domain.reach import breadth, is_anothers, reaches
from tacit.recall import fusion
from tacit.recall.purse import LAST, Purse
from tacit.recall.ranking import (
    CANDIDATE_HITS,
    Asked,
    Rarity,
    Said,
    asked_terms,
    by_words,
    decisive,
    fits,
    likeness,
    most_of,
    names_in,
    nearness,
    nearness_of_scope,
    order,
    prominence,
    shared,
    signature_terms,
)
from tacit.store.lexical import VERSION_WEIGHTS, score
from tacit.text.compounds import joined
from tacit.text.fence import SAMPLE_NUMBER, framed
from tacit.text.words import estimate_tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from tacit.store.sqlite.glance import Glance, Glimpse, Sighting

    LeftOut = tuple[str, str, str]
    """Version id, name, and why it was not given."""


class Limits:
    """How much may be given, and how relevant it must be."""

    __slots__ = ("budget_tokens", "k", "kinds", "min_relevance", "person")

    def __init__(self, *, k: int = 3, budget_tokens: int = 1500, min_relevance: float = 0.18) -> None:
        self.k = k
        self.budget_tokens = budget_tokens
        self.min_relevance = min_relevance
        self.kinds: Collection[str] | None = None
        """The kinds that may be given; nothing means all."""
        self.person = ""
        """Who is helped; preferences of anybody else are not given."""

    def allow(self, glimpse: Glimpse) -> bool:
        """Whether it may be given at all: by its kind, and by whose it is."""
        return (self.kinds is None or glimpse.kind in self.kinds) and not is_anothers(glimpse.person, self.person)


class Given:
    """A rendering that is shown: its text as it fitted, and the signals that carried it."""

    __slots__ = ("glimpse", "signals", "text", "tokens")

    def __init__(self, glimpse: Glimpse, signals: dict[str, float]) -> None:
        self.glimpse = glimpse
        self.signals = signals
        self.text = ""
        self.tokens = 0

    @property
    def score(self) -> float:
        """All signals weighed, 0 to 1."""
        return fusion.score(self.signals)

    @property
    def relevance(self) -> float:
        """How well it fits, 0 to 1."""
        return self.signals["relevance"]


class Answer:
    """What to show, what was left out, and why nothing is said, if so. `signature` is that of the error asked about."""

    __slots__ = ("items", "left_out", "reason", "signature")

    def __init__(self, items: list[Given], left_out: list[LeftOut], *, reason: str = "", signature: str = "") -> None:
        self.items = items
        self.left_out = left_out
        self.reason = reason
        self.signature = signature


def for_task(
    glance: Glance, text: str, *, scope: str, now: float, limits: Limits, skip: Collection[str] = ()
) -> Answer:
    """What is known for a task. `skip` names versions that were shown already."""
    found = asked_terms(text, glance.frequencies(list(joined(text)))[0])
    sightings, frequencies, documents = glance.by_words(found, limit=CANDIDATE_HITS)
    asked = Asked(found, Rarity.for_query(text, frequencies, documents), names=names_in(text))
    candidates = []
    for sighting in (*sightings, *glance.by_meaning(sightings, limit=CANDIDATE_HITS)):
        said, near = _said(sighting), sighting.semantic
        nats = sighting.lexical or score(asked.worth, sighting.words, weights=VERSION_WEIGHTS)
        fit = fusion.relevance(shared(asked, said)[0], nats, meaning=near)
        signals = {"relevance": fit, **by_words(asked, nats, sighting.words)}
        if alike := likeness(asked, said):
            signals["example"] = alike
        if near is not None:
            signals["meaning"] = fusion.focus(len(asked.terms)) * max(0.0, near)
        candidates.append(Given(sighting.glimpse, signals | _standing(sighting.glimpse, scope=scope, now=now)))
    return _choose(candidates, scope=scope, limits=limits, skip=skip)


def for_error(
    glance: Glance, signature: str, *, scope: str, now: float, limits: Limits, skip: Collection[str] = ()
) -> Answer:
    """What is known for an error, by its signature: answers to this very error, else to near ones, or nothing."""
    same = {"relevance": 1.0, "signature": 1.0}
    candidates = [
        Given(glimpse, {**same, **_standing(glimpse, scope=scope, now=now)})
        for glimpse in glance.by_signature(signature, scope=scope)
    ]
    if not candidates:
        candidates = _near(glance, signature, scope=scope, now=now)
    answer = _choose(candidates, scope=scope, limits=limits, skip=skip)
    answer.signature = signature
    return answer


def _near(glance: Glance, signature: str, *, scope: str, now: float) -> list[Given]:
    words = sorted(signature_terms(signature))
    frequencies, documents = glance.frequencies(words)
    rarity = Rarity(frequency=frequencies, documents=documents)
    sightings = glance.by_words(decisive(words, rarity), limit=CANDIDATE_HITS)[0]
    found = []
    for sighting in sightings:
        near = nearness(signature, sighting.glimpse.signature, rarity)
        if near:
            same = {"relevance": near, "words": sighting.lexical, "signature": near}
            found.append(Given(sighting.glimpse, {**same, **_standing(sighting.glimpse, scope=scope, now=now)}))
    return found


def _said(sighting: Sighting) -> Said:
    name, description, body, _ = sighting.words
    glimpse = sighting.glimpse
    return Said(name, [*description, *glimpse.subject], examples=glimpse.examples, rest=body)


def _standing(glimpse: Glimpse, *, scope: str, now: float) -> dict[str, float]:
    """What speaks for it whatever was asked."""
    return {
        "reliability": glimpse.rank,
        "prominence": prominence(glimpse.kind, glimpse.fresh_at, now, reinforced=glimpse.reinforced),
        "scope": nearness_of_scope(glimpse.scope, scope),
    }


def _choose(candidates: Iterable[Given], *, scope: str, limits: Limits, skip: Collection[str]) -> Answer:
    """Filter, rank, and cut to number and budget; or say why nothing is given."""
    seen = (given for given in candidates if reaches(given.glimpse.scope, scope) and limits.allow(given.glimpse))
    kept = _unshadowed(seen)
    kept.sort(key=lambda given: (given.glimpse.kind in LAST, order(given.signals, given.glimpse.version_id)))
    purse = Purse(limits.budget_tokens - estimate_tokens(framed([" "], number=SAMPLE_NUMBER)))
    items: list[Given] = []
    left_out: list[LeftOut] = []
    best = most_of(given.signals for given in kept)
    for given in kept:
        why = _obstacle(given, limits, best=best, skip=skip)
        if not why and len(items) >= limits.k:
            why = f"only {limits.k} were asked for"
        room = purse.room(given.glimpse.kind)
        if not why and not _fit_text(given, room):
            why = f"does not fit into the {max(0, room)} tokens left"
        if why:
            left_out.append((given.glimpse.version_id, given.glimpse.name, why))
        else:
            purse.spend(given.glimpse.kind, given.tokens)
            items.append(given)
    return Answer(items, left_out, reason="" if items else _why_nothing(kept, left_out))


def _unshadowed(candidates: Iterable[Given]) -> list[Given]:
    """Of skills with one name, keep those of the narrowest scope; within one scope nothing shadows."""
    narrowest: dict[tuple[str, str], str] = {}
    kept = []
    for given in sorted(candidates, key=lambda given: (breadth(given.glimpse.scope), -given.glimpse.sequence)):
        glimpse = given.glimpse
        if narrowest.setdefault((glimpse.kind, glimpse.name), glimpse.scope) == glimpse.scope:
            kept.append(given)
    return kept


def _obstacle(given: Given, limits: Limits, *, best: Mapping[str, float], skip: Collection[str]) -> str:
    if not fits(given.glimpse.kind, given.signals, limits.min_relevance, best=best):
        return "less relevant"
    return "shown already" if given.glimpse.version_id in skip else ""


def _fit_text(given: Given, left: int) -> bool:
    """Give it its text at full length, or else in brief; False if neither fits."""
    glimpse = given.glimpse
    for text, tokens in ((glimpse.text, glimpse.tokens), (glimpse.brief, estimate_tokens(glimpse.brief))):
        if text and tokens <= left:
            given.text, given.tokens = text, tokens
            return True
    return False


def _why_nothing(kept: list[Given], left_out: list[LeftOut]) -> str:
    if not kept:
        return "nothing is known that shares a word with it"
    _, name, why = left_out[0]
    return f"the nearest, `{name}`, has relevance {kept[0].relevance:.2f}: {why}"
