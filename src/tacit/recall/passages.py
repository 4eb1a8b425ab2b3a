"""Passages of documents and a question → what is quoted of which document, best first, or nothing. Pure.

A passage is relevant by the words that it, its section and its document's title share with the question. A long text shares
many words by chance, so it needs more than a skill. Relevant passages are ordered by relevance times the document prior: its
type, and a little its citations. The score that is shown with a document is that of a skill with the same words: for
comparison with skills, and not what documents are ordered by. Nothing here is ever a step or an instruction. The signal
`esteem` is the document prior; its name is part of `--json`.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import punctuation

from tacit.domain.selection import Item
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.stored import ABSTRACT, REFERENCES, TEXT_DIGEST, FoundPassage, Passage, StoredVersion
from tacit.recall import reasons
from tacit.recall.signals import (
    CLEAR_MATCH_NATS,
    SHARE_OF_BEST_MIN,
    QueryTerms,
    Rarity,
    SkillTerms,
    beyond_chance,
    combined_score,
    identifiers_in,
    relevance_of,
    term_overlap,
)
from tacit.store.lexical_search import LIBRARY, PASSAGE_WEIGHTS, passage_words, score
from tacit.text.similarity import jaccard
from tacit.text.words import query_terms as terms_of_query
from tacit.text.words import terms

DOCUMENT_TYPE_WEIGHTS = {"peer-reviewed": 1.2, "book": 1.1, "preprint": 1.0, "informal": 0.8}
"""Factor for the type of a document (`document.evidence_type`); an unknown type counts as informal."""
CITATION_EXPONENT = 0.1
"""The power to which the logarithm of citations counts: with a hundred thousand of them a third more than with none."""
DIVERSITY = 0.7
"""The weight of relevance against novelty where several passages are chosen."""
MAX_PER_DOCUMENT = 2
MAX_PASSAGES = 6
"""How many passages are quoted at most, of all documents together."""
MAX_QUOTE_CHARACTERS = 900
"""Characters of one quotation, about 225 tokens: two fit into the share of references in the budget."""
PASSAGE_RELEVANCE_FACTOR, PASSAGE_RELEVANCE_CAP = 2.5, 0.9
"""A passage must be so many times as relevant as a skill, but never more relevant than the cap."""

_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+|\n+")
_GAP = "[…]"


def is_document(content: SkillContent) -> bool:
    """Return whether a reference is a document, whose passages are stored."""
    return content.kind is Kind.REFERENCE and TEXT_DIGEST in content.metadata


def title_of(content: SkillContent) -> str:
    """Return the title of a document."""
    described = next(iter(content.description.strip().splitlines()), "")
    return content.metadata.get("document.title", "").strip() or described or content.name


def abstract_of(passages: Sequence[Passage]) -> Passage | None:
    """Return the passage that represents the whole document: its abstract, or else its beginning."""
    return next((each for each in passages if each.section == ABSTRACT), passages[0] if passages else None)


def document_prior(content: SkillContent) -> float:
    """Return a factor for a document whatever the question is, from its type and citations: from 0.8 to about 1.6."""
    type_weight = DOCUMENT_TYPE_WEIGHTS.get(
        content.metadata.get("document.evidence_type", ""), DOCUMENT_TYPE_WEIGHTS["informal"]
    )
    return type_weight * math.pow(
        math.log2(_number(content.metadata.get("document.citations", "")) + 2), CITATION_EXPONENT
    )


@dataclass(frozen=True)
class _Weighed:
    stored: StoredVersion
    passage: Passage
    relevance: float
    word_score: float
    matched: tuple[str, ...]

    @property
    def content(self) -> SkillContent:
        return self.stored.version.content

    @cached_property
    def order_value(self) -> float:
        return self.relevance * document_prior(self.content)

    @cached_property
    def terms(self) -> frozenset[str]:
        return frozenset(terms(self.passage.text))


def quote_documents(
    text: str, found: Iterable[FoundPassage], *, min_relevance: float
) -> tuple[list[Item], dict[str, float]]:
    """Return what is quoted for a question, one item for each document, best first; and each document's best relevance."""
    kept = [each for each in found if each.passage.section != REFERENCES]
    query_terms = _query_terms(text, kept)
    weighed = [_weigh(query_terms, each) for each in kept]
    best: dict[str, float] = {}
    for each in weighed:
        version_id = each.stored.version.id
        best[version_id] = max(best.get(version_id, 0.0), each.relevance)
    least = max(
        min(PASSAGE_RELEVANCE_CAP, PASSAGE_RELEVANCE_FACTOR * min_relevance),
        SHARE_OF_BEST_MIN * max(best.values(), default=0.0),
    )
    enough_nats = PASSAGE_RELEVANCE_FACTOR * CLEAR_MATCH_NATS * min_relevance
    chosen = _diverse([each for each in weighed if each.relevance >= least or each.word_score >= enough_nats])
    documents: dict[str, list[_Weighed]] = {}
    for each in chosen:
        documents.setdefault(each.stored.version.id, []).append(each)
    spelling = {term: word.strip(punctuation) for word in reversed(text.split()) for term in terms(word)}
    return [_item(query_terms, quoted, spelling) for quoted in documents.values()], best


def _query_terms(text: str, found: Sequence[FoundPassage]) -> QueryTerms:
    """Return the question's terms. Rarity among skills does not apply to papers: all but everyday words are rare."""
    wanted = terms_of_query(text)
    covered = {
        term for each in found for part in (*passage_words(each.passage), _title_terms(each.stored)) for term in part
    }
    frequency = {term: 1 for term in wanted if term in covered}
    return QueryTerms(wanted, Rarity.for_query(text, frequency, LIBRARY), identifiers=identifiers_in(text))


def _weigh(query_terms: QueryTerms, found: FoundPassage) -> _Weighed:
    section, text = passage_words(found.passage)
    title = _title_terms(found.stored)
    overlap, matched = term_overlap(query_terms, SkillTerms(title, [*section, *text]))
    nats = score(query_terms.worth, ([*title, *section], text), weights=PASSAGE_WEIGHTS)
    return _Weighed(
        found.stored,
        found.passage,
        relevance=relevance_of(overlap, nats),
        word_score=beyond_chance(nats, query_terms.chance),
        matched=tuple(matched),
    )


def _diverse(relevant: Sequence[_Weighed]) -> list[_Weighed]:
    """Choose the best passages, each next one also for its novelty, and at most two of one document."""
    waiting = sorted(relevant, key=lambda each: (-each.order_value, each.stored.version.id, each.passage.index))
    most = waiting[0].order_value if waiting else 1.0
    chosen: list[_Weighed] = []
    while waiting and len(chosen) < MAX_PASSAGES:
        gain = [
            DIVERSITY * each.order_value / most
            - (1 - DIVERSITY) * max((jaccard(each.terms, other.terms) for other in chosen), default=0.0)
            for each in waiting
        ]
        chosen.append(waiting.pop(gain.index(max(gain))))
        counts = [each.stored.version.id for each in chosen]
        waiting = [each for each in waiting if counts.count(each.stored.version.id) < MAX_PER_DOCUMENT]
    return chosen


def _item(query_terms: QueryTerms, quoted: Sequence[_Weighed], spelling: Mapping[str, str]) -> Item:
    """Return a document with its quotations; `spelling` has the question's own words for its terms."""
    first, metadata = quoted[0], quoted[0].content.metadata
    signals = {"relevance": first.relevance, "words": first.word_score, "esteem": document_prior(first.content)}
    evidence_type = metadata.get("document.evidence_type") or "informal"
    words = list(dict.fromkeys(spelling.get(term, term) for term in first.matched[:6]))
    return Item(
        version=first.stored.version,
        status=first.stored.status,
        score=combined_score(signals),
        signals=signals,
        reasons=(
            reasons.matched_words(words, meaning=None),
            reasons.citations(evidence_type, _number(metadata.get("document.citations", ""))),
            reasons.standing(Kind.REFERENCE, first.stored.skill.scope, first.stored.status),
        ),
        text="",
        tokens=0,
        passages=tuple(excerpt(each.passage, query_terms) for each in quoted),
    )


def excerpt(passage: Passage, query_terms: QueryTerms) -> Passage:
    """Return a passage cut to whole sentences around what was asked for; what was left out is marked."""
    text = passage.text.strip()
    if len(text) <= MAX_QUOTE_CHARACTERS:
        return dataclasses.replace(passage, text=text)
    sentences = [part for part in _SENTENCE_END.split(text) if part.strip()]
    start, end = _window(sentences, query_terms)
    quoted = " ".join(sentences[start:end])
    if len(quoted) > MAX_QUOTE_CHARACTERS:  # one endless sentence
        quoted, end = quoted[:MAX_QUOTE_CHARACTERS].rsplit(" ", 1)[0], -1
    pieces = [*([_GAP] if start else []), quoted, *([_GAP] if end != len(sentences) else [])]
    return dataclasses.replace(passage, text=" ".join(pieces))


def abstract_excerpt(passage: Passage) -> Passage:
    """Return a passage cut to its beginning, where there is no question."""
    return excerpt(passage, QueryTerms((), Rarity(frequency={}, corpus_size=0)))


def _window(sentences: Sequence[str], query_terms: QueryTerms) -> tuple[int, int]:
    """Return the range of sentences, as many in a row as fit, that say most of what was asked; the earliest of several."""
    worth = [{term: query_terms.worth[term] for term in terms(each) if term in query_terms.worth} for each in sentences]
    best, window = -1.0, (0, 1)
    for start in range(len(sentences)):
        size, end, covered = len(sentences[start]), start + 1, dict(worth[start])
        while end < len(sentences) and size + 1 + len(sentences[end]) <= MAX_QUOTE_CHARACTERS:
            size += 1 + len(sentences[end])
            covered |= worth[end]
            end += 1
        if math.fsum(covered.values()) > best:
            best, window = math.fsum(covered.values()), (start, end)
    return window


def _title_terms(stored: StoredVersion) -> list[str]:
    return terms(title_of(stored.version.content))


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else 0
