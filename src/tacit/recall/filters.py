"""Filters before ranking: which versions may be considered for a query, and why the others may not. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase

from tacit.domain.reach import is_anothers
from tacit.domain.reason_code import ReasonCode
from tacit.domain.selection import LeftOut, Query
from tacit.domain.skill import CALL_TAG, Capabilities, Kind, SkillContent, SkillVersion
from tacit.domain.stored import StoredVersion
from tacit.recall.ranking import ScopedName, filter_code, narrowest_scopes
from tacit.recall.reasons import left_out_reason
from tacit.text.capabilities import HashedContent, beyond, capabilities_text, needed_capabilities

NOT_FOR = "not-for-models"
"""Key of a skill's metadata that names language models to leave it out for, as patterns (`*-mini gpt-4*`)."""


def unshadowed(stored: Iterable[StoredVersion]) -> tuple[list[StoredVersion], list[LeftOut]]:
    """Keep what no skill of a narrower scope hides (`narrowest_scopes`); return also the others."""
    kept, hidden = narrowest_scopes(stored, _scoped_name, lambda each: each.version.content.description)
    return kept, [stored_left_out(item, ReasonCode.SHADOWED, name=by[1], scope=by[2]) for item, by in hidden]


def _scoped_name(stored: StoredVersion) -> ScopedName:
    return stored.version.content.kind, stored.version.name, str(stored.skill.scope), stored.sequence


def stored_left_out(stored: StoredVersion, code: ReasonCode, **values: object) -> LeftOut:
    """Return a version that is left out before it is weighed."""
    # The name of another person's preference would tell what it is.
    name = "a preference" if code is ReasonCode.OTHER_PERSON else stored.version.name
    return LeftOut(version_id=stored.version.id, name=name, code=code, reason=left_out_reason(code, **values))


def filter_reason(stored: StoredVersion, query: Query) -> LeftOut | None:
    """Return why a version may not be given for this query; nothing if it may."""
    content = stored.version.content
    scope, asked_scope = str(stored.skill.scope), str(query.scope)
    code = filter_code(
        content.kind, scope, content.person, asked_scope=asked_scope, kinds=query.kinds, asked_person=query.person
    )
    if code is not None:
        return stored_left_out(stored, code, scope=stored.skill.scope, kind=content.kind)
    if query.category and content.category != query.category:
        return stored_left_out(stored, ReasonCode.OTHER_CATEGORY, category=content.category or "not set")
    if {stored.version.id, stored.skill.id, stored.version.name} & set(query.without):
        return stored_left_out(stored, ReasonCode.EXCLUDED)
    excluded_models = content.metadata.get(NOT_FOR, "").replace(",", " ").split()
    if query.model and any(fnmatchcase(query.model, pattern) for pattern in excluded_models):
        return stored_left_out(stored, ReasonCode.EXCLUDED_MODEL, model=query.model)
    if missing := sorted(missing_tools(content, query.tools)):
        return stored_left_out(stored, ReasonCode.MISSING_TOOLS, tools=", ".join(missing))
    more = beyond_allowance(stored.version, query)
    return stored_left_out(stored, ReasonCode.NOT_ALLOWED, more=more) if more else None


def is_asked_by_words(content: SkillContent, query: Query) -> bool:
    """Return whether words of a task ask for a skill. They do not for what is about the failure of one call, nor for the card
    of a project, unless it has example queries or its kind is asked for."""
    if content.example_queries or content.kind in (query.kinds or ()):
        return True
    is_about_call = content.kind is Kind.LESSON and any(tag.startswith(CALL_TAG) for tag in content.tags)
    return not is_about_call and content.kind is not Kind.FACT


def parts_reason(
    composite: StoredVersion, parts: Sequence[SkillVersion], query: Query, *, called_for: Collection[str]
) -> LeftOut | None:
    """Return why a composite may not be given because of its parts; nothing if it may.

    A part that cannot be done here may be missing if it is optional, unless the task calls for its tools (`called_for`); but
    one part at least must be left.
    """
    content = composite.version.content
    optional = {
        name
        for name, step in zip(content.sub_skills, content.steps, strict=False)
        if step.optional and len(content.steps) == len(content.sub_skills)
    }
    missing = {part.name: missing_tools(part.content, query.tools) for part in parts}
    needed = [tools for name, tools in missing.items() if name not in optional or set(tools) & set(called_for)]
    if any(needed) or (missing and all(missing.values())):
        lacking = (tool for tools in (needed if any(needed) else missing.values()) for tool in tools)
        return stored_left_out(composite, ReasonCode.PARTS_MISSING_TOOLS, tools=", ".join(dict.fromkeys(lacking)))
    more = "; ".join(dict.fromkeys(filter(None, (beyond_allowance(part, query) for part in parts))))
    return stored_left_out(composite, ReasonCode.PARTS_NOT_ALLOWED, more=more) if more else None


def foreign_reason(stored: StoredVersion, query: Query) -> LeftOut | None:
    """Return why a version of another scope is not given; another person's preference is not named even then."""
    content = stored.version.content
    if content.kind is Kind.PREFERENCE and is_anothers(content.person, query.person):
        return stored_left_out(stored, ReasonCode.OTHER_PERSON)
    return filter_reason(stored, query)


def beyond_allowance(version: SkillVersion, query: Query) -> str:
    """Return what a version touches beyond what the caller may, in words; empty if nothing."""
    if query.allowed is None:
        return ""
    more = beyond(needed_capabilities(HashedContent(version.content, version.hash)), query.allowed)
    return capabilities_text(more) if more != Capabilities() else ""


def missing_tools(content: SkillContent, tools: Collection[str] | None) -> list[str]:
    """Return the tools that the required steps use and that are not available, in order; none where `tools` is unknown."""
    if tools is None:
        return []
    return list(dict.fromkeys(s.tool for s in content.steps if s.tool and not s.optional and s.tool not in tools))
