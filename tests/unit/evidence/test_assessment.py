"""What the steps of an attempt prove about its outcome, and the many ways in which they prove nothing."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from tacit.domain.evidence import Grade, Outcome
from tacit.domain.trajectory import Claim, Step, StepResult, Trajectory
from tacit.evidence.assessment import assess, explain_assessment
from tests.unit.making import attempt, call, edit, shell

CHANGE = edit("invoice/schema.py")


def code_of(run: Trajectory, *, trust_claim: bool = False) -> str:
    """The code of the reason; its assessment is the one that `assess` returns."""
    found = explain_assessment(run, trust_claim=trust_claim)
    assert found.assessment == assess(run, trust_claim=trust_claim)
    return found.reason.code


def test_a_check_that_passes_after_the_last_change_is_a_machine_verified_success():
    run = attempt(CHANGE, shell("pytest -q", seen="5 passed in 0.10s", code=0))
    found = assess(run)
    assert (found.outcome, found.grade) == (Outcome.SUCCESS, Grade.MACHINE)
    assert found.verifier == "pytest -q"
    assert found.step == 1
    assert code_of(run) == "passed"


@pytest.mark.parametrize(
    "command",
    [
        "python -m pytest -q",
        "cd app && .venv/bin/pytest tests/test_totals.py",
        "make test",
        "npm run build",
        "cargo test",
        "go test ./...",
        "set -o pipefail; pytest | tail -3",
        "pytest > out.log 2>&1",
        "bash -lc 'pytest -q'",
        "cd app || exit 1; pytest -q",
        "CI=1 DATABASE_URL=sqlite:// pytest -q",
        "export PATH=.venv/bin:$PATH && pytest",
        "pytest -q && git add -A && git commit -m 'Add currency'",
    ],
)
def test_ordinary_checks_are_believed(command):
    assert assess(attempt(CHANGE, shell(command))).verified_success


def test_a_command_given_as_a_list_is_read_as_the_shell_would():
    assert assess(attempt(CHANGE, shell(["bash", "-lc", "cd app && pytest -q"]))).verified_success
    assert assess(attempt(CHANGE, shell(["bash", "-lc", "pytest -q; true"]))).outcome is Outcome.UNKNOWN
    assert assess(attempt(CHANGE, shell(["echo", "now; pytest"]))).outcome is Outcome.UNKNOWN


def test_the_last_check_failing_is_a_verified_failure():
    run = attempt(CHANGE, shell("pytest", seen="5 passed"), shell("pytest", StepResult.FAILED, code=1))
    found = assess(run)
    assert found.verified_failure
    assert found.step == 2
    assert code_of(run) == "check_failed"


def test_a_check_after_nothing_but_failed_edits_proves_nothing():
    failed = replace(CHANGE, result=StepResult.FAILED)
    assert code_of(attempt(failed, shell("pytest -q", seen="5 passed in 0.10s", code=0))) == "change_failed"
    assert assess(attempt(failed, CHANGE, shell("pytest -q"))).verified_success
    assert assess(attempt(CHANGE, failed, shell("pytest -q"))).verified_success
    assert assess(attempt(shell("pytest -q"))).verified_success


def test_no_check_at_all_is_unknown():
    run = attempt(CHANGE, shell("python manage.py migrate"))
    found = assess(run)
    assert (found.outcome, found.grade) == (Outcome.UNKNOWN, Grade.SELF)
    assert found.step is None
    assert code_of(run) == "no_check"


def test_an_attempt_without_steps_is_unknown():
    assert assess(attempt()).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("result", [StepResult.DENIED, StepResult.INTERRUPTED])
def test_a_last_check_that_was_stopped_is_unknown(result):
    found = explain_assessment(attempt(CHANGE, shell("pytest"), shell("pytest", result)))
    assert found.assessment.outcome is Outcome.UNKNOWN
    assert (found.reason.code, found.reason.values) == ("check_stopped", {"result": result})
    assert result in found.assessment.reason


@pytest.mark.parametrize("code", [124, 126, 127, 137, 143])
def test_a_check_that_could_not_run_is_no_evidence(code):
    run = attempt(CHANGE, shell("make test", StepResult.FAILED, code=code))
    found = assess(run)
    assert (found.outcome, found.step) == (Outcome.UNKNOWN, 1)
    assert code_of(run) == "check_could_not_run"


@pytest.mark.parametrize(
    ("seen", "code"),
    [("/usr/bin/python: No module named pytest", 1), ("bash: pytest: command not found", None), ("no tests ran", 5)],
)
def test_a_missing_checker_or_no_tests_is_no_failure(seen, code):
    run = attempt(CHANGE, shell("pytest", StepResult.FAILED, seen=seen, code=code))
    assert assess(run).outcome is Outcome.UNKNOWN
    assert code_of(run) == "check_could_not_run"


LATER_CHANGES = [
    CHANGE,
    edit("invoice/new.py", tool="Write"),
    call("mcp__files__write_file", {"path": "invoice/schema.py", "content": "x"}),
    call("apply_patch", {"input": "*** Begin Patch\n*** Update File: invoice/schema.py\n@@\n"}),
    call("Task", {"prompt": "finish the job"}),
    shell("sed -i 's/a/b/' invoice/schema.py"),
    shell("perl -pi -e 's/a/b/' invoice/schema.py"),
    shell("echo 'x = 1' >> invoice/schema.py"),
    shell("echo x>invoice/schema.py"),
    shell("cat > invoice/schema.py <<'EOF'\nx = 1\nEOF"),
    shell("python - <<'EOF'\nfrom pathlib import Path\nPath('invoice/x.py').write_text('1')\nEOF"),
    shell("python -c \"open('invoice/x.py', 'w').write('1')\""),
    shell("git checkout -- ."),
    shell("git stash pop"),
    shell("bash -c 'rm invoice/schema.py'"),
    shell("mv a.py b.py"),
    shell("curl -o invoice/data.py https://example.org/data.py"),
]


@pytest.mark.parametrize("change", LATER_CHANGES, ids=lambda step: str(step.arguments)[:50])
def test_a_change_after_the_last_check_leaves_the_outcome_unknown(change):
    run = attempt(CHANGE, shell("pytest"), change)
    found = assess(run)
    assert (found.outcome, found.step) == (Outcome.UNKNOWN, 1)
    assert code_of(run) == "changed_after_check"


def test_a_change_behind_the_check_in_the_same_line_counts_as_a_later_change():
    run = attempt(CHANGE, shell("pytest && sed -i s/a/b/ invoice/schema.py"))
    found = assess(run)
    assert (found.outcome, found.step) == (Outcome.UNKNOWN, 1)
    assert code_of(run) == "changed_after_check"


@pytest.mark.parametrize(
    "step",
    [
        shell("git status && git diff"),
        shell("git add -A && git commit -m done"),
        shell("cat invoice/schema.py | grep currency > /dev/null 2>&1"),
        shell("git stash list"),
        call("Read", {"file_path": "tests/test_totals.py"}),
        call("TodoWrite", {"todos": [{"content": "write file"}]}),
        call("mcp__github__create_pull_request", {"title": "Add currency"}),
        edit("invoice/schema.py", StepResult.DENIED),
    ],
    ids=lambda step: str(step.arguments)[:40],
)
def test_looking_around_after_the_check_changes_nothing(step):
    assert assess(attempt(CHANGE, shell("pytest"), step)).verified_success


WEAKENING: list[Step] = [
    edit("tests/test_totals.py"),
    edit("src/tests/data.json", tool="Write"),
    edit("conftest.py"),
    edit("Makefile"),
    edit("package.json"),
    edit("pyproject.toml"),
    edit("pytest.ini"),
    edit("app/tests.py"),
    edit("src/InvoiceTest.java"),
    edit("web/cart.spec.ts"),
    edit(".github/workflows/ci.yml"),
    edit("/srv/ann/invoices/tests/test_totals.py"),
    call("str_replace_editor", {"command": "create", "path": "tests/test_new.py"}),
    call("apply_patch", {"input": "*** Begin Patch\n*** Delete File: tests/test totals.py\n*** End Patch"}),
    call("multi_edit", {"edits": [{"file_path": "tests/test_totals.py"}]}),
    shell("sed -i 's/assert/pass #/' tests/test_totals.py"),
    shell("sed --in-place s/a/b/ conftest.py"),
    shell("cat > tests/test_totals.py <<'EOF'\ndef test(): pass\nEOF"),
    shell("git checkout HEAD~3 -- tests/test_totals.py"),
    shell("rm -rf tests/test_totals.py"),
    shell("rm -f test_*.py"),
    shell("mv tests old"),
    shell("cp /tmp/easy.py tests/test_totals.py"),
    shell("cp /tmp/test_totals.py invoice"),
    shell("tee Makefile < /tmp/m"),
    shell("echo x>tests/test_totals.py"),
    shell("T=tests; echo > $T/test_totals.py"),
    shell("apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: tests/test_totals.py\nEOF"),
    shell("python - <<'EOF'\nimport pathlib\npathlib.Path('tests/test_totals.py').write_text('')\nEOF"),
    shell("node -e \"fs.writeFileSync('package.json', '{}')\""),
    shell("bash -c 'echo > pytest.ini'"),
    shell("printf '#!/bin/sh\\nexit 0\\n' > bin/pytest"),
    shell("echo 'def main(): ...' > pytest.py"),
]


@pytest.mark.parametrize("step", WEAKENING, ids=lambda step: str(step.arguments)[:60])
def test_an_agent_that_touched_what_decides_the_check_was_not_checked(step):
    run = attempt(CHANGE, step, shell("pytest"))
    found = assess(run)
    assert (found.outcome, found.step) == (Outcome.UNKNOWN, 2)
    assert code_of(run) in ("deciding_file_changed", "effect_unknown")


def test_a_weakening_and_its_check_in_one_line_are_seen():
    assert assess(attempt(CHANGE, shell("rm tests/test_totals.py && pytest"))).outcome is Outcome.UNKNOWN


def test_reading_and_running_tests_is_not_touching_them():
    steps = [shell("cat tests/test_totals.py"), shell("cp tests/data.json /tmp/data.json"), CHANGE]
    assert assess(attempt(*steps, shell("pytest tests/test_totals.py > out.log"))).verified_success


def test_a_failed_edit_of_a_test_weakens_nothing():
    assert assess(attempt(CHANGE, edit("tests/test_totals.py", StepResult.NO_MATCH), shell("pytest"))).verified_success


def test_a_workspace_below_a_folder_called_tests_is_not_suspicious_itself():
    work = "/srv/ann/tests"
    change = edit(f"{work}/invoice/schema.py")
    assert assess(attempt(change, shell("pytest"), workspace=work)).verified_success
    assert not assess(attempt(edit(f"{work}/tests/a.py"), shell("pytest"), workspace=work)).verified_success


def test_a_file_that_the_agent_wrote_and_then_ran_as_the_test_proves_nothing():
    assert not assess(attempt(edit("/tmp/quick.py"), shell("pytest /tmp/quick.py"))).verified_success
    assert not assess(attempt(edit("/tmp/other.mk"), shell("make -f /tmp/other.mk test"))).verified_success
    assert not assess(attempt(edit("run_tests.sh"), shell("bash ./run_tests.sh"))).verified_success


GO_TEST = call("Edit", {"file_path": "cart/cart_test.go", "old_string": "}", "new_string": "}\n\nfunc TestSum() {}"})
TS_TEST = call("Write", {"file_path": "src/cart.test.ts", "content": "test('sum', () => expect(sum()).toBe(3))"})
PATCHED_TEST = call("apply_patch", {"input": "*** Begin Patch\n*** Update File: web/cart.spec.ts\n@@\n+it('adds')\n"})
GO_FAILED = shell("go test ./...", StepResult.FAILED, code=1)
TWO_PACKAGES = "ok  \tshop/cart\t0.2s\nok  \tshop/stock\t0.1s\n"


@pytest.mark.parametrize(
    "steps",
    [
        [GO_TEST, shell("go test ./...", seen=TWO_PACKAGES, code=0)],
        [TS_TEST, shell("npx tsc --noEmit"), shell("npm test", seen="3 passed")],
        [PATCHED_TEST, shell("pnpm test", seen="3 passing"), shell("pnpm run lint")],
        [GO_TEST, shell("go test ./cart", seen="ok  \tshop/cart\t0.2s\n", code=0)],
        [TS_TEST, shell("npm test", seen="12 passed")],
        [edit("tests/test_totals.py"), shell("pytest -q", seen="12 passed")],
        [TS_TEST, edit("package.json"), shell("npx tsc --noEmit")],
        [TS_TEST, edit("tests/helpers.ts"), shell("npm test"), shell("npx tsc --noEmit")],
        [shell("rm src/cart.test.ts"), shell("npm test"), shell("npx tsc --noEmit")],
        [GO_FAILED, GO_TEST, shell("go test ./...", seen=TWO_PACKAGES)],
        [call("Edit", {"file_path": "a.test.ts", "old_string": "it(", "new_string": "it.skip("}), shell("npx tsc")],
        [call("Write", {"file_path": "a.test.ts", "content": "describe.only('a')"}), shell("npm test"), shell("npx tsc")],
        [call("apply_patch", {"input": "*** Begin Patch\n*** Delete File: web/cart.spec.ts\n"}), shell("npx tsc")],
        [shell("npx tsc --noEmit"), TS_TEST, shell("npm test", seen="12 passed")],
    ],
    ids=str,
)  # fmt: skip
def test_where_the_attempt_wrote_tests_only_a_check_that_tacit_runs_can_tell(steps):
    assert assess(attempt(CHANGE, *steps)).outcome is Outcome.UNKNOWN


def test_a_linter_may_look_at_the_very_file_that_was_changed():
    assert assess(attempt(CHANGE, shell("mypy invoice/schema.py"))).verified_success


TRICKS = [
    "exit 0",
    "true",
    "echo '5 passed in 0.1s'",
    "true # pytest",
    "pytest --co",
    "pytest --collect-only -q",
    "pytest --version",
    "pytest --help",
    "pytest --setup-only",
    "PYTEST_ADDOPTS=--co pytest",
    "env PYTEST_ADDOPTS='-k nothing' pytest",
    "export PYTEST_ADDOPTS=--co && pytest",
    "make -n test",
    "make -i test",
    "MAKEFLAGS=-n make test",
    "npm test --if-present",
    "jest --passWithNoTests",
    "ruff check --exit-zero .",
    "mvn test -DskipTests",
    "pytest || true",
    "pytest || echo failed",
    "pytest; true",
    "pytest; exit 0",
    "pytest\nexit 0",
    "pytest 2>&1 | tee out.log",
    "pytest &",
    "pytest & wait",
    "! pytest",
    "time ! pytest",
    "(pytest) ; echo done",
    "{ pytest; true; }",
    "bash -c 'pytest; true'",
    "bash -c 'pytest || true'",
    "exit 0; pytest",
    "exit 0\npytest",
    "exec true; pytest",
    "true || pytest",
    "true || (cd app && pytest)",
    "if pytest; then echo ok; fi",
    "while ! pytest; do break; done",
    "for t in tests/*; do pytest $t; done",
    "trap 'exit 0' EXIT; pytest",
    "set -n; pytest",
    "set -e; set +e; pytest; true",
    "alias pytest=true; pytest",
    "pytest() { true; }; pytest",
    "function pytest { true; }; pytest",
    "cat <<'EOF'\npytest\n5 passed\nEOF",
    "echo pytest | cat",
    "eval 'pytest; true'",
    "git stash && pytest",
    "git reset --hard && pytest",
    "git checkout main && pytest",
    "rm -rf tests && pytest",
    "echo '[pytest]' > pytest.ini && pytest",
    "python -c 'print(\"5 passed\")'",
    "which pytest",
    "grep -c passed pytest.log",
]


@pytest.mark.parametrize("command", TRICKS)
def test_no_trick_with_the_check_is_recorded_as_a_verified_success(command):
    found = assess(attempt(CHANGE, shell(command, seen="5 passed in 0.1s", code=0)))
    assert found.outcome is Outcome.UNKNOWN, found


@pytest.mark.parametrize(
    "seen",
    [
        "collected 0 items\n\nno tests ran in 0.01s",
        "Ran 0 tests in 0.000s\n\nOK",
        "ok  app 0.1s [no tests to run]",
        "0 passing",
    ],
)
def test_a_check_that_looked_at_nothing_proves_nothing(seen):
    assert assess(attempt(CHANGE, shell("make test", seen=seen))).outcome is Outcome.UNKNOWN


def test_some_packages_without_tests_do_not_spoil_the_others():
    go = "?   app/cmd [no test files]\nok  \tapp/core\t0.012s\n"
    assert assess(attempt(CHANGE, shell("go test ./...", seen=go))).verified_success
    cargo = "running 12 tests\ntest result: ok. 12 passed; 0 failed\n   Doc-tests app\nrunning 0 tests\n"
    assert assess(attempt(CHANGE, shell("cargo test", seen=cargo))).verified_success


@pytest.mark.parametrize("seen", ["1 failed, 4 passed in 0.2s", "FAILED (failures=2)", "Tests: 2 failed, 3 total"])
def test_output_that_contradicts_the_exit_status_proves_nothing(seen):
    assert assess(attempt(CHANGE, shell("make test", seen=seen, code=0))).outcome is Outcome.UNKNOWN


def test_a_check_in_the_background_or_with_another_exit_code_proves_nothing():
    background = call("Bash", {"command": "pytest", "run_in_background": True})
    assert assess(attempt(CHANGE, background)).outcome is Outcome.UNKNOWN
    assert assess(attempt(CHANGE, shell("pytest", code=1))).outcome is Outcome.UNKNOWN
    assert assess(attempt(CHANGE, shell("pytest", StepResult.UNKNOWN))).outcome is Outcome.UNKNOWN


FAILED = shell("pytest", StepResult.FAILED, code=1)


def test_an_easier_check_does_not_answer_a_failed_one():
    found = explain_assessment(attempt(CHANGE, FAILED, shell("ruff check .")))
    assert (found.assessment.outcome, found.assessment.step) == (Outcome.UNKNOWN, 2)
    assert (found.reason.code, found.reason.values) == ("failure_unanswered", {"command": "pytest"})
    assert assess(attempt(FAILED, CHANGE, shell("ruff check ."))).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("narrow", ["pytest tests/test_ok.py", "pytest -k totals", "pytest --deselect tests/a.py::b"])
def test_looking_at_less_without_fixing_anything_does_not_answer_a_failure(narrow):
    assert assess(attempt(CHANGE, FAILED, shell(narrow))).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize(
    "left_out", ["pytest --deselect tests/a.py::b", "pytest --ignore=tests/a.py", "pytest -k 'not b'"]
)
def test_leaving_out_what_failed_does_not_answer_it_even_after_a_change(left_out):
    assert assess(attempt(FAILED, CHANGE, shell(left_out))).outcome is Outcome.UNKNOWN


def test_a_failure_is_answered_by_the_same_check_after_a_change():
    assert not assess(attempt(FAILED, CHANGE, shell("pytest tests/test_totals.py"))).verified_success
    assert assess(attempt(FAILED, CHANGE, shell("pytest"))).verified_success
    assert assess(attempt(FAILED, CHANGE, shell("make test"))).verified_success


def test_a_failure_for_want_of_a_package_is_answered_by_the_same_check():
    assert assess(attempt(CHANGE, FAILED, shell("pip install -r requirements.txt"), shell("pytest"))).verified_success


def test_a_failed_linter_is_answered_by_tests():
    assert assess(attempt(shell("ruff check .", StepResult.FAILED), CHANGE, shell("pytest"))).verified_success


def test_work_that_git_moved_is_not_known_except_where_the_session_begins():
    assert code_of(attempt(CHANGE, shell("git stash"), shell("git stash pop"), shell("pytest"))) == "effect_unknown"
    assert code_of(attempt(CHANGE, shell("git checkout main"), shell("pytest"))) == "effect_unknown"
    assert assess(attempt(shell("git checkout main"), CHANGE, shell("pytest"))).verified_success
    assert assess(attempt(CHANGE, shell("git checkout -b currency"), shell("pytest"))).verified_success


def test_end_of_the_output_counts_where_it_shows_how_many_passed():
    piped = shell("pytest -q 2>&1 | tail -5", seen="4 passed in 0.2s", code=0)
    assert assess(attempt(CHANGE, piped)).verified_success
    assert not assess(attempt(CHANGE, shell("pytest -q 2>&1 | tail -5", code=0))).verified_success
    assert not assess(
        attempt(CHANGE, shell("pytest -q | sed s/failed/passed/", seen="4 passed", code=0))
    ).verified_success
    failed = shell("pytest -q | tail -5", seen="1 failed, 4 passed in 0.2s", code=0)
    assert not assess(attempt(CHANGE, failed)).verified_success


def test_script_of_the_project_may_run_unless_the_session_wrote_it():
    run = shell("python scripts/tidy.py")
    passed = shell("pytest -q", seen="4 passed")
    assert assess(attempt(CHANGE, run, passed)).verified_success
    assert assess(attempt(CHANGE, shell("python3 -m invoice report 2026-04"), passed)).verified_success
    assert code_of(attempt(CHANGE, shell("python3 -m ensurepip"), passed)) == "effect_unknown"
    assert code_of(attempt(CHANGE, edit("scripts/tidy.py", tool="Write"), run, passed)) == "effect_unknown"
    assert code_of(attempt(CHANGE, shell("python tidy.py tests/test_totals.py"), passed)) == "effect_unknown"
    assert code_of(attempt(CHANGE, shell("python -c 'import shutil'"), passed)) == "effect_unknown"
    assert code_of(attempt(CHANGE, shell("kubectl delete pod x"), passed)) == "effect_unknown"


def subagent(*steps: Step) -> Trajectory:
    return replace(attempt(*steps), session_id="agent-1", parent_session_id="s_1")


def test_what_a_subagent_changed_counts_as_changed_in_the_session():
    run = replace(attempt(call("Task", {"prompt": "fix it"}), shell("pytest", seen="4 passed")), session_id="s_1")
    assert code_of(run) == "subagent_unseen"
    for step, code in (
        (CHANGE, "passed"),
        (edit("tests/test_totals.py"), "deciding_file_changed"),
        (shell("mytool --all"), "effect_unknown"),
        (shell("sed -i 's/x/y/' ~/.npmrc"), "deciding_file_changed"),
    ):
        assert explain_assessment(run, mates=partial(list, [subagent(step)])).reason.code == code


def test_subagent_that_runs_the_check_after_the_agent_changed_the_tests_proves_nothing():
    parent = replace(attempt(edit("tests/test_totals.py")), session_id="s_1")
    run = subagent(CHANGE, shell("pytest", seen="4 passed"))
    assert assess(run).verified_success
    assert explain_assessment(run, mates=lambda: [parent]).reason.code == "deciding_file_changed"


@pytest.mark.parametrize("result", ["success", "partial", "failure"])
def test_a_claim_with_a_verifier_counts_as_machine_verified_only_if_trusted(result):
    run = attempt(claim=Claim(result=result, verified_by="the environment"))
    trusted = assess(run, trust_claim=True)
    assert (trusted.outcome, trusted.grade, trusted.verifier) == (Outcome(result), Grade.MACHINE, "the environment")
    doubted = assess(run)
    assert (doubted.outcome, doubted.grade) == (Outcome(result), Grade.SELF)
    assert doubted.verifier == ""
    assert (code_of(run, trust_claim=True), code_of(run)) == ("claim_trusted", "claim_not_vouched")
    assert "--trust-outcomes" in doubted.reason


def test_a_claim_without_a_verifier_stays_a_claim_even_if_trusted():
    run = attempt(claim=Claim(result="success"))
    found = assess(run, trust_claim=True)
    assert (found.outcome, found.grade) == (Outcome.SUCCESS, Grade.SELF)
    assert not found.verified_success
    assert code_of(run, trust_claim=True) == "claim_without_verifier"


@pytest.mark.parametrize("result", ["", "unknown", "great", "SUCCESS"])
def test_a_claim_in_other_words_is_no_claim(result):
    assert assess(attempt(claim=Claim(result=result, verified_by="x")), trust_claim=True).outcome is Outcome.UNKNOWN


def test_what_the_steps_show_beats_an_untrusted_claim():
    claim = Claim(result="success", verified_by="the agent")
    assert assess(attempt(FAILED, claim=claim)).verified_failure


def test_a_long_command_is_shortened_in_the_reason_but_kept_as_the_verifier():
    command = "pytest " + " ".join(f"tests/test_{i}.py" for i in range(40))
    found = assess(attempt(shell(command)))
    assert found.verifier == command
    assert len(found.reason) < 130


PATCH = "*** Begin Patch\n*** Update File: {}\n@@\n-a\n+b\n*** End Patch"


@pytest.mark.parametrize(
    "check",
    [
        call("exec_command", {"cmd": "pytest -q", "workdir": "/srv/ann/invoices"}),
        call("shell", {"command": ["/bin/bash", "-lc", "cd app && pytest -q"]}),
        call("functions.exec_command", {"cmd": "npm --prefix web test"}),
        call("mcp__box__bash", {"command": "make -C lib check"}),
    ],
)
@pytest.mark.parametrize(
    "change",
    [
        call("apply_patch", {"input": PATCH.format("invoice/schema.py")}),
        call("apply_patch", {"file_path": "invoice/schema.py", "old_string": "a", "new_string": "b"}),
        call("exec_command", {"cmd": f"apply_patch <<'EOF'\n{PATCH.format('invoice/schema.py')}\nEOF"}),
    ],
)
def test_steps_of_other_clients_are_judged_alike(change, check):
    assert assess(attempt(change, check)).verified_success
    assert assess(attempt(check, change)).outcome is Outcome.UNKNOWN
    assert code_of(attempt(check, change)) == "changed_after_check"


@pytest.mark.parametrize(
    "change",
    [
        call("apply_patch", {"input": PATCH.format("tests/test_schema.py")}),
        call("apply_patch", {"file_path": "tests/test_schema.py", "content": "pass"}),
        call("apply_patch", {"file_path": "a.py", "moved_to_path": "tests/conftest.py"}),
        call("exec_command", {"cmd": f"apply_patch <<'EOF'\n{PATCH.format('Makefile')}\nEOF"}),
        call("shell", {"command": ["bash", "-lc", "echo x > pytest.ini"]}),
    ],
)
def test_weakened_checks_of_other_clients_are_seen_alike(change):
    assert code_of(attempt(change, call("exec_command", {"cmd": "pytest -q"}))) == "deciding_file_changed"


def test_what_a_shell_was_called_for_is_named_without_the_shell():
    assert assess(attempt(CHANGE, shell(["/bin/bash", "-lc", "pytest -q"]))).verifier == "pytest -q"


def test_what_was_denied_has_changed_nothing():
    passed = shell("pytest -q", seen="5 passed", code=0)
    assert assess(attempt(CHANGE, passed, shell("rm invoice/old.py", StepResult.DENIED))).verified_success
    assert not assess(attempt(CHANGE, passed, shell("rm invoice/old.py"))).verified_success


def test_work_handed_to_another_agent_after_the_check_leaves_it_open():
    passed = shell("pytest -q", seen="5 passed", code=0)
    assert not assess(attempt(CHANGE, passed, call("spawn_agent", {"message": "tidy up"}))).verified_success
