"""Reading: a language model reads the digest of each session, and what it proposes is held against the record.

Answers are kept as soon as they come and found again by the text that was asked, so that an interrupted pass does not pay twice
for the same text; it asks again where the known items beside a digest changed. A session goes only to the vendor whose agent it
ran with, and one of an unknown client to none, unless the person says otherwise (`model.other_vendors`). Prompt files are
versioned: one that was used never changes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, ClassVar

from tacit.domain.candidate import Candidate
from tacit.domain.errors import ModelOutage, OverBudget, TacitError
from tacit.domain.ledger import LedgerEntry, latest
from tacit.domain.lifecycle import RECALLABLE, Status, coded
from tacit.domain.outline import Outline
from tacit.domain.ports import LanguageModel, Prompt, Spending
from tacit.domain.scope import Scope
from tacit.domain.skill import SkillVersion
from tacit.domain.trajectory import Origin, Trajectory
from tacit.learn.reading.consolidation import (
    MADE_BY,
    ProposalGroup,
    apply_merge,
    candidate_of,
    chunks,
    group_alike,
    notes_text,
    revised,
    set_against,
)
from tacit.learn.reading.digest import SessionRecord, digest_parts
from tacit.learn.reading.procedures import MAX_SESSIONS, procedure_candidate, procedure_material
from tacit.learn.reading.prompt_files import PromptFile, prompt_file
from tacit.learn.reading.proposals import (
    STORED_AS,
    Answer,
    ProposalFault,
    ProposalRelation,
    ProposedKind,
    RecordCheck,
    RefusedProposal,
    SupportedProposal,
    parse_answer,
)
from tacit.store import Store
from tacit.text.redaction import redact, redact_value
from tacit.text.safe_markdown import clean
from tacit.text.similarity import overlap
from tacit.text.words import estimate_tokens, term_set

READ = "read-1"
MERGE = "merge-1"
PROCEDURE = "procedure-1"
PROCEDURE_SESSIONS = 3
"""Sessions that must show a way of working before its steps are written down."""
PATIENCE = 3
"""Consecutive failures after which the model is not called again."""
NOT_RECORDED = "not_recorded"
"""The error code of a recorded model without an answer: the others may be there."""
CLAIM = timedelta(minutes=15)
"""For so long a learner that asked and never came back keeps others from asking the same."""
MAX_OUTPUT_TOKENS = 4_000
MAX_TITLE = 80
MAX_KNOWN_TOKENS = 500
MAX_KNOWN = 12
"""Known items that are listed with a digest: more of them cost tokens in every call."""
MIN_FIT = 0.3
"""The share of a known item's words that a part must have for the item to be listed. Set by hand."""
_VENDORS = {
    "claude-code": "anthropic",
    "codex": "openai",
    "gemini": "google",
    "gemini-cli": "google",
    "copilot": "github",
}


class ReadingState(StrEnum):
    """How far the reading of one digest is."""

    ASKING = "asking"
    """A learner waits for the answer; others leave it alone for a while."""
    FAILED = "failed"
    ANSWERED = "answered"
    USED = "used"
    """Its proposals were given to the gate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswer(LedgerEntry):
    """An answer of a model; its key is the hash of what was asked. It is purged with the attempts that it was asked about."""

    SORT: ClassVar[str] = "reading"

    state: ReadingState
    model: str = ""
    prompt_version: str = ""
    answer: str = ""
    """JSON."""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class UnusedProposal:
    """A proposal that did not reach the gate; of an answer without proposals, the session alone."""

    session: str
    title: str
    reason: str
    """A code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingReport:
    """What a model read in one pass, what came of it, and what it cost."""

    name: str
    sessions: int = 0
    """Sessions that were read now."""
    waiting: int = 0
    """Sessions that wait for another time: the budget, a failure or another vendor."""
    proposed: int = 0
    refused: tuple[UnusedProposal, ...] = ()
    """What the record does not bear out."""
    dropped: tuple[UnusedProposal, ...] = ()
    """What the second reading found weak."""
    items: int = 0
    """What was given to the gate."""
    spent: Spending = Spending()
    problems: tuple[str, ...] = ()
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class _Session:
    record: SessionRecord
    at: datetime | None
    sources: tuple[str, ...]


class Reader:
    """Lets a model read the sessions of a store that it has not read yet."""

    def __init__(
        self,
        model: LanguageModel,
        store: Store,
        *,
        now: Callable[[], datetime],
        scope: Scope,
        other_vendors: bool = False,
        already_written: Callable[[str], bool] = lambda text: False,
    ) -> None:
        self._model, self._store, self._now, self._scope = model, store, now, scope
        self._other_vendors, self._already_written = other_vendors, already_written
        self._answers = latest(store.entries(StoredAnswer))
        self._before = model.spent
        self._failures = 0
        self._over = False
        self._problems: dict[str, None] = {}
        self._refused: list[UnusedProposal] = []
        self._dropped: list[UnusedProposal] = []
        self._counts: Counter[str] = Counter()
        self._used: list[StoredAnswer] = []
        self.contradicted: dict[str, str] = {}
        """Version that was in use → the name of what the person's own words put in its place."""

    @property
    def ended(self) -> bool:
        """Whether the model is no longer called."""
        return self._over or self._failures >= PATIENCE

    def read(self, outlines: Sequence[Outline], progress: Callable[[int, int], None] | None = None) -> list[Candidate]:
        """Read what is unread, the newest session first, and return the candidates of all that was read and not used yet."""
        waiting = self._unread(outlines)
        self._counts["waiting"] = len(waiting)
        known = self._known()
        supported: list[SupportedProposal] = []
        used: list[StoredAnswer] = []
        failed = {entry.session_id for entry in self._answers.values() if entry.state is ReadingState.FAILED}
        newest = waiting[::-1]  # what failed before waits until the others are read
        newest.sort(key=lambda each: each.record.session in failed)
        for done, session in enumerate(newest, start=1):
            if self.ended:
                break
            answers = self._read_session(session, known)
            if answers is not None:
                self._counts["sessions"] += 1
                self._counts["waiting"] -= 1
                used += [entry for entry, _ in answers]
                supported[:0] = self._supported(session.record, [answer for _, answer in answers])
            if progress:
                progress(done, len(waiting))
        self._counts["proposed"] = len(supported) + len(self._refused)
        groups = self._consolidated(supported)
        self._used = used
        records = {each.record.session: each.record for each in waiting}
        return [made for group in groups if (made := self._candidate(group, known, records))]

    def procedure(self, title: str, sessions: Sequence[SessionRecord]) -> Candidate | None:
        """Ask for one procedure of some sessions; nothing where they do not show one or one may not be sent."""
        prompt, records = prompt_file(PROCEDURE), sessions[:MAX_SESSIONS]
        if not all(map(self._may_see, records)):
            return None
        sources = tuple(each.id for record in records for each in record.attempts)
        asked = f"<record>\n{_quoted(procedure_material(title, records))}\n</record>"
        entry = self._ask(prompt, asked, sources=sources, session="")
        answer = json.loads(entry.answer) if entry is not None else None
        if not isinstance(answer, dict):
            return None
        made = procedure_candidate(
            title, answer, records, scope=self._scope, model=self._model.name, prompt=prompt.version
        )
        self._counts["items"] += made is not None
        return made

    def mark_used(self) -> None:
        """Note that the candidates of this pass were given to the gate; call it in their transaction."""
        for entry in self._used:
            self._store.add(replace(entry, at=self._now(), state=ReadingState.USED, answer="", id=""))

    def report(self) -> ReadingReport:
        """Return what was read so far."""
        return ReadingReport(
            name=self._model.name,
            sessions=self._counts["sessions"],
            waiting=self._counts["waiting"],
            proposed=self._counts["proposed"],
            refused=tuple(self._refused),
            dropped=tuple(self._dropped),
            items=self._counts["items"],
            spent=self._model.spent - self._before,
            problems=tuple(self._problems),
            stopped=self.ended,
        )

    def _unread(self, outlines: Sequence[Outline]) -> list[_Session]:
        """Return the sessions with attempts that no used answer covers, oldest first."""
        read = {
            source for entry in self._answers.values() if entry.state is ReadingState.USED for source in entry.sources
        }
        grouped: dict[str, list[Outline]] = {}
        for outline in outlines:
            if outline.trajectory_id not in read:
                grouped.setdefault(outline.session or outline.trajectory_id, []).append(outline)
        found = []
        for session, parts in grouped.items():
            attempts = tuple(filter(None, (self._attempt(each.trajectory_id) for each in parts)))
            record = SessionRecord(session, attempts)
            if attempts and self._may_see(record) and any(each.step.is_action for each in record.steps):
                found.append(_Session(record, parts[0].at, tuple(each.id for each in attempts)))
        return found

    def _attempt(self, trajectory_id: str) -> Trajectory | None:
        try:
            return self._store.trajectory(trajectory_id)
        except TacitError:
            return None  # pruned or purged

    def _may_see(self, record: SessionRecord) -> bool:
        """Whether every attempt of a session ran with the model's vendor; of an unknown client nobody knows that."""
        vendor = getattr(self._model, "vendor", "")
        if not vendor or self._other_vendors:
            return True
        others = sorted(client for client in record.clients if _VENDORS.get(client) != vendor)
        if others:
            of = others[0] or "an unknown client"
            self._problems.setdefault(f"sessions of {of} are not sent to {vendor} (model.other_vendors)")
        return not others

    def _known(self) -> list[SkillVersion]:
        """Return what is approved, and what was read earlier and waits; not what a person rejected."""
        waiting = self._store.catalogue(statuses={Status.CANDIDATE})
        read = [each for each in waiting if each.version.provenance.made_by == MADE_BY]
        return [each.version for each in (*self._store.catalogue(statuses=RECALLABLE), *read)]

    def _read_session(
        self, session: _Session, known: Sequence[SkillVersion]
    ) -> list[tuple[StoredAnswer, Answer]] | None:
        """Return the answers on all parts of a session; nothing where one is missing."""
        prompt = prompt_file(READ)
        answers: list[tuple[StoredAnswer, Answer]] = []
        parts = digest_parts(session.record)
        summary = ""
        for number, part in enumerate(parts, start=1):
            head = [f"part {number} of {len(parts)}"] if len(parts) > 1 else []
            if summary:
                head.append(f"earlier parts: {summary}")
            head += _known_lines(part, known)
            material = "\n".join([*head, "", part]) if head else part
            answer = self._answer(prompt, material, session)
            if answer is None:
                return None
            answers.append(answer)
            summary = answer[1].summary
        return answers

    def _answer(self, prompt: PromptFile, material: str, session: _Session) -> tuple[StoredAnswer, Answer] | None:
        """Ask, and once more where the answer has another form than was asked for; a second such answer says nothing."""
        asked = f"<record>\n{_quoted(material)}\n</record>"
        entry = self._ask(prompt, asked, sources=session.sources, session=session.record.session)
        answer = parse_answer(json.loads(entry.answer)) if entry else None
        if entry and answer is None:
            self._refuse(session.record.session, "", ProposalFault.BAD_FORM)
            repair = f"{asked}\n\nThe last answer did not have the form of the schema. Answer again."
            entry = self._ask(prompt, repair, sources=session.sources, session=session.record.session)
            answer = parse_answer(json.loads(entry.answer)) if entry else None
            if entry and answer is None:
                self._refuse(session.record.session, "", ProposalFault.BAD_FORM)
                answer = Answer("", ())
        return (entry, answer) if entry and answer is not None else None

    def _ask(self, prompt: PromptFile, asked: str, *, sources: tuple[str, ...], session: str) -> StoredAnswer | None:
        """Return a kept answer, or ask and keep the answer; nothing where there is none."""
        key = hashlib.sha256(f"{prompt.version}\0{asked}".encode("utf-8", "replace")).hexdigest()[:32]
        claim = StoredAnswer(
            key=key, at=self._now(), by=self._model.name, session_id=session, sources=sources,
            state=ReadingState.ASKING, model=self._model.name, prompt_version=prompt.version,
        )  # fmt: skip
        with self._store.transaction():
            kept = self._store.entries(StoredAnswer, key=key)
            answered = next((each for each in reversed(kept) if each.answer), None)
            if answered is not None:
                return answered
            if self.ended:
                return None
            if kept and kept[-1].state is ReadingState.ASKING and claim.at - kept[-1].at < CLAIM:
                self._problems.setdefault("another learner is reading some of these sessions")
                return None
            self._store.add(claim)
        before = self._model.spent
        answer = self._asked(prompt.request(asked, max_output_tokens=MAX_OUTPUT_TOKENS))
        tokens = (self._model.spent - before).tokens
        found = replace(claim, at=self._now(), state=ReadingState.FAILED, tokens=tokens, id="")
        if answer is not None:
            found = replace(found, state=ReadingState.ANSWERED, answer=_stored(answer), id="")
        with self._store.transaction():
            self._store.add(found)
        return found if answer is not None else None

    def _asked(self, prompt: Prompt) -> Mapping[str, Any] | None:
        try:
            answer = self._model.ask(prompt)
        except OverBudget as refusal:
            self._over = True
            self._problems.setdefault(f"{refusal.message} ({refusal.hint})")
        except ModelOutage as outage:
            self._failures += outage.code != NOT_RECORDED
            self._problems.setdefault(f"{outage.message} ({outage.hint})")
        else:
            self._failures = 0
            return answer
        return None

    def _refuse(self, session: str, title: str, reason: str) -> None:
        self._refused.append(_unused(session, title, reason))

    def _supported(self, record: SessionRecord, answers: Iterable[Answer]) -> list[SupportedProposal]:
        checker, supported = RecordCheck(record), []
        for answer in answers:
            for proposal in answer.proposals:
                found = checker.check(proposal)
                if isinstance(found, SupportedProposal) and self._already_written(proposal.text):
                    found = RefusedProposal(proposal.title, coded(ProposalFault.ALREADY_WRITTEN))
                if isinstance(found, RefusedProposal):
                    self._refuse(record.session, found.title, found.reason.code)
                else:
                    supported.append(found)
        return supported

    def _consolidated(self, supported: Sequence[SupportedProposal]) -> list[ProposalGroup]:
        """Join what says the same; by the model too, where there are several."""
        groups = group_alike([each for each in supported if each.proposal.relation is ProposalRelation.NEW])
        related = [ProposalGroup([each]) for each in supported if each.proposal.relation is not ProposalRelation.NEW]
        sessions = list(dict.fromkeys(each.session for each in supported))
        order = {session: number for number, session in enumerate(sessions, start=1)}
        merged: list[ProposalGroup] = []
        for chunk in chunks(groups) if len(groups) > 1 else [groups]:
            merged += self._merged(chunk, order)
        for group in merged:
            if group.dropped:
                self._dropped.append(_unused(group.sessions[0], group.best.title, group.dropped))
        return [*(group for group in merged if not group.dropped), *related]

    def _merged(self, chunk: list[ProposalGroup], order: Mapping[str, int]) -> list[ProposalGroup]:
        sources = tuple(dict.fromkeys(s.trajectory_id for group in chunk for each in group.members for s in each.spans))
        if len(chunk) < 2:
            return chunk
        asked = f"<notes>\n{_quoted(notes_text(chunk, order))}\n</notes>"
        entry = self._ask(prompt_file(MERGE), asked, sources=sources, session="")
        if entry is None:
            return chunk
        answer = json.loads(entry.answer)
        return apply_merge(chunk, answer, order) if isinstance(answer, dict) else chunk

    def _candidate(
        self, group: ProposalGroup, known: Sequence[SkillVersion], records: Mapping[str, SessionRecord]
    ) -> Candidate | None:
        """Make the candidate of a group: a procedure where enough sessions showed the same way of working."""
        if group.best.kind is ProposedKind.PROCEDURE and len(group.sessions) >= PROCEDURE_SESSIONS:
            whole = self.procedure(group.title or group.best.title, [records[each] for each in group.sessions])
            if whole is not None:
                return whole
        made = candidate_of(group, scope=self._scope, model=self._model.name, prompt_version=prompt_file(READ).version)
        relation = group.best.relation
        if relation is not ProposalRelation.NEW:
            item = next((each for each in known if each.name == group.best.item), None)
            is_same_kind = item is not None and item.content.kind is STORED_AS[group.best.kind]
            if item is None or not (is_same_kind or relation is ProposalRelation.CONTRADICTS):
                self._refuse(group.sessions[0], group.best.title, ProposalFault.UNKNOWN_ITEM)
                return None
            if relation is ProposalRelation.CONFIRMS:
                return replace(made, content=item.content, origins=item.origins)
            if relation is ProposalRelation.CONTRADICTS:
                made = set_against(made, item)
                if group.is_rule and Origin.EXTERNAL not in made.origins.values():
                    self.contradicted[item.id] = made.content.name
            if is_same_kind:
                made = revised(made, skill_id=item.skill_id, parent=item.id)
        self._counts["items"] += 1
        return made


def _known_lines(part: str, known: Sequence[SkillVersion]) -> list[str]:
    """Return the known items that a part may be about, with their names."""
    words = term_set(part)
    near = sorted(
        ((overlap(term_set(f"{each.name} {each.content.description}"), words), each) for each in known),
        key=lambda scored: -scored[0],
    )
    lines: list[str] = []
    room = MAX_KNOWN_TOKENS
    for fit, each in near[:MAX_KNOWN]:
        line = f"known: {each.name}: {' '.join(each.content.description.split())[:200]}"
        room -= estimate_tokens(line)
        if fit < MIN_FIT or room < 0:
            break
        lines.append(line)
    return lines


def _unused(session: str, title: str, reason: str) -> UnusedProposal:
    return UnusedProposal(session, redact(clean(title)).text[:MAX_TITLE], str(reason))


def _stored(answer: Mapping[str, Any]) -> str:
    """Return an answer as it is kept: without secrets; empty where it has a form that JSON or its readers cannot hold."""
    try:
        written = json.dumps(redact_value(answer).value, ensure_ascii=False, sort_keys=True)
        json.loads(written)
    except (TypeError, ValueError, RecursionError):
        return "{}"
    return written


def _quoted(text: str) -> str:
    """Return material that cannot close the marks around it."""
    return _CLOSING.sub(r"<\\/\1>", clean(text))


_CLOSING = re.compile(r"<\s*/\s*(record|notes)\s*>", re.IGNORECASE)
