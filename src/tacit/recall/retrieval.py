"""A query → a selection: search the store, collect what is known of the hits, and let `selection` choose.

Words used here: *cues* are words of a task that count for or against a skill, *surroundings* the tools that were available
where it was used (see `recall.plan`). `selection` decides; this module only reads the store.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache, partial
from pathlib import Path

from tacit import render
from tacit.domain.errors import NotFound, StoreOutage, TacitError
from tacit.domain.evidence import Evidence, Reliability
from tacit.domain.ledger import About, Remark, UsageSignal, record_elsewhere
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.ports import Embedder
from tacit.domain.selection import Item, Plan, Query, Selection
from tacit.domain.skill import Kind, SkillVersion
from tacit.domain.stored import FoundPassage, Hit, StoredVersion, current_only
from tacit.evidence.reliability import reliability
from tacit.evidence.skill_usage import importance_of, prominence_of
from tacit.recall import reasons
from tacit.recall.filters import filter_reason, missing_tools, parts_reason, unshadowed
from tacit.recall.passages import abstract_of, is_document, quote_documents
from tacit.recall.plan import PastAttempt, PlanOption, compose
from tacit.recall.selection import select
from tacit.recall.signals import CANDIDATE_HITS, Rarity, known_query_terms, signature_terms
from tacit.recall.weighing import RecallContext, read_situation
from tacit.store import Store
from tacit.store.queries import current, parts_of
from tacit.text.error_signatures import error_signature
from tacit.text.words import estimate_tokens, joined_words, query_terms

Parts = Callable[[str], Sequence[SkillVersion]]
"""Returns the versions of a composite's parts, by the composite's version id."""
PLANNED_HITS = 100
"""How many hits a plan is made from: a skill that is called for may rank low by words."""
COMPARED_ATTEMPTS = 20
"""How many past attempts a plan is compared with."""
MAX_WEIGHED_NORMS = 20
"""How many norms are weighed; of those beyond, up to `MAX_KNOWN_NORMS` in all are named."""
MAX_KNOWN_NORMS = 100
MAX_FOUND_PASSAGES = 30
MAX_TITLE_ONLY_DOCUMENTS = 5
"""How many documents are considered of which only the title matched: each costs a query for its abstract."""
MAX_TASK_CHARACTERS = 50_000
"""How many characters of a task are read."""


def choose(
    store: Store, query: Query, *, now: datetime, min_relevance: float, embedder: Embedder | None = None
) -> Selection:
    """Choose skills for a query, within its budget less the frame around the texts."""
    query = dataclasses.replace(query, text=query.text[:MAX_TASK_CHARACTERS])
    situation = read_situation(query.state)
    signature = error_signature(situation.error, command=situation.command)
    looked_for = [*query_terms(query.text), *joined_words(query.text), *signature_terms(signature)]
    frequency, corpus_size = store.document_frequency(looked_for)
    wanted = known_query_terms(query.text, frequency)
    hits, limitation = _hits(store, query, signature, embedder, wanted=wanted)
    hits, unweighed = _with_norms(store, query, hits)
    hits = _with_namesakes(store, query, hits)
    hits, passages = _with_passages(store, query, hits, wanted)
    quoted, document_relevance = quote_documents(query.text, passages, min_relevance=min_relevance)
    results = store.evidence(hit.stored.version.id for hit in hits)
    plan = _plan(store, query, hits)
    composites = {hit.stored.version.id: hit.stored for hit in hits if hit.stored.version.content.sub_skills}

    @cache
    def parts(version_id: str) -> Sequence[SkillVersion]:
        return parts_of(store, composites[version_id].version) if version_id in composites else ()

    restricted = query.tools is not None or query.allowed is not None
    context = RecallContext(
        rarity=Rarity.for_query(query.text, frequency, corpus_size),
        reliability={
            version_id: reliability(items, model=query.model, scope=str(query.scope.around))
            for version_id, items in results.items()
        },
        usage=_usage(store, hits, results),
        signature=signature,
        situation=situation,
        plan=plan,
        unusable_parts={
            version_id: why
            for version_id, composite in (composites.items() if restricted else ())
            if (why := parts_reason(composite, parts(version_id), query, called_for=plan.lacking))
        },
        quoted=quoted,
        document_relevance=document_relevance,
        unweighed=unweighed,
    )
    framed = dataclasses.replace(query, budget_tokens=query.budget_tokens - render.frame_tokens())
    write = partial(_write, store, _elsewhere(store, hits), parts)
    selection = select(framed, hits, context, render=write, now=now, min_relevance=min_relevance)
    items = tuple(
        dataclasses.replace(item, parts=_usable(parts(item.version_id), query.tools)) for item in selection.items
    )
    return dataclasses.replace(selection, query=query, items=items, note=limitation)


def _usage(
    store: Store, hits: Sequence[Hit], results: Mapping[str, Sequence[Evidence]]
) -> dict[str, tuple[int, datetime, float]]:
    """Return how often versions were confirmed and used, when last, and how important they are: as rendered, or now."""
    versions = {hit.stored.version.id: hit.stored.version for hit in hits}
    rendered = store.renderings.get(versions)
    others = {key: version.skill_id for key, version in versions.items() if key not in rendered}
    signals = store.entries(UsageSignal, key=others.keys()) if others else []
    remarks = store.remarks(*set(others.values()), about=About.IMPORTANCE) if others else []
    return {
        key: (rendering.reinforced, rendering.fresh_at, rendering.importance)
        if (rendering := rendered.get(key))
        else (
            *prominence_of(version, results[key], usage_signals=[each for each in signals if each.key == key]),
            importance_of(
                version, results[key], remarks=[each for each in remarks if each.subject == version.skill_id]
            ),
        )
        for key, version in versions.items()
    }


def _plan(store: Store, query: Query, hits: Sequence[Hit]) -> Plan:
    """Return what the words of the task call for, of what may be given at all, and which tools that lacks."""
    anywhere = dataclasses.replace(query, tools=None)
    stored = [hit.stored for hit in hits if hit.stored.version.content.cues and not filter_reason(hit.stored, anywhere)]
    current, _ = unshadowed(current_only(stored))
    options = [
        PlanOption(
            item.version.id,
            item.version.content,
            surroundings_observed=query.tools is None or _saw_surroundings(store, item.version),
        )
        for item in current
    ]
    return compose(query.text, options, tools=query.tools, attempts=_attempts(store, query)) if options else Plan()


def _attempts(store: Store, query: Query) -> list[PastAttempt]:
    """Return what verified successes at tasks with the same words did. Nothing of their text is given: a plan takes the
    order of approved skills from them."""
    found = store.search_episodes(query.text, limit=COMPARED_ATTEMPTS)
    outlines = store.outlines.of(each.id for each in found)
    return [
        PastAttempt(each.task, tuple((move.tool, move.arguments) for move in each.moves if move.worked))
        for each in outlines
        if each.success and each.moves
    ]


def _saw_surroundings(store: Store, version: SkillVersion) -> bool:
    """Return whether attempts showed the surrounding tools: for the version itself, or for the one it was edited from.

    A file can claim any surroundings, so a written claim is no sign that a tool is missing here.
    """
    claimed = set(version.content.surroundings)
    waiting, visited = [version] if claimed else [], {version.id}
    while waiting:
        each = waiting.pop(0)
        if set(each.content.surroundings) != claimed:
            continue  # changed by hand in this version
        if each.provenance.grounding.get("surroundings"):
            return True
        for parent in set(each.parents) - visited:
            visited.add(parent)
            with suppress(NotFound):  # the parent of a promoted version is in another store
                waiting.append(store.version(parent).version)
    return False


def _usable(parts: Sequence[SkillVersion], tools: Collection[str] | None) -> tuple[SkillVersion, ...]:
    return tuple(part for part in parts if not missing_tools(part.content, tools))


def _hits(
    store: Store, query: Query, signature: str, embedder: Embedder | None, *, wanted: Sequence[str]
) -> tuple[list[Hit], str]:
    """Search by words, by meaning and by the error; return each version once, and why one of these could not be used."""
    by_error = bool(signature) and (query.kinds is None or Kind.LESSON in query.kinds)

    found = {hit.stored.version.id: hit for hit in _by_words(store, query, wanted)}
    if by_error:
        words = sorted(signature_terms(signature))
        lessons = store.search(words, statuses=RECALLABLE, kinds={Kind.LESSON}, limit=CANDIDATE_HITS)
        found = {hit.stored.version.id: dataclasses.replace(hit, lexical=0.0) for hit in lessons} | found
    limitation = ""
    if embedder is not None and query.text.strip():
        try:
            together = _with_meaning(store, query, found, embedder)
            if all(hit.semantic is not None for hit in together.values()):
                found = together
            else:  # next to others with a meaning, an equally good skill without a vector would be left out
                limitation = reasons.keyword_search_only()
        except TacitError as fault:  # the model is broken or away, or vectors are damaged: keyword search still works
            limitation = reasons.keyword_search_only(fault.message)
    return list(found.values()), limitation


def _with_norms(store: Store, query: Query, hits: Sequence[Hit]) -> tuple[list[Hit], list[StoredVersion]]:
    """Add the norms that hold here; return also those beyond the number that is weighed."""
    if query.kinds is not None and Kind.NORM not in query.kinds:
        return list(hits), []
    norms = store.renderings.norms(query.scope, limit=MAX_WEIGHED_NORMS, named=MAX_KNOWN_NORMS - MAX_WEIGHED_NORMS)
    found = {hit.stored.version.id: hit for hit in (*norms[:MAX_WEIGHED_NORMS], *hits)}
    unweighed = [norm.stored for norm in norms[MAX_WEIGHED_NORMS:] if norm.stored.version.id not in found]
    return list(found.values()), [each for each in unweighed if not filter_reason(each, query)]


def _with_namesakes(store: Store, query: Query, hits: Sequence[Hit]) -> list[Hit]:
    """Add the skills of narrower scopes that shadow hits and were not found themselves."""
    found = {hit.stored.version.id for hit in hits}
    narrower = store.renderings.narrower_namesakes(hits, query.scope)
    return [*hits, *(hit for hit in narrower if hit.stored.version.id not in found)]


def _with_passages(
    store: Store, query: Query, hits: Sequence[Hit], wanted: Sequence[str]
) -> tuple[list[Hit], list[FoundPassage]]:
    """Add the documents in which passages were found; return also the passages that may be quoted.

    A document that was found by its title alone is represented by its abstract.
    """
    if query.kinds is not None and Kind.REFERENCE not in query.kinds:
        return list(hits), []
    found = store.passages.search(wanted, limit=MAX_FOUND_PASSAGES) if wanted else []
    already_found = {hit.stored.version.id for hit in hits}
    new = {each.stored.version.id: each.stored for each in found if each.stored.version.id not in already_found}
    with_passage = {each.stored.version.id for each in found}
    titled = [hit.stored for hit in hits if is_document(hit.stored.version.content)]
    for stored in [each for each in titled if each.version.id not in with_passage][:MAX_TITLE_ONLY_DOCUMENTS]:
        abstract = abstract_of(store.passages.of(stored.version.id))
        found += [FoundPassage(stored=stored, passage=abstract, lexical=0.0)] if abstract else []
    hits = [*hits, *(Hit(stored=stored, lexical=0.0) for stored in new.values())]
    return hits, [each for each in found if not filter_reason(each.stored, query)]


def with_rendered_block(selection: Selection) -> Selection:
    """Return a selection with the block that the agent sees; left out norms and static skills are named, if there is space."""
    texts = [item.text for item in (*selection.items, *selection.standing)]
    block = render.render_selection(texts)
    also = [render.crowded_line(selection.crowded_out)] if selection.crowded_out else []
    for line in [*also, *([render.static_lines(selection.static)] if selection.static else [])]:
        more = render.render_selection([*texts, line])
        if estimate_tokens(more) <= selection.query.budget_tokens:
            block, texts = more, [*texts, line]
    return dataclasses.replace(selection, text=block, tokens=estimate_tokens(block))


def _with_meaning(store: Store, query: Query, found: Mapping[str, Hit], embedder: Embedder) -> dict[str, Hit]:
    """Add what is near in meaning, and give every hit its similarity."""
    (vector,) = embedder.embed([query.text])
    nearest = store.vectors.nearest(vector, space=embedder.identity, kinds=query.kinds, limit=CANDIDATE_HITS)
    alike = {hit.stored.version.id: hit.semantic for hit in nearest}
    together = {hit.stored.version.id: hit for hit in nearest} | dict(found)
    alike |= store.vectors.similarities(vector, together.keys() - alike.keys(), space=embedder.identity)
    return {key: dataclasses.replace(hit, semantic=alike.get(key)) for key, hit in together.items()}


def _by_words(store: Store, query: Query, wanted: Sequence[str]) -> list[Hit]:
    """Search by the words of the task; beyond the first few only skills with cues."""
    search = partial(store.search, statuses=RECALLABLE, kinds=query.kinds, limit=CANDIDATE_HITS)
    found = search(wanted, cued_within=PLANNED_HITS)
    if situation := read_situation(query.state).words:
        already_found = {hit.stored.version.id for hit in found}
        others = (hit for hit in search(situation) if hit.stored.version.id not in already_found)
        found += [dataclasses.replace(hit, lexical=0.0) for hit in others]
    return found


def _elsewhere(store: Store, hits: Sequence[Hit]) -> dict[str, str] | None:
    """Return promoted skills with their record in the project they came from; nothing if each must be read on its own."""
    skills = {hit.stored.skill.id for hit in hits}
    noted: dict[str, list[Remark]] = {}
    try:
        remarks = store.remarks(*skills, about=About.PROMOTION) if skills else []
    except StoreOutage:  # one damaged remark must not hide the others
        return None
    for remark in remarks:
        noted.setdefault(remark.subject, []).append(remark)
    return {skill_id: record_elsewhere(remarks) for skill_id, remarks in noted.items()}


def _write(store: Store, elsewhere: Mapping[str, str] | None, parts: Parts, item: Item, max_tokens: int) -> str:
    content = item.version.content
    if is_document(content):
        source = render.source_line(item.version)
        return render.quote(content, item.passages, status=item.status, source=source, max_tokens=max_tokens)
    if elsewhere is None:
        there = record_elsewhere(store.remarks(item.version.skill_id, about=About.PROMOTION))
    else:
        there = elsewhere.get(item.version.skill_id, "")
    return render.render_item(
        content,
        status=item.status,
        reliability=item.reliability,
        source=render.source_line(item.version, there),
        max_tokens=min(max_tokens, render.ITEM_TOKENS_MAX),
        parts={part.name: part.content for part in parts(item.version_id)},
    )


def offered(
    store: Store,
    may_see: Callable[[StoredVersion], bool],
    *,
    project: Path | None,
    home: Path | None,
    reliability: Callable[[str], Reliability],
) -> render.Catalogue:
    """Everything an agent could be offered: skills in the project's and user's folders, and the learned ones seen from here."""
    static = render.scan(project=project, home=home)
    learned = [
        render.Entry(
            content=stored.version.content,
            version_id=stored.version.id,
            status=stored.status,
            reliability=reliability(stored.version.id),
            source=render.source_line(
                stored.version, record_elsewhere(store.remarks(stored.skill.id, about=About.PROMOTION))
            ),
        )
        for stored in unshadowed(filter(may_see, current(store, statuses=RECALLABLE)))[0]
    ]
    found = render.merge(static.entries, learned)
    return dataclasses.replace(found, shadowed=(*static.shadowed, *found.shadowed))
