"""The `Store` in plain memory, with the same contract as the one on SQLite and nothing kept when the process ends.

For trials, tests and sessions that must leave no trace. Values are written and read back as records, as a file would.
"""

from __future__ import annotations

import hashlib
import threading
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from tacit.domain.candidate import Verdict
from tacit.domain.errors import StoreOutage
from tacit.domain.evidence import Assessment, Outcome
from tacit.domain.identity import canonical
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.ports import AuditEntry, Counts, Damage, Episode, FoundEpisode, Hit, Stored
from tacit.domain.skill import Kind, Skill, SkillVersion
from tacit.domain.trajectory import Trajectory
from tacit.store import attempts, laws
from tacit.store.beside import Beside
from tacit.store.chain import GENESIS, Event, link
from tacit.store.custody import Custody
from tacit.store.descending import check_may_enter, check_may_return
from tacit.store.held import (
    Held,
    Words,
    count_all,
    count_documents,
    entry,
    forget_derived,
    get,
    rank,
    reread,
    unrender_composites,
    wanted,
)
from tacit.store.lexical import VERSION_WEIGHTS, episode_words, version_words
from tacit.store.meaning import Meaning
from tacit.store.outcomes import Outcomes
from tacit.store.projections import Projections
from tacit.store.records import aware, clean, compress, pack, stamp, unpack
from tacit.store.safekeeping import Safekeeping

T = TypeVar("T")


class VolatileStore(Outcomes, Beside, Projections, Meaning, Custody, Safekeeping):
    """Keeps everything in dictionaries."""

    def __init__(self) -> None:
        self._state = Held()
        self._lock = threading.RLock()
        self._depth = 0
        self._closed = False

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make several writes one: all or none. Nested use joins the outer one."""
        with self._open():
            before = self._state.snapshot()
            self._depth += 1
            try:
                yield
            except BaseException:
                self._state = before
                raise
            finally:
                self._depth -= 1

    def add_trajectory(self, trajectory: Trajectory, assessment: Assessment, *, at: datetime) -> bool:
        """Keep a trajectory; False if its content is already known. A longer one of the same session supersedes."""
        laws.check_trajectory(trajectory)
        with self.transaction():
            check_may_enter(trajectory, self._state.tombstones.get)
            state = self._state
            if trajectory.id in state.episodes:
                return False
            kept = reread(trajectory)
            episode = reread(laws.episode_of(kept, assessment, at=at))
            earlier = [old for old in state.episodes.values() if laws.same_attempt(old, episode)]
            episode = replace(episode, superseded=any(old.steps > episode.steps for old in earlier))
            state.contents[episode.id] = compress(pack(kept))
            state.episode_words[episode.id] = episode_words(episode)
            self._set_episode(episode, "trajectory", actor=kept.environment.client, at=at)
            for old in earlier:
                if not old.superseded and old.steps <= episode.steps:
                    self._set_episode(replace(old, superseded=True), "superseded", at=at)
            state.log.append(lambda store: store.add_trajectory(kept, assessment, at=at))
            return True

    def vouch(self, trajectory_id: str, assessment: Assessment, *, at: datetime) -> bool:
        """Put a verified assessment in place of one that is not; it is then learned from again."""
        with self.transaction():
            changed = laws.vouched(get(self._state.episodes, trajectory_id, "trajectory"), assessment)
            if changed is not None:
                self._set_episode(reread(changed), "vouched", at=at)
                self._state.log.append(lambda store: store.vouch(trajectory_id, assessment, at=at))
            return changed is not None

    def trajectory(self, trajectory_id: str) -> Trajectory:
        """Fetch one whole trajectory."""
        with self._open():
            if get(self._state.episodes, trajectory_id, "trajectory").pruned:
                raise laws.dropped(trajectory_id)
            return unpack(zlib.decompress(self._state.contents[trajectory_id]), Trajectory)

    def episodes(
        self, *, unlearned: bool = False, outcome: Outcome | None = None, limit: int | None = None
    ) -> list[Episode]:
        """List past trajectories in brief, oldest first; `unlearned` leaves out learned, superseded and pruned ones."""
        with self._open():
            chosen = [
                episode
                for episode in self._state.episodes.values()
                if outcome in (None, episode.assessment.outcome)
                and not (unlearned and (episode.learned_at is not None or episode.superseded or episode.pruned))
            ]
            return chosen if limit is None else chosen[: max(0, limit)]

    def episode(self, trajectory_id: str) -> Episode:
        """Fetch one past trajectory in brief."""
        with self._open():
            return get(self._state.episodes, trajectory_id, "trajectory")

    def search_episodes(self, asked: str | Sequence[str], *, limit: int = 10) -> list[FoundEpisode]:
        """Find past trajectories whose task or files share words with the query, best first."""
        with self._open():
            held = self._state.episodes
            hidden = {episode.id for episode in held.values() if episode.superseded}
            found = attempts.search(asked, self._state.episode_words, hidden=hidden, limit=limit)
            return [attempts.as_found(held[identity], lexical) for identity, lexical in found]

    def mark_learned(self, trajectory_id: str, *, at: datetime) -> None:
        """Note that a trajectory has been distilled."""
        with self.transaction():
            episode = get(self._state.episodes, trajectory_id, "trajectory")
            if episode.learned_at != aware(at):
                self._set_episode(replace(episode, learned_at=at), "learned", at=at)
                self._state.log.append(lambda store: store.mark_learned(trajectory_id, at=at))

    def add_verdict(self, verdict: Verdict) -> None:
        """Keep the gate's answer."""
        aware(verdict.at)
        with self.transaction():
            if self._is_new(self._state.verdicts, verdict, verdict.id):
                subject = laws.verdict_subject(verdict)
                self._note(f"verdict {verdict.decision}", subject, value=verdict, actor=verdict.judge, at=verdict.at)
                self._state.log.append(lambda store: store.add_verdict(verdict))

    def verdicts(self, *, trajectory_id: str = "", version_id: str = "", limit: int | None = None) -> list[Verdict]:
        """The gate's answers, newest first."""
        with self._open():
            chosen = [
                verdict
                for verdict in reversed(self._state.verdicts.values())
                if trajectory_id in ("", *verdict.trajectory_ids) and version_id in ("", verdict.version_id)
            ]
            return chosen if limit is None else chosen[: max(0, limit)]

    def add_version(self, skill: Skill, version: SkillVersion, transition: Transition) -> bool:
        """Keep a version with its birth transition (and its skill, if new); False if this exact version is known."""
        laws.check_birth(skill, version, transition)
        with self.transaction():
            check_may_return(version, self._state.tombstones.get)
            state = self._state
            if version.id in state.versions:
                return False
            self._found(skill, transition)
            self._append_transition(transition)
            kept = reread(version)
            stored = Stored(
                skill=state.skills[skill.id],
                version=kept,
                status=transition.after,
                sequence=1 + max((held.sequence for held in state.versions.values()), default=0),
            )
            state.versions[version.id] = stored
            state.version_words[version.id] = version_words(kept.content)
            if transition.after in RECALLABLE:
                unrender_composites(state, [kept.name])
            self._note(f"version {transition.after}", version.id, value=stored, actor=transition.by, at=transition.at)
            state.log.append(lambda store: store.add_version(skill, kept, transition))
            return True

    def add_transition(self, transition: Transition) -> None:
        """Change a status; raises `IllegalTransition`, or `StaleVersion` if status or content is not as expected."""
        with self.transaction():
            stored = get(self._state.versions, transition.version_id, "version")
            laws.check_step(transition, status=stored.status, content_hash=stored.version.hash)
            self._append_transition(transition)
            changed = replace(stored, status=transition.after)
            self._state.versions[transition.version_id] = changed
            forget_derived(self._state, transition.version_id, before=stored.status)
            subject, action = transition.version_id, f"transition {transition.after}"
            self._note(action, subject, value=changed, actor=transition.by, at=transition.at)
            self._state.log.append(lambda store: store.add_transition(transition))

    def version(self, version_id: str) -> Stored:
        """Fetch one version."""
        with self._open():
            return get(self._state.versions, version_id, "version")

    def versions(self, skill_id: str) -> list[Stored]:
        """All versions of a skill, oldest first."""
        with self._open():
            get(self._state.skills, skill_id, "skill")
            return [stored for stored in self._state.versions.values() if stored.skill.id == skill_id]

    def transitions(self, version_id: str) -> list[Transition]:
        """The life of a version, oldest first."""
        with self._open():
            get(self._state.versions, version_id, "version")
            return [step for step in self._state.transitions.values() if step.version_id == version_id]

    def catalogue(
        self, *, statuses: Collection[Status] | None = None, kinds: Collection[Kind] | None = None, name: str = ""
    ) -> list[Stored]:
        """All versions in these statuses, by name and then arrival."""
        with self._open():
            chosen = [
                stored
                for stored in self._state.versions.values()
                if wanted(stored, statuses, kinds) and clean(name) in ("", clean(stored.version.name))
            ]
            return sorted(chosen, key=lambda stored: (clean(stored.version.name), stored.sequence))

    def search(
        self,
        terms: Sequence[str],
        *,
        statuses: Collection[Status],
        kinds: Collection[Kind] | None = None,
        limit: int = 50,
        cued_within: int = 0,
    ) -> list[Hit]:
        """Find versions by the words of name, description and body, best first."""
        with self._open():
            counted = self._recallable_words() if RECALLABLE.issuperset(statuses) else self._state.version_words
            ranked = rank(terms, counted, weights=VERSION_WEIGHTS)
            words, versions = self._state.version_words, self._state.versions
            hits = (Hit(stored=versions[found], lexical=lexical, words=words[found]) for found, lexical in ranked)
            newest = {s.skill.id: s.sequence for s in self._state.versions.values() if wanted(s, statuses, kinds)}
            found = [hit for hit in hits if newest.get(hit.stored.skill.id) == hit.stored.sequence]
            first, beyond = found[: max(0, limit)], found[max(0, limit) : max(0, cued_within)]
            return first + [hit for hit in beyond if hit.stored.version.content.cues]

    def document_frequency(self, terms: Sequence[str]) -> tuple[dict[str, int], int]:
        """In how many recallable versions each term occurs, and how many of them there are."""
        with self._open():
            words = self._recallable_words()
            return count_documents(terms, words), len(words)

    def _recallable_words(self) -> dict[str, Words]:
        versions = self._state.versions
        return {id_: words for id_, words in self._state.version_words.items() if versions[id_].status in RECALLABLE}

    def resolve(self, prefix: str) -> list[str]:
        """Ids of versions, skills, trajectories and uses that begin with `prefix`, at most ten."""
        with self._open():
            state = self._state
            ids = {*state.versions, *state.skills, *state.episodes, *state.uses}
            return sorted(identity for identity in ids if identity.startswith(prefix))[:10]

    def history(self, subject: str = "", *, limit: int | None = None) -> list[AuditEntry]:
        """Links of the audit chain, oldest first; of one subject if given."""
        with self._open():
            subjects = {subject, *(s.version.id for s in self._state.versions.values() if s.skill.id == subject)}
            chosen = [entry(*found) for found in self._state.chain if not subject or found[0].subject in subjects]
            return chosen if limit is None else chosen[-limit:] if limit > 0 else []

    def counts(self) -> Counts:
        """How much there is."""
        with self._open():
            return count_all(self._state)

    def verify(self) -> Iterator[Damage]:
        """Check the audit chain and the content hashes; yields nothing when all is as written."""
        with self._open():
            state, previous = self._state, GENESIS
            for event, stored in state.chain:
                previous = link(previous, event)
                if previous != stored:
                    yield Damage(subject=f"audit {event.sequence}", problem="does not fit its hash")
            for identity, held in state.versions.items():
                if held.version.content_id() != identity or held.version.content.hash() != held.version.hash:
                    yield Damage(subject=f"versions {identity}", problem="does not fit its hash")

    def prune(self, *, keep_days: int | None, cap_bytes: int | None, at: datetime) -> int:
        """Drop the steps of old trajectories beyond retention or cap; returns how many."""
        with self.transaction():
            holdings = [self._holding(episode) for episode in self._state.episodes.values() if not episode.pruned]
            chosen = laws.choose_pruned(holdings, keep_days=keep_days, cap_bytes=cap_bytes, at=at)
            for identity in chosen:
                del self._state.contents[identity]
                self._state.outlines.pop(identity, None)
                self._set_episode(replace(self._state.episodes[identity], pruned=True), "prune", at=at)
            self.forget_jottings(at=at)
            self._state.log.append(lambda store: store.prune(keep_days=keep_days, cap_bytes=cap_bytes, at=at))
            return len(chosen)

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._closed = True
            self._state = Held()

    @contextmanager
    def _open(self) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise StoreOutage("the store in memory is closed", hint="open it again")
            yield

    def _set_episode(self, episode: Episode, action: str, *, at: datetime, actor: str = "tacit") -> None:
        kept = reread(episode)
        self._state.episodes[episode.id] = kept
        self._note(action, episode.id, value=kept, actor=actor, at=at)

    def _found(self, skill: Skill, birth: Transition) -> None:
        known = self._state.skills.get(skill.id)
        if known is None:
            self._state.skills[skill.id] = reread(skill)
            self._note("skill", skill.id, value=skill, actor=birth.by, at=birth.at)
        elif known.kind is not skill.kind:
            raise laws.same_id("skill", skill.id)

    def _append_transition(self, transition: Transition) -> None:
        if transition.id in self._state.transitions:
            raise laws.same_id("transition", transition.id)
        self._state.transitions[transition.id] = reread(transition)

    def _is_new(self, known: dict[str, T], value: T, identity: str) -> bool:
        if identity not in known:
            known[identity] = reread(value)
            return True
        if pack(known[identity]) != pack(value):
            raise laws.same_id(type(value).__name__.lower(), identity)
        return False

    def _holding(self, episode: Episode) -> laws.Holding:
        droppable = episode.learned_at is not None or episode.superseded
        size = len(self._state.contents[episode.id])
        return laws.Holding(id=episode.id, captured_at=episode.captured_at, bytes=size, droppable=droppable)

    def _note(self, action: str, subject: str, *, value: Any, actor: str, at: datetime) -> None:
        chain = self._state.chain
        event = Event(
            sequence=len(chain) + 1,
            at=stamp(at),
            actor=clean(actor) or "tacit",
            action=clean(action),
            subject=clean(subject),
            record=f"{type(value).__name__.lower()}/{clean(subject)}",
            digest=hashlib.sha256(canonical(value)).hexdigest(),
        )
        chain.append((event, link(chain[-1][1] if chain else GENESIS, event)))
