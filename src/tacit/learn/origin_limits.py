"""A candidate and the attempts it came from → the same candidate, no field of it vouched for higher than its text allows.

Whoever made a field said which spans it rests on. Here its text is held once more against all that was read in those
attempts, and before them in the same session: a field that repeats something from there, in whatever dress, rests on that
too. A field about which nobody said anything is external. Origins are only ever lowered; no text is changed.
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
from tacit.domain.origin import Origin
from tacit.domain.ports import Store
from tacit.domain.skill import INSTRUCTED, said_in, unaccounted
from tacit.domain.trajectory import Role, Span, Step, Trajectory
from tacit.learn.values import is_inside
from tacit.learn.wording import local
from tacit.text.text_sources import Heard, directive_in, texts_in

_PASTED = re.compile(r"(?ms)^```.*?(?:^```|\Z)|^[ \t]*>[^\n]*$|^<([A-Za-z][\w-]*)[^<>\n]{0,200}>\n.*?(?:^</\1>|\Z)")
_MAX_SAID = 4_000
"""A person's message beyond this is pasted text."""
_REACHES_OUT = re.compile(
    r"\b(?:curl|wget|https?|ftp|ssh|scp|sftp|rsync|nc|ncat|netcat|telnet|ping|dig|nslookup|clone|remote|push|pull|install|add|"
    r"fetch|socket|connect|urlopen|requests)\b"
)
_PROSE = frozenset(
    {"name", "description", "category", "tags", "example_queries", "body", "cues", "after", "sub_skills"}
)
_PLACEHOLDER = re.compile(r"\{\w+\}")
_MOST_SPANS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What was said and read in one attempt, with what came before it in the session."""

    trajectory: Trajectory
    heard: Heard[Span] = field(default_factory=Heard)
    orders: tuple[Span, ...] = ()
    """Texts nobody vouches for that tell a reader what to do, in order."""


def account_of(trajectory: Trajectory, *, earlier: Sequence[Trajectory] = ()) -> Account:
    """Lay out one attempt; `earlier` are those before it in the same session, or in the one that started it."""
    heard: Heard[Span] = Heard()
    orders: dict[Span, None] = {}
    for each in (*earlier, trajectory):
        asked = [step.text for step in each.steps if step.role is Role.USER]
        if each.task.text not in asked and not each.parent_session_id:
            heard.add(each.task.text, Span(each.id, -1, "text"), vouched=True)
        for step in each.steps:
            for text, part, vouched in _told(step, started=bool(each.parent_session_id)):
                span = Span(each.id, step.index, part)
                heard.add(text, span, vouched=vouched)
                read = part != "text" or step.role is Role.CONTEXT  # what a person pastes, they want to be followed
                if read and not vouched and directive_in(text):
                    orders.setdefault(span)
    return Account(trajectory=trajectory, heard=heard, orders=tuple(orders))


def sealed(candidate: Candidate, accounts: Sequence[Account]) -> Candidate:
    """Lower the origin of every field that borrows from what was read, or that nobody accounts for."""
    origins, grounding = dict(candidate.origins), dict(candidate.provenance.grounding)
    for path, value in said_in(candidate.content).items():
        lenders = dict.fromkeys(_lenders(path, value, accounts))
        if lenders:
            _lower(path, origins, grounding, spans=tuple(lenders)[:_MOST_SPANS])
    for path in unaccounted(candidate.content, origins):
        origins[path] = Origin.EXTERNAL
    told = _orders_before(grounding, accounts)
    if told:
        grounding[INSTRUCTED] = tuple(dict.fromkeys((*grounding.get(INSTRUCTED, ()), *told)))[:_MOST_SPANS]
    provenance = dataclasses.replace(candidate.provenance, grounding=grounding)
    return dataclasses.replace(candidate, origins=origins, provenance=provenance)


def _told(step: Step, *, started: bool) -> Iterator[tuple[str, str, bool]]:
    """The texts of a step in the order in which they came, each with its part and whether somebody vouches for it.

    What a person pasted is not theirs; the words of an agent that started this one may be anybody's, for what it had
    read does not show here.
    """
    if step.role is Role.USER and not started:
        said, pasted = _parted(step.text)
        yield said, "text", True
        yield pasted, "text", False
    else:
        yield step.text, "text", step.role in (Role.SYSTEM, Role.AGENT)
    if step.is_action:
        yield "\n".join([step.tool, *texts_in(step.arguments)]), "arguments", True
        yield step.observation, "observation", False


def _parted(text: str) -> tuple[str, str]:
    """What a person says, and what they pasted: quoted and fenced blocks, and whatever follows a long message."""
    pasted = [match.group() for match in _PASTED.finditer(text)]
    said = _PASTED.sub("\n", text)
    return said[:_MAX_SAID], "\n".join([*pasted, said[_MAX_SAID:]]).strip()


def _lenders(path: str, value: Any, accounts: Sequence[Account]) -> Iterator[Span]:
    prose = path.partition(".")[0] in _PROSE
    for text in texts_in(plain(value)):
        bare = _PLACEHOLDER.sub("\n", local(text))
        reaches_out = bool(_REACHES_OUT.search(bare))
        for account in accounts:
            workspace = account.trajectory.environment.workspace.casefold()  # as the words are compared
            exempt = _nothing if reaches_out else partial(is_inside, workspace=workspace)
            span = account.heard.lender(bare, prose=prose, exempt=exempt)
            if span is not None:
                yield span


def _nothing(word: str) -> bool:
    return False


def _lower(
    path: str, origins: dict[str, Origin], grounding: dict[str, tuple[Span, ...]], *, spans: tuple[Span, ...]
) -> None:
    """Note that a field is external and why; where its list is accounted for as a whole, the whole is."""
    whole = path.partition(".")[0]
    entries = [each for each in origins if each == path or each.startswith(f"{path}.")]
    for each in entries or ([whole] if whole in origins else [path]):
        origins[each] = Origin.EXTERNAL
        grounding[each] = tuple(dict.fromkeys((*grounding.get(each, ()), *spans)))


def _orders_before(grounding: Mapping[str, Sequence[Span]], accounts: Sequence[Account]) -> list[Span]:
    """Texts that told what to do before the last of the candidate's steps was taken."""
    last: dict[str, int] = {}
    for path, spans in grounding.items():
        for span in spans:
            if path.startswith("steps."):
                last[span.trajectory_id] = max(span.step, last.get(span.trajectory_id, -1))
    return [
        order
        for account in accounts
        for order in account.orders
        if order.trajectory_id != account.trajectory.id or order.step < last.get(account.trajectory.id, 1 << 30)
    ]


MAX_HELD_AGAINST = 40
"""Attempts behind one candidate that its text is held against: those that its fields rest on first."""
MAX_BEFORE = 12
"""Attempts of the same session, before one, that are looked at for what was read in them."""
MAX_ACCOUNTS = 64


class Fence:
    """Holds every candidate against all that was read in its attempts, and before them in their sessions."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sessions: dict[str, list[str]] | None = None
        self._accounts: dict[str, Account | None] = {}

    def sealed(self, candidate: Candidate) -> Candidate:
        """The candidate, no field of it vouched for higher than its text allows."""
        provenance = candidate.provenance
        grounds = (span.trajectory_id for spans in provenance.grounding.values() for span in spans)
        behind = list(dict.fromkeys((*grounds, *provenance.trajectory_ids)))[:MAX_HELD_AGAINST]
        accounts = [self._account(trajectory_id) for trajectory_id in behind]
        return sealed(candidate, [account for account in accounts if account is not None])

    def held_against_the_latest(self, candidate: Candidate) -> Candidate:
        """What an agent proposes by itself: of its session nothing more is known than what was captured lately."""
        latest = [episode.id for episode in self._store.episodes() if not episode.pruned][-MAX_BEFORE:]
        accounts = [self._account(trajectory_id) for trajectory_id in latest]
        made = sealed(candidate, [account for account in accounts if account is not None])
        return dataclasses.replace(made, provenance=candidate.provenance)

    def _account(self, trajectory_id: str) -> Account | None:
        """What was said and read in one attempt; nothing where it is no longer kept."""
        if trajectory_id not in self._accounts:
            if len(self._accounts) >= MAX_ACCOUNTS:
                self._accounts.pop(next(iter(self._accounts)))
            whole = self._kept([trajectory_id])
            made = account_of(whole[0], earlier=self._kept(self._before(whole[0]))) if whole else None
            self._accounts[trajectory_id] = made
        return self._accounts[trajectory_id]

    def _before(self, trajectory: Trajectory) -> list[str]:
        """Attempts before this one in its session, and all of the session that started it."""
        if self._sessions is None:
            self._sessions = {}
            for episode in self._store.episodes():
                self._sessions.setdefault(episode.session_id, []).append(episode.id)
        own = self._sessions.get(trajectory.session_id, []) if trajectory.session_id else []
        before = own[: own.index(trajectory.id)] if trajectory.id in own else own
        starting = self._sessions.get(trajectory.parent_session_id, []) if trajectory.parent_session_id else []
        return list(dict.fromkeys([*starting[-MAX_BEFORE:], *before[-MAX_BEFORE:]]))

    def _kept(self, trajectory_ids: Iterable[str]) -> list[Trajectory]:
        found: list[Trajectory] = []
        for trajectory_id in trajectory_ids:
            with suppress(TacitError):
                found.append(self._store.trajectory(trajectory_id))
        return found
