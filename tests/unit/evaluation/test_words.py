"""A run keeps what was asked and done in words: reports name them, figures do not hang on them, and what is trivial is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tacit.domain.errors import Refusal
from tacit.evaluation.actors.python import PythonActor
from tacit.evaluation.aids import Aids
from tacit.evaluation.document import document
from tacit.evaluation.floors import Floor
from tacit.evaluation.markdown import markdown
from tacit.evaluation.page import page
from tacit.evaluation.record import read_run
from tacit.evaluation.report import WORDLESS, Report, report, with_words
from tacit.evaluation.running import run
from tacit.evaluation.suite import ARMS, Suite
from tacit.evaluation.suites.everyday import EverydaySuite
from tacit.evaluation.suites.next_call import NextCallSuite
from tacit.evaluation.words import WORDS, read_words, shortened, worded
from tests.unit.evaluation.flats import Flats
from tests.unit.evaluation.suites.test_next_call import TOOLS, solved

ARM, REFERENCE = "none", "oracle"
BOTH = [ARMS[REFERENCE], ARMS[ARM]]
ORDERS = [
    [("find", {"name": "ann"}), ("pay", {"order": "7"})],
    [("send", {}), ("pay", {"order": "8"})],
    [("find", {"name": "ben"})],
]
Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def orders() -> NextCallSuite:
    made = [solved(*calls, session=f"s-{number}") for number, calls in enumerate(ORDERS)]
    return NextCallSuite("orders", made, TOOLS)


def obedient(question: Mapping[str, Any]) -> Mapping[str, Any]:
    """Calls what the aid lists first; pays where it has none."""
    listed = [line.split(". ")[1] for line in question["aid"].splitlines() if line[:1].isdigit()]
    return {"tool": listed[0] if listed else "pay", "arguments": {"order": "7"}}


def measured(suite: Suite, folder: Path, answer: Answer = obedient, *, seeds: int = 1) -> Report:
    run(suite, BOTH, PythonActor(answer, name="obedient"), Aids(), folder=folder, seeds=seeds)
    return told(folder)


def told(folder: Path) -> Report:
    rows = read_run(folder).rows
    return with_words(report(rows, reference=REFERENCE), rows, read_words(folder))


def test_what_got_worse_is_told_with_the_task_and_what_both_did(tmp_path: Path) -> None:
    found = measured(orders(), tmp_path)
    lost = found.comparison.arm(ARM).regressions
    assert [change.exercise for change in lost] == ["s-0/0", "s-1/0", "s-2/0"]
    apart = found.apart(ARM, "s-1/0")
    assert (apart.asked, apart.reference, apart.arm) == ("pay my order", 'send(order="7")', 'pay(order="7")')
    (arm,) = [each for each in document(found)["arms"] if each["arm"] == ARM]
    assert [each["arm_did"] for each in arm["regressions"]] == ['pay(order="7")'] * 3
    assert "| s-1/0 | pay my order | 100.0 % | 0.0 % | send(order=" in markdown(found)
    assert "<td>send(order=&quot;7&quot;)</td><td>pay(order=&quot;7&quot;)</td>" in page(found)


def test_where_a_world_is_acted_in_the_first_call_is_told_that_differs(tmp_path: Path) -> None:
    answers: list[Mapping[str, Any]] = [{"tool": "switch_power"}, {"tool": "switch_power"}, {"done": True}]

    def stubborn(question: Mapping[str, Any]) -> Mapping[str, Any]:
        listed = ["switch_power", "open_valve"] if question["aid"] else []
        done = len(question["turns"])
        return {"tool": listed[done]} if done < len(listed) else answers[done]

    found = measured(Flats([("power", "valve")]), tmp_path, stubborn)
    apart = found.apart(ARM, "power+valve")
    assert (apart.reference, apart.arm) == ("2. open_valve()", "2. switch_power()")
    assert found.floor is None
    assert {"steps", "retries", "first_right"} <= set(found.comparison.metrics)


def test_steps_say_nothing_where_one_answer_is_the_whole_attempt(tmp_path: Path) -> None:
    found = measured(orders(), tmp_path)
    assert found.comparison.metrics == ("success", "exact", "context_tokens")
    assert list(found.comparison.arm(ARM).means) == list(found.comparison.metrics)
    assert "Steps" not in markdown(found)


@pytest.mark.parametrize(
    ("suite", "floor"),
    [(orders(), Floor("done", 3 / 8)), (EverydaySuite(), Floor("add_event", 8 / 240))],
    ids=["an end for each task", "thirty tools alike"],
)
def test_what_always_the_same_answer_earns_is_what_such_an_agent_gets(
    tmp_path: Path, suite: Suite, floor: Floor
) -> None:
    def always(question: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"done": True} if floor.answer == "done" else {"tool": floor.answer}

    found = measured(suite, tmp_path, always)
    assert found.floor == floor
    assert found.comparison.arm(ARM).means["success"].value == pytest.approx(floor.success)
    assert f"| always {floor.answer} | {100 * floor.success:.1f} % |" in markdown(found)
    assert f"<td>always {floor.answer}</td>" in page(found)
    assert document(found)["floor"] == {"answer": floor.answer, "success": floor.success}


def test_without_words_the_figures_are_the_same_and_this_is_told(tmp_path: Path) -> None:
    with_them = measured(orders(), tmp_path)
    (tmp_path / WORDS).unlink()
    without = told(tmp_path)
    assert without.comparison == with_them.comparison
    assert without.floor is None
    assert WORDLESS in without.not_measured
    assert WORDLESS not in with_them.not_measured
    assert "s-1/0" in markdown(without)


def test_lines_that_cannot_be_read_are_passed_over_and_a_run_goes_on_behind_them(tmp_path: Path) -> None:
    measured(orders(), tmp_path)
    whole = read_words(tmp_path)
    with (tmp_path / WORDS).open("ab") as file:
        file.write(b'\n[1]\n{"exercise": 3}\n\xff\n{"exercise": "s-0/0", "ar')
    assert read_words(tmp_path) == whole
    measured(orders(), tmp_path, seeds=2)
    grown = read_words(tmp_path)
    assert grown.asked == whole.asked
    assert len(grown.did) == 2 * len(whole.did)


def test_words_of_a_run_that_never_attempted_anything_are_not_mixed_with_the_next(tmp_path: Path) -> None:
    def breaks(question: Mapping[str, Any]) -> Mapping[str, Any]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(EverydaySuite(), BOTH, PythonActor(breaks, name="a"), Aids(), folder=tmp_path)
    measured(orders(), tmp_path)
    assert set(read_words(tmp_path).asked) == {each.key for each in orders().exercises()}


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / WORDS).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refusal, match="no plain file"):
        measured(orders(), tmp_path / "run")
    assert not (tmp_path / "elsewhere").exists()


def test_words_are_short_on_one_line_and_hold_no_secret() -> None:
    assert shortened("one\n two \x1b[31m three") == "one two [31m three"
    assert len(shortened("word " * 500)) == 160
    said = worded("login", {"token": "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2, "user": "ann"})
    assert "ghp_a1B2" not in said
    assert said.startswith("login(token=")
    assert worded("look", {"at": "\ud800"}).isprintable()
    assert worded("look", {"at": "x" * 500, "in": 1}).endswith("in=1)")
