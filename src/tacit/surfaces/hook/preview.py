"""`tacit recall --as-hook`: what the prompt hook would show for a text, as a selection that can be shown and explained."""

from __future__ import annotations

import time

from tacit.api import Tacit
from tacit.config.location import HookEnvironment
from tacit.domain.errors import NotFound
from tacit.domain.reason_code import ReasonCode
from tacit.domain.scope import Scope
from tacit.domain.selection import Item, LeftOut, Query, Selection
from tacit.ingest.journal import CLIENTS
from tacit.recall import reasons
from tacit.recall.ranking import RecallDecision, Row
from tacit.recall.signals import combined_score
from tacit.render import render_selection
from tacit.surfaces.hook.event_context import find
from tacit.surfaces.hook.event_handlers import EventResponse, recall_for_prompt
from tacit.surfaces.hook.events import Event
from tacit.text.words import estimate_tokens


def preview(memory: Tacit, prompt: str, *, store: str = "", client: str = CLIENTS[0]) -> Selection:
    """Return what a new session's prompt hook would show. Nothing is stored, and no lot is drawn."""
    event = Event({"hook_event_name": "UserPromptSubmit", "session_id": "preview", "prompt": prompt}, client)
    context = find(event, HookEnvironment(), store=store)
    turn = EventResponse(event, context, now=time.time()) if context and context.has_store else None
    decision = recall_for_prompt(turn) if turn else None
    if context is None or decision is None:
        off = ReasonCode.HOOK_OFF
        return Selection(query=Query(text=prompt), code=off, reason=reasons.nothing_cut(off))
    query = Query(text=prompt, scope=Scope.parse(context.scope))
    items = tuple(item for row in decision.given if (item := _item(memory, row)))
    text = render_selection([item.text for item in items])
    return Selection(
        query=query,
        items=items,
        left_out=tuple(_left_out(decision)),
        code=decision.code,
        reason=_reason(decision),
        confidence=max(
            (row.relevance for row in (*decision.given, *(left.row for left in decision.left))), default=0.0
        ),
        text=text,
        tokens=estimate_tokens(text),
    )


def _item(memory: Tacit, row: Row) -> Item | None:
    try:
        stored = memory.version(row.version_id)
    except NotFound:
        return None  # removed at this moment
    return Item(
        version=stored.version,
        status=stored.status,
        score=combined_score(row.signals),
        signals=row.signals,
        reasons=(f"relevance {row.relevance:.2f}",),
        text=row.text,
        tokens=row.tokens,
    )


def _left_out(decision: RecallDecision) -> list[LeftOut]:
    return [
        LeftOut(
            version_id=left.row.version_id,
            name="a preference" if left.code is ReasonCode.OTHER_PERSON else left.row.name,
            code=left.code,
            reason=reasons.left_out_reason(left.code, **left.values),
            score=combined_score(left.row.signals),
            signals=left.row.signals,
        )
        for left in decision.left
    ]


def _reason(decision: RecallDecision) -> str:
    if decision.code is None:
        return ""
    if decision.code is ReasonCode.BELOW_THRESHOLD:
        nearest = max((left.row for left in decision.left), key=lambda row: row.relevance)
        return reasons.nothing_close(nearest.name, nearest.relevance)
    if decision.code in (ReasonCode.NO_SHARED_WORDS, ReasonCode.ONLY_COMMON_WORDS):
        return reasons.nothing_shared(None, "", only_common=decision.code is ReasonCode.ONLY_COMMON_WORDS)
    return reasons.nothing_cut(decision.code)
