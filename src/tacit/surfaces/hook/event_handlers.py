"""Handles each hook event: an event, its context and the session so far → an answer for the agent and a journal line.

At the start of a session norms and the project's commands are shown, at a prompt the procedures that fit it, before a
call that mostly fails what fixes it, and at a failed call what is known of its error, once per error. Where the client
loads a skill, its overlays are shown. An agent that repeats itself gets one warning. A correction or a refusal is
journaled and shows nothing. Nothing is shown twice in one context.

The keys of a journal line are stored, so they keep their names (`ingest.journal` reads them):
`at`, `moment`, `agent`, `model`, `source`, `tool`: the event. `about`: a digest of the prompt. `shown`, `skipped` (shown
before), `held` (no space): version ids. `control` and `lots`: [version id, probability] of skills that were held back as
controls, and of those that could have been. `assumed`: [text, check] of the preconditions of what was shown. `corrective`:
"said" or "denied" if a person objected; `after`: what had been shown then. `deeds`: actions of a call for finding loops, each
with `did` (its kind) and `what` (a digest); `warned`: the loops that were reported; `answered`: digests of errors that were
looked up; `why`: of what recall gave, version id → signal → value; `left`: [version id, reason code, relevance] of the nearest
that it did not give, and `silent`: the reason code where it gave nothing; `noted`: ids of the session's notes that were read,
`noticed`: how new they were; `indexed`: whether an index was shown, by earlier versions.
"""

from __future__ import annotations

import json
import math
import os
import re
import time

from tacit.config.channels import PUSHED, channel_of
from tacit.ingest.journal import FAILED, LISTED, NOTE_ERROR, Journal, SessionPast, digest, notes_time, path_of
from tacit.recall.call_warnings import CallWarnings
from tacit.surfaces.hook import log, loops
from tacit.surfaces.hook.events import (
    BATCH,
    BEFORE,
    CALL,
    DENIED,
    PROMPT,
    START,
    Event,
    EventContext,
    HookAnswer,
    HookCall,
)
from tacit.text.client_tools import loaded_skill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tacit.recall.hook_recall import HookLimits
    from tacit.recall.ranking import RecallDecision, Row
    from tacit.store.hook_index import HookIndex, SkillRow
    from tacit.text.command_forms import CommandForm

MAX_RULES_SHOWN = 20
MAX_START_CHARACTERS = 800
"""Of everything that a session starts with, about 200 tokens."""
MIN_RULES_CHARACTERS = 440
"""Of norms and preferences among that: what the card of facts does not need is theirs too."""
MAX_PROMPT_CHARACTERS = 20_000
MAX_OWN_CHARACTERS = 1_500
"""Of a later message: a longer one is mostly pasted, and its many words match any note. A first one states the task."""
MAX_ERROR_ITEMS = 1
"""How many skills one error brings: it has one cause, and the agent is at work."""
MAX_NOTES_SHOWN, MAX_NOTE_CHARACTERS = 5, 400
"""How many notes of other agents one event brings, and how much of each."""
MAX_JOURNALED_ASSUMPTIONS, MAX_JOURNALED_NO_SPACE = 20, 5
"""Limits of one journal line, so that it stays short."""
MAX_JOURNALED_NEAR = 2
NEAR_CODES = ("below_threshold", "other_moment", "shadowed")
"""Why a skill was not given that nevertheless came near; the others were never meant for this event."""
WHY = ("relevance", "signature", "words", "names", "example", "meaning")
"""The signals that are journaled of what was shown."""

_BULLETS = ("- ", "• ")
"""How a text begins that is shown as lines; other texts are blocks, which have a frame."""
_AT_PROMPT = frozenset({"procedure", "reference", "lesson", "fact", "norm", "preference"})
"""Kinds that come by the words of a prompt: of the last four those that name an occasion."""
_CORRECTION = (
    r"(?i)\s*(?:(?:no|nope|nah)\b(?! (?:problem|worries|need|rush|hurry|idea|doubt|thanks|more|other))|"
    r"(?:stop|wait|wrong)\b(?=[,.!:]|\s*$| (?:it|that|this|file|way|one|\w+ing)\b)|"
    r"(?:undo|revert) (?:it|that|this|your|those)\b|(?:don['’]?t|do not)\b(?! (?:forget|worry|hesitate))|never\b|instead\b|"
    r"not (?:that|like that|what)\b|that(?:['’]?s| is) (?:not|wrong)\b|"
    r"(?:i|we) (?:said|meant|told you|asked for|never asked|prefer|don['’]?t)\b|"
    r"(?:please )?use \S+(?: \S+)? (?:instead|not)\b|actually[, ])"
)
"""How a message begins that objects to what was done. Anything doubtful counts as a request."""
_DENIALS = ("The user doesn't want to ", "Permission to use ", "Permission for this tool use was denied")
_REFUSED_EDIT = "<tool_use_error>"
_ERROR_WORDS = (
    "error", "fatal", "fail", "cannot", "could not", "unable to", "not found", "denied", "no such", "exception", "panic",
    "traceback",
)  # fmt: skip
_ERROR_LINE = (
    r"(?i:\b(?:error|fatal|panic)\b(?:\[\w+\])?\s*:|command not found|no such file|permission denied|\bERR!|"
    r"\b(?:cannot|could not|unable to) )|[A-Z]\w*(?:Error|Exception)\b"
)
"""What a line must contain to count as an error where the client does not report a failure; "0 errors" does not."""
_MIN_SIGNATURE_WORDS = 3
"""The fewest words of a signature that counts as an error where the client does not report a failure."""


class CompositeParts:
    """Which of the given rows are parts of others of them, from the names and parent versions that composites record."""

    __slots__ = ("_composites", "_parts", "inlined_in")

    def __init__(self, rows: Sequence[SkillRow], known: Mapping[str, tuple[Sequence[str], Sequence[str]]]) -> None:
        from tacit.recall.ranking import replaces_parts

        self._composites: dict[str, list[SkillRow]] = {}
        self._parts: dict[str, list[SkillRow]] = {}
        self.inlined_in: dict[str, str] = {}
        """Part → the composite that copied its steps. It is not shown in addition, by the rule `replaces_parts`."""
        for position, composite in enumerate(rows):
            names, parents = known.get(composite.version_id, ((), ()))
            parts = [row for row in rows if row is not composite and row.name in names]
            for part in parts:
                self._composites.setdefault(part.version_id, []).append(composite)
            self._parts[composite.version_id] = parts
            copied = [part for part in parts if part.version_id in parents]
            if replaces_parts(copied, rows[position:]):
                for part in copied:
                    self.inlined_in.setdefault(part.version_id, composite.version_id)

    def root_composite(self, row: SkillRow) -> SkillRow | None:
        """Return the outermost composite around a row, or the row itself; nothing where several composites contain it.

        The hold-out draw for this root decides for the row.
        """
        seen = {row.version_id}
        while composites := self._composites.get(row.version_id):
            if len(composites) > 1 or composites[0].version_id in seen:
                return None
            (row,) = composites
            seen.add(row.version_id)
        return row

    def depth(self, version_id: str) -> int:
        """Return how many composites its steps are nested in."""
        seen = {version_id}
        while (version_id := self.inlined_in.get(version_id, "")) and version_id not in seen:
            seen.add(version_id)
        return len(seen) - 1

    def has_proven(self, composite: SkillRow, seen: frozenset[str] = frozenset()) -> bool:
        """Return whether one of its parts, at any depth, is proven and therefore never held back."""
        seen |= {composite.version_id}
        parts = [part for part in self._parts.get(composite.version_id, ()) if part.version_id not in seen]
        return any(not part.unproven or self.has_proven(part, seen) for part in parts)


class EventResponse:
    """One event while it is handled: the answer and the journal line that it becomes."""

    __slots__ = (
        "allowed_kinds",
        "answer",
        "begins",
        "context",
        "event",
        "hook_index",
        "line",
        "loaded_skill",
        "noted_at",
        "now",
        "past",
        "signature",
    )

    def __init__(self, event: Event, context: EventContext, *, now: float) -> None:
        self.event = event
        self.context = context
        self.now = now
        self.past = SessionPast()
        self.noted_at = notes_time(context.location.folder_path, event.session)
        """When the session's agents last shared something; read before the store, so that no note is missed."""
        self.signature = _signature(event.calls[0]) if event.moment == CALL and event.calls else ""
        """Of the errors that a call shows, if any."""
        self.loaded_skill = _loaded_skill(event)
        """The skill that the client loaded at this event, if any."""
        journal = path_of(context.location.folder_path, event.client, event.session)
        self.begins = event.is_all_that_comes and not os.path.exists(journal)
        """Whether a call is the first that is heard of a session."""
        self.hook_index = (
            self._open_index()
            if event.moment in (START, BEFORE)
            or self.begins
            or event.prompt.strip()
            or self.signature
            or self.loaded_skill
            else None
        )
        """The store as hooks see it; nothing where this event asks nothing."""
        self.allowed_kinds = PUSHED[channel_of(context.location.folder_path, event.client)]
        """The kinds that reach this client by hook; other kinds have another channel."""
        self.answer = HookAnswer(event.name, client=event.client)
        self.line: dict[str, object] = {
            "at": round(now, 6), "moment": event.moment, "agent": event.agent, "model": event.model[:80]
        }  # fmt: skip

    def _open_index(self) -> HookIndex | None:
        """Open the store."""
        import tacit.recall.hook_recall  # noqa: F401 - loaded here, and not while other events of the session wait
        from tacit.store.hook_index import HookIndex

        return HookIndex.open(self.context.location.database, self.context.signers)

    def give(self, recalled: RecallDecision, *, apply_holdout: bool = False) -> dict[str, str]:
        """Add what recall gave to the answer, except skills held back as controls; journal everything.

        Return the text that was added for each version; it is empty for a part whose steps a composite above it shows.
        One draw decides for a composite and all its parts.
        """
        from tacit.domain.reason_code import ReasonCode

        composites = self.composite_parts(recalled.given)
        shown: list[SkillRow] = []
        texts: dict[str, str] = {}
        complete: set[str] = set()
        for item in sorted(recalled.given, key=lambda item: composites.depth(item.version_id)):
            row, version_id = item.source, item.version_id
            root = composites.root_composite(row)
            chance = (
                self.holdout_probability(root) if apply_holdout and root and not composites.has_proven(root) else 0.0
            )
            if chance and root and self.is_held_back(root, chance):
                self.listed("control").append([version_id, chance])
                continue
            inlined = composites.inlined_in.get(version_id) in complete
            is_line = item.text.startswith(_BULLETS)
            show = self.answer.add_lines if is_line else self.answer.add
            text = item.text if not inlined and show(item.text) else ""
            if not inlined and not text:
                self.note_no_space(version_id)
                continue
            shown.append(row)
            texts[version_id] = text
            if item.text == row.text and not is_line:
                complete.add(version_id)
            if chance:
                self.listed("lots").append([version_id, chance])
        self.note_shown(shown)
        self._note_reasons(recalled, {row.version_id for row in shown})
        for left in recalled.rejected:
            if left.code is ReasonCode.ALREADY_SHOWN:
                self.listed("skipped").append(left.row.version_id)
            elif left.code in (ReasonCode.OVER_LIMIT, ReasonCode.OVER_BUDGET):
                self.note_no_space(left.row.version_id)
        return texts

    def _note_reasons(self, recalled: RecallDecision, shown: set[str]) -> None:
        """Journal why recall gave what was shown, and which other skills came nearest."""
        for row in recalled.given:
            if row.version_id in shown:
                why = {name: round(row.signals[name], 2) for name in WHY if row.signals.get(name)}
                self.line["why"] = {**self.line.get("why", {}), row.version_id: why}  # type: ignore[dict-item]
        if recalled.code is not None:
            self.line["silent"] = recalled.code
        near = [left for left in recalled.rejected if left.code in NEAR_CODES]
        near.sort(key=lambda left: -left.row.relevance)
        if near:
            self.line["left"] = [
                [left.row.version_id, left.code, round(left.row.relevance, 2)] for left in near[:MAX_JOURNALED_NEAR]
            ]

    def composite_parts(self, items: list[Row]) -> CompositeParts:
        """Return which of these rows are parts of others."""
        known = self.hook_index.composites([item.version_id for item in items]) if self.hook_index and items[1:] else {}
        return CompositeParts([item.source for item in items], known)

    def holdout_probability(self, row: SkillRow) -> float:
        """Return how likely a skill is held back: as recorded when this session drew for it, else as it is now."""
        drawn = self.past.controls.get(row.version_id)
        return drawn or round(float(self.context.hold_out * row.unproven), 4)

    def is_held_back(self, row: SkillRow, chance: float) -> bool:
        """Return whether this session goes without the skill, as a control."""
        if row.version_id in self.past.controls:
            return True
        from tacit.domain.holdout import is_held_back

        return is_held_back(self.event.session, row.skill_id, chance)

    def note_shown(self, rows: list[SkillRow]) -> None:
        """Journal what was shown, with its preconditions: these are checked later as assumptions."""
        self.listed("shown").extend(row.version_id for row in rows)
        assumed = self.listed("assumed")
        assumed += [[text[:200], check[:200]] for row in rows for text, check in row.conditions]
        del assumed[MAX_JOURNALED_ASSUMPTIONS:]

    def note_no_space(self, version_id: str) -> None:
        """Journal what was left out for lack of space; of many only the best."""
        if len(self.listed("held")) < MAX_JOURNALED_NO_SPACE:
            self.listed("held").append(version_id)

    def listed(self, key: str) -> list[object]:
        """Return a list in the journal line, which is created if there is none."""
        entries = self.line.setdefault(key, [])
        assert isinstance(entries, list)
        return entries


def respond(
    event: Event,
    context: EventContext,
    *,
    say: Callable[[str], None],
    before_write: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = time.time,
) -> None:
    """Answer one event: append it to the journal, then write the answer.

    `before_write` is called after everything that may take time and before anything is written; it cancels the timeout.
    """
    response = EventResponse(event, context, now=clock())
    with Journal(context.location.folder_path, event.client, event.session) as journal:
        response.past = journal.past(event.agent)
        _HANDLERS[event.moment](response)
        if event.moment in (START, PROMPT, CALL) and response.noted_at > response.past.noticed:
            _show_notes(response)
        for damage in response.hook_index.damaged[:5] if response.hook_index else ():
            log.note(context.home, f"{event.moment}: {damage}")
        before_write()
        journal.append(response.line)
        text = response.answer.json()
        if not text:
            return
        try:
            say(text)
        except OSError:
            journal.append({"moment": "lost", "lost": response.line["at"]})
            raise


def is_correction(prompt: str) -> bool:
    """Whether a message that is not the first one objects to what was done."""
    return bool(re.match(_CORRECTION, prompt))


def _show_notes(response: EventResponse) -> None:
    """Show what other agents of this session shared since this one looked; it knows what it has just shared itself."""
    from datetime import UTC, datetime

    from tacit.store.hook_index import HookIndex
    from tacit.text.safe_markdown import shown_line

    context = response.context
    hook_index = response.hook_index or HookIndex.open(context.location.database, context.signers)
    response.hook_index = hook_index
    if hook_index is None:
        return
    now = datetime.fromtimestamp(response.now, UTC).isoformat(timespec="microseconds")
    given = _words(" ".join(str(text) for call in response.event.calls for text in call.arguments.values()))
    found = hook_index.notes(response.event.session, now=now)
    new = [note for note in found if note["id"] not in response.past.noted][-LISTED:]
    response.line["noticed"] = response.noted_at
    response.line["noted"] = [note["id"] for note in new]
    others = [note for note in new if _words(note["text"].partition(NOTE_ERROR)[0]) not in given][-MAX_NOTES_SHOWN:]
    # The error that a note fixes is left out: a tool printed it.
    texts = [" ".join(filter(None, (note["name"], note["text"].partition(NOTE_ERROR)[0]))) for note in others]
    lines = [f"• {shown_line(text)[:MAX_NOTE_CHARACTERS]}" for text in texts]
    if lines:
        response.answer.note("\n".join(["Shared by agents of this session:", *lines]))


def _words(text: str) -> str:
    """Return the words of a text without the quotes around and inside them."""
    return " ".join(re.findall(r"\w+", text))


def _at_start(response: EventResponse) -> None:
    source = response.event.source[:20] or "startup"
    response.line["source"] = source
    response.past = response.past.renewed(source, response.now)
    hook_index = response.hook_index
    if hook_index is None:
        return
    from tacit.recall.hook_recall import for_start

    context = response.context
    rules, cards = for_start(hook_index, scope=context.scope, person=context.person, now=response.now)
    allowed, shown = response.allowed_kinds, response.past.shown
    cards = [each for each in cards if each.kind in allowed and each.version_id not in shown]
    taken = sum(len(json.dumps(card.text, ensure_ascii=False)) for card in cards)
    room = max(MIN_RULES_CHARACTERS, MAX_START_CHARACTERS - taken)
    _show_rules(response, rules, room=room)
    for card in cards:
        if response.answer.add_lines(card.text, room=MAX_START_CHARACTERS):
            response.note_shown([card])
        else:
            response.note_no_space(card.version_id)
    if source == "startup" and not response.event.agent:
        from tacit.surfaces.hook.waiting import tell

        response.answer.for_person = tell(response.context.location.folder_path, now=response.now)


def _show_rules(response: EventResponse, rules: list[SkillRow], *, room: int) -> None:
    """Show the norms and preferences, the best first, as far as there is space."""
    shown: list[SkillRow] = []
    for rule in rules:
        if rule.version_id in response.past.shown:
            response.listed("skipped").append(rule.version_id)
        elif len(shown) < MAX_RULES_SHOWN and response.answer.add_lines(rule.text, room=room):
            shown.append(rule)
        else:
            response.note_no_space(rule.version_id)
    response.note_shown(shown)


def _at_prompt(response: EventResponse) -> None:
    prompt = response.event.prompt
    response.line["about"] = digest(prompt.strip())
    if response.past.is_asked and is_correction(prompt):
        response.line["corrective"] = "said"
        response.line["after"] = list(response.past.shown)[-5:]
        return
    _show_overlays(response)
    found = recall_for_prompt(response)
    if found is not None:
        response.give(found, apply_holdout=response.context.hold_out > 0)


def recall_for_prompt(response: EventResponse) -> RecallDecision | None:
    """Decide what to show for the prompt of an event; nothing where there is no store to ask."""
    if response.hook_index is None:
        return None
    from tacit.recall.hook_recall import FIRST_PROMPT_NATS, LATER_PROMPT_NATS, for_task

    prompt, scope = response.event.prompt[:MAX_PROMPT_CHARACTERS], response.context.scope
    limits = _limits(response)
    limits.kinds = response.allowed_kinds & _AT_PROMPT
    limits.by_words = True
    limits.min_nats = FIRST_PROMPT_NATS
    if response.past.is_asked:
        limits.min_nats = LATER_PROMPT_NATS if len(prompt) <= MAX_OWN_CHARACTERS else math.inf
    return for_task(response.hook_index, prompt, scope=scope, now=response.now, limits=limits, skip=response.past.shown)


def _at_call(response: EventResponse) -> None:
    if response.begins:
        _at_start(response)
    for call in response.event.calls:
        if call.failed and _is_denied(call):
            _note_denial(response, call)
            continue
        response.line["tool"] = _tool_word(call)
        _warn_of_loops(response, call)
        _show_overlays(response)
        error = digest(response.signature) if response.signature else ""
        if error and error not in response.past.answered:
            response.line["answered"] = [error]
            _recall_for_error(response, call)


def _loaded_skill(event: Event) -> str:
    """Return the skill that a finished call loads, or that a prompt names as a command: `/release`."""
    if event.moment == CALL and event.calls and not event.calls[0].failed:
        return loaded_skill(event.calls[0].tool, event.calls[0].arguments)
    named = re.match(r"/(?:[\w-]+:)?([\w-]+)(?:\s|$)", event.prompt) if event.moment == PROMPT else None
    return named[1] if named else ""


def _show_overlays(response: EventResponse) -> None:
    """Show what extends the skill that the client just loaded, once per context."""
    if response.hook_index is None or not response.loaded_skill:
        return
    from tacit.recall.hook_recall import for_skill

    name, scope, limits = response.loaded_skill, response.context.scope, _limits(response)
    limits.kinds = None  # the client loads the skill as it is, whatever reaches it by other channels
    found = for_skill(response.hook_index, name, scope=scope, now=response.now, limits=limits, skip=response.past.shown)
    response.give(found)
    response.past.shown |= dict.fromkeys(row.version_id for row in found.given)


def _signature(call: HookCall) -> str:
    """The signature of a call's errors: of one that failed, or that may have and whose output shows an error."""
    if call.failed is False or not call.output:
        return ""
    if call.failed is None:
        text = call.output.lower()
        if loops.shows_text(call) or not any(word in text for word in _ERROR_WORDS):
            return ""
    from tacit.text.error_signatures import error_signature

    signature = error_signature(call.output, command=call.command)
    return signature if call.failed or re.search(_ERROR_LINE, signature) else ""


def _recall_for_error(response: EventResponse, call: HookCall) -> None:
    hook_index = response.hook_index
    if hook_index is None:
        return
    from tacit.recall.hook_recall import for_error
    from tacit.text.error_signatures import masked_line, telling_lines

    limits = _limits(response)
    limits.k = min(limits.k, MAX_ERROR_ITEMS)
    lines = dict.fromkeys((response.signature, *map(masked_line, telling_lines(call.output))))
    if call.failed is None:  # the client does not report a failure, so a short line proves nothing
        lines = {line: None for line in lines if len(line.split()) >= _MIN_SIGNATURE_WORDS}
    program = call.tool
    if call.command:  # the program of the last command of a shell call
        from tacit.text.command_forms import command_forms

        forms = command_forms(call.command)
        program = forms[-1].program if forms else ""
    errors = [line for line in lines if line]
    scope, past = response.context.scope, response.past
    response.give(
        for_error(hook_index, errors, program=program, scope=scope, now=response.now, limits=limits, skip=past.shown)
    )


def _before_call(response: EventResponse) -> None:
    """Show what fixes a call that mostly fails, before it runs; once a session."""
    warnings, hook_index = CallWarnings.read(response.context.location.folder_path), response.hook_index
    if warnings is None or hook_index is None:
        return
    from tacit.recall.hook_recall import for_call
    from tacit.text.command_forms import command_forms

    already_shown, scope = set(response.past.shown), response.context.scope
    rows: list[tuple[SkillRow, CommandForm, tuple[CommandForm, ...]]] = []
    for call in response.event.calls:
        forms = command_forms(call.command)
        for form in forms:
            versions = [each for each in warnings.versions_for(form.goal) if each not in already_shown]
            already_shown.update(versions)
            rows += [(row, form, forms) for row in for_call(hook_index, versions, scope=scope)]
    for row, form, forms in rows:
        allowed = row.kind in response.allowed_kinds and not _is_followed(row, form, forms)
        if allowed and response.answer.add_lines(row.text):
            response.note_shown([row])


def _is_followed(row: SkillRow, warned: CommandForm, line: Sequence[CommandForm]) -> bool:
    """Whether a shell line does what a lesson advises: runs its command, or the warned one in its folder or on its target."""
    from tacit.text.command_forms import command_forms, follows

    _, *advised = re.findall(r"`([^`]+)`", row.text) or [""]
    return any(
        span == warned.directory
        or span in warned.targets
        or any(follows(form, each) for form in line for each in command_forms(span))
        for span in advised
    )


def _limits(response: EventResponse) -> HookLimits:
    from tacit.recall.hook_recall import HookLimits

    limits = HookLimits()
    if response.context.recall_limits is not None:
        limits.k, limits.budget_tokens, limits.min_relevance = response.context.recall_limits
    limits.kinds, limits.person = response.allowed_kinds, response.context.person
    return limits


def _warn_of_loops(response: EventResponse, call: HookCall) -> None:
    actions = loops.actions_of(call, signature=response.signature, cwd=response.context.cwd)[:LISTED]
    response.line["deeds"] = actions
    for action in actions:
        key = loops.key_of(action)
        if key in response.past.warned or not loops.is_loop(action, response.past.actions):
            continue
        from tacit.text.safe_markdown import one_line

        target = one_line(loops.target_of(call, cwd=response.context.cwd))
        if response.answer.note(loops.warning(action, response.past.actions, target=target)):
            response.listed("warned").append(key)
        return


def _at_batch(response: EventResponse) -> None:
    """Read what only a batch or a denial reports: denied permissions, and edits that found nothing to change."""
    for call in response.event.calls:
        if response.event.moment == DENIED or _is_denied(call):
            _note_denial(response, call)
        elif call.output.startswith(_REFUSED_EDIT):
            what = digest(call.tool, repr(sorted(call.arguments.items())), call.output)
            response.listed("deeds").append({"did": FAILED, "what": what})


def _is_denied(call: HookCall) -> bool:
    """Return whether the client reports a denial; the output of an MCP tool is not trusted, it could imitate that."""
    return call.output.startswith(_DENIALS) and not call.tool.startswith("mcp__")


def _note_denial(response: EventResponse, call: HookCall) -> None:
    response.line["corrective"] = "denied"
    response.line["tool"] = _tool_word(call)
    response.line["after"] = list(response.past.shown)[-5:]


def _tool_word(call: HookCall) -> str:
    return re.sub(r"[^\w.:-]+", "_", call.tool)[:80]


_HANDLERS = {
    START: _at_start,
    PROMPT: _at_prompt,
    BEFORE: _before_call,
    CALL: _at_call,
    BATCH: _at_batch,
    DENIED: _at_batch,
}
