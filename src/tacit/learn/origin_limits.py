"""Limits the origins of a candidate's fields to what its texts allow.

Each field names the spans it is based on. Its text is compared again with everything read in those attempts and earlier in
the same sessions: a field that repeats external text, in whatever form, becomes external. A field without any span is
external too. Origins are only lowered; texts are not changed.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tacit.domain.candidate import Candidate
from tacit.domain.errors import TacitError
from tacit.domain.identity import plain
from tacit.domain.skill import CALL_TAG, READ_INSTRUCTIONS, fields_without_origin, filled_fields
from tacit.domain.trajectory import Origin, Role, Span, Step, Trajectory
from tacit.ingest.log_files import CUT
from tacit.learn.values import EMAIL, HOST, PLACEHOLDER, URL, is_inside
from tacit.learn.wording import local
from tacit.store import Store
from tacit.text.text_sources import TextLog, directive_in, readings, texts_in, turned

WEB_SEARCH = "web_search"
"""The search that a model's server makes; logs do not hold the pages that it shows."""
_PASTED = re.compile(r"(?ms)^```.*?(?:^```|\Z)|^[ \t]*>[^\n]*$|^<([A-Za-z][\w-]*)[^<>\n]{0,200}>\n.*?(?:^</\1>|\Z)")
_MAX_TYPED = 4_000
"""Text beyond this length of a message counts as pasted."""
_REACHES_OUT = re.compile(
    r"\b(?:curl|wget|https?|ftp|ssh|scp|sftp|rsync|nc|ncat|netcat|telnet|ping|dig|nslookup|clone|remote|push|pull|install|add|"
    r"fetch|socket|connect|urlopen|requests)\b"
)
_PROSE = frozenset(
    {"name", "description", "category", "tags", "example_queries", "body", "cues", "after", "sub_skills"}
)
_UNSEEN = re.compile(rf"{re.escape(CUT)}|^\[(?:image|document|audio)\]$", re.MULTILINE)
"""What stands for something that was shown to the agent and is not in the log."""
_PACKAGE = re.compile(r"\b(?:install|add|get|i|require|pull|clone)\s+(?:-\S+\s+){0,8}([^\s;&|<>]{3,200})")
_MOST_SPANS = 3
"""Spans that are added to a field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptTexts:
    """The texts of one attempt and of those before it in its session."""

    trajectory: Trajectory
    sources: TextLog[Span] = field(default_factory=TextLog)
    orders: tuple[Span, ...] = ()
    """Spans of untrusted texts that instruct the reader, in order."""
    unseen: tuple[Span, ...] = ()
    """Spans of answers that the agent saw and the log does not hold, or not whole."""


def attempt_texts(trajectory: Trajectory, *, earlier: Sequence[Trajectory] = ()) -> AttemptTexts:
    """Collect the texts of one attempt; `earlier` are the attempts before it in the same session or in the parent session."""
    sources: TextLog[Span] = TextLog()
    orders: dict[Span, None] = {}
    unseen: list[Span] = []
    # A tool that was called has its name from the client, wherever else that stands.
    called = dict.fromkeys(step.tool for step in trajectory.actions)
    sources.add("\n".join(called), Span(trajectory.id, -1, "tool"), trusted=True)
    for each in (*earlier, trajectory):
        asked = [step.text.strip() for step in each.steps if step.role is Role.USER]
        if each.task.text.strip() not in asked and not each.parent_session_id:
            typed, pasted = typed_and_pasted(each.task.text)
            sources.add(typed, Span(each.id, -1, "text"), trusted=each.task_origin is not Origin.EXTERNAL)
            sources.add(pasted, Span(each.id, -1, "text"), trusted=False)
        for step in each.steps:
            if step.is_action and (step.tool == WEB_SEARCH or _UNSEEN.search(step.observation)):
                unseen.append(Span(each.id, step.index, "observation"))
            for text, part, trusted in _texts_of_step(step, asked_by=each.task_origin):
                span = Span(each.id, step.index, part)
                sources.add(text, span, trusted=trusted)
                read = (
                    part != "text" or step.role is Role.CONTEXT
                )  # a person who pastes instructions wants them followed
                if read and not trusted and any(map(directive_in, readings(text))):
                    orders.setdefault(span)
    return AttemptTexts(trajectory=trajectory, sources=sources, orders=tuple(orders), unseen=tuple(unseen))


def limit_origins(candidate: Candidate, attempts: Sequence[AttemptTexts]) -> Candidate:
    """Lower the origin of every field that repeats external text or has no source."""
    origins, grounding = dict(candidate.origins), dict(candidate.provenance.grounding)
    copied_steps, examples = "", {each.name: str(each.example) for each in candidate.content.parameters}
    for path, value in sorted(
        filled_fields(candidate.content).items(), key=lambda each: not each[0].startswith("steps.")
    ):
        copied = copied_spans(path, value, attempts, copied_steps=copied_steps)
        lenders = dict.fromkeys((*copied, *_unattributed_spans(value, attempts)))
        if lenders:
            _mark_external(path, origins, grounding, spans=tuple(lenders)[:_MOST_SPANS])
        if path.startswith("steps.") and origins.get(path) is Origin.EXTERNAL:
            step = PLACEHOLDER.sub(lambda found: examples.get(found[1], ""), f"{plain(value)}\n").casefold()
            copied_steps += "".join((step, *turned(step)))
    for path in fields_without_origin(candidate.content, origins):
        origins[path] = Origin.EXTERNAL
    instructions = _instructions_before(grounding, attempts)
    if instructions:
        known = grounding.get(READ_INSTRUCTIONS, ())
        grounding[READ_INSTRUCTIONS] = tuple(dict.fromkeys((*known, *instructions)))[:_MOST_SPANS]
    provenance = dataclasses.replace(candidate.provenance, grounding=grounding)
    return dataclasses.replace(candidate, origins=origins, provenance=provenance)


def _texts_of_step(step: Step, *, asked_by: Origin) -> Iterator[tuple[str, str, bool]]:
    """Yield the texts of a step in order, each with its part and whether it is trusted.

    Text that a person pasted is not trusted, nor is the text of a program or of a parent agent, whose own sources are not
    visible here.
    """
    if step.role is Role.USER and asked_by is Origin.USER:
        typed, pasted = typed_and_pasted(step.text)
        yield typed, "text", True
        yield pasted, "text", False
    else:
        yield step.text, "text", step.role in (Role.SYSTEM, Role.AGENT)
    if step.is_action:
        yield "\n".join([step.tool, *texts_in(step.arguments)]), "arguments", True
    yield step.observation, "observation", False


def typed_and_pasted(text: str) -> tuple[str, str]:
    """Split a message into typed text and pasted text: quotes, fenced blocks, and the end of a long message."""
    pasted = [match.group() for match in _PASTED.finditer(text)]
    typed = _PASTED.sub("\n", text)
    return typed[:_MAX_TYPED], "\n".join([*pasted, typed[_MAX_TYPED:]]).strip()


def copied_spans(path: str, value: Any, attempts: Sequence[AttemptTexts], *, copied_steps: str = "") -> Iterator[Span]:
    """Yield where the value of a field was copied from in attempts that read it before anybody else said it.

    Paths of the workspace are no copies, unless `copied_steps` hold them, the texts of steps that were copied.
    """
    prose = path.partition(".")[0] in _PROSE
    if path.startswith("tags.") and str(value).startswith(CALL_TAG):
        return  # the form of a call that the agent made
    for text in texts_in(plain(value)):
        bare = PLACEHOLDER.sub("\n", local(text))
        reaches_out = bool(_REACHES_OUT.search(bare))
        for attempt in attempts:
            workspace = attempt.trajectory.environment.workspace.casefold()  # words are compared in lower case
            exempt = _never if reaches_out else partial(_is_own_path, workspace=workspace, copied_steps=copied_steps)
            span = attempt.sources.copied_from(bare, prose=prose, exempt=exempt)
            if span is not None:
                yield span


def _is_own_path(word: str, *, workspace: str, copied_steps: str) -> bool:
    return is_inside(word, workspace) and word not in copied_steps


def _never(word: str) -> bool:
    return False


def _unattributed_spans(value: Any, attempts: Sequence[AttemptTexts]) -> Iterator[Span]:
    """Yield the answers that the log does not hold and that may be the source of an address or package, if nothing else is."""
    behind = [attempt for attempt in attempts if attempt.unseen]
    for text in texts_in(plain(value)) if behind else ():
        found = [match.group() for pattern in (URL, HOST, EMAIL) for match in pattern.finditer(text)]
        for word in (*found, *_PACKAGE.findall(text)):
            for attempt in behind:
                own = attempt.trajectory.id
                first = attempt.sources.first_with(word)
                at = (
                    len(attempt.trajectory.steps) if first is None else first.step if first.trajectory_id == own else -1
                )
                yield from (
                    span for span in attempt.unseen if span.step < at or (span.trajectory_id != own and at >= 0)
                )


def _mark_external(
    path: str, origins: dict[str, Origin], grounding: dict[str, tuple[Span, ...]], *, spans: tuple[Span, ...]
) -> None:
    """Mark a field external and add the spans; a list with one origin is marked as a whole."""
    whole = path.partition(".")[0]
    entries = [each for each in origins if each == path or each.startswith(f"{path}.")]
    for each in entries or ([whole] if whole in origins else [path]):
        origins[each] = Origin.EXTERNAL
        grounding[each] = tuple(dict.fromkeys((*grounding.get(each, ()), *spans)))


def _instructions_before(grounding: Mapping[str, Sequence[Span]], attempts: Sequence[AttemptTexts]) -> list[Span]:
    """Return spans of instructions that came before the last of the candidate's steps."""
    last: dict[str, int] = {}
    for path, spans in grounding.items():
        for span in spans:
            if path.startswith("steps."):
                last[span.trajectory_id] = max(span.step, last.get(span.trajectory_id, -1))
    return [
        order
        for attempt in attempts
        for order in attempt.orders
        if order.trajectory_id != attempt.trajectory.id or order.step < last.get(attempt.trajectory.id, 1 << 30)
    ]


MAX_ATTEMPTS = 40
"""Attempts behind one candidate that are compared; those that its fields name come first."""
MAX_BEFORE = 12
"""Earlier attempts of the same session that are compared."""
MAX_CACHED = 64
"""Attempts whose texts are kept in memory."""


class OriginLimiter:
    """Limits the origins of candidates by the attempts behind them and by their sessions."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sessions: dict[str, list[str]] | None = None
        self._texts_by_id: dict[str, AttemptTexts | None] = {}

    def limit_origins(self, candidate: Candidate) -> Candidate:
        """Limit the origins of a candidate by its own attempts."""
        provenance = candidate.provenance
        grounds = (span.trajectory_id for spans in provenance.grounding.values() for span in spans)
        behind = list(dict.fromkeys((*grounds, *provenance.trajectory_ids)))[:MAX_ATTEMPTS]
        attempts = [self._texts(trajectory_id) for trajectory_id in behind]
        return limit_origins(candidate, [attempt for attempt in attempts if attempt is not None])

    def limit_by_recent_sessions(self, candidate: Candidate) -> Candidate:
        """Limit the origins of an agent's own proposal by the most recent attempts: nothing more is known of its session."""
        latest = [episode.id for episode in self._store.episodes() if not episode.pruned][-MAX_BEFORE:]
        attempts = [self._texts(trajectory_id) for trajectory_id in latest]
        made = limit_origins(candidate, [attempt for attempt in attempts if attempt is not None])
        return dataclasses.replace(made, provenance=candidate.provenance)

    def _texts(self, trajectory_id: str) -> AttemptTexts | None:
        """Return the texts of one attempt; nothing where it was purged."""
        if trajectory_id not in self._texts_by_id:
            if len(self._texts_by_id) >= MAX_CACHED:
                self._texts_by_id.pop(next(iter(self._texts_by_id)))
            whole = self._load([trajectory_id])
            made = attempt_texts(whole[0], earlier=self._load(self._before(whole[0]))) if whole else None
            self._texts_by_id[trajectory_id] = made
        return self._texts_by_id[trajectory_id]

    def _before(self, trajectory: Trajectory) -> list[str]:
        """Return the attempts before this one in its session, and those of the parent session."""
        if self._sessions is None:
            self._sessions = {}
            for episode in self._store.episodes():
                self._sessions.setdefault(episode.session_id, []).append(episode.id)
        own = self._sessions.get(trajectory.session_id, []) if trajectory.session_id else []
        before = own[: own.index(trajectory.id)] if trajectory.id in own else own
        starting = self._sessions.get(trajectory.parent_session_id, []) if trajectory.parent_session_id else []
        # The first attempt holds what the client showed when the session began, such as instructions files.
        return list(dict.fromkeys([*starting[:1], *starting[-MAX_BEFORE:], *before[:1], *before[-MAX_BEFORE:]]))

    def _load(self, trajectory_ids: Iterable[str]) -> list[Trajectory]:
        found: list[Trajectory] = []
        for trajectory_id in trajectory_ids:
            with suppress(TacitError):
                found.append(self._store.trajectory(trajectory_id))
        return found
