"""The user's own work as a suite: parted by task as datasets part it, and measured with a memory that knows only the rest."""

from __future__ import annotations

import pytest

from tacit.domain.errors import Mistake, Refusal
from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.trajectory import Role, Step, StepResult, Task, Trajectory
from tacit.features.evaluate.suites.own import (
    OwnSuite,
    held_out_tasks,
    learned_memory,
    own_suite,
    with_outcome_as_claim,
    without_given_away_tasks,
)
from tacit.features.evaluate.suites.public_tasks import solved_attempt
from tacit.features.evaluate.tool import Call, Tool, Turn
from tacit.features.evaluate.verified_attempts import VerifiedAttempt
from tacit.features.train.data_gate import DataPolicy
from tacit.features.train.dataset import build
from tests.raising import raises
from tests.unit.making import VERIFIED

PLACES = "cellar attic garden kitchen garage pantry balcony hallway study porch".split()


def attempt(place: str, *, assessment: Assessment = VERIFIED, again: str = "") -> VerifiedAttempt:
    calls = [Call(tool="open_door", arguments={"room": place}), Call(tool="switch_light", arguments={"room": place})]
    trajectory = solved_attempt(f"{place}{again}", f"light up the {place} for the evening {again}", calls)
    tools = (Tool(name="open_door", required=("room",)), Tool(name="switch_light", required=("room",)))
    return VerifiedAttempt(trajectory=trajectory, task_key=place, tools=tools, assessment=assessment)


WORK = [attempt(place) for place in PLACES]


def test_held_out_tasks_are_asked_and_the_others_may_be_learned_from() -> None:
    made = OwnSuite([*WORK, attempt("attic", again="again")], held_out={"attic", "study"})
    assert {each.group for each in made.exercises()} == {"attic", "study"}
    assert (
        len({each.key for each in made.exercises()}) == len(made.exercises()) == 9
    )  # three attempts, three questions each
    assert made.exercises()[0].tools == WORK[0].tools
    learned = made.training_trajectories()
    assert {each.session_id for each in learned} == set(PLACES) - {"attic", "study"}


def test_what_nobody_vouches_for_is_neither_asked_nor_learned_from() -> None:
    claimed = Assessment(outcome=Outcome.SUCCESS, grade=Grade.SELF)
    failed = Assessment(outcome=Outcome.FAILURE, grade=Grade.MACHINE)
    work = [attempt("attic"), attempt("attic", assessment=claimed, again="x"), attempt("porch", assessment=failed)]
    made = OwnSuite(work, held_out={"attic"})
    assert {each.key.split("/")[0] for each in made.exercises()} == {work[0].trajectory.id}
    assert made.training_trajectories() == []


def test_nothing_held_out_is_reported() -> None:
    with raises(Mistake, "nothing_held_out"):
        OwnSuite(WORK, held_out={"moon"})


@pytest.mark.parametrize("seed", [0, 1, 7])
@pytest.mark.parametrize("share", [0.01, 0.2, 0.5])
def test_tasks_are_held_out_as_a_dataset_of_the_same_seed_does(share: float, seed: int) -> None:
    open_gate = DataPolicy(least_tasks=1, least_strategies=1.0, most_duplicates=0.99)
    dataset = build(WORK, policy=open_gate, held_out=share, seed=seed)
    kept = {example.task for example in (*dataset.train, *dataset.held_out)}
    assert set(dataset.manifest.held_out_tasks) == held_out_tasks(PLACES, share=share, seed=seed) & kept
    assert kept - held_out_tasks(PLACES, share=share, seed=seed) == {example.task for example in dataset.train}


def test_the_suite_of_a_share_holds_out_those_tasks() -> None:
    made = own_suite(WORK, share=0.5, seed=3)
    assert {each.group for each in made.exercises()} == held_out_tasks(PLACES, share=0.5, seed=3)


def lit(place: str, *, key: str = "", seen: str = "dark", words: str = "") -> VerifiedAttempt:
    """A room that was looked at before it was lit."""
    text = words or f"light up the {place} for the evening when the guests come in through its door"
    turns = [Turn(call=Call(tool="get_state", arguments={}), observation=seen)]
    turns += [Turn(call=Call(tool="switch_light", arguments={"room": place}), observation="ok")]
    steps = tuple(
        Step(
            index=at,
            role=Role.AGENT,
            tool=turn.call.tool,
            arguments=dict(turn.call.arguments),
            observation=turn.observation,
            result=StepResult.OK,
        )
        for at, turn in enumerate(turns, 1)
    )
    trajectory = Trajectory(task=Task(text=text), steps=(Step(index=0, role=Role.USER, text=text), *steps))
    return VerifiedAttempt(trajectory=trajectory, task_key=key or place, tools=(), assessment=VERIFIED)


ROOMS = [lit(place) for place in PLACES]


def test_a_task_that_another_one_gives_away_is_neither_asked_nor_learned_from() -> None:
    made = without_given_away_tasks([*ROOMS, lit("attic", key="told again")], held_out={"attic", *PLACES[4:]})
    assert {each.group for each in made.exercises()} == set(PLACES[4:])
    assert made.left_out == 1
    texts = [each.task.text for each in made.training_trajectories()]
    assert sum("attic" in text for text in texts) == 1  # its twin; the attempt that would have been asked is not there


def test_the_same_words_and_calls_in_another_state_give_nothing_away() -> None:
    made = without_given_away_tasks(
        [*ROOMS, lit("attic", key="in the light", seen="half lit")], held_out={"attic", *PLACES[4:]}
    )
    assert "attic" in {each.group for each in made.exercises()}
    assert made.left_out == 0


def test_a_suite_of_which_much_is_given_away_is_no_sample_and_is_refused() -> None:
    twins = [lit(place, key=f"{place} again") for place in PLACES[:3]]
    with raises(Refusal, "tasks_too_similar"):
        without_given_away_tasks([*ROOMS, *twins], held_out=set(PLACES[:5]))


def test_a_vouched_attempt_says_what_was_found_of_it() -> None:
    text_seen = with_outcome_as_claim(WORK[0])
    assert text_seen.claim is not None
    assert (text_seen.claim.result, text_seen.claim.verified_by) == ("success", "pytest -q")
    assert text_seen.id == text_seen.content_id()


def test_a_rehearsed_memory_knows_what_it_was_given_and_its_skills_may_be_recalled() -> None:
    made = OwnSuite(WORK, held_out={"attic"})
    with learned_memory(made.training_trajectories()) as memory:
        assert {each.session_id for each in memory.context.store.episodes()} == set(PLACES) - {"attic"}
        assert all(each.assessment.verified_success for each in memory.context.store.episodes())
        assert memory.reviews.waiting() == []
        assert memory.skills(statuses=RECALLABLE)
