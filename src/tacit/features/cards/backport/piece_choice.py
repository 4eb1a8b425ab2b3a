"""Selects the cards and skills that may graduate, or refuses with every problem at once.

Only approved text graduates; the status `accepted` of a card is no approval. What is not shareable, belongs to a person, or is
tied to a place stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tacit.domain.errors import GateRefusal, NotFound, TacitError
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.stored import StoredVersion
from tacit.features.cards.backport.edit_plan import KnowledgePiece
from tacit.features.cards.backport.markers import is_safe_id
from tacit.features.cards.card import Card
from tacit.features.cards.card_records import AHA_ID, lesson_of
from tacit.features.cards.cards import Cards
from tacit.features.cards.scores import GONE
from tacit.maintain.portability import ProjectFacts, portability
from tacit.store import queries

GRADUATING = frozenset({Kind.LESSON, Kind.PROCEDURE, Kind.NORM})


@dataclass(slots=True)
class ChosenPieces:
    """What may graduate, what speaks against it, and what a person should know."""

    pieces: dict[str, KnowledgePiece] = field(default_factory=dict)
    cards: dict[str, Card] = field(default_factory=dict)
    """The latest version of each card among the pieces."""
    versions: dict[str, str] = field(default_factory=dict)
    """Piece → the version that was approved."""
    unknown: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def checked(self) -> ChosenPieces:
        """Return itself, or raise one error with all problems."""
        problems = [*self.unknown, *self.refused]
        if not problems:
            return self
        message = "nothing was written:\n" + "\n".join(f"  - {problem}" for problem in problems)
        if self.unknown:
            raise NotFound(message, code="unknown_pieces", hint="see `tacit cards list` and `tacit skills`")
        hint = "correct it, have it approved with `tacit review`, and try again"
        raise GateRefusal(message, code="may_not_graduate", hint=hint)


def choose(deck: Cards, cards: Sequence[str], skills: Sequence[str], local: ProjectFacts) -> ChosenPieces:
    """Find pieces by the ids of cards and the names or ids of skills, each once."""
    chosen = ChosenPieces()
    known = deck.cards()
    for identity in dict.fromkeys(cards):
        if identity in known:
            _choose_card(chosen, deck, known[identity], local)
        else:
            chosen.unknown.append(f"there is no card {identity}")
    for name in dict.fromkeys(skills):
        try:
            stored = queries.find(deck.store, name)
        except TacitError as error:
            chosen.unknown.append(error.message)
            continue
        card = known.get(stored.version.content.metadata.get(AHA_ID, ""))
        if card is not None:
            _choose_card(chosen, deck, card, local)
        else:
            _choose_skill(chosen, stored, local)
    return chosen


def _choose_card(chosen: ChosenPieces, deck: Cards, card: Card, local: ProjectFacts) -> None:
    if card.key in chosen.pieces:
        return
    # the newest version whose text was approved
    approved = next((each for each in deck.history(card.key)[::-1] if deck.is_reviewed(each)), None)
    problems = [f"{card.key} {problem}" for problem in _card_problems(card, approved)]
    if approved is not None:
        problems += _ties(card.key, lesson_of(approved), local)
        if approved.id != card.id and lesson_of(approved) != lesson_of(card):
            chosen.warnings.append(f"{card.key} was edited since it was approved; the approved text is used")
    if problems or approved is None:
        chosen.refused += problems
        return
    chosen.pieces[card.key] = _piece_of_card(approved)
    chosen.cards[card.key] = card
    if approved.version_id:
        chosen.versions[card.key] = approved.version_id


def _card_problems(card: Card, approved: Card | None) -> Iterator[str]:
    if not is_safe_id(card.key):
        yield "has an id that cannot be written into a marker"
    if card.status in GONE:
        yield f"is {card.status}"
    elif approved is None:
        yield f"is not approved yet; run `tacit review {card.version_id[:10]}`"
    if not (card.shareable and (approved is None or approved.shareable)):
        yield "is not shareable"


def _choose_skill(chosen: ChosenPieces, stored: StoredVersion, local: ProjectFacts) -> None:
    content, identity = stored.version.content, stored.skill.id
    problems = [f"{content.name} {problem}" for problem in _skill_problems(stored)]
    problems += _ties(content.name, content, local)
    if problems:
        chosen.refused += problems
        return
    chosen.pieces[identity] = _piece_of_skill(identity, content)
    chosen.versions[identity] = stored.version.id


def _skill_problems(stored: StoredVersion) -> Iterator[str]:
    content = stored.version.content
    if content.kind not in GRADUATING:
        yield f"is a {content.kind}, which never graduates"
    if content.person:
        yield f"belongs to {content.person} alone"
    if stored.status not in RECALLABLE:
        yield f"is {stored.status}, not approved; run `tacit review`"
    if not content.shareable:
        yield "is not shareable"


def _ties(name: str, content: SkillContent, local: ProjectFacts) -> list[str]:
    """Return what ties a content to one place."""
    return [f"{name}: {finding.message}" for finding in portability(content, local)]


def _piece_of_card(card: Card) -> KnowledgePiece:
    return KnowledgePiece(
        id=card.key,
        title=card.title,
        when=card.when_to_use,
        tags=card.tags,
        problem=card.problem,
        steps=card.solution_steps,
        evidence=card.evidence,
        gotchas=card.gotchas,
    )


def _piece_of_skill(identity: str, content: SkillContent) -> KnowledgePiece:
    return KnowledgePiece(
        id=identity,
        title=content.name,
        when=content.description,
        tags=content.tags,
        problem=content.body,
        steps=tuple(step.text for step in content.steps),
        gotchas=tuple(pitfall.text for pitfall in content.pitfalls),
    )
