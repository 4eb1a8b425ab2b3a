"""The user's own work as a suite: verified attempts of a store, split by task into training and held-out tasks.

A memory that learned from everything knows the held-out tasks; `learned_memory` makes one from the training tasks only.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence

from tacit.api import Tacit
from tacit.config.settings import Config
from tacit.domain.errors import Mistake, Refusal
from tacit.domain.trajectory import Claim, Trajectory
from tacit.features.evaluate.leakage import PastAttempt, known_tasks
from tacit.features.evaluate.suites.next_call import NextCallSuite
from tacit.features.evaluate.verified_attempts import VerifiedAttempt
from tacit.store import Store, open_store

SHARE = 0.2
"""Share of the tasks that is held out, as in datasets."""
LEFT_OUT_MOST = 0.2
"""If more than this share of the held-out tasks is given away by others, the rest is not a sample."""


class OwnSuite(NextCallSuite):
    """Next calls of the held-out tasks; attempts at one task make one group."""

    def __init__(self, attempts: Iterable[VerifiedAttempt], *, held_out: Collection[str], name: str = "own") -> None:
        """`held_out` are keys of tasks."""
        solved = [attempt for attempt in attempts if attempt.assessment.verified_success]
        asked = {attempt.trajectory.id: attempt for attempt in solved if attempt.task_key in held_out}
        if not asked:
            message = f"none of {len(solved)} verified attempts belongs to a held-out task"
            hint = "more verified work is needed (`tacit learn`), or a larger share to hold out"
            raise Mistake(message, code="nothing_held_out", hint=hint)
        super().__init__(
            name,
            [attempt.trajectory for attempt in asked.values()],
            lambda trajectory: asked[trajectory.id].tools,
            key=lambda trajectory: trajectory.id,
            group=lambda trajectory: asked[trajectory.id].task_key,
        )
        self.left_out = 0
        """Held-out tasks that are not used because others give them away."""
        self._training = [with_outcome_as_claim(attempt) for attempt in solved if attempt.task_key not in held_out]

    def training_trajectories(self) -> list[Trajectory]:
        """Return the other attempts, with their verified outcome as the claim."""
        return list(self._training)


def held_out_tasks(tasks: Iterable[str], *, share: float = SHARE, seed: int = 0) -> set[str]:
    """Return the held-out tasks of a seed: a hash of the task decides; at least one is held out."""
    digests = {task: hashlib.sha256(f"{seed}:{task}".encode()).digest() for task in tasks}
    lots = sorted((int.from_bytes(drawn[:8]) / 2**64, task) for task, drawn in digests.items())
    chosen = {task for lot, task in lots if lot < share}
    return chosen or ({lots[0][1]} if share and len(lots) > 1 else set())


def own_suite(attempts: Sequence[VerifiedAttempt], *, share: float = SHARE, seed: int = 0) -> OwnSuite:
    """Return the suite of a store's attempts, split as a dataset with this share and seed."""
    return without_given_away_tasks(
        attempts, held_out=held_out_tasks({each.task_key for each in attempts}, share=share, seed=seed)
    )


def without_given_away_tasks(attempts: Sequence[VerifiedAttempt], *, held_out: Collection[str]) -> OwnSuite:
    """Return the suite without tasks that others give away; refused if these are too many."""
    given_away: set[str] = set()
    while True:
        suite = OwnSuite([each for each in attempts if each.task_key not in given_away], held_out=held_out)
        known = {
            each.group for each in known_tasks(suite.exercises(), map(PastAttempt.of, suite.training_trajectories()))
        }
        if len(given_away | known) > LEFT_OUT_MOST * len(held_out):
            raise Refusal(
                f"{len(given_away | known)} of the {len(held_out)} held-out tasks are given away by others: "
                "nearly the same words, and the same calls",
                code="tasks_too_similar",
                hint="the work is too similar for a test with unseen tasks: collect other work, or use another seed",
            )
        if not known:
            suite.left_out = len(given_away)
            return suite
        given_away |= known


def with_outcome_as_claim(attempt: VerifiedAttempt) -> Trajectory:
    """Return a trajectory that claims its verified outcome, so that a fresh memory can trust it."""
    claim = Claim(result=str(attempt.assessment.outcome), verified_by=attempt.verified_by)
    return dataclasses.replace(attempt.trajectory, claim=claim, id="")


REVIEWER = "rehearsal"


def learned_memory(
    trajectories: Iterable[Trajectory],
    *,
    config: Config | None = None,
    progress: Callable[[int, int], None] | None = None,
    store: Store | None = None,
) -> Tacit:
    """Return a fresh memory that learned from these attempts and trusts their outcomes; in `store`, if given.

    What waits for review is approved, so the measurement shows what learning finds, without a person's corrections.
    """
    memory = Tacit(store or open_store(":memory:"), config=config or Config())
    memory.capture(trajectories, trust_outcomes=True)
    memory.learn(progress=progress)
    for stored in memory.reviews.waiting():
        ticked = [each.key for each in memory.reviews.examine(stored.version.id).external_values]
        memory.review(stored.version.id, "approve", by=REVIEWER, content_hash=stored.version.hash, ticked=ticked)
    return memory
