from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tacit.domain.errors import InvalidTrajectory
from tacit.domain.trajectory import Claim, Role, StepResult, Trajectory, Usage
from tacit.ingest.atif import AtifReader
from tacit.ingest.sources import read
from tests.raising import raises


def document(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, start=1)]
    return {"schema_version": "ATIF-v1.8", "agent": {"name": "helpdesk"}, "steps": numbered, **more}


def asked(text: str, **more: Any) -> dict[str, Any]:
    return {"source": "user", "message": text, **more}


def called(*names: str, results: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    calls = [
        {"tool_call_id": f"c{number}", "function_name": name, "arguments": {"n": number}}
        for number, name in enumerate(names, start=1)
    ]
    observation = {} if results is None else {"observation": {"results": results}}
    return {"source": "agent", "message": "", "tool_calls": calls, **observation, **more}


def only(source: Any) -> Trajectory:
    (trajectory,) = read(source)
    return trajectory


class TestSteps:
    def test_sources_become_roles(self) -> None:
        steps = ({"source": "system", "message": "Be kind."}, asked("Help me"), {"source": "agent", "message": "Sure"})
        trajectory = only(document(*steps))
        assert [step.role for step in trajectory.steps] == [Role.SYSTEM, Role.USER, Role.AGENT]
        assert [step.text for step in trajectory.steps] == ["Be kind.", "Help me", "Sure"]
        assert [step.index for step in trajectory.steps] == [0, 1, 2]

    def test_each_tool_call_is_a_step_and_the_message_stands_with_the_first(self) -> None:
        trajectory = only(document(asked("go"), {**called("look", "take"), "message": "Two things."}))
        assert [(step.tool, step.text) for step in trajectory.actions] == [("look", "Two things."), ("take", "")]
        assert [step.arguments for step in trajectory.actions] == [{"n": 1}, {"n": 2}]

    def test_results_are_matched_by_call_id_whatever_their_order(self) -> None:
        results = [{"source_call_id": "c2", "content": "taken"}, {"source_call_id": "c1", "content": "seen"}]
        trajectory = only(document(asked("go"), called("look", "take", results=results)))
        assert [step.observation for step in trajectory.actions] == ["seen", "taken"]

    def test_results_without_a_call_id_are_matched_in_order(self) -> None:
        results = [{"content": "seen"}, {"content": "taken"}]
        trajectory = only(document(asked("go"), called("look", "take", results=results)))
        assert [step.observation for step in trajectory.actions] == ["seen", "taken"]

    def test_results_with_an_unknown_call_id_go_to_the_calls_left_over(self) -> None:
        results = [{"source_call_id": "c1", "content": "seen"}, {"source_call_id": "?", "content": "taken"}]
        trajectory = only(document(asked("go"), called("look", "take", results=results)))
        assert [step.observation for step in trajectory.actions] == ["seen", "taken"]

    def test_more_results_than_calls_stay_with_the_last_call(self) -> None:
        results = [{"content": "one"}, {"content": "two"}, {"content": "three"}]
        trajectory = only(document(asked("go"), called("look", "take", results=results)))
        assert [step.observation for step in trajectory.actions] == ["one", "two\nthree"]

    def test_an_observation_without_a_call_stays_external_to_the_speaker(self) -> None:
        step = {"source": "system", "message": "Restarted.", "observation": {"results": [{"content": "door opens"}]}}
        (_, restarted) = only(document(asked("go"), step)).steps
        assert (restarted.text, restarted.observation, restarted.is_action) == ("Restarted.", "door opens", False)

    def test_pictures_and_sounds_become_a_short_note(self) -> None:
        parts = [
            {"type": "text", "text": "See"},
            {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}},
            {"type": "audio"},
        ]
        assert only(document(asked("x", message=parts))).steps[0].text == "See\n[image]\n[audio]"

    def test_arguments_left_as_json_text_are_opened(self) -> None:
        step = called("run")
        step["tool_calls"][0]["arguments"] = '{"command": "ls"}'
        assert only(document(asked("go"), step)).actions[0].arguments == {"command": "ls"}

    def test_arguments_that_are_plain_text_are_one_argument(self) -> None:
        step = called("run")
        step["tool_calls"][0]["arguments"] = "ls -l"
        assert only(document(asked("go"), step)).actions[0].arguments == {"input": "ls -l"}

    def test_gaps_in_step_ids_and_unknown_keys_do_not_matter(self) -> None:
        sent = document(
            asked("go", step_id=7, novelty={"deep": [1]}), {"source": "agent", "message": "ok", "step_id": 70}
        )
        assert len(only(sent | {"novelty": True}).steps) == 2

    def test_times_are_read_as_utc(self) -> None:
        steps = (asked("a", timestamp="2026-03-01T12:00:00+02:00"), asked("b", timestamp="2026-03-01T12:00:00Z"))
        trajectory = only(
            document(*steps, asked("c", timestamp="yesterday"), asked("d", timestamp="0001-01-01T00:00:00+14:00"))
        )
        assert [step.at for step in trajectory.steps] == [
            datetime(2026, 3, 1, 10, tzinfo=UTC),
            datetime(2026, 3, 1, 12, tzinfo=UTC),
            None,
            None,
        ]


class TestResults:
    @pytest.mark.parametrize(
        "mark",
        [
            {"extra": {"is_error": True}},
            {"extra": {"tool_result_is_error": True}},
            {"extra": {"tool_result_metadata": {"is_error": True, "raw_tool_result": {}}}},
            {"content": "boom\n\n[error] tool reported failure"},
        ],
    )
    def test_a_marked_result_is_a_failure(self, mark: dict[str, Any]) -> None:
        results = [{"source_call_id": "c1", "content": "boom", **mark}]
        assert only(document(asked("go"), called("look", results=results))).actions[0].result is StepResult.FAILED

    def test_a_mark_on_the_step_counts_when_it_has_one_call(self) -> None:
        extra = {"tool_result_metadata": {"is_error": True}}
        alone = called("look", results=[{"content": "boom"}], extra=extra)
        several = called("look", "take", results=[{"content": "a"}, {"content": "b"}], extra=extra)
        actions = only(document(asked("go"), alone, several)).actions
        assert [step.result for step in actions] == [StepResult.FAILED, StepResult.OK, StepResult.OK]

    def test_text_that_only_quotes_the_failure_note_is_no_failure(self) -> None:
        results = [{"content": "grep: found '[error] tool reported failure' in notes.md"}]
        assert only(document(asked("go"), called("grep", results=results))).actions[0].result is StepResult.OK

    def test_a_result_without_a_mark_is_ok_and_none_at_all_is_unknown(self) -> None:
        actions = only(document(asked("go"), called("look", results=[{"content": "fine"}]), called("take"))).actions
        assert [step.result for step in actions] == [StepResult.OK, StepResult.UNKNOWN]

    def test_exit_codes_come_only_from_the_structured_field(self) -> None:
        told = {"content": "Exit code 3", "extra": {"exit_code": 4, "is_error": True}}
        untold = {"content": "Exit code 3", "extra": {"exit_code": "4"}}
        actions = only(document(asked("go"), called("sh", results=[told]), called("sh", results=[untold]))).actions
        assert [step.exit_code for step in actions] == [4, None]

    def test_an_exit_code_decides_where_no_mark_does(self) -> None:
        ends = [{"exit_code": 1}, {"exit_code": 0}, {"exit_code": 1, "is_error": False}]
        calls = [called("sh", results=[{"content": "x", "extra": extra}]) for extra in ends]
        actions = only(document(asked("go"), *calls)).actions
        assert [step.result for step in actions] == [StepResult.FAILED, StepResult.OK, StepResult.OK]

    def test_extras_of_another_form_are_passed_over(self) -> None:
        results = [{"content": "fine", "extra": ["is_error"]}]
        assert only(document(asked("go"), called("look", results=results))).actions[0].result is StepResult.OK


class TestTrajectory:
    def test_the_task_is_the_first_user_message(self) -> None:
        trajectory = only(
            document({"source": "system", "message": "Rules"}, asked(" Fix the door \n"), asked("And hurry"))
        )
        assert trajectory.task.text == "Fix the door"

    def test_copied_context_is_neither_the_task_nor_an_action(self) -> None:
        copied = {**called("look", results=[{"content": "old"}]), "message": "before", "is_copied_context": True}
        trajectory = only(document(asked("old task", is_copied_context=True), copied, asked("new task")))
        assert trajectory.task.text == "new task"
        assert trajectory.actions == ()
        assert [step.role for step in trajectory.steps] == [Role.CONTEXT, Role.CONTEXT, Role.USER]

    def test_a_continuation_without_a_new_prompt_keeps_the_copied_task(self) -> None:
        trajectory = only(document(asked("long task", is_copied_context=True), called("look")))
        assert trajectory.task.text == "long task"

    def test_the_claim_is_kept_and_the_label_is_not_read(self) -> None:
        extra = {"result": "failure", "score": 0, "verified_by": "environment", "label": {"kind": "SECRET-LABEL"}}
        trajectory = only(document(asked("go"), extra=extra))
        assert trajectory.claim == Claim(result="failure", score=0.0, verified_by="environment")
        assert "SECRET-LABEL" not in repr(trajectory)

    @pytest.mark.parametrize("extra", [None, {}, {"group": "a"}, ["result"], {"result": 3, "score": "high"}])
    def test_without_a_result_there_is_no_claim(self, extra: Any) -> None:
        assert only(document(asked("go"), extra=extra)).claim is None

    def test_the_environment_names_client_model_and_tools(self) -> None:
        tools = [
            {"type": "function", "function": {"name": "look"}},
            {"name": "take"},
            {"name": "look"},
            "odd",
            {"name": 3},
        ]
        agent = {"name": "helpdesk", "version": "2", "model_name": "m-1", "tool_definitions": tools}
        environment = only(document(asked("go"), agent=agent)).environment
        assert (environment.client, environment.client_version, environment.model) == ("helpdesk", "2", "m-1")
        assert environment.tools == ("look", "take")

    def test_the_session_is_named_by_session_id_or_else_trajectory_id(self) -> None:
        assert only(document(asked("go"), session_id="s", trajectory_id="t")).session_id == "s"
        assert only(document(asked("go"), trajectory_id="t")).session_id == "t"
        assert only(document(asked("go"))).session_id == ""

    def test_usage_comes_from_the_totals(self) -> None:
        totals = {
            "total_prompt_tokens": 10,
            "total_completion_tokens": 4,
            "total_cached_tokens": 3,
            "total_cost_usd": 0.5,
        }
        trajectory = only(document(asked("go"), called("look", metrics={"prompt_tokens": 99}), final_metrics=totals))
        assert trajectory.usage == Usage(input_tokens=10, output_tokens=4, cached_tokens=3, cost_usd=0.5)

    def test_without_totals_usage_is_the_sum_over_the_steps(self) -> None:
        metrics = {"prompt_tokens": 10, "completion_tokens": 4, "cached_tokens": 3, "cost_usd": 0.25}
        copied = {**called("look", metrics=metrics), "is_copied_context": True}
        trajectory = only(
            document(asked("go"), copied, called("look", metrics=metrics), called("look", metrics=metrics))
        )
        assert trajectory.usage == Usage(input_tokens=20, output_tokens=8, cached_tokens=6, cost_usd=0.5)

    def test_odd_numbers_in_metrics_do_not_cost_the_document(self) -> None:
        metrics = {"prompt_tokens": "many", "completion_tokens": -1, "cached_tokens": 10**30, "cost_usd": [1]}
        assert only(document(asked("go"), called("look", metrics=metrics))).usage == Usage()


class TestSubagents:
    def test_each_is_a_trajectory_of_its_own_with_its_parent_named(self) -> None:
        inner = document(asked("count"), trajectory_id="inner", session_id="run")
        middle = document(asked("search"), trajectory_id="middle", session_id="run", subagent_trajectories=[inner])
        outer = document(asked("plan"), session_id="run", subagent_trajectories=[middle])
        found = [(t.task.text, t.session_id, t.parent_session_id) for t in read(outer)]
        assert found == [("plan", "run", ""), ("search", "middle", "run"), ("count", "inner", "middle")]

    def test_what_a_subagent_is_asked_is_no_persons_word(self) -> None:
        sub = document(asked("count"), trajectory_id="sub")
        _, trajectory = read(document(asked("plan"), session_id="run", subagent_trajectories=[sub]))
        assert (trajectory.steps[0].role, trajectory.task.by) == (Role.CONTEXT, "agent")

    def test_an_embedded_document_may_leave_out_its_version(self) -> None:
        sub = document(asked("count"), trajectory_id="sub")
        del sub["schema_version"]
        assert len(list(read(document(asked("plan"), subagent_trajectories=[sub])))) == 2

    def test_a_broken_one_does_not_cost_its_parent(self) -> None:
        problems: list[InvalidTrajectory] = []
        sent = document(asked("plan"), subagent_trajectories=[{"steps": 3}, document(asked("count"))])
        tasks = [trajectory.task.text for trajectory in read(sent, on_problem=problems.append)]
        assert tasks == ["plan", "count"]
        assert len(problems) == 1


class TestVersions:
    @pytest.mark.parametrize("minor", range(9))
    def test_every_version_up_to_the_present_one_is_read(self, minor: int) -> None:
        assert only(document(asked("go"), schema_version=f"ATIF-v1.{minor}")).task.text == "go"

    @pytest.mark.parametrize("version", ["ATIF-v1.9", "ATIF-v2.0", "ATIF-v1", "1.8", 1.8, ""])
    def test_another_version_is_refused_by_name(self, version: Any) -> None:
        with raises(InvalidTrajectory, "unknown_schema_version") as caught:
            only(document(asked("go"), schema_version=version))
        assert repr(str(version)) in caught.value.message
        assert "ATIF-v1.8" in caught.value.hint

    def test_a_newer_document_of_another_form_is_refused_for_its_version(self) -> None:
        with raises(InvalidTrajectory, "unknown_schema_version"):
            only({"schema_version": "ATIF-v3.0", "steps": {"first": {}}})

    def test_a_missing_version_is_named(self) -> None:
        with raises(InvalidTrajectory, "no_schema_version"):
            only({"agent": {}, "steps": []})


class TestBrokenShapes:
    @pytest.mark.parametrize(
        ("change", "place"),
        [
            ({"steps": {}}, r"\$\.steps"),
            ({"steps": [3]}, r"\$\.steps\[0\]"),
            ({"steps": [{"source": "agent", "tool_calls": {}}]}, r"\$\.steps\[0\]\.tool_calls"),
            ({"steps": [{"source": "agent", "tool_calls": [{"arguments": {}}]}]}, "function_name"),
            ({"steps": [{"source": "agent", "observation": []}]}, r"\$\.steps\[0\]\.observation"),
            ({"agent": "helpdesk"}, r"\$\.agent"),
            ({"steps": [{"source": "robot", "message": "x"}]}, "unknown step source 'robot'"),
            ({"steps": [{"message": "x"}]}, "unknown step source ''"),
        ],
    )
    def test_the_problem_says_what_and_where(self, change: dict[str, Any], place: str) -> None:
        with pytest.raises(InvalidTrajectory, match=place) as caught:
            only(document(asked("go")) | change)
        assert caught.value.message.startswith("document in memory: ")
        assert caught.value.hint

    def test_a_document_without_steps_is_named(self) -> None:
        with raises(InvalidTrajectory, "unexpected_form"):
            only({"schema_version": "ATIF-v1.8"})


class TestFiles:
    documents = (document(asked("one")), document(asked("two")), document(asked("three")))

    def tasks(self, path: Any) -> list[str]:
        return [trajectory.task.text for trajectory in read(path)]

    def test_one_document_laid_out_over_many_lines(self, tmp_path: Any) -> None:
        path = tmp_path / "run.json"
        path.write_text(json.dumps(self.documents[0], indent=2))
        assert self.tasks(path) == ["one"]

    @pytest.mark.parametrize("indent", [None, 1])
    def test_a_list_of_documents(self, tmp_path: Any, indent: int | None) -> None:
        path = tmp_path / "runs.json"
        path.write_text(json.dumps(self.documents, indent=indent))
        assert self.tasks(path) == ["one", "two", "three"]

    def test_a_list_with_a_document_on_each_line(self, tmp_path: Any) -> None:
        path = tmp_path / "runs.json"
        path.write_text("[\n" + ",\n".join(map(json.dumps, self.documents)) + "\n]\n")
        assert self.tasks(path) == ["one", "two", "three"]

    def test_one_document_per_line_with_blank_lines_and_no_last_line_break(self, tmp_path: Any) -> None:
        path = tmp_path / "runs.jsonl"
        path.write_text("\n\n".join(map(json.dumps, self.documents)))
        assert self.tasks(path) == ["one", "two", "three"]

    def test_a_byte_order_mark_and_windows_line_ends_do_not_matter(self, tmp_path: Any) -> None:
        path = tmp_path / "runs.jsonl"
        path.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(json.dumps(d).encode() for d in self.documents))
        assert self.tasks(path) == ["one", "two", "three"]

    def test_gzip_is_told_by_content_and_not_by_name(self, tmp_path: Any) -> None:
        path = tmp_path / "runs.jsonl"
        path.write_bytes(gzip.compress("\n".join(map(json.dumps, self.documents)).encode()))
        assert self.tasks(path) == ["one", "two", "three"]

    def test_a_plain_file_with_a_gzip_name_is_read_as_it_is(self, tmp_path: Any) -> None:
        path = tmp_path / "runs.jsonl.gz"
        path.write_text(json.dumps(self.documents[0]))
        assert self.tasks(path) == ["one"]

    def test_the_source_is_kept_but_is_no_part_of_the_identity(self, tmp_path: Any) -> None:
        path = tmp_path / "run.json"
        path.write_text(json.dumps(self.documents[0]))
        (trajectory,) = read(path)
        assert trajectory.source == str(path)
        assert trajectory.id == only(self.documents[0]).id

    def test_a_first_line_that_was_cut_off_does_not_cost_the_others(self, tmp_path: Any) -> None:
        path = tmp_path / "runs.jsonl"
        path.write_text('{"schema_version": "ATIF-v1.8", "steps": [\n' + json.dumps(self.documents[1]) + "\n")
        problems: list[InvalidTrajectory] = []
        assert [t.task.text for t in read(path, on_problem=problems.append)] == ["two"]
        assert [problem.message.split(":")[0] for problem in problems] == [f"{path}, line 1"]

    def test_problems_name_the_line(self, tmp_path: Any) -> None:
        path = tmp_path / "runs.jsonl"
        path.write_text(
            "\n".join([json.dumps(self.documents[0]), "", '{"steps": 3}', "nonsense", json.dumps(self.documents[2])])
        )
        problems: list[InvalidTrajectory] = []
        assert [t.task.text for t in read(path, on_problem=problems.append)] == ["one", "three"]
        assert [problem.message.split(":")[0] for problem in problems] == [f"{path}, line 3", f"{path}, line 4"]

    def test_without_a_listener_the_first_problem_is_raised(self, tmp_path: Any) -> None:
        path = tmp_path / "runs.jsonl"
        path.write_text("\n".join([json.dumps(self.documents[0]), "nonsense", json.dumps(self.documents[2])]))
        trajectories = read(path)
        assert next(trajectories).task.text == "one"
        with raises(InvalidTrajectory, "not_json"):
            next(trajectories)

    def test_the_readers_own_iterator_goes_on_behind_a_problem(self, tmp_path: Any) -> None:
        path = tmp_path / "runs.jsonl"
        path.write_text("nonsense\n" + json.dumps(self.documents[2]))
        trajectories = AtifReader().read(path)
        with pytest.raises(InvalidTrajectory):
            next(trajectories)
        assert next(trajectories).task.text == "three"


class TestMemory:
    def test_several_documents_are_read_in_order(self) -> None:
        assert [t.task.text for t in read([document(asked("one")), document(asked("two"))])] == ["one", "two"]

    def test_a_mapping_that_is_no_dict_is_read_too(self) -> None:
        from types import MappingProxyType

        assert only(MappingProxyType(document(asked("one")))).task.text == "one"

    def test_the_trajectory_does_not_change_with_the_document(self) -> None:
        sent = document(asked("go"), called("look"))
        trajectory = only(sent)
        sent["steps"][1]["tool_calls"][0]["arguments"]["n"] = 99
        assert trajectory.actions[0].arguments == {"n": 1}

    @pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}])
    def test_what_has_no_json_form_is_a_problem(self, value: Any) -> None:
        with raises(InvalidTrajectory, "not_json"):
            only(document(asked("go"), extra=value))

    def test_a_broken_document_does_not_cost_the_next_one(self) -> None:
        problems: list[InvalidTrajectory] = []
        sent = [document(asked("one")), "text", document(asked("three"))]
        assert [t.task.text for t in read(sent, on_problem=problems.append)] == ["one", "three"]
        assert problems[0].message.startswith("document 2 in memory: ")
