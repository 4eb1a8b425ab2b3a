"""Runs a suite: every exercise under every arm, recorded on disk.

Each attempt has a fresh world that begins in the same state under every arm. Before the first attempt it is checked whether
the memory knows the suite's tasks and whether an aid contains the answer. An interrupted run continues where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tacit.domain.errors import Mistake, Refusal
from tacit.domain.identity import digest
from tacit.features.evaluate.actors.stepping import retries
from tacit.features.evaluate.aids import FROM_MEMORY, Aids
from tacit.features.evaluate.conversation import form_hash
from tacit.features.evaluate.leakage import answer_in, known_tasks, shared_values
from tacit.features.evaluate.run_record import SEEDS_MAX, RunHeader, RunRecord, RunResult, key_of
from tacit.features.evaluate.suite import Actor, Aid, AidKind, Arm, AttemptScore, Exercise, InFiles, ResultRow, Suite
from tacit.features.evaluate.transcript import TranscriptWriter, WatchedWorld

BATCH = 16
"""Worlds that an agent gets at once by default; their results are on disk before the next ones begin."""
EXCLUDED_SHARE_MAX = 0.2
"""If aids contain more than this share of the answers, the run measures nothing and is refused."""
_NAMED = 5
Progress = Callable[[int, int], None]
Given = Mapping[tuple[str, str], Aid]
"""Arm and exercise → the aid."""


def run_suite(
    suite: Suite,
    arms: Sequence[Arm],
    actor: Actor,
    aids: Aids,
    *,
    folder: Path,
    seeds: int = 1,
    batch: int = 0,
    progress: Progress | None = None,
) -> RunResult:
    """Attempt every exercise under every arm, once per seed, and record the results in a folder.

    An agent gets `batch` worlds at once; by default as many as it wants. `progress` is called with the number of recorded
    attempts, and of how many.

    Raises `Mistake` if the agent cannot act under an arm, and `Refusal` if the figures would mean nothing: the memory knows
    the tasks, a state was not reset, or the folder holds another run.
    """
    exercises = list(suite.exercises())
    _check(suite, exercises, arms, actor, aids, seeds=seeds)
    _check_memory(suite, exercises, arms, aids)
    given = {
        (arm.name, exercise.key): sized.aid(arm.aid, exercise)
        for arm in arms
        for sized in [aids.sized(k=arm.k, budget_tokens=arm.budget_tokens)]
        for exercise in exercises
    }
    header = RunHeader(
        suite=suite.name,
        suite_hash=digest([suite.name, exercises]),
        arms=tuple(arms),
        agent=actor.name,
        agent_files=_files(actor),
        memory=aids.contents() if _uses_memory(arms) else "",
        form_hash=form_hash(),
        seeds=seeds,
        groups={exercise.key: exercise.group for exercise in exercises},
        states={exercise.key: _state(_begun(suite, exercise)) for exercise in exercises},
        set_aside=_excluded_exercises(exercises, given),
    )
    with RunRecord(folder, header) as record, TranscriptWriter(folder, exercises, reset=not record.rows) as words:
        attempts = _Attempts(suite, actor, aids, given, record, words)
        attempts.make(exercises, batch=batch or getattr(actor, "at_once", BATCH), progress=progress)
        return record.result()


class _Attempts:
    """The attempts of a run that are still to be made."""

    def __init__(
        self, suite: Suite, actor: Actor, aids: Aids, given: Given, record: RunRecord, words: TranscriptWriter
    ) -> None:
        self._suite = suite
        self._actor = actor
        self._aids = aids
        self._given = given
        self._record = record
        self._words = words
        self._head = aids.head()

    def make(self, exercises: Sequence[Exercise], *, batch: int, progress: Progress | None) -> None:
        header, done = self._record.header, self._record.done
        total = self._record.result().wanted
        for seed in range(header.seeds):
            for arm in header.arms:
                waiting = [
                    exercise
                    for exercise in exercises
                    if exercise.key not in header.set_aside and (arm.name, seed, exercise.key) not in done
                ]
                for start in range(0, len(waiting), batch):
                    made = self._attempted(waiting[start : start + batch], arm, seed)
                    self._check_agent()
                    self._words.add((key_of(row), world.did) for world, row in made)
                    self._record.append([row for _, row in made])
                    self._check_head()
                    if progress:
                        progress(len(self._record.rows), total)

    def _attempted(self, exercises: Sequence[Exercise], arm: Arm, seed: int) -> list[tuple[WatchedWorld, ResultRow]]:
        worlds = [self._fresh(exercise, arm) for exercise in exercises]
        aids = [self._given[arm.name, exercise.key] for exercise in exercises]
        spent = self._actor.act(worlds, aids, adapter=arm.adapter, seed=seed)
        made = []
        for place, (world, exercise, aid) in enumerate(zip(worlds, exercises, aids, strict=True)):
            note = _plain(spent.notes[place]) if spent.notes else ""
            row = ResultRow(
                suite=self._suite.name,
                arm=arm.name,
                seed=seed,
                exercise=exercise.key,
                group=exercise.group,
                score=_counted(world, exercise, broken_off=bool(note)),
                context_tokens=spent.context_tokens[place] if spent.context_tokens else 0,
                output_tokens=spent.output_tokens[place] if spent.output_tokens else 0,
                seconds=round(spent.seconds / max(1, len(spent.notes)), 4),
                aid_sources=aid.sources,
                note=note,
            )
            made.append((world, row))
        return made

    def _fresh(self, exercise: Exercise, arm: Arm) -> WatchedWorld:
        world = _begun(self._suite, exercise, f" under arm {arm.name!r}")
        if _state(world) != self._record.header.states[exercise.key]:
            raise Refusal(
                f"exercise {exercise.key!r} begins in another state under arm {arm.name!r}: an earlier attempt left changes",
                code="state_not_reset",
                hint="the suite must make a fresh world for every attempt; recorded attempts are kept",
            )
        return world

    def _check_agent(self) -> None:
        """Refuse attempts during which the agent's files changed; they are not recorded."""
        now, before = _files(self._actor), self._record.header.agent_files
        if changed := sorted(name for name in {*now, *before} if now.get(name) != before.get(name)):
            raise Refusal(
                f"files of the agent changed during the run: {_some(changed)}",
                code="agent_changed",
                hint="repeat the run in another folder (--out); a file that the agent writes is not "
                "watched if it follows an option (--log FILE); recorded attempts are kept",
            )

    def _check_head(self) -> None:
        header = self._record.header
        if _uses_memory(header.arms) and self._aids.head() != self._head:
            message = "the memory changed during the run: later arms would know more than earlier ones"
            hint = "repeat it in another folder while nothing else uses this store, or on a copy (`tacit store backup`)"
            raise Refusal(message, code="memory_changed", hint=hint)


def _counted(world: WatchedWorld, exercise: Exercise, *, broken_off: bool) -> AttemptScore:
    """Return the world's score; counts that it lacks are taken from its turns. Being stopped is not abstaining."""
    score = world.score()
    own = world.turns[len(exercise.turns) :]
    return replace(
        score,
        steps=score.steps or len(own),
        retries=score.retries or retries(own),
        abstained=score.abstained and not broken_off,
        detail=_plain(score.detail),
    )


def _begun(suite: Suite, exercise: Exercise, under: str = "") -> WatchedWorld:
    name = f"exercise {exercise.key!r} of suite {suite.name}{under}"
    with WatchedWorld.errors_named(name):
        return WatchedWorld(suite.begin(exercise), name)


def _state(world: WatchedWorld) -> str:
    return digest(world.state())[-16:]


def _excluded_exercises(exercises: Sequence[Exercise], given: Given) -> dict[str, str]:
    """Return the exercises whose answer an aid contains; they are excluded in every arm."""
    aside: dict[str, str] = {}
    arms_that_leak: dict[str, None] = {}  # the arms whose aids contain an answer, in their order
    by_key, shared = {exercise.key: exercise for exercise in exercises}, shared_values(exercises)
    for (arm, key), aid in given.items():
        if call := answer_in(aid, by_key[key], shared=shared):
            arms_that_leak.setdefault(arm)
            source = f" (from {aid.sources[0]})" if aid.sources else ""
            aside.setdefault(key, f"the aid of arm {arm}{source} holds the very call of {call.tool} that is asked for")
    if len(aside) > EXCLUDED_SHARE_MAX * len(exercises):
        arms = list(dict.fromkeys(arm for arm, _ in given))
        others = ",".join(arm for arm in arms if arm not in arms_that_leak)
        leave = f"leave {', '.join(arms_that_leak)} out (--arms {others}), or " if others else ""
        raise Refusal(
            f"aids contain {len(aside)} of {len(exercises)} answers; for example, {next(iter(aside.values()))}",
            code="answers_given_away",
            hint=f"{leave}ask more tasks (a larger --limit, or none): what the answers of several tasks share gives none away",
        )
    return aside


# --- before anything is attempted ---------------------------------------------------------------------------------------


def _check(
    suite: Suite, exercises: Sequence[Exercise], arms: Sequence[Arm], actor: Actor, aids: Aids, *, seeds: int
) -> None:
    """Raise one error with everything that makes the run impossible."""
    problems = [f"arm {arm.name}: {why}" for arm in arms if (why := actor.objection(arm))]
    if aids.memory is None:
        problems += [f"arm {arm.name}: there is no memory" for arm in arms if arm.aid in FROM_MEMORY]
    if any(arm.aid is AidKind.ORACLE for arm in arms) and not any(exercise.answer for exercise in exercises):
        problems.append(f"arm oracle: nothing in suite {suite.name} has a right answer")
    if not arms:
        problems.append("there is no arm")
    if not exercises:
        problems.append(f"suite {suite.name} has no exercise")
    if seeds < 1:
        problems.append("at least one seed is needed")
    if seeds > SEEDS_MAX:
        problems.append(f"more than {SEEDS_MAX:,} seeds are no run")
    for what, names in (("arm", [arm.name for arm in arms]), ("exercise", [each.key for each in exercises])):
        twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
        if twice:
            problems.append(f"{what} {_some(twice)} is there twice")
    if problems:
        hint = "leave those arms out (--arms)"
        raise Mistake(f"agent {actor.name!r} cannot run this: {'; '.join(problems)}", code="cannot_run", hint=hint)


def _check_memory(suite: Suite, exercises: Sequence[Exercise], arms: Sequence[Arm], aids: Aids) -> None:
    """Refuse a memory that holds attempts at the tasks of the suite."""
    if aids.memory is None or not _uses_memory(arms):
        return
    known = known_tasks(exercises, aids.past())
    if known:
        labels = _some([f"{each.group} ({each.trajectory_id}: {each.reason})" for each in known])
        groups = len({exercise.group for exercise in exercises})
        message = f"the memory holds attempts at {len(known)} of the {groups} tasks of suite {suite.name}: {labels}"
        hint = "measure with a memory that learned from other tasks (`tacit learn … --store PATH`)"
        raise Refusal(message, code="tasks_known", hint=hint)


def _files(actor: Actor) -> dict[str, str]:
    return dict(actor.files()) if isinstance(actor, InFiles) else {}


def _uses_memory(arms: Sequence[Arm]) -> bool:
    return any(arm.aid in FROM_MEMORY for arm in arms)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _plain(text: str) -> str:
    """Return text that can be encoded as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")
