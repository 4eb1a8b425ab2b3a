"""`tacit eval run` as a person types it: what is asked of whom by default, what is never run, and what the summary shows."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tacit.config.environment import UserEnvironment
from tacit.domain.errors import Mistake, Outage, Refusal
from tacit.features.evaluate.comparison import ConstantAnswer
from tacit.features.evaluate.eval_report import constant_sentence
from tacit.store import open_store
from tacit.surfaces.cli import cli
from tacit.surfaces.cli.context import CommandContext

AGENT = """
def answer(question):
    return {"tool": question["tools"][0]["name"]}
"""

PROGRAM = """
import sys
for line in sys.stdin:
    print('{"done": true}', flush=True)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    (tmp_path / "shop" / "agent.py").write_text(AGENT)
    return tmp_path / "shop"


def emptied(project: Path) -> None:
    """A store with nothing in it."""
    open_store(str(project / "tacit.db")).close()


def typed(project: Path, *words: str) -> Result:
    ctx = CommandContext(environment=UserEnvironment(home=project / "home", user="ann"))
    try:
        return CliRunner().invoke(cli, ["--store", str(project / "tacit.db"), "eval", *words], obj=ctx)
    finally:
        ctx.close()


def test_a_question_at_a_time_has_no_steps_to_count_and_says_what_is_trivial(project: Path) -> None:
    asked = ("run", "everyday", "--agent", "python:agent.py:answer", "--limit", "2")
    text = typed(project, *asked).output
    assert "steps" not in text
    assert "first call right" not in text
    trivial = constant_sentence(ConstantAnswer("send_email", 1.0))
    assert trivial in text
    found = json.loads(typed(project, *asked, "--json").stdout)
    assert found["floor"] == {"answer": "send_email", "success": 1.0}
    assert found["arms"]["none"]["steps"] is None
    shown = typed(project, "report", "eval/everyday").output
    assert trivial in shown


def test_the_guard_suite_runs_as_it_stands_without_a_memory(project: Path) -> None:
    done = typed(project, "run", "everyday", "--agent", "python:agent.py:answer", "--limit", "2", "--json")
    assert done.exit_code == 0, done.output
    arms = json.loads(done.stdout)["arms"]
    assert list(arms) == ["none", "oracle"]
    assert arms["none"]["abstained"] == 0
    assert arms["none"]["aided"] is None


def test_an_arm_that_memory_had_nothing_for_is_reported_in_the_summary(project: Path) -> None:
    emptied(project)
    asked = ("--agent", "python:agent.py:answer", "--limit", "2", "--memory", "store", "--arms", "none,skills")
    assert "skills: aided 0 of 4" in typed(project, "run", "everyday", *asked).output
    assert json.loads(typed(project, "run", "everyday", *asked, "--json").stdout)["arms"]["skills"]["aided"] == 0


SOMETIMES = """
from tacit.features.evaluate.suites.everyday import EverydaySuite
right = {each.task: each.answer[0].tool for each in EverydaySuite().exercises()}
asked = 0
def answer(question):
    global asked
    asked += 1
    return {"tool": right[question["task"]] if asked <= 40 else "none"}
"""
INTERRUPTED = """
from pathlib import Path
asked = 0
def answer(question):
    global asked
    asked += 1
    if asked == int(Path("stop").read_text()):
        raise KeyboardInterrupt
    return {"tool": question["tools"][0]["name"]}
"""


def test_run_and_report_tell_the_same_share_of_the_same_attempts(project: Path) -> None:
    # 40 of 74 is 54.054 %: rounded to 0.5405 first, it would be told as 54.0 %.
    (project / "agent.py").write_text(SOMETIMES)
    asked = ("run", "everyday", "--agent", "python:agent.py:answer", "--limit", "37", "--arms", "none")
    assert "54.1 %" in typed(project, *asked).output
    assert "none (54.1 % success" in typed(project, "report", "eval/everyday").output
    assert json.loads(typed(project, *asked, "--json").stdout)["arms"]["none"]["success"] == 0.5405


@pytest.mark.parametrize(("stop", "kept"), [(3, 0), (20, 16)])
def test_an_interrupted_run_says_what_is_recorded_and_the_next_one_continues(
    project: Path, stop: int, kept: int
) -> None:
    asked = ("run", "everyday", "--agent", "python:agent.py:answer", "--limit", "20", "--arms", "none")
    (project / "agent.py").write_text(INTERRUPTED)
    (project / "stop").write_text(str(stop))
    stopped = typed(project, *asked)
    assert stopped.exit_code == 130
    assert f"{kept} attempts " in stopped.output
    assert "eval/everyday" in stopped.output
    (project / "stop").write_text("0")
    done = typed(project, *asked, "--json")
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert (document["continued"], document["attempts"]) == (kept, 40)


def test_a_function_that_never_gives_a_decision_is_reported_and_not_measured(project: Path) -> None:
    (project / "agent.py").write_text("def answer(question):\n    return 'hi'\n")
    error = typed(project, "run", "everyday", "--agent", "python:agent.py:answer").exception
    assert isinstance(error, Outage)
    assert error.code == "agent_never_answers"


def test_abstentions_are_in_the_summary(project: Path) -> None:
    done = typed(project, "run", "everyday", "--agent", "reference", "--limit", "2", "--arms", "none", "--json")
    assert json.loads(done.stdout)["arms"]["none"]["abstained"] == 4


@pytest.mark.parametrize(
    ("agent", "watched", "remarks"),
    [
        ("python:agent.py:answer", ["agent.py"], []),
        (f"command:{sys.executable} -m program", [], ["agent_not_watched"]),
    ],
)
def test_the_summary_names_the_watched_files_of_the_agent(
    project: Path, agent: str, watched: list[str], remarks: list[str]
) -> None:
    (project / "program.py").write_text(PROGRAM)
    asked = ("run", "everyday", "--agent", agent, "--limit", "1")
    assert all(name in typed(project, *asked).output for name in watched)
    document = json.loads(typed(project, *asked, "--json").stdout)
    assert (document["watched"], document["remark_codes"]) == (watched, remarks)


@pytest.mark.parametrize("link", ["eval", "eval/everyday"])
def test_the_usual_folder_is_not_reached_by_a_link(project: Path, tmp_path: Path, link: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (project / link).parent.mkdir(exist_ok=True)
    (project / link).symlink_to(tmp_path / "elsewhere")
    asked = ("run", "everyday", "--agent", "python:agent.py:answer", "--limit", "1")
    assert isinstance(typed(project, *asked).exception, Refusal)
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert typed(project, *asked, "--out", "eval/everyday").exit_code == 0  # then it is a person's own word


def test_questions_put_one_at_a_time_need_an_agent(project: Path) -> None:
    error = typed(project, "run", "everyday").exception
    assert isinstance(error, Mistake)
    assert error.code == "no_agent"
    assert "python:FILE.py:NAME" in error.hint
    assert not (project / "eval").exists()


def test_the_own_suite_is_not_asked_of_the_store_that_it_is_made_of(project: Path) -> None:
    error = typed(project, "run", "own", "--memory", "store", "--agent", "reference").exception
    assert isinstance(error, Mistake)
    assert error.hint == "--memory fresh"


@pytest.mark.parametrize("named", ["driver", "checkout"])
def test_code_that_a_file_names_is_not_run(project: Path, named: str) -> None:
    (project / "data").mkdir()
    (project / "evil.py").write_text(f"open({str(project / 'ran')!r}, 'w')")
    (project / "arms.toml").write_text(f'[suite]\nname = "telecom"\ndata = "data"\n{named} = "evil.py"\n')
    error = typed(project, "run", "arms.toml").exception
    assert isinstance(error, Refusal)
    assert f"--option {named}=evil.py" in error.hint
    assert not (project / "ran").exists()


def test_a_driver_on_the_command_line_is_the_callers_own_word(project: Path) -> None:
    (project / "data").mkdir()
    (project / "mine.py").write_text("x = 1\n")
    (project / "arms.toml").write_text('[suite]\nname = "telecom"\ndata = "data"\n')
    error = typed(project, "run", "arms.toml", "--option", "driver=mine.py").exception
    assert isinstance(error, Mistake)
    assert error.code == "bad_driver"


def test_suites_say_what_counts(project: Path) -> None:
    shown = " ".join(typed(project, "suites").output.split())
    assert "the next call has the right tool" in shown
    assert "doing nothing earns 0" in shown


def test_an_agent_that_nobody_knows_is_reported_before_anything_is_learned(project: Path) -> None:
    asked = ("run", "everyday", "--memory", "store", "--arms", "none,skills")
    emptied(project)
    unknown = typed(project, *asked, "--agent", "bogus").exception
    assert isinstance(unknown, Mistake)
    assert unknown.code == "unknown_agent"
    with_nothing_to_learn = typed(project, "run", "everyday", "--arms", "skills", "--agent", "bogus").exception
    assert isinstance(with_nothing_to_learn, Mistake)
    assert with_nothing_to_learn.code == "no_training_tasks"
