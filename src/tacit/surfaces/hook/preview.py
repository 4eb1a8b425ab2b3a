"""`tacit recall --as-hook`: what the prompt hook would show for a text, as a selection that can be shown and explained."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress

from tacit.api import Tacit
from tacit.config.location import HookEnvironment
from tacit.domain.errors import NotFound
from tacit.domain.reach import is_anothers
from tacit.domain.reason_code import ReasonCode
from tacit.domain.scope import Scope
from tacit.domain.selection import Item, LeftOut, Query, Selection
from tacit.domain.skill import Kind
from tacit.ingest.journal import CLIENTS
from tacit.recall import reasons
from tacit.recall.ranking import RecallDecision, Rejected, Row
from tacit.recall.signals import combined_score
from tacit.render import render_selection
from tacit.surfaces.hook.event_handlers import EventResponse, recall_for_prompt
from tacit.surfaces.hook.events import Event, find
from tacit.text.words import BYTES_PER_TOKEN, estimate_tokens

_WEIGHED = frozenset(
    {ReasonCode.BELOW_THRESHOLD, ReasonCode.ALREADY_SHOWN, ReasonCode.OVER_LIMIT, ReasonCode.OVER_BUDGET}
)
"""Codes of what passed the filters and was ranked; only this counts for the confidence."""
_NO_WORDS = (ReasonCode.NO_SHARED_WORDS, ReasonCode.ONLY_COMMON_WORDS)


def preview(memory: Tacit, prompt: str, *, store: str = "", client: str = CLIENTS[0]) -> Selection:
    """Return what a new session's prompt hook would show. Nothing is stored, and no skill is held back as a control."""
    event = Event({"hook_event_name": "UserPromptSubmit", "session_id": "preview", "prompt": prompt}, client)
    context = find(event, HookEnvironment(), store=store)
    response = EventResponse(event, context, now=time.time()) if context and context.has_store else None
    decision = recall_for_prompt(response) if response else None
    if context is None or response is None or decision is None:
        off = ReasonCode.HOOK_OFF
        return Selection(query=Query(text=prompt), code=off, reason=reasons.nothing_given(off))
    query = Query(text=prompt, scope=Scope.parse(context.scope))
    texts = response.give(decision)
    rows = {row.version_id: row for row in decision.given}
    items: list[Item] = []
    for version_id, shown in texts.items():
        with suppress(NotFound):  # removed at this moment
            items += [_item(memory, rows[version_id], shown)] if shown else []
    text = render_selection([item.text for item in items])
    weighed = [*decision.given, *(left.row for left in decision.rejected if left.code in _WEIGHED)]
    code = decision.code or (None if texts else ReasonCode.OVER_BUDGET)
    if code in _NO_WORDS and any(left.code is ReasonCode.OTHER_MOMENT for left in decision.rejected):
        code = ReasonCode.NOT_USABLE_HERE
    return Selection(
        query=query,
        items=tuple(items),
        left_out=tuple(
            _left_out(left, context.person) for left in (*_not_added(response, decision, texts), *decision.rejected)
        ),
        code=code,
        reason=_reason(code, decision),
        confidence=max((row.relevance for row in weighed), default=0.0),
        text=text,
        tokens=estimate_tokens(text),
    )


def _item(memory: Tacit, row: Row, text: str) -> Item:
    stored = memory.version(row.version_id)
    return Item(
        version=stored.version,
        status=stored.status,
        score=combined_score(row.signals),
        signals=row.signals,
        reasons=(f"relevance {row.relevance:.2f}",),
        text=text,
        tokens=estimate_tokens(text),
    )


def _not_added(response: EventResponse, decision: RecallDecision, texts: Mapping[str, str]) -> list[Rejected]:
    """Return what recall gave and the answer does not show: it is part of a composite, or has too many characters."""
    left = []
    for row in decision.given:
        if row.version_id not in texts:
            tokens = response.answer.characters_left // BYTES_PER_TOKEN
            left.append(Rejected(row, ReasonCode.OVER_BUDGET, tokens=tokens))
        elif not texts[row.version_id]:
            composite = response.composite_parts(decision.given).inlined_in[row.version_id]
            name = next(each.name for each in decision.given if each.version_id == composite)
            left.append(Rejected(row, ReasonCode.PART_OF_COMPOSITE, composite=name))
    return left


def _left_out(left: Rejected, person: str) -> LeftOut:
    if left.row.kind == Kind.PREFERENCE and is_anothers(left.row.source.person, person):
        # The name would reveal what the preference is, whatever else it is left out for.
        code = ReasonCode.OTHER_PERSON
        reason = reasons.left_out_reason(code)
        return LeftOut(version_id=left.row.version_id, name="a preference", code=code, reason=reason)
    reason = reasons.left_out_reason(left.code, **left.values)
    return LeftOut(
        version_id=left.row.version_id,
        name=left.row.name,
        code=left.code,
        reason=reason,
        score=combined_score(left.row.signals),
        signals=left.row.signals,
    )


def _reason(code: ReasonCode | None, decision: RecallDecision) -> str:
    if code is None:
        return ""
    if code is ReasonCode.BELOW_THRESHOLD:
        # Only what was ranked: a row behind a filter may have a name that this person must not read.
        below = [left.row for left in decision.rejected if left.code is ReasonCode.BELOW_THRESHOLD]
        nearest = max(below, key=lambda row: row.relevance)
        return reasons.nothing_close(nearest.name, nearest.relevance)
    if code is ReasonCode.NOT_USABLE_HERE:
        other = next(left for left in decision.rejected if left.code is ReasonCode.OTHER_MOMENT)
        return reasons.not_usable(other.row.name, reasons.left_out_reason(other.code, **other.values))
    if code in _NO_WORDS:
        return reasons.nothing_shared(None, "", only_common=code is ReasonCode.ONLY_COMMON_WORDS)
    return reasons.nothing_given(code)
