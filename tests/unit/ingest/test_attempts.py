from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tacit.domain.stored import Mark
from tacit.domain.trajectory import Role, StepResult, Trajectory, Usage
from tacit.ingest import attempts as module
from tacit.ingest.attempts import Attempts, Draft
from tacit.ingest.segmentation import ECHO

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
ONE = "Add a health check to the server."
TWO = "Write a changelog entry for version 2 of the billing worker."


def mark(line: int) -> Mark:
    return Mark(offset=100 * line, line=line)


def asks(words: str) -> list[Draft]:
    return [Draft(Role.USER, words, AT)]


def calls(call_id: str, *, tool: str = "Bash", message_id: str = "", **arguments: str) -> Draft:
    return Draft(Role.AGENT, tool=tool, arguments=dict(arguments), call_id=call_id, message_id=message_id)


@pytest.fixture
def attempts() -> Attempts:
    return Attempts(client="some-client", source="log.jsonl")


def finished(attempts: Attempts) -> Trajectory:
    last = attempts.finish()
    assert last is not None
    return last


class TestTasks:
    def test_an_attempt_is_given_as_soon_as_the_next_task_begins(self, attempts: Attempts) -> None:
        assert attempts.say(asks(ONE), mark(0)) is None
        attempts.act(Draft(Role.AGENT, "Done."), mark(1))
        first = attempts.say(asks(TWO), mark(2))
        assert first is not None
        assert (first.task.text, first.reply, len(first.steps)) == (ONE, TWO, 2)
        last = finished(attempts)
        assert (last.task.text, last.reply, [step.text for step in last.steps]) == (TWO, "", [TWO])

    def test_a_correction_and_a_word_to_go_on_stay_in_their_attempt(self, attempts: Attempts) -> None:
        for words in (ONE, "No, not like that.", "continue"):
            assert attempts.say(asks(words), mark(0)) is None
            attempts.act(Draft(Role.AGENT, "Done."), mark(1))
        assert [step.text for step in finished(attempts).steps if step.role is Role.USER][1:] == [
            "No, not like that.",
            "continue",
        ]

    def test_what_the_host_says_before_the_first_prompt_belongs_to_it(self, attempts: Attempts) -> None:
        attempts.say([Draft(Role.CONTEXT, "reminder")], mark(3))
        assert attempts.say(asks(ONE), mark(4)) is None
        assert attempts.mark == mark(3)
        assert [step.text for step in finished(attempts).steps] == ["reminder", ONE]

    def test_the_hosts_words_in_the_record_of_a_prompt_go_with_the_prompt(self, attempts: Attempts) -> None:
        attempts.say(asks(ONE), mark(0))
        attempts.act(Draft(Role.AGENT, "Done."), mark(1))
        first = attempts.say([Draft(Role.CONTEXT, "reminder"), *asks(TWO)], mark(2))
        assert first is not None
        assert first.reply == TWO
        assert [step.text for step in finished(attempts).steps] == ["reminder", TWO]

    def test_a_slash_command_that_asks_for_something_begins_a_task(self, attempts: Attempts) -> None:
        attempts.say([Draft(Role.CONTEXT, "<command-message>", asks="/fix the build")], mark(0))
        assert finished(attempts).task.text == "/fix the build"

    def test_where_nothing_was_asked_or_done_there_is_no_attempt(self, attempts: Attempts) -> None:
        attempts.say([Draft(Role.CONTEXT, "reminder")], mark(0))
        assert attempts.finish() is None

    def test_a_subagent_makes_one_attempt_and_hears_no_person(self) -> None:
        attempts = Attempts(client="some-client", source="log.jsonl", agent_id="a1")
        attempts.session.note(session_id="s1")
        for words in (ONE, TWO):
            assert attempts.say(asks(words), mark(0)) is None
        trajectory = finished(attempts)
        assert (trajectory.session_id, trajectory.parent_session_id) == ("a1", "s1")
        assert (trajectory.task.text, trajectory.task.by) == (ONE, "agent")
        assert {step.role for step in trajectory.steps} == {Role.CONTEXT}


class TestMarks:
    def test_the_mark_is_where_the_open_attempt_began(self, attempts: Attempts) -> None:
        marks = [attempts.mark]
        attempts.say(asks(ONE), mark(1))
        attempts.act(Draft(Role.AGENT, "Done."), mark(2))
        marks.append(attempts.mark)
        attempts.say(asks(TWO), mark(5))
        marks.append(attempts.mark)
        attempts.finish()
        assert [*marks, attempts.mark] == [None, mark(1), mark(5), None]


class TestCalls:
    def test_what_is_said_and_called_in_one_message_is_one_step(self, attempts: Attempts) -> None:
        attempts.say(asks(ONE), mark(0))
        attempts.act(Draft(Role.AGENT, "I look.", AT, message_id="m1"), mark(1))
        attempts.act(calls("c1", message_id="m1"), mark(2))
        attempts.act(calls("c2", message_id="m1"), mark(3))
        assert [(step.text, step.tool, step.at) for step in finished(attempts).steps[1:]] == [
            ("I look.", "Bash", AT),
            ("", "Bash", None),
        ]

    def test_a_result_goes_to_the_call_that_waits_for_it_once(self, attempts: Attempts) -> None:
        attempts.act(calls("c1"), mark(0))
        assert attempts.waiting("c1") is not None
        assert attempts.resolve("c1", observation="no", result=StepResult.FAILED, exit_code=3) is not None
        assert attempts.resolve("c1", observation="yes", result=StepResult.OK) is None
        (step,) = finished(attempts).steps
        assert (step.observation, step.result, step.exit_code) == ("no", StepResult.FAILED, 3)

    def test_what_waits_when_work_is_stopped_is_interrupted(self, attempts: Attempts) -> None:
        attempts.act(calls("c1"), mark(0))
        attempts.act(calls("c2"), mark(1))
        attempts.resolve("c1", observation="ok", result=StepResult.OK)
        attempts.interrupt()
        assert [step.result for step in finished(attempts).steps] == [StepResult.OK, StepResult.INTERRUPTED]


class TestCircumstances:
    def test_the_session_is_one_and_each_attempt_has_its_own_model(self, attempts: Attempts) -> None:
        attempts.session.note(session_id="s1", workspace="/workspace/shop", version="1.0")
        attempts.session.note(workspace="/workspace/shop/deeper")
        attempts.say(asks(ONE), mark(0))
        attempts.note(model="small", branch="main")
        first = attempts.say(asks(TWO), mark(1))
        attempts.note(model="large")
        assert first is not None
        last = finished(attempts)
        assert [each.environment.model for each in (first, last)] == ["small", "large"]
        assert [each.environment.branch for each in (first, last)] == ["main", ""]
        for each in (first, last):
            assert (each.session_id, each.task.project, each.environment.workspace) == ("s1", "shop", "/workspace/shop")
            assert each.environment.client_version == "1.0"

    def test_each_message_is_paid_once_and_by_its_own_attempt(self, attempts: Attempts) -> None:
        attempts.say(asks(ONE), mark(0))
        for spent in (1, 5):
            attempts.spend("m1", Usage(output_tokens=spent))
        for number in range(200):
            attempts.spend(f"n{number}", Usage(input_tokens=2, cost_usd=0.5))
        first = attempts.say(asks(TWO), mark(1))
        assert first is not None
        assert first.usage == Usage(input_tokens=400, output_tokens=5, cost_usd=100.0)
        assert finished(attempts).usage == Usage()


class TestLimits:
    def test_an_attempt_without_end_keeps_its_beginning_and_its_end(
        self, attempts: Attempts, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "MAX_STEPS", 20)
        attempts.say(asks(ONE), mark(0))
        for number in range(100):
            attempts.act(calls(f"c{number}", command=str(number)), mark(number + 1))
            attempts.resolve(f"c{number}", observation="ok", result=StepResult.OK)
        steps = finished(attempts).steps
        assert [step.index for step in steps] == list(range(21))
        assert steps[10].text == "[… 81 steps left out …]"
        assert [step.arguments.get("command") for step in (steps[1], steps[9], steps[11], steps[-1])] == [
            "0",
            "8",
            "90",
            "99",
        ]

    def test_long_texts_count_before_many_steps_do(self, attempts: Attempts, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "MAX_CHARACTERS", 10_000)
        attempts.say(asks(ONE), mark(0))
        for number in range(100):
            attempts.act(calls(f"c{number}"), mark(number + 1))
            attempts.resolve(f"c{number}", observation=str(number % 10) * 1000, result=StepResult.OK)
        steps = finished(attempts).steps
        assert sum(len(step.observation) for step in steps) <= 10_000
        assert (steps[1].observation[0], steps[-1].observation[0]) == ("0", "9")

    def test_a_result_for_a_step_that_was_left_out_is_dropped(
        self, attempts: Attempts, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "MAX_STEPS", 4)
        for number in range(10):
            attempts.act(calls(f"c{number}"), mark(number))
        assert attempts.waiting("c0") is not None
        assert attempts.resolve("c4", observation="late", result=StepResult.OK) is None


class TestEchoes:
    @pytest.mark.parametrize(
        "draft",
        [
            calls("c", command="tacit recall 'mend the build'"),
            calls("c", command="cd /workspace/shop && tacit skills show mend"),
            calls("c", command="cat .tacit/sessions/claude-code-1.jsonl"),
            calls("c", tool="Read", file_path="/workspace/shop/.tacit/hook.log"),
            calls("c", tool="mcp__tacit__recall", task="mend the build"),
        ],
    )
    def test_what_tacit_printed_is_not_kept(self, attempts: Attempts, draft: Draft) -> None:
        attempts.act(draft, mark(0))
        attempts.resolve("c", observation="Use pnpm.", result=StepResult.OK, exit_code=0)
        (step,) = finished(attempts).steps
        assert (step.observation, step.result, step.exit_code) == (ECHO, StepResult.OK, 0)

    def test_a_skill_that_tacit_exported_is_not_kept_and_a_persons_own_is(self, attempts: Attempts) -> None:
        path = "/workspace/shop/.claude/skills/mend/SKILL.md"
        exported = "     1\t---\n     2\tname: mend\n     3\tmetadata:\n     4\t  tacit-kind: procedure\n"
        for number, text in enumerate((exported, "     1\t---\n     2\tname: mend\n")):
            attempts.act(calls(str(number), tool="Read", file_path=path), mark(number))
            attempts.resolve(str(number), observation=text, result=StepResult.OK)
        assert [step.observation for step in finished(attempts).steps] == [ECHO, "     1\t---\n     2\tname: mend\n"]

    @pytest.mark.parametrize(
        "draft", [calls("c", command="tacit recall x && make test"), calls("c", command="ls src/tacit"), calls("c")]
    )
    def test_what_others_printed_is_kept(self, attempts: Attempts, draft: Draft) -> None:
        attempts.act(draft, mark(0))
        attempts.resolve("c", observation="ok", result=StepResult.OK)
        assert finished(attempts).steps[0].observation == "ok"

    @pytest.mark.parametrize("tag", ["tacit-skills", "tacit-skills-00ff5e1f3d7a9b21", "tacit-note"])
    def test_what_its_hooks_said_leaves_only_a_trace(self, attempts: Attempts, tag: str) -> None:
        said = f"before <{tag}>\nUse pnpm.\n</{tag}> after"
        attempts.say([Draft(Role.CONTEXT, said), *asks(ONE)], mark(0))
        attempts.act(calls("c", command="make"), mark(1))
        attempts.resolve("c", observation=f"ok\n{said}", result=StepResult.OK)
        trajectory = finished(attempts)
        assert trajectory.steps[0].text == f"before {ECHO} after"
        assert trajectory.steps[2].observation == f"ok\nbefore {ECHO} after"

    def test_an_opening_that_is_never_closed_is_no_block(self, attempts: Attempts) -> None:
        words = "<tacit-a>" * 20_000
        attempts.say([Draft(Role.CONTEXT, words), *asks(ONE)], mark(0))
        assert finished(attempts).steps[0].text == words

    def test_a_person_may_speak_of_it(self, attempts: Attempts) -> None:
        words = "What does <tacit-skills>x</tacit-skills> mean?"
        attempts.say(asks(words), mark(0))
        assert finished(attempts).task.text == words
