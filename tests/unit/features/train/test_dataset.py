"""Datasets: the gate says why it refuses, in these very words; what passes is split by task, capped, mixed and hashed."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tacit.domain.errors import GateRefusal, Mistake
from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.trajectory import Role, Step, StepResult
from tacit.features.evaluate.conversation import ChatMessage
from tacit.features.evaluate.task_overlap import TaskProfile
from tacit.features.evaluate.verified_attempts import VerifiedAttempt
from tacit.features.train.data_gate import DataPolicy
from tacit.features.train.dataset import (
    HELD_OUT,
    MANIFEST,
    TRAIN,
    Dataset,
    build,
    cut_answers,
    draft,
    examined,
    refuse,
    unreadable,
)
from tacit.features.train.examples import Example, example_of, task_profile
from tests.raising import raises
from tests.unit.features.train.attempt_builders import WAYS, attempts, calls, solved_task

SMALL = DataPolicy(least_tasks=1, least_strategies=0)


@functools.cache
def built() -> Dataset:
    """A sound dataset of 120 tasks; frozen, so that many tests can share it."""
    return build(attempts(120))


def refusal(attempts: Sequence[VerifiedAttempt], **more: Any) -> dict[str, str]:
    """Rule → reason, as `build` refuses: it drafts and refuses so."""
    _, objections = draft(attempts, **more)
    with pytest.raises(GateRefusal) as refused:
        refuse(objections)
    for each in objections:
        assert each.reason in refused.value.message
        assert each.hint in refused.value.hint
    return {each.rule: each.reason for each in objections}


def numbers(text: str) -> list[int]:
    """The whole numbers in a text, in order."""
    return [int(found.replace(",", "")) for found in re.findall(r"\b\d{1,3}(?:,\d{3})+|\b\d+\b", text)]


# --- what is refused ------------------------------------------------------------------------------------------------


def test_thirty_one_tasks_are_too_few() -> None:
    reasons = refusal(attempts(31))
    assert list(reasons) == ["too_few_tasks"]
    assert numbers(reasons["too_few_tasks"])[:2] == [31, 100]


def test_many_attempts_at_few_tasks_are_few_tasks() -> None:
    repeated = [solved_task(n % 31, session=f"s{n}", key=f"task-{n % 31}") for n in range(200)]
    assert numbers(refusal(repeated)["too_few_tasks"])[0] == 31


def test_a_hundred_tasks_are_enough_and_what_would_be_refused_is_not_built() -> None:
    with raises(GateRefusal, "data_refused"):
        build(attempts(99))
    manifest = build(attempts(100)).manifest
    assert manifest.tasks + len(manifest.held_out_tasks) == 100
    assert manifest.dropped == {}


def test_one_strategy_for_every_task_is_too_uniform() -> None:
    same = [solved_task(n, steps=calls("get_order", "cancel_order", about=1000 + n)) for n in range(120)]
    reason = refusal(same)["too_uniform"]
    assert "1.0" in reason
    assert "get_order → cancel_order" in reason


def test_near_duplicates_count_once_and_many_of_them_are_refused() -> None:
    twins = [solved_task(n // 4, key=f"task-{n}", session=f"s{n}") for n in range(400)]
    reasons = refusal(twins)
    assert list(reasons) == ["near_duplicates"]
    assert numbers(reasons["near_duplicates"]) == [300, 400, 50]


def test_few_near_duplicates_are_left_out_and_reported() -> None:
    manifest = build([*attempts(12), solved_task(3, key="again", session="x")], policy=SMALL).manifest
    assert manifest.dropped == {"near_duplicate": 1}
    assert list(manifest.why) == ["near_duplicate"]


def test_a_split_that_holds_a_task_out_under_another_name_is_leaked() -> None:
    twin = solved_task(5, key="another-name", session="x")
    reasons = refusal([*attempts(120), twin], held_out=["another-name", "task-7"])
    assert list(reasons) == ["leaked_text"]
    assert "another-name" in reasons["leaked_text"]
    assert "task-5" in reasons["leaked_text"]


def test_a_dataset_that_trains_on_a_held_out_task_is_leaked() -> None:
    dataset = built()
    leaked = dataclasses.replace(dataset, train=(*dataset.train, dataset.held_out[0]))
    reasons = {each.rule: each.reason for each in examined(leaked)}
    task = dataset.held_out[0].task
    assert reasons["leaked_task"].endswith(f": {task}")


def test_a_dataset_is_held_against_the_tests_of_a_suite() -> None:
    dataset = built()
    known = task_profile(dataset.train[0])
    assert examined(dataset) == ()
    assert (
        examined(dataset, [TaskProfile("new", "Something quite different is asked for here, and never was before")])
        == ()
    )
    leaked = examined(dataset, [TaskProfile("exam-1", known.text, known.calls)])
    assert [each.rule for each in leaked] == ["leaked_text"]
    assert "exam-1" in leaked[0].reason
    assert known.key in leaked[0].reason


def test_states_that_were_not_reset_are_contaminated() -> None:
    many = attempts(120, state="fresh")
    used = solved_task(4, session="later", state="left by the attempt before")
    reasons = refusal([*many, used])
    assert list(reasons) == ["contaminated"]
    assert reasons["contaminated"].endswith(": task-4")


def test_one_state_for_all_attempts_at_a_task_is_no_contamination() -> None:
    many = [solved_task(n % 120, session=f"s{n}", state=f"state of {n % 120}") for n in range(240)]
    assert build(many).manifest.dropped == {}


def test_attempts_in_a_crowded_workspace_are_left_out_and_many_of_them_refused() -> None:
    crowded = attempts(120)
    assert build([*crowded, solved_task(130, crowded_by="t_1")]).manifest.dropped == {"contaminated": 1}
    reason = refusal([*crowded, *(solved_task(n, crowded_by="t_1") for n in range(130, 180))])["contaminated"]
    assert numbers(reason)[:2] == [50, 170]
    assert "t_1" in reason


def test_what_a_skill_from_held_out_tasks_alone_has_taught_is_left_out() -> None:
    many = attempts(120)
    hidden, shown = many[0].trajectory.id, many[1].trajectory.id
    taught = [solved_task(130, taught=((hidden,),)), solved_task(131, taught=((hidden, shown),))]
    manifest = build([*many, *taught], held_out=["task-0"]).manifest
    assert manifest.dropped == {"contaminated": 1}
    assert taught[1].trajectory.id in manifest.trajectory_ids


def test_replay_in_another_form_is_refused() -> None:
    old = Example(
        task="old", trajectory_id="t_old", messages=(ChatMessage("user", "How?"), ChatMessage("assistant", "So."))
    )
    reasons = refusal(attempts(120), replay=[old])
    assert list(reasons) == ["mismatched_form"]
    assert ": old: " in reasons["mismatched_form"]


def test_a_dataset_of_another_form_is_refused(tmp_path: Path) -> None:
    built().write(tmp_path)
    text_seen = json.loads((tmp_path / MANIFEST).read_text())
    (tmp_path / MANIFEST).write_text(json.dumps({**text_seen, "form_hash": "0123456789abcdef"}))
    objections = examined(Dataset.read(tmp_path))
    assert [each.rule for each in objections] == ["mismatched_form"]
    assert "0123456789abcdef" in objections[0].reason
    with raises(GateRefusal, "data_refused"):
        refuse(objections)


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([Step(index=1, role=Role.AGENT, tool="get_order", arguments={"id": ("a",)})], "call 1 (get_order)"),
        (calls("drop_table", about=1), "drop_table"),
        (calls("get_order", about=1, seen="x<|im_end|>y"), "<|im_end|>"),
    ],
)
def test_what_does_not_fit_the_form_is_left_out_and_much_of_it_refused(steps: list[Step], why: str) -> None:
    manifest = build([*attempts(12), solved_task(130, steps=steps)], policy=SMALL).manifest
    assert manifest.dropped == {"mismatched_form": 1}
    assert why in manifest.why["mismatched_form"]
    reason = refusal([*attempts(30), *(solved_task(n, steps=steps) for n in range(130, 142))])["mismatched_form"]
    assert numbers(reason)[:2] == [12, 42]


MARKS = (
    "<|im_start|> <|turn> <turn|> <｜User｜> <｜tool▁calls▁begin｜> <s> </s> <bos> <eos> <think> </think> <start_of_turn> "
    "[INST] [TOOL_CALLS] [TOOL_RESULTS] [/AVAILABLE_TOOLS] <<SYS>> <tool_call> </tool_call> </tool_result> </tool_error> "
    "<tool_response> <done/>"
).split()


@pytest.mark.parametrize("mark", MARKS)
def test_a_text_that_could_forge_a_turn_is_left_out(mark: str) -> None:
    text_seen = f"fine {mark} and on"
    forged = [
        solved_task(130, steps=calls("get_order", about=1, seen=text_seen)),
        solved_task(131, steps=calls("get_order", about=text_seen)),
        solved_task(132, text=text_seen),
    ]
    manifest = build([*attempts(20), *forged], policy=SMALL).manifest
    assert manifest.dropped == {"mismatched_form": 3}
    assert mark in manifest.why["mismatched_form"]


def test_code_and_markup_that_forge_nothing_stay() -> None:
    text_seen = "a |> f <| b; x <|> y; <span>s</span> <b>[1]</b> [inst] <https://example.org/tool_call> thinking"
    assert (
        build(
            [*attempts(20), solved_task(130, steps=calls("get_order", about=1, seen=text_seen))], policy=SMALL
        ).manifest.dropped
        == {}
    )


def test_earlier_examples_that_could_forge_a_turn_are_not_mixed_in() -> None:
    earlier = [
        example_of(solved_task(n, steps=calls(*WAYS[n % len(WAYS)], about=n, seen="ok</tool_result>")))
        for n in range(300, 340)
    ]
    assert build(attempts(120), replay=earlier).manifest.replayed == 0


def test_secrets_are_left_out_and_many_of_them_refused() -> None:
    def leaky(number: int) -> VerifiedAttempt:
        return solved_task(number, steps=calls("get_order", about=number, seen="AWS key AKIAQYLPMN5HHHFPZAM2 found"))

    manifest = build([*attempts(12), leaky(130)], policy=SMALL).manifest
    assert manifest.dropped == {"secret": 1}
    assert "AKIA" not in json.dumps(dict(manifest.why))
    reason = refusal([*attempts(30), *map(leaky, range(130, 142))])["secret"]
    assert numbers(reason)[:2] == [12, 42]


def test_outside_words_are_left_out_and_many_of_them_refused() -> None:
    slipped = [solved_task(n, role=Role.CONTEXT) for n in range(130, 180)]
    manifest = build([*attempts(12), slipped[0], solved_task(131, obeyed="it sends data away")], policy=SMALL).manifest
    assert manifest.dropped == {"external": 2}
    assert numbers(refusal([*attempts(30), *slipped])["external"])[:2] == [50, 80]


@pytest.mark.parametrize(
    "assessment",
    [
        Assessment(),
        Assessment(outcome=Outcome.SUCCESS, grade=Grade.SELF),
        Assessment(outcome=Outcome.SUCCESS, grade=Grade.HUMAN),
        Assessment(outcome=Outcome.FAILURE, grade=Grade.MACHINE, verifier="pytest"),
    ],
)
def test_what_no_machine_verified_is_refused(assessment: Assessment) -> None:
    doubtful = solved_task(130, assessment=assessment)
    reasons = refusal([*attempts(120), doubtful])
    assert list(reasons) == ["unverified"]
    assert reasons["unverified"].endswith(doubtful.trajectory.id)


def test_every_objection_is_reported_at_once() -> None:
    one = [solved_task(n, steps=calls("cancel_order", about=n), state=str(n), key=f"task-{n // 2}") for n in range(20)]
    assert set(refusal(one)) == {"contaminated", "too_few_tasks", "too_uniform"}


# --- what is left out -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attempt", "rule"),
    [
        (solved_task(130, steps=[]), "no_calls"),
        (solved_task(130, key=""), "no_task"),
        (solved_task(130, steps=calls("get_order", about=1, result=StepResult.FAILED)), "nothing_to_learn"),
        (solved_task(130, steps=calls("get_order", about="x" * 60_000)), "too_long"),
    ],
)
def test_what_teaches_nothing_is_left_out_and_counted(attempt: VerifiedAttempt, rule: str) -> None:
    assert build([*attempts(12), attempt], policy=SMALL).manifest.dropped == {rule: 1}


def test_too_few_tasks_says_why_others_were_left_out() -> None:
    word = Step(index=2, role=Role.USER, text="no, the other one")
    led = [
        solved_task(n, steps=[*calls("get_order", about=n), word, *calls("get_user", about=n)]) for n in range(40, 150)
    ]
    many = [*attempts(40), *led]
    reason = refusal(many)["too_few_tasks"]
    assert numbers(reason)[:3] == [40, 150, 100]
    assert draft(many)[0].manifest.why["spoken_to"] in reason


def long_attempt(number: int, tokens: int) -> VerifiedAttempt:
    return solved_task(number, steps=calls(*WAYS[number % len(WAYS)][:1], about=f"{number}-{'x' * 3 * tokens}"))


def test_where_more_than_a_fifth_is_too_long_nothing_is_trained_and_all_lengths_are_reported() -> None:
    long = [long_attempt(number, 16_500 + 20 * number) for number in range(100, 150)]
    dataset, objections = draft([*attempts(100), *long])
    (result,) = [each for each in objections if each.rule == "too_long"]
    assert numbers(result.reason)[:3] == [50, 150, 16_384]
    assert dataset.manifest.dropped == {"too_long": 50}
    shortest, longest, _ = numbers(dataset.manifest.why["too_long"])
    assert 18_000 < shortest < 19_000 <= longest < 20_000
    few, more = ([each.rule for each in draft([*attempts(100), *long[:n]])[1]] for n in (25, 26))
    assert ("too_long" in few, "too_long" in more) == (False, True)


def test_what_was_left_out_for_its_length_is_no_reason_to_do_more_of_the_same() -> None:
    long = [long_attempt(number, 17_000) for number in range(75, 150)]
    objections = {each.rule: each.hint for each in draft([*attempts(75), *long])[1]}
    assert numbers(objections["too_few_tasks"]) == [25]


def test_a_base_model_that_reads_too_little_is_reported_before_it_is_trained() -> None:
    long = [long_attempt(number, 9_000) for number in range(100, 150)]
    dataset, objections = draft([*attempts(100), *long])
    assert objections == ()
    assert unreadable(dataset, 0) == unreadable(dataset, 32_768) == ()
    (result,) = unreadable(dataset, 8_192)
    assert result.rule == "too_long"
    assert 8_192 in numbers(result.reason)
    assert 16_384 in numbers(result.hint)


def test_what_the_gate_left_out_for_its_length_counts_when_a_base_model_reads_less() -> None:
    gone = [long_attempt(number, 17_000) for number in range(100, 120)]
    kept = [long_attempt(number, 9_000) for number in range(120, 135)]
    dataset, objections = draft([*attempts(100), *gone, *kept])
    assert objections == ()
    assert len([each for each in dataset.train if len(each.messages[2].content) > 20_000]) < 0.2 * len(dataset.train)
    assert [each.rule for each in unreadable(dataset, 8_192)] == ["too_long"]
    assert dataset.manifest.lost_to_length(0, len(dataset.train)) == pytest.approx(20 / 135)


def test_answers_that_the_form_cuts_are_counted() -> None:
    short, exact, long = ("seen " * 10).strip(), "x" * 400, "x" * 401
    many = [
        solved_task(number, steps=calls("get_order", about=number, seen=seen))
        for number, seen in enumerate([short, exact, long, f"{short} …"])
    ]
    assert cut_answers(build(many, policy=SMALL, held_out=0.0).train) == (1, 4)


def test_a_manifest_of_an_earlier_version_is_read_with_the_limit_that_it_was_built_by(tmp_path: Path) -> None:
    built().write(tmp_path)
    text_seen = json.loads((tmp_path / MANIFEST).read_text())
    text_seen["policy"]["longest_tokens"] = 8_192
    (tmp_path / MANIFEST).write_text(json.dumps(text_seen))
    assert Dataset.read(tmp_path).manifest.policy.longest_tokens == 8_192


def test_an_attempt_that_a_person_led_is_left_out() -> None:
    word = Step(index=2, role=Role.USER, text="no, the other one")
    first, last = calls("get_order", about=1)[0], calls("cancel_order", about=2)[0]
    led, thanked = solved_task(130, steps=[first, word, last]), solved_task(131, steps=[first, last, word])
    assert build([*attempts(12), led, thanked], policy=SMALL).manifest.dropped == {"spoken_to": 1}


def test_of_one_task_the_cleanest_examples_stay() -> None:
    failed = [*calls("get_order", about=1, result=StepResult.FAILED), *calls("cancel_order", about=1003)]
    clean = [solved_task(3, session=f"s{n}") for n in range(2)]
    dirty = solved_task(3, steps=failed, session="first")
    dataset = build([dirty, *clean], policy=SMALL, held_out=0.0)
    assert [each.trajectory_id for each in dataset.train] == [each.trajectory.id for each in clean]
    assert dataset.manifest.dropped == {"over_cap": 1}


# --- what is built --------------------------------------------------------------------------------------------------


def test_no_task_stands_on_both_sides_and_the_share_is_about_right() -> None:
    dataset = build(attempts(300), held_out=0.2)
    train, held_out = {each.task for each in dataset.train}, {each.task for each in dataset.held_out}
    assert not train & held_out
    assert 40 <= len(held_out) <= 80


def test_a_task_that_was_held_out_stays_held_out_when_more_is_gathered() -> None:
    before, after = built().manifest, build(attempts(240)).manifest
    assert set(before.held_out_tasks) <= set(after.held_out_tasks)


def test_another_seed_holds_out_other_tasks() -> None:
    assert build(attempts(120), seed=1).manifest.held_out_tasks != built().manifest.held_out_tasks


def test_what_gives_a_held_out_task_away_is_held_out_with_it() -> None:
    def pair(number: int) -> list[VerifiedAttempt]:
        own = calls("cancel_order", about=f"{number}-own")
        text = (
            f"Customer {number} from town {number * 31} asks that parcel {number * 17} and bill {number} be settled now"
        )
        both = [*own, *calls("return_items", about=f"{number}-more")]
        return [
            solved_task(number, steps=own, text=text, key=f"one-{number}"),
            solved_task(number, steps=both, text=f"{text}, twice", key=f"two-{number}"),
        ]

    dataset = build([each for number in range(60) for each in pair(number)], policy=SMALL)
    held_out = {task.split("-")[1] for task in dataset.manifest.held_out_tasks}
    assert held_out
    assert not held_out & {each.task.split("-")[1] for each in dataset.train}


def test_replay_is_the_agreed_share_and_never_what_is_held_out() -> None:
    earlier = [example_of(each) for each in attempts(300)]
    dataset = build(attempts(120), replay=earlier)
    replayed = [each for each in dataset.train if each.replay]
    assert len(replayed) == dataset.manifest.replayed
    assert len(replayed) / len(dataset.train) == pytest.approx(0.15, abs=0.01)
    assert not {each.task for each in replayed} & set(dataset.manifest.held_out_tasks)
    assert not {each.trajectory_id for each in replayed} & {each.trajectory.id for each in attempts(120)}


def test_replay_that_gives_a_held_out_task_away_is_not_mixed_in() -> None:
    twins = [dataclasses.replace(example_of(solved_task(n, session="old")), task=f"old-{n}") for n in range(120)]
    dataset = build(attempts(120), replay=twins)
    held_out = {task.removeprefix("task-") for task in dataset.manifest.held_out_tasks}
    assert not held_out & {each.task.removeprefix("old-") for each in dataset.train if each.replay}


def test_the_manifest_says_what_it_is_made_of(tmp_path: Path) -> None:
    dataset = build(attempts(120), seed=3)
    dataset.write(tmp_path)
    manifest = dataset.manifest
    assert Dataset.read(tmp_path) == dataset
    assert manifest == build(attempts(120), seed=3).manifest
    assert manifest.hash != build(attempts(121), seed=3).manifest.hash
    assert set(manifest.files) == {TRAIN, HELD_OUT}
    assert set(manifest.trajectory_ids) == {each.trajectory.id for each in attempts(120)}
    assert manifest.figures["strategies"] == pytest.approx(len(WAYS), abs=0.3)
    assert manifest.figures["seen_values"] == 1.0


def test_an_aid_stands_before_the_task_in_every_example() -> None:
    dataset = build(attempts(120), aid=lambda attempt: f"About {attempt.task_key}.")
    assert all(each.messages[1].content.startswith(f"About {each.task}.\n\nTask:\n") for each in dataset.train)


@pytest.mark.parametrize("name", [TRAIN, HELD_OUT])
def test_a_file_that_was_changed_is_not_read(tmp_path: Path, name: str) -> None:
    built().write(tmp_path)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes().replace(b"order", b"0rder", 1))
    with raises(Mistake, "dataset_damaged"):
        Dataset.read(tmp_path)


def test_a_folder_without_a_dataset_says_so(tmp_path: Path) -> None:
    with raises(Mistake, "no_dataset"):
        Dataset.read(tmp_path)
    for text in ("[]", "[" * 100_000):
        (tmp_path / MANIFEST).write_text(text)
        with raises(Mistake, "dataset_damaged"):
            Dataset.read(tmp_path)


@pytest.mark.parametrize("text", ["", "\n", '{"tasks": '])
def test_a_manifest_that_was_not_written_to_its_end_is_refused_and_tells_how_to_begin_again(
    tmp_path: Path, text: str
) -> None:
    built().write(tmp_path)
    (tmp_path / MANIFEST).write_text(text)
    with raises(Mistake, "dataset_damaged") as mistake:
        Dataset.read(tmp_path)
    assert "--restart" in mistake.value.hint


def test_a_dataset_that_cannot_be_written_leaves_no_manifest(tmp_path: Path) -> None:
    (tmp_path / HELD_OUT).mkdir()
    with pytest.raises(IsADirectoryError):
        built().write(tmp_path)
    assert not (tmp_path / MANIFEST).exists()
    with raises(Mistake, "no_dataset"):
        Dataset.read(tmp_path)


def test_a_share_or_policy_that_makes_no_sense_is_named() -> None:
    with raises(Mistake, "bad_share"):
        build(attempts(3), held_out=1.5)
    with raises(Mistake, "bad_data_policy"):
        DataPolicy(replay_share=1, per_task=0)
