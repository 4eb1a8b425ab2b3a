"""A store → the attempts that a machine verified as successful, each with its task, its tools and the skills it was shown.

Superseded and pruned attempts are left out, and so are calls that only serve the agent itself: to-do lists and Tacit's own
tools. The task of an attempt follows from what was asked and what it saw first: the same words in another state are another
task. Whether an attempt may be trained on is decided by the train feature.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from operator import itemgetter

from tacit.domain.errors import NotFound
from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.stored import Episode
from tacit.domain.trajectory import Origin, Role, Trajectory
from tacit.evidence.credit import task_digest
from tacit.evidence.workspace_changes import changes
from tacit.features.evaluate.task_overlap import initial_observations, same_start
from tacit.features.evaluate.tool import Tool, Turn, turns_of
from tacit.gate.content_checks import findings_against_quoting
from tacit.store import Store
from tacit.text.text_sources import TextLog, directive_in, texts_in
from tacit.text.tool_calls import operations_of, plain_name, reads_by_name

_WINDOW, _LAP = 4000, 500
"""Size of the windows in which an outside text is scanned, and their overlap."""
_HEAD, _TAIL = 160_000, 40_000
"""The parts of a longer text that are scanned; a text of that size is a log or a dump."""
_AT_MOST = timedelta(days=1)
"""Attempts that began longer before another one are assumed to have ended."""


def gather(
    store: Store, *, project: str = "", tools: Sequence[Tool] = (), named: Callable[[Trajectory], str] | None = None
) -> list[VerifiedAttempt]:
    """Return the attempts that a machine verified as successful, oldest first; of one project, if named.

    `tools` are the documented tools; without them, the tools that attempts called are listed. `named` returns the task of
    an attempt if the caller knows it better.
    """
    episodes = [episode for episode in store.episodes() if not project or episode.project == project]
    sound = [
        episode
        for episode in episodes
        if (episode.assessment.outcome, episode.assessment.grade) == (Outcome.SUCCESS, Grade.MACHINE)
        and not (episode.superseded or episode.pruned)
    ]
    whole = {}
    for episode in sound:  # without the calls that only serve the agent itself
        found = store.trajectory(episode.id)
        steps = [step for step in found.steps if not step.is_action or operations_of(step.tool, step.arguments)]
        whole[episode.id] = dataclasses.replace(found, steps=tuple(steps), id=found.id)
    crowds = _Crowds(store, episodes, whole)
    described = _Described(whole.values(), tools)
    attempts = [
        VerifiedAttempt(
            trajectory=whole[episode.id],
            task_key="",
            tools=described.of(whole[episode.id]),
            assessment=episode.assessment,
            taught=_teachers(store, episode.session_id),
            crowded_by=crowds.of(episode),
            obeyed=_obeyed(whole[episode.id]),
        )
        for episode in sound
    ]
    if named:
        return [dataclasses.replace(each, task_key=named(each.trajectory)) for each in attempts]
    return list(_keyed(attempts))


def _keyed(attempts: Sequence[VerifiedAttempt]) -> Iterator[VerifiedAttempt]:
    """Yield attempts with the keys of their tasks: a digest of the words, and the id of the first attempt that began in
    that state."""
    known: dict[str, list[tuple[Mapping[str, str], str]]] = {}
    for attempt in attempts:
        asked, seen = task_digest(attempt.trajectory.task.text), initial_observations(attempt.turns)
        begun = known.setdefault(asked, [])
        first = next((name for before, name in begun if same_start(before, seen)), "")
        if not first:
            first = attempt.trajectory.id[2:10]
            begun.append((seen, first))
        yield dataclasses.replace(attempt, task_key=f"{asked}.{first}" if asked else "")


def _obeyed(trajectory: Trajectory) -> str:
    """Return what the checks find dangerous in an outside text that a later call was taken from; empty if nothing.

    Agents use names and values from what they read all the time. Only a passage that the gate would not quote counts.
    """
    heard: TextLog[str] = TextLog()
    if trajectory.task_origin is not Origin.EXTERNAL:
        heard.add(trajectory.task.text, "", trusted=True)
    for step in trajectory.steps:
        if step.is_action and (
            source := next(filter(None, map(heard.copied_from, texts_in(dict(step.arguments)))), None)
        ):
            return source
        if step.text and step.origin_of("text") is not Origin.EXTERNAL and step.role is not Role.AGENT:
            heard.add(step.text, "", trusted=True)
        for text in (step.observation, step.text if step.role is Role.CONTEXT else ""):
            for shown in _windows(text):
                if danger := _danger_in(shown):
                    heard.add(shown, danger, trusted=False)
    return ""


@lru_cache(maxsize=4096)
def _danger_in(shown: str) -> str:
    """Return what the checks find dangerous in a window; attempts show the same texts, and a cycle gathers them often."""
    found = findings_against_quoting(shown) if directive_in(shown) else []
    return found[0].message if found else ""


def _windows(text: str) -> Iterator[str]:
    """Yield overlapping windows of a text, so that nothing is hidden at a boundary."""
    parts = [text] if len(text) <= _HEAD + _TAIL else [text[:_HEAD], text[-_TAIL:]]
    for part in parts:
        for start in range(0, max(len(part) - _LAP, 1), _WINDOW - _LAP):
            yield part[start : start + _WINDOW]


class _Described:
    """The tools that attempts could have called, from documentation or from calls."""

    def __init__(self, attempts: Iterable[Trajectory], documented: Sequence[Tool]) -> None:
        self._documented = tuple(documented)
        self._given: dict[str, list[frozenset[str]]] = {}
        self._at_hand: dict[tuple[str, str], set[str]] = {}
        for attempt in () if documented else attempts:
            for step in attempt.actions:
                self._given.setdefault(step.tool, []).append(frozenset(step.arguments))
                self._at_hand.setdefault(self._where(attempt), set()).add(step.tool)

    def of(self, attempt: Trajectory) -> tuple[Tool, ...]:
        """Return the tools of one attempt: those it lists, otherwise those that attempts in its project have called."""
        if self._documented:
            return self._documented
        called = {step.tool for step in attempt.actions}
        own = {name for name in attempt.environment.tools if operations_of(name, {})}
        names = own | called if own else self._at_hand.get(self._where(attempt), called)
        return tuple(self._tool(name) for name in sorted(names))

    def _tool(self, name: str) -> Tool:
        given = self._given.get(name, [])
        always = frozenset.intersection(*given) if given else frozenset()
        sometimes = frozenset().union(*given) - always
        return Tool(
            name=name,
            required=tuple(sorted(always)),
            optional=tuple(sorted(sometimes)),
            read_only=reads_by_name(plain_name(name)),
        )

    @staticmethod
    def _where(attempt: Trajectory) -> tuple[str, str]:
        return attempt.environment.client, attempt.task.project


def _teachers(store: Store, session_id: str) -> tuple[tuple[str, ...], ...]:
    """Return for each skill that an agent was shown in a session the attempts that it was learned from."""
    uses = store.uses(session_id=session_id) if session_id else []
    found = []
    for version in dict.fromkeys(version for use in uses if not use.held_back for version in use.version_ids):
        with suppress(NotFound):  # purged since; then its attempts are gone too
            found.append(store.version(version).version.provenance.trajectory_ids)
    return tuple(filter(None, found))


class _Crowds:
    """Which attempts changed the same workspace during another attempt."""

    def __init__(self, store: Store, episodes: Sequence[Episode], whole: Mapping[str, Trajectory]) -> None:
        self._store = store
        self._whole = dict(whole)
        self._dated = sorted(
            ((episode.started_at, episode) for episode in episodes if episode.started_at and not episode.pruned),
            key=lambda pair: (pair[0], pair[1].id),
        )

    def of(self, episode: Episode) -> str:
        """Return the id of an attempt that changed the workspace during this one; empty if none is known."""
        own = self._whole[episode.id]
        began, ended = own.started_at, own.ended_at
        if not own.environment.workspace or began is None or ended is None:
            return ""
        first = bisect_left(self._dated, began - _AT_MOST, key=itemgetter(0))
        last = bisect_right(self._dated, ended, key=itemgetter(0))
        near = (other for _, other in self._dated[first:last] if not _is_kin(other, episode))
        return next((other.id for other in near if self._is_crowding(other, own)), "")

    def _is_crowding(self, episode: Episode, own: Trajectory) -> bool:
        other = self._whole.get(episode.id)
        if other is None:
            other = self._whole[episode.id] = self._store.trajectory(episode.id)
        here, there = own.environment, other.environment
        if (here.workspace, here.branch) != (there.workspace, there.branch):
            return False
        began, ended = own.started_at, own.ended_at
        meanwhile = [step for step in other.actions if step.at and began and ended and began <= step.at <= ended]
        return any(changes(step) for step in meanwhile)


def _is_kin(one: Episode, other: Episode) -> bool:
    """Whether two attempts are the same, of one session, or one is a subagent of the other."""
    mine = {one.session_id, one.parent_session_id} - {""}
    return one.id == other.id or one.superseded or bool(mine & {other.session_id, other.parent_session_id})


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedAttempt:
    """One attempt at a task, with everything that decides whether it may be trained on."""

    trajectory: Trajectory
    task_key: str
    """The key of its task."""
    tools: tuple[Tool, ...]
    """The tools that the agent could have called, as it will be asked at work."""
    assessment: Assessment = Assessment()
    state: str = ""
    """A hash of the initial state, if known."""
    taught: tuple[tuple[str, ...], ...] = ()
    """For each skill that the agent was shown: the trajectories it was learned from."""
    crowded_by: str = ""
    """Id of an attempt that changed the same workspace meanwhile; empty if none is known."""
    obeyed: str = ""
    """An outside text with instructions that a later call was taken from; empty if none is known."""

    @property
    def verified_by(self) -> str:
        """What verified its success; empty if nothing did."""
        return self.assessment.verifier or str(self.assessment.grade) if self.assessment.verified_success else ""

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The calls and their results."""
        return tuple(turns_of(self.trajectory))
