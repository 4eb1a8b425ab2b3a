from __future__ import annotations

from typing import Any

import pytest

from tacit.domain.candidate import Candidate
from tacit.domain.evidence import Grade, Outcome
from tacit.domain.skill import Kind
from tacit.domain.trajectory import Origin, StepResult
from tacit.learn import distil
from tests.unit.learn.attempts import FAILED, UNKNOWN, attempt, bash, call, edit, learned, migration, notes, read


def lessons(*steps: dict[str, Any]) -> list[Candidate]:
    return learned(attempt("Get on with it", *steps), Kind.LESSON, UNKNOWN)


def means(*steps: dict[str, Any]) -> list[str]:
    distilled = distil(attempt("Get on with it", *steps), UNKNOWN)
    return [note.detail["means"] for note in notes(distilled, "recovered_error")]


def test_command_that_the_error_asked_for_becomes_a_lesson() -> None:
    (lesson,) = learned(migration(), Kind.LESSON, UNKNOWN)
    content = lesson.content
    assert content.name == "run-sync-before-manage-py-makemigration"
    assert content.description == (
        "When `python3 manage.py makemigration add_{column}` fails with “error: revision chain is stale: "
        "run `python3 manage.py sync` first”, run `python3 manage.py sync` first and then repeat it."
    )
    assert content.signature == "error: revision chain is stale: run `python3 <path> sync` first"
    assert [step.arguments["command"] for step in content.steps] == [
        "python3 manage.py sync",
        "python3 manage.py makemigration add_{column}",
    ]


def test_lesson_is_vouched_for_by_the_exit_codes_even_if_the_attempt_failed() -> None:
    (lesson,) = learned(migration(), Kind.LESSON, FAILED)
    assert lesson.assessment is not None
    assert (lesson.assessment.outcome, lesson.assessment.grade) == (Outcome.SUCCESS, Grade.MACHINE)
    assert (lesson.assessment.verifier, lesson.assessment.step) == ("exit code", 5)


def test_without_exit_codes_a_lesson_is_only_reported() -> None:
    failed = call("Bash", {"command": "npm install x"}, "npm ERR! code ERESOLVE", result=StepResult.FAILED)
    worked = call("Bash", {"command": "npm install x --legacy-peer-deps"}, "added 1 package")
    (lesson,) = lessons(failed, worked)
    assert lesson.assessment is not None
    assert lesson.assessment.grade is Grade.SELF


def test_error_text_is_external_only_in_its_own_field() -> None:
    failed = bash("npm install x", "npm ERR! code ERESOLVE", code=1)
    (lesson,) = lessons(failed, bash("npm install x --legacy-peer-deps"))
    assert {lesson.origins[field] for field in ("signature", "description", "body")} == {Origin.EXTERNAL}
    assert lesson.origins["name"] is lesson.origins["steps.0"] is Origin.AGENT


def test_working_variant_becomes_a_lesson() -> None:
    failed = bash("npm install x", "npm ERR! code ERESOLVE", code=1)
    (lesson,) = lessons(failed, bash("npm install x --legacy-peer-deps"))
    assert lesson.content.name == "call-npm-install-with-legacy-peer-deps"
    assert lesson.content.description == (
        "When `npm install x` fails with “npm ERR! code ERESOLVE”, call it as `npm install x --legacy-peer-deps`."
    )


def test_lesson_is_about_what_is_wrong_and_not_about_every_failing_test() -> None:
    stale = bash("pytest -q", "1 failed\nFAILED tests/test_lock.py: services.lock is stale", code=1)
    (lesson,) = lessons(stale, bash("python tools/lock.py"), bash("pytest -q", "9 passed"))
    assert lesson.content.signature == "<path> is stale"
    assert lesson.content.description == (
        "When `pytest -q` fails with “services.lock is stale”, run `python tools/lock.py` first and then repeat it."
    )


@pytest.mark.parametrize("error", ["1 failed, 8 passed in 0.31s", "FAILED tests/test_lock.py\n1 failed", "Exit code 2"])
def test_error_that_says_nothing_of_the_cause_makes_no_lesson(error: str) -> None:
    failed = bash("pytest -q", error, code=1)
    assert lessons(failed, bash("python tools/lock.py"), bash("pytest -q", "9 passed")) == []


def test_no_word_of_a_name_is_doubled() -> None:
    failed = bash("npm test", "openapi.yaml is out of date, run npm run openapi", code=1)
    (lesson,) = lessons(failed, bash("npm run openapi"), bash("npm test", "9 passed"))
    assert lesson.content.name == "run-openapi-before-npm-test"


def test_quote_marks_of_an_error_do_not_end_the_quotation() -> None:
    failed = bash("npm install x", "npm ERR! code ” and “ more", code=1)
    (lesson,) = lessons(failed, bash("npm install x --legacy-peer-deps"))
    assert "“npm ERR! code and more”" in lesson.content.description


def test_program_under_another_name_is_a_variant() -> None:
    (lesson,) = lessons(
        bash("python manage.py x", "bash: python: command not found", code=127), bash("python3 manage.py x")
    )
    assert lesson.content.steps[0].arguments == {"command": "python3 manage.py x"}
    (other,) = lessons(bash("foo bar", "bash: foo: command not found", code=127), bash("foo3 bar"))
    assert other.content.steps[0].arguments == {"command": "foo3 bar"}


HUNG = call("Bash", {"command": "make data -j1"}, "Command timed out after 2m 0.0s", result=StepResult.FAILED)
MISSING = bash("pytest", "ModuleNotFoundError: No module named 'requests'", code=1)


def test_install_of_what_was_missing_is_what_helped_and_holds_for_whatever_is_missing() -> None:
    steps = [MISSING, edit("a.py", "x", "y"), bash("pip install requests"), bash("touch q"), bash("pytest")]
    (lesson,) = lessons(*steps)
    content = lesson.content
    assert content.name == "install-missing-module-with-pip"
    assert content.signature == "ModuleNotFoundError: No module named <value>"
    assert [step.arguments["command"] for step in content.steps] == ["pip install {module}"]
    assert [(one.name, one.example) for one in content.parameters] == [("module", "")]
    assert "requests" not in f"{content.description} {content.body}"


def test_module_that_the_task_named_is_still_any_missing_module() -> None:
    attempted = attempt("Use the package `requests`", MISSING, bash("pip install requests"), bash("pytest"))
    (lesson,) = learned(attempted, Kind.LESSON, UNKNOWN)
    (parameter,) = lesson.content.parameters
    assert parameter.description == "the module that the error says is missing, if the work is meant to use it"


def test_package_of_another_name_is_a_lesson_for_that_name_alone() -> None:
    missing = bash("python x.py", "ModuleNotFoundError: No module named 'cv2'", code=1)
    (lesson,) = lessons(missing, edit("x.py", "a", "b"), bash("pip install opencv-python"), bash("python x.py"))
    assert lesson.content.signature == "ModuleNotFoundError: No module named cv2"
    assert lesson.content.steps[0].arguments == {"command": "pip install opencv-python"}
    assert lesson.content.parameters == ()


def test_missing_program_is_installed_or_replaced() -> None:
    missing = bash("tree src", "/bin/sh: 1: tree: not found", code=127)
    (installed,) = lessons(missing, bash("apt-get install -y tree"), bash("tree src"))
    assert installed.content.signature == "<value>: command not found"
    assert installed.content.steps[0].arguments == {"command": "apt-get install -y {program}"}
    missing = bash("hexdump -C a.bin", "bash: hexdump: command not found", code=127)
    (replaced,) = lessons(missing, bash("od -c a.bin"))
    assert (replaced.content.name, replaced.content.signature) == (
        "use-od-instead-of-hexdump",
        "hexdump: command not found",
    )
    assert (
        replaced.content.description
        == "Where `hexdump` is not to be had, run `od -c a.bin` instead of `hexdump -C a.bin`."
    )


@pytest.mark.parametrize(
    "later",
    [bash("ls src"), bash("od -c other.bin"), bash("hexdump -C a.bin | head", "bash: hexdump: command not found")],
)
def test_what_did_not_take_the_place_of_a_missing_program_is_no_lesson(later: dict[str, Any]) -> None:
    missing = bash("ls src && hexdump -C a.bin", "bash: hexdump: command not found", code=127)
    assert lessons(missing, later) == []


def test_longer_call_that_did_not_hang_is_a_lesson() -> None:
    hung = call("Bash", {"command": "apt-get install jq"}, "Command timed out after 2m 0.0s", result=StepResult.FAILED)
    (lesson,) = lessons(hung, bash("apt-get install -y jq"))
    assert lesson.content.name == "call-apt-get-install-with-y"


@pytest.mark.parametrize(
    "worked", ["nohup make data -j1 > x.log 2>&1 &", "timeout 300 make data -j1", "make data -j1 &"]
)
def test_waiting_longer_or_not_at_all_is_no_lesson_for_every_time_limit(worked: str) -> None:
    assert lessons(HUNG, bash(worked)) == []


@pytest.mark.parametrize(
    "worked", ["make data -j1 | tail -3", "make other -j1 &", "make data -j1 || true", "make data"]
)
def test_hanging_call_that_was_hushed_or_changed_is_no_lesson(worked: str) -> None:
    assert lessons(HUNG, bash(worked)) == []


def test_variable_that_helped_one_call_holds_for_any_that_fails_so() -> None:
    failed = bash("qmake-gui x", "qt.qpa: could not connect to display", code=134)
    (lesson,) = lessons(failed, bash("QT_QPA_PLATFORM=offscreen qmake-gui x"))
    assert lesson.content.steps[0].arguments == {"command": "QT_QPA_PLATFORM=offscreen {command}"}


def test_other_rights_are_taken_for_the_call_that_needed_them_alone() -> None:
    failed = bash("apt-get install jq", "E: Could not open lock file: Permission denied", code=100)
    (lesson,) = lessons(failed, bash("sudo apt-get install jq"))
    assert lesson.content.steps[0].arguments == {"command": "sudo apt-get install jq"}


def test_another_version_and_another_name_of_the_program_are_variants() -> None:
    failed = bash("pip install 'numpy==9.9'", "ERROR: No matching distribution found for numpy==9.9", code=1)
    (lesson,) = lessons(failed, bash("pip3 install 'numpy<3' --user"))
    assert lesson.content.name == "call-pip3-install-with-user"


def test_part_of_a_hanging_call_that_came_back_with_a_flag_is_a_lesson() -> None:
    hung = call("Bash", {"command": "pip install a b c"}, "Command timed out after 30s", result=StepResult.FAILED)
    (lesson,) = lessons(hung, bash("pip install a b --no-deps"))
    assert lesson.content.name == "call-pip-install-with-no-deps"


def test_flag_left_out_is_a_lesson() -> None:
    failed = bash("grep-ast --fancy x", "error: unrecognized arguments: --fancy", code=2)
    (lesson,) = lessons(failed, bash("grep-ast x"))
    assert lesson.content.steps[0].arguments == {"command": "grep-ast x"}


def test_sign_that_the_task_quotes_is_no_parameter() -> None:
    failed = bash("cd a && npm install x", "npm ERR! code ERESOLVE", code=1)
    attempted = attempt("Print '&' and 'S'", failed, bash("cd a && npm install x --force -S"))
    (lesson,) = learned(attempted, Kind.LESSON, UNKNOWN)
    assert lesson.content.steps[0].arguments == {"command": "cd a && npm install x --force -S"}


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([bash("curl x", "timeout", code=28), bash("curl x")], "transient"),
        ([bash("curl x", "timeout", code=28), bash("ls"), bash("curl x")], "transient"),
        ([bash("pytest", "E   assert 1 == 2", code=1), edit("a.py", "1", "2"), bash("pytest")], "reworked"),
        ([bash("cat a.txt", "cat: a.txt: No such file", code=1), bash("cat a.txt b.txt")], "reworked"),
        ([edit("a.py", "x", "y", result=StepResult.FAILED), read("a.py"), edit("a.py", "xx", "y")], "reworked"),
        ([bash("pytest", "E   assert 1 == 2", code=1), bash("sed -i s/1/2/ a.py"), bash("pytest")], "reworked"),
        ([bash("pytest", "E   assert 1 == 2", code=1), bash("cat > a.py <<'E'\nx = 2\nE"), bash("pytest")], "reworked"),
        ([bash("./x.py", "KeyError: 1", code=1), bash("echo 1 > x.py"), bash("./x.py --all")], "reworked"),
        ([bash("make x", "bad", code=2), bash(f"make x A={'a' * 400}")], "reworked"),
        ([bash("chmod +x t.sh && ./t.sh", "no", code=1), bash("./t.sh")], "reworked"),
        ([bash("curl x", "curl: (28) Connection timed out", code=28), bash("touch a"), bash("curl x")], "reworked"),
        ([bash("curl x -v", "Connection timed out", code=28), bash("curl x -k")], "reworked"),
        ([bash("curl x", "Connection timed out", code=28), bash("curl x y")], "reworked"),
        ([bash("make x", "KeyError: 1", code=2), bash("timeout -k 5 60 make x")], "reworked"),
        (
            [call("find_user", {"name": "Ada"}, "Error: user not found"), call("find_user", {"name": "Bob"}, "u1")],
            "reworked",
        ),
    ],
)
def test_ordinary_work_and_luck_give_a_note_but_no_lesson(steps: list[dict[str, Any]], why: str) -> None:
    assert lessons(*steps) == []
    assert means(*steps) == [why]


def test_plain_call_fixed_in_form_is_a_lesson() -> None:
    steps = [
        call("get_order", {"order_id": "W12"}, "Error: order not found"),
        call("get_order", {"order_id": "#W12"}, "{}"),
    ]
    steps.append(call("cancel", {"id": 1}, "Error: reason missing"))
    steps.append(call("cancel", {"id": 1, "reason": "x"}, "ok"))
    assert [lesson.content.steps[0].tool for lesson in lessons(*steps)] == ["get_order", "cancel"]


@pytest.mark.parametrize(
    "steps",
    [
        [bash("npm install x", "npm ERR!", code=1)],
        [bash("npm install x", "npm ERR!", code=1), bash("npm install x --force", "npm ERR!", code=1)],
        [bash("npm install x", "npm ERR!", code=1), bash("npm install x --force | tail -3")],
        [bash("npm install x", "npm ERR!", code=1), bash("npm install x --force || true")],
        [bash("npm install x", "npm ERR!", code=1), bash("npm test")],
        [bash("npm install x", "npm ERR!", code=1), bash("npm install y")],
        [call("Bash", {"command": "rm x"}, "denied", result=StepResult.DENIED), bash("rm x -f")],
        [bash("make && diff a b", "1c1", code=1), bash("make && diff a c")],
        [bash("ps aux | grep make", "", code=1), bash("ps aux | grep make")],
    ],
)
def test_failure_without_a_recovery_that_was_seen_gives_nothing(steps: list[dict[str, Any]]) -> None:
    assert lessons(*steps) == []
    assert means(*steps) == []


def test_one_error_met_twice_is_one_lesson() -> None:
    failed = bash("npm install x", "npm ERR! code ERESOLVE", code=1)
    steps = [failed, bash("npm install x --force"), failed, bash("npm install x --force")]
    assert len(lessons(*steps)) == 1


@pytest.mark.parametrize("script", ["ops.py", "build.py", "test.py", "check.py"])
def test_what_the_error_asks_for_is_the_fix_whatever_its_name(script: str) -> None:
    error = f"error: modules are stale: run `python3 {script} gen` first"
    steps = [
        bash(f"python3 {script} pack", error, code=1),
        bash(f"python3 {script} gen"),
        bash(f"python3 {script} pack"),
    ]
    (lesson,) = lessons(*steps)
    assert lesson.content.steps[0].arguments == {"command": f"python3 {script} gen"}


def test_of_long_lines_only_the_missing_command_and_its_replacement_are_shown() -> None:
    missing = bash("hexdump -C a.bin && echo done && ls", "/bin/sh: 1: hexdump: not found", code=127)
    (lesson,) = lessons(missing, bash("od -c a.bin && echo done && ls"))
    assert (
        lesson.content.description
        == "Where `hexdump` is not to be had, run `od -c a.bin` instead of `hexdump -C a.bin`."
    )
    assert [step.arguments for step in lesson.content.steps] == [{"command": "od -c a.bin"}]


def test_command_that_both_lines_contain_is_no_replacement() -> None:
    missing = bash("tree out && find out -type f", "/bin/sh: 1: tree: not found", code=127)
    (lesson,) = lessons(missing, bash("ls -R out && find out -type f"))
    assert lesson.content.steps[0].arguments == {"command": "ls -R out"}


@pytest.mark.parametrize("resumed", ["git cherry-pick --continue --no-edit", "git cherry-pick --abort"])
def test_going_on_after_a_conflict_is_no_other_way_of_calling(resumed: str) -> None:
    failed = bash("git cherry-pick abc1234", "error: could not apply abc1234... Move", code=1)
    assert lessons(failed, edit("a.md", "<<<<", "x"), bash("git add a.md"), bash(resumed)) == []


def test_another_tool_after_one_error_is_no_lesson_by_itself() -> None:
    failed = call("find_by_email", {"email": "a@example.com"}, "Error: user not found")
    assert lessons(failed, call("find_by_name", {"name": "A"}, "user_1")) == []
