"""A query → a selection, through memory, outcome, recall and application; and the renderings that quick readers live on.

Fetches what recall needs to know of the hits and passes it in. Which of them are given is decided in `recall`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial

from tacit import application, outcome
from tacit.domain.evidence import Evidence
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.ports import Hit, Rendering, Store, Stored
from tacit.domain.selection import Item, Plan, Query, Selection
from tacit.domain.skill import Kind, SkillVersion
from tacit.recall.filters import current_only, obstacle, unshadowed
from tacit.recall.plan import Part, compose, missing_tools
from tacit.recall.ranking import CANDIDATE_HITS, Rarity, signature_terms
from tacit.recall.selection import Known, select
from tacit.text.signature import error_signature
from tacit.text.words import estimate_tokens, terms

BRIEF_TOKENS = 300
PLANNED_HITS = 100
"""How many hits are looked through for what a task calls for."""
ERROR, COMMAND = "error", "command"
"""The parts of a query's state that hold the output of a failing call, and what was run."""


def choose(store: Store, query: Query, *, now: datetime, min_relevance: float) -> Selection:
    """Select for a query, within its budget and the frame around what is given."""
    error, command = (str(query.state.get(part) or "") for part in (ERROR, COMMAND))
    signature = error_signature(error, command=command)
    hits = _hits(store, query, signature)
    evidence = store.evidence(hit.stored.version.id for hit in hits)
    frequency, documents = store.document_frequency([*terms(query.text), *signature_terms(signature)])
    plan = _plan(query, hits)
    known = Known(
        rarity=Rarity.for_query(query.text, frequency, documents),
        reliability={version_id: outcome.reliability(items) for version_id, items in evidence.items()},
        rank=outcome.rank,
        last_used_at={version_id: items[-1].at for version_id, items in evidence.items() if items},
        signature=signature,
        plan=plan,
        task=query.text,
        tools=None if query.tools is None else frozenset(query.tools),
        lacking=_lacking(store, query, [hit.stored.version for hit in hits], called_for=plan.lacking),
    )
    framed = dataclasses.replace(query, budget_tokens=query.budget_tokens - application.frame_tokens())
    selection = select(framed, hits, known, render=partial(_render, store), now=now, min_relevance=min_relevance)
    items = tuple(
        dataclasses.replace(item, parts=_usable(parts_of(store, item.version), query.tools)) for item in selection.items
    )
    return dataclasses.replace(selection, query=query, items=items)


def _plan(query: Query, hits: Sequence[Hit]) -> Plan:
    """What the words of the task call for, of what may be given at all; whether its tools are at hand is part of it."""
    anywhere = dataclasses.replace(query, tools=None)
    stored = [hit.stored for hit in hits if hit.stored.version.content.cues and not obstacle(hit.stored, anywhere)]
    current, _ = unshadowed(current_only(stored))
    parts = [Part(item.version.id, item.version.content) for item in current]
    return compose(query.text, parts, tools=query.tools) if parts else Plan()


def parts_of(store: Store, composite: SkillVersion) -> tuple[SkillVersion, ...]:
    """The recallable versions of the skills that a composite names, in its order: as they are seen from where it is."""
    content = composite.content
    if not content.sub_skills:
        return ()
    scope = store.version(composite.id).skill.scope
    found: dict[str, SkillVersion] = {}
    for name in content.sub_skills:
        named = [held for held in store.catalogue(statuses=RECALLABLE, name=name) if held.skill.scope.contains(scope)]
        seen, _ = unshadowed(current_only(held for held in named if held.version.id != composite.id))
        alike = [held for held in seen if held.version.content.kind is content.kind] or seen
        for part in sorted(alike, key=lambda held: -held.sequence)[:1]:
            found[part.version.id] = part.version
    return tuple(found.values())


def _lacking(
    store: Store, query: Query, versions: Sequence[SkillVersion], *, called_for: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Composites that cannot be done here, with the tools that are missing: for a part they need, or for all of them.

    What the task is known to call for is needed.
    """
    found: dict[str, tuple[str, ...]] = {}
    for version in versions if query.tools is not None else ():
        content = version.content
        optional = {
            name
            for name, step in zip(content.sub_skills, content.steps, strict=False)
            if step.optional and len(content.steps) == len(content.sub_skills)
        }
        parts = parts_of(store, version)
        missing = {part.name: missing_tools(part.content, query.tools) for part in parts}
        needed = [tools for name, tools in missing.items() if name not in optional or set(tools) & set(called_for)]
        if any(needed) or (missing and all(missing.values())):
            lacking = (tool for tools in (needed if any(needed) else missing.values()) for tool in tools)
            found[version.id] = tuple(dict.fromkeys(lacking))
    return found


def _usable(parts: Sequence[SkillVersion], tools: Collection[str] | None) -> tuple[SkillVersion, ...]:
    return tuple(part for part in parts if not missing_tools(part.content, tools))


def publish(store: Store) -> int:
    """Render what became recallable or was measured anew, for readers that must answer at once; returns how many.

    Belongs into the transaction of the change itself: then nobody sees the one without the other.
    """
    with store.transaction():
        waiting = store.unrendered()
        for version_id in waiting:
            evidence = store.evidence([version_id])[version_id]
            store.put_rendering(_rendering(store, store.version(version_id), evidence=evidence))
    return len(waiting)


def _hits(store: Store, query: Query, signature: str) -> list[Hit]:
    found = store.search(terms(query.text), statuses=RECALLABLE, kinds=query.kinds, limit=PLANNED_HITS)
    found = [hit for at, hit in enumerate(found) if at < CANDIDATE_HITS or hit.stored.version.content.cues]
    if signature and (query.kinds is None or Kind.LESSON in query.kinds):
        words = sorted(signature_terms(signature))
        known = {hit.stored.version.id for hit in found}
        lessons = store.search(words, statuses=RECALLABLE, kinds={Kind.LESSON}, limit=CANDIDATE_HITS)
        found += [hit for hit in lessons if hit.stored.version.id not in known]
    return found


def _render(store: Store, item: Item, max_tokens: int) -> str:
    return application.render_item(
        item.version.content,
        status=item.status,
        reliability=item.reliability,
        max_tokens=min(max_tokens, application.ITEM_TOKENS_MAX),
        parts={part.name: part.content for part in parts_of(store, item.version)},
    )


def _rendering(store: Store, stored: Stored, *, evidence: Sequence[Evidence]) -> Rendering:
    version, measured = stored.version, outcome.reliability(evidence)
    parts = {part.name: part.content for part in parts_of(store, version)}

    def written(max_tokens: int) -> str:
        return application.render_item(
            version.content, status=stored.status, reliability=measured, max_tokens=max_tokens, parts=parts
        )

    text = written(application.ITEM_TOKENS_MAX)
    tokens = estimate_tokens(text)
    return Rendering(
        version_id=version.id,
        text=text,
        brief=written(BRIEF_TOKENS) if tokens > BRIEF_TOKENS else "",
        tokens=tokens,
        rank=outcome.rank(measured),
        fresh_at=evidence[-1].at if evidence else version.created_at,
    )
