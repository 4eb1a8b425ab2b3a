"""Imported skills: which stored skill an imported one revises, and what the gate would decide without storing it."""

from __future__ import annotations

from tacit import render
from tacit.domain.candidate import Verdict
from tacit.domain.errors import GateRefusal
from tacit.domain.origin import Origin
from tacit.domain.skill import Provenance, SkillContent
from tacit.domain.stored import StoredVersion
from tacit.gate import admission
from tacit.store.context import StoreContext


def resolve_import(context: StoreContext, parsed: render.Parsed) -> tuple[SkillContent, StoredVersion | None]:
    """Return the content to propose and the version it revises: of the skill it was exported from, or of its name.

    A text that was only made inert for export comes back as the content that was exported.
    """
    store, content = context.store, parsed.content
    same = [s for s in store.catalogue(name=content.name, kinds={content.kind}) if s.skill.scope == context.scope]
    stamped = parsed.stamp.get("skill-id", "")
    if stamped and stamped in store.resolve(stamped):
        same = store.versions(stamped)
    copied = next((s.version.content for s in reversed(same) if render.is_copy(content, s.version.content)), None)
    return copied or content, same[-1] if same else None


def expected_verdict(
    context: StoreContext, content: SkillContent, revises: StoredVersion | None, *, by: str, origin: Origin, source: str
) -> Verdict:
    """Return what the gate would decide on a content; stores nothing."""
    if context.store.tombstones(content.hash()):
        message = f"`{content.name}` was purged and is refused"
        raise GateRefusal(message, code="purged", hint="see `tacit skills history`")
    made = Provenance(made_by=by, source=source)
    candidate = admission.proposed(
        context.store, content, made=made, origin=origin, revises=revises, scope=context.scope
    )
    return admission.judge_against_store(
        context.store, candidate, policy=context.config.policy, at=context.now()
    ).verdict


def stored_version(context: StoreContext, version_id: str) -> StoredVersion | None:
    """Return a version if the store has it."""
    known = bool(version_id) and version_id in context.store.resolve(version_id)
    return context.store.version(version_id) if known else None
