"""The user's own work: verified attempts of a store, parted by task into what may be learned from and what is asked.

A memory that learned from everything knows the asked tasks too. Whoever measures skills on this suite takes a memory that
learned from `training_trajectories()` alone (see `rehearsal`).
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence

from tacit.api import Tacit
from tacit.config.settings import Config
from tacit.domain.errors import Mistake, Refusal
from tacit.domain.ports import Store
from tacit.domain.trajectory import Claim, Trajectory
from tacit.features.evaluate.leakage import PastAttempt, known_tasks
from tacit.features.evaluate.suites.next_call import NextCallSuite
from tacit.features.evaluate.verified_attempts import VerifiedAttempt
from tacit.store import open_store

SHARE = 0.2
"""The part of the tasks that is held out, as datasets do."""
LEFT_OUT_MOST = 0.2
"""Of the tasks that are held out no larger part may be known from others: what is left would be a choice, not a sample."""


class OwnSuite(NextCallSuite):
    """Next calls of the tasks that were held out; attempts at one task make one group."""

    def __init__(self, attempts: Iterable[VerifiedAttempt], *, held_out: Collection[str], name: str = "own") -> None:
        """`held_out` are keys of tasks, as the manifest of a dataset has them."""
        solved = [attempt for attempt in attempts if attempt.assessment.verified_success]
        asked = {attempt.trajectory.id: attempt for attempt in solved if attempt.task_key in held_out}
        if not asked:
            raise Mistake(
                f"none of {len(solved)} verified attempts belongs to a held-out task",
                code="nothing_held_out",
                hint="more verified work is needed (`tacit learn`), or a larger share to hold out",
            )
        super().__init__(
            name,
            [attempt.trajectory for attempt in asked.values()],
            lambda trajectory: asked[trajectory.id].tools,
            key=lambda trajectory: trajectory.id,
            group=lambda trajectory: asked[trajectory.id].task_key,
        )
        self.left_out = 0
        """Tasks that are not asked though they were held out, since others give them away (see `unseen`)."""
        self._training = [with_outcome_as_claim(attempt) for attempt in solved if attempt.task_key not in held_out]

    def training_trajectories(self) -> list[Trajectory]:
        """The other attempts, with what was found of them as their claim."""
        return list(self._training)


def held_out_tasks(tasks: Iterable[str], *, share: float = SHARE, seed: int = 0) -> set[str]:
    """The tasks that a dataset of this seed holds out: a task's own lot decides, and where none is drawn, the lowest."""
    lots = sorted((_draw(task, seed), task) for task in set(tasks))
    chosen = {task for lot, task in lots if lot < share}
    return chosen or ({lots[0][1]} if share and len(lots) > 1 else set())


def own_suite(attempts: Sequence[VerifiedAttempt], *, share: float = SHARE, seed: int = 0) -> OwnSuite:
    """The suite of a store's attempts, parted as a dataset of this share and seed parts them."""
    return without_given_away_tasks(
        attempts, held_out=held_out_tasks({each.task_key for each in attempts}, share=share, seed=seed)
    )


def without_given_away_tasks(attempts: Sequence[VerifiedAttempt], *, held_out: Collection[str]) -> OwnSuite:
    """The suite without tasks that others give away, which are neither asked nor learned from; refused where it is many."""
    given_away: set[str] = set()
    while True:
        suite = OwnSuite([each for each in attempts if each.task_key not in given_away], held_out=held_out)
        known = {
            each.group for each in known_tasks(suite.exercises(), map(PastAttempt.of, suite.training_trajectories()))
        }
        if len(given_away | known) > LEFT_OUT_MOST * len(held_out):
            raise Refusal(
                f"{len(given_away | known)} of the {len(held_out)} tasks that were held out are given away by others: "
                "nearly the same words, and the same calls",
                code="tasks_too_similar",
                hint="the work here is too much alike for a test by unseen tasks: go on with other work, or take another seed",
            )
        if not known:
            suite.left_out = len(given_away)
            return suite
        given_away |= known


def with_outcome_as_claim(attempt: VerifiedAttempt) -> Trajectory:
    """A trajectory that says of itself what was found of it, so that a fresh memory can take it at its word."""
    claim = Claim(result=str(attempt.assessment.outcome), verified_by=attempt.verified_by)
    return dataclasses.replace(attempt.trajectory, claim=claim, id="")


def _draw(key: str, seed: int) -> float:
    return int.from_bytes(hashlib.sha256(f"{seed}:{key}".encode()).digest()[:8]) / 2**64


REVIEWER = "rehearsal"


def learned_memory(
    trajectories: Iterable[Trajectory],
    *,
    config: Config | None = None,
    progress: Callable[[int, int], None] | None = None,
    store: Store | None = None,
) -> Tacit:
    """A fresh memory that took the outcomes of these attempts at their word and learned from them; in `store`, if given."""
    memory = Tacit(store or open_store(":memory:"), config=config or Config())
    memory.capture(trajectories, trust_outcomes=True)
    memory.learn(progress=progress)
    for stored in memory.reviews.waiting():
        ticked = [literal.key for literal in memory.reviews.examine(stored.version.id).literals]
        memory.review(stored.version.id, "approve", by=REVIEWER, content_hash=stored.version.hash, ticked=ticked)
    return memory
