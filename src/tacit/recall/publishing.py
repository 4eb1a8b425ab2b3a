"""Approved versions → what recall finds them by: renderings for hooks, vectors for search by meaning, warnings of calls.

All are projections of the versions and can be rebuilt at any time (`index`); they are written in the transaction of a change.
"""

from __future__ import annotations

import logging
import math
from array import array
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tacit import render
from tacit.domain.errors import Mistake, ModelOutage
from tacit.domain.evidence import Evidence
from tacit.domain.ledger import About, UsageSignal, pinned, record_elsewhere
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.ports import Embedder
from tacit.domain.reach import CARD
from tacit.domain.skill import BEFORE_TAG, CALL_TAG, Kind, SkillContent
from tacit.domain.stored import Rendering, StoredVersion
from tacit.evidence import control_runs
from tacit.evidence.control_runs import unproven
from tacit.evidence.reliability import reliability, reliability_score
from tacit.evidence.skill_usage import changes_prominence, importance_of, prominence_of
from tacit.recall import call_warnings
from tacit.recall.passages import abstract_excerpt, abstract_of, is_document
from tacit.render.context import LINE_KINDS, hook_text, plain_line, pointer_line
from tacit.store import Store
from tacit.store.connection import MEMORY
from tacit.store.queries import parts_of
from tacit.text.words import estimate_tokens

BRIEF_TOKENS = 150
"""The length of a block for a hook; more is had on request."""
BATCH_SIZE = 32
"""How many versions are embedded in one transaction, so that an interrupted run loses little."""
MAX_VECTORS = 8
"""How many vectors one version has at most: search compares each of them."""
BODY_CHARACTERS = 600
"""How much of a body is embedded with name and description; embedders read a few hundred words at most."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What `index` did."""

    rows: int = 0
    """Covered by the full-text indexes, where these were rebuilt."""
    embedded: int = 0
    waiting: int = 0
    """Versions that still have no vectors."""
    space: str = ""
    """The embedder's; empty without one."""
    dropped: tuple[str, ...] = ()
    """Spaces of other embedders that were forgotten."""


def publish(store: Store, embedder: Embedder | None = None) -> int:
    """Render and embed what became recallable or has new evidence; return how many versions that are.

    Call it in the transaction of the change, so that both become visible together. Embedding is left to `index` where many
    versions wait (the embedder is new), and where the embedder fails.
    """
    with store.transaction():
        waiting = store.renderings.missing()
        _render(store, [store.version(version_id) for version_id in waiting])
        if embedder is not None and waiting:
            try:
                unembedded = store.vectors.missing(embedder.identity, limit=BATCH_SIZE + 1)
                if len(unembedded) <= BATCH_SIZE:
                    _embed(store, embedder, unembedded)
            except (Mistake, ModelOutage) as fault:  # an approval is not lost over a model that is broken or away
                _LOG.warning("skills wait for their vectors: %s", fault.message)
    if waiting:
        _write_call_warnings(store)
    return len(waiting)


def _write_call_warnings(store: Store) -> None:
    """Keep which calls have a lesson that is worth saying before they run."""
    if store.path == MEMORY:
        return
    lessons = store.catalogue(statuses=RECALLABLE, kinds={Kind.LESSON})
    warned = [
        (tag.removeprefix(CALL_TAG), stored.version.id)
        for stored in lessons
        if BEFORE_TAG in stored.version.content.tags
        for tag in stored.version.content.tags
        if tag.startswith(CALL_TAG)
    ]
    with suppress(OSError):  # a store that cannot be written to
        call_warnings.write(str(Path(store.path).parent), warned)


def publish_card(store: Store, stored: StoredVersion, text: str) -> None:
    """Show the present facts in place of those that the approved card was made of.

    A person approved that the card of a project is shown and kept current. Later facts need no review of their own: they are
    counted by the same rules, and a line names only commands that several sessions ran (`learn.project_facts`).
    """
    rendering = store.renderings.get([stored.version.id]).get(stored.version.id)
    shown = hook_text(replace(stored.version.content, body=text))
    if rendering is not None and rendering.text != shown:
        store.renderings.put(replace(rendering, text=shown, tokens=estimate_tokens(shown)))


def rerender_skill(store: Store, skill_id: str) -> None:
    """Render a skill again after a change other than of status or evidence, such as a pin."""
    _render(store, [stored for stored in store.versions(skill_id) if stored.status in RECALLABLE])


def rerender_versions(store: Store, version_ids: Collection[str]) -> None:
    """Render versions again that still exist and are recallable, such as after a purge of what made them prominent."""
    _render(store, [each for each in store.catalogue(statuses=RECALLABLE) if each.version.id in version_ids])


def store_evidence(store: Store, evidence: Sequence[Evidence], *, embedder: Embedder | None = None) -> None:
    """Store evidence, and render again what it changes, in one transaction."""
    with store.transaction():
        for item in evidence:
            store.add(item)
        publish(store, embedder)


def store_usage_signals(store: Store, usage_signals: Sequence[UsageSignal]) -> int:
    """Keep whether what was shown was used, as far as that changes how prominent it is; returns how many were kept.

    What changes nothing is not kept, so that a norm which every session is shown does not grow the ledger each time.
    """
    kept = 0
    with store.transaction():
        for each in usage_signals:
            held = store.version(each.key)
            earlier, evidence = store.entries(UsageSignal, key=each.key), store.evidence([each.key])[each.key]
            if changes_prominence(held.version, evidence, earlier, each) and store.add(each):
                kept += 1
                if held.status in RECALLABLE:
                    _render(store, [held])
    return kept


def index(
    store: Store,
    embedder: Embedder | None,
    *,
    rebuild: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Indexed:
    """Embed the versions without vectors, batch by batch; then remove the vectors of other embedders.

    `rebuild` makes the full-text indexes, all renderings and all vectors again. The next run continues an interrupted one.
    """
    rows = store.reindex() if rebuild else 0
    if rebuild:
        _render(store, store.catalogue(statuses=RECALLABLE))
    publish(store)
    space = embedder.identity if embedder else ""
    waiting = store.vectors.missing(space) if embedder else []
    if rebuild and embedder:  # in place of the old vectors, which stay until then
        waiting = [stored.version.id for stored in store.catalogue(statuses=RECALLABLE)]
    for at in range(0, len(waiting) if embedder else 0, BATCH_SIZE):
        if embedder:
            _embed(store, embedder, waiting[at : at + BATCH_SIZE])
        if progress:
            progress(min(at + BATCH_SIZE, len(waiting)), len(waiting))
    left = len(store.vectors.missing(space)) if embedder else 0
    unused = tuple(name for name in store.vectors.spaces() if name != space) if embedder and not left else ()
    for name in unused:
        store.vectors.drop(name)
    return Indexed(rows=rows, embedded=len(waiting) - left, waiting=left, space=space, dropped=unused)


def _embed(store: Store, embedder: Embedder, version_ids: Sequence[str]) -> None:
    """Give versions their vectors; those that stopped being recallable meanwhile are passed over."""
    versions = [store.version(version_id) for version_id in version_ids]
    texts = [embedding_texts(stored.version.content) for stored in versions]
    vectors = iter(embedder.embed([text for each in texts for group in each for text in group]))
    with store.transaction():
        for stored, each in zip(versions, texts, strict=True):
            own = [_mean_direction([next(vectors) for _ in group]) for group in each]
            if store.version(stored.version.id).status in RECALLABLE:
                store.vectors.put(stored.version.id, own, space=embedder.identity)


def embedding_texts(content: SkillContent) -> list[list[str]]:
    """Return the texts that a skill is embedded by, in groups that share a vector.

    The first group is its description, alone and with its instructions; the others are the tasks that it was learned from.
    """
    title = content.name.replace("-", " ").replace("_", " ")
    short = f"{title}: {content.description}"
    instructions = content.body or " ".join(step.text for step in content.steps)
    itself = [short, f"{short} {instructions[:BODY_CHARACTERS]}"] if instructions else [short]
    examples = dict.fromkeys(content.example_queries)
    return [itself, *([example] for example in examples)][:MAX_VECTORS]


def _mean_direction(vectors: Sequence[bytes]) -> bytes:
    """Return the mean of several vectors, with length 1."""
    if len(vectors) == 1:
        return vectors[0]
    sums = [sum(values) for values in zip(*(array("f", vector) for vector in vectors), strict=True)]
    length = math.sqrt(math.fsum(value * value for value in sums))
    return array("f", [value / length for value in sums]).tobytes() if length else vectors[0]


def _render(store: Store, versions: Sequence[StoredVersion]) -> None:
    with store.transaction():
        for stored in versions:
            evidence = store.evidence([stored.version.id])[stored.version.id]
            store.renderings.put(_rendering(store, stored, evidence=evidence))


def text_for_hooks(store: Store, stored: StoredVersion) -> str:
    """Return what hooks show of a version once it is approved: the text that an approval signs.

    Of the card of project facts that is all that was reviewed: which of it sessions need follows the counts.
    """
    if stored.version.content.kind is Kind.FACT and stored.version.name == CARD:
        return "\n".join(map(plain_line, stored.version.content.body.splitlines()))
    return _rendering(store, stored, evidence=store.evidence([stored.version.id])[stored.version.id]).text


def _rendering(store: Store, stored: StoredVersion, *, evidence: Sequence[Evidence]) -> Rendering:
    version, measured = stored.version, reliability(evidence)
    reinforced, fresh_at = prominence_of(version, evidence, usage_signals=store.entries(UsageSignal, key=version.id))
    parts = {part.name: part.content for part in parts_of(store, version)}
    elsewhere = record_elsewhere(store.remarks(version.skill_id, about=About.PROMOTION))
    is_pinned = bool(pinned(store.remarks(version.skill_id, about=About.PIN)))

    def written() -> str:
        if version.content.kind in LINE_KINDS:
            return hook_text(version.content)
        if is_document(version.content):
            abstract = abstract_of(store.passages.of(version.id))
            quoted = [abstract_excerpt(abstract)] if abstract else []
            source = render.source_line(version)
            most = render.ITEM_TOKENS_MAX  # a shorter quotation would be none
            return render.quote(version.content, quoted, status=stored.status, source=source, max_tokens=most)
        block = render.render_item(
            version.content,
            status=stored.status,
            reliability=measured,
            source=render.source_line(version, elsewhere),
            max_tokens=BRIEF_TOKENS,
            parts=parts,
            only_whole=version.content.kind is Kind.PROCEDURE,
        )
        return block or pointer_line(version.content)

    text = written()
    return Rendering(
        version_id=version.id,
        text=text,
        tokens=estimate_tokens(text),
        reliability=reliability_score(measured),
        fresh_at=fresh_at,
        reinforced=reinforced,
        person=version.content.person if version.content.kind is Kind.PREFERENCE else "",
        importance=importance_of(version, evidence, remarks=store.remarks(version.skill_id, about=About.IMPORTANCE)),
        unproven=unproven(version.content, evidence, pinned=is_pinned, session=control_runs.sessions(store, evidence)),
    )
