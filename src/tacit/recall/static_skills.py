"""Which static skills fit a task by their words: offered by name and place, beside what recall gives.

A static skill is a SKILL.md that people keep in the project. Nothing of it is stored, nobody reviewed it and nothing is known
of its results, so it takes no part in the ranking of learned skills.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from itertools import chain

from tacit import render
from tacit.domain.selection import Selection, StaticSkill
from tacit.domain.skill import Kind
from tacit.recall.signals import QueryTerms, Rarity, SkillTerms, relevance_of, term_overlap
from tacit.store.context import StoreContext
from tacit.store.lexical_search import VERSION_WEIGHTS, score, version_words
from tacit.text.words import query_terms

MAX_OFFERED = 3
"""Static skills that one recall names: the client lists all of them anyway."""


def added(context: StoreContext, selection: Selection) -> Selection:
    """Return a selection with the static skills that fit its query, the best first.

    There are none where the query asks for what is not known of them, or while Tacit is paused.
    """
    query, project = selection.query, context.project
    is_limited = query.allowed is not None or query.min_reliability is not None or query.category
    if is_limited or (query.kinds is not None and Kind.PROCEDURE not in query.kinds) or context.paused or not project:
        return selection
    entries = [each for each in render.scan(project=project, home=None).entries if not each.hidden]
    words = {each.name: version_words(each.content) for each in entries}
    frequency = Counter(chain.from_iterable(set(chain.from_iterable(each)) for each in words.values()))
    asked = QueryTerms(query_terms(query.text), Rarity.for_query(query.text, frequency, len(words)))
    relevance: dict[str, float] = {}
    least = context.config.recall.min_relevance
    for name, (own, description, body, rest) in words.items():
        overlap, _ = term_overlap(asked, SkillTerms(own, description, rest=[*body, *rest]))
        nats = score(asked.worth, words[name], weights=VERSION_WEIGHTS)
        relevance[name] = relevance_of(overlap, nats)
    found = [
        StaticSkill(name=each.name, description=each.description, path=each.path.relative_to(project).as_posix())
        for each in sorted(entries, key=lambda each: (-relevance[each.name], each.name))
        if each.path and relevance[each.name] >= least and not context.store.catalogue(name=each.name)
    ]
    return dataclasses.replace(selection, static=tuple(found[:MAX_OFFERED]))
