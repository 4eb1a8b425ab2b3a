"""A run keeps what was asked and done in words: reports name them, figures do not hang on them, and what is trivial is told."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tacit.domain.errors import Refusal
from tacit.features.evaluate.actors.external import PythonActor
from tacit.features.evaluate.aids import Aids
from tacit.features.evaluate.comparison import ConstantAnswer
from tacit.features.evaluate.eval_report import EvalReport, build_report, with_transcript
from tacit.features.evaluate.report_formats import report_document
from tacit.features.evaluate.run_record import RUN, TRANSCRIPT, read_run
from tacit.features.evaluate.runner import run_suite
from tacit.features.evaluate.suite import ARMS, Suite
from tacit.features.evaluate.suites.everyday import EverydaySuite
from tacit.features.evaluate.suites.next_call import NextCallSuite
from tacit.features.evaluate.transcript import RunTranscript, format_call, read_transcript, shorten
from tests.lengths import spread
from tests.raising import raises
from tests.unit.features.evaluate.flats import Flats
from tests.unit.features.evaluate.suites.test_next_call import TOOLS, solved_attempt

ARM, REFERENCE = "none", "oracle"
NOBODY = 65_534
BOTH = [ARMS[REFERENCE], ARMS[ARM]]
ORDERS = [
    [("find", {"name": "ann"}), ("pay", {"order": "7"})],
    [("send", {}), ("pay", {"order": "8"})],
    [("find", {"name": "ben"})],
]
Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def orders() -> NextCallSuite:
    made = [solved_attempt(*calls, session=f"s-{number}") for number, calls in enumerate(ORDERS)]
    return NextCallSuite("orders", made, TOOLS)


def obedient(question: Mapping[str, Any]) -> Mapping[str, Any]:
    """Calls what the aid lists first; pays where it has none."""
    listed = [line.split(". ")[1] for line in question["aid"].splitlines() if line[:1].isdigit()]
    return {"tool": listed[0] if listed else "pay", "arguments": {"order": "7"}}


def measured(suite: Suite, folder: Path, answer: Answer = obedient, *, seeds: int = 1) -> EvalReport:
    run_suite(suite, BOTH, PythonActor(answer, name="obedient"), Aids(), folder=folder, seeds=seeds)
    return report_of(folder)


def report_of(folder: Path) -> EvalReport:
    rows = read_run(folder).rows
    return with_transcript(build_report(rows, reference=REFERENCE), rows, read_transcript(folder))


def test_what_got_worse_is_reported_with_the_task_and_what_both_did(tmp_path: Path) -> None:
    found = measured(orders(), tmp_path)
    lost = found.comparison.arm(ARM).regressions
    assert [change.exercise for change in lost] == ["s-0/0", "s-1/0", "s-2/0"]
    apart = found.divergence(ARM, "s-1/0")
    assert (apart.asked, apart.reference, apart.arm) == ("pay my order", 'send(order="7")', 'pay(order="7")')
    (arm,) = [each for each in report_document(found)["arms"] if each["arm"] == ARM]
    assert [each["arm_did"] for each in arm["regressions"]] == ['pay(order="7")'] * 3


def test_where_a_world_is_acted_in_the_first_call_is_reported_that_differs(tmp_path: Path) -> None:
    answers: list[Mapping[str, Any]] = [{"tool": "switch_power"}, {"tool": "switch_power"}, {"done": True}]

    def stubborn(question: Mapping[str, Any]) -> Mapping[str, Any]:
        listed = ["switch_power", "open_valve"] if question["aid"] else []
        done = len(question["turns"])
        return {"tool": listed[done]} if done < len(listed) else answers[done]

    found = measured(Flats([("power", "valve")]), tmp_path, stubborn)
    apart = found.divergence(ARM, "power+valve")
    assert (apart.reference, apart.arm) == ("2. open_valve()", "2. switch_power()")
    assert found.constant is None
    assert {"steps", "retries", "first_right"} <= set(found.comparison.metrics)


def test_steps_say_nothing_where_one_answer_is_the_whole_attempt(tmp_path: Path) -> None:
    found = measured(orders(), tmp_path)
    assert found.comparison.metrics == ("success", "exact", "context_tokens")
    assert list(found.comparison.arm(ARM).means) == list(found.comparison.metrics)


@pytest.mark.parametrize(
    ("suite", "floor"),
    [(orders(), ConstantAnswer("done", 3 / 8)), (EverydaySuite(), ConstantAnswer("add_event", 8 / 240))],
    ids=["an end for each task", "thirty tools alike"],
)
def test_what_always_the_same_answer_earns_is_what_such_an_agent_gets(
    tmp_path: Path, suite: Suite, floor: ConstantAnswer
) -> None:
    def always(question: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"done": True} if floor.answer == "done" else {"tool": floor.answer}

    found = measured(suite, tmp_path, always)
    assert found.constant == floor
    assert found.comparison.arm(ARM).means["success"].value == pytest.approx(floor.success)
    assert report_document(found)["floor"] == {"answer": floor.answer, "success": floor.success}


def test_without_words_the_figures_are_the_same_and_this_is_reported(tmp_path: Path) -> None:
    with_them = measured(orders(), tmp_path)
    (tmp_path / TRANSCRIPT).unlink()
    without = report_of(tmp_path)
    assert without.comparison == with_them.comparison
    assert without.constant is None
    assert "no_transcript" in [each.code for each in without.limitations]
    assert "no_transcript" not in [each.code for each in with_them.limitations]
    assert "s-1/0" in json.dumps(report_document(without))


def test_lines_that_cannot_be_read_are_passed_over_and_a_run_goes_on_behind_them(tmp_path: Path) -> None:
    measured(orders(), tmp_path)
    whole = read_transcript(tmp_path)
    with (tmp_path / TRANSCRIPT).open("ab") as file:
        file.write(b'\n[1]\n{"exercise": 3}\n\xff\n{"exercise": "s-0/0", "ar')
    assert read_transcript(tmp_path) == whole
    measured(orders(), tmp_path, seeds=2)
    grown = read_transcript(tmp_path)
    assert grown.asked == whole.asked
    assert len(grown.did) == 2 * len(whole.did)


def test_words_of_a_run_that_never_attempted_anything_are_not_mixed_with_the_next(tmp_path: Path) -> None:
    def breaks(question: Mapping[str, Any]) -> Mapping[str, Any]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_suite(EverydaySuite(), BOTH, PythonActor(breaks, name="a"), Aids(), folder=tmp_path)
    measured(orders(), tmp_path)
    assert set(read_transcript(tmp_path).asked) == {each.key for each in orders().exercises()}


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / TRANSCRIPT).symlink_to(tmp_path / "elsewhere")
    with raises(Refusal, "foreign_files"):
        measured(orders(), tmp_path / "run")
    (tmp_path / "run" / TRANSCRIPT).unlink()
    measured(orders(), tmp_path / "run")
    (tmp_path / "run" / TRANSCRIPT).rename(tmp_path / "elsewhere")
    (tmp_path / "run" / TRANSCRIPT).symlink_to(tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere").read_bytes()
    with raises(Refusal, "not_a_regular_file"):
        measured(orders(), tmp_path / "run", seeds=2)
    assert (tmp_path / "elsewhere").read_bytes() == before


def test_words_of_somebody_else_are_not_emptied(tmp_path: Path) -> None:
    (tmp_path / TRANSCRIPT).write_text("my own dictionary")
    for _ in range(2):
        with raises(Refusal, "foreign_files"):
            measured(orders(), tmp_path)
    assert (tmp_path / TRANSCRIPT).read_text() == "my own dictionary"
    assert not (tmp_path / RUN).exists()


def test_an_empty_file_of_words_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / TRANSCRIPT).touch()
    assert measured(orders(), tmp_path).constant


def test_nobody_else_may_read_words(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        measured(orders(), tmp_path)
    finally:
        os.umask(before)
    assert (tmp_path / TRANSCRIPT).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / RUN).stat().st_mode & 0o777 == 0o644


def linked(path: Path) -> None:
    path.symlink_to(path.with_name("kept"))


def looped(path: Path) -> None:
    path.symlink_to(path)


def garbled(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00\n" + b"[" * 200_000 + b'\n{"exercise":1}\n{"exercise":"s-0/0","task":"\\ud800"}\nx')


@pytest.mark.parametrize("planted", [linked, looped, Path.mkdir, os.mkfifo, garbled], ids=lambda each: each.__name__)
def test_what_is_no_file_of_words_has_none_and_the_report_is_reported_without(
    tmp_path: Path, planted: Callable[[Path], None]
) -> None:
    with_them = measured(orders(), tmp_path)
    (tmp_path / TRANSCRIPT).rename(tmp_path / "kept")
    planted(tmp_path / TRANSCRIPT)
    assert read_transcript(tmp_path) == RunTranscript()
    assert report_of(tmp_path).comparison == with_them.comparison


def test_words_that_may_not_be_read_are_none(tmp_path: Path) -> None:
    measured(orders(), tmp_path)
    (tmp_path / TRANSCRIPT).chmod(0)
    user = os.geteuid()
    try:
        if user == 0:  # nothing is forbidden to root
            os.seteuid(NOBODY)
        with pytest.raises(PermissionError):
            (tmp_path / TRANSCRIPT).read_bytes()
        assert read_transcript(tmp_path) == RunTranscript()
    finally:
        os.seteuid(user)


def test_words_are_short_on_one_line_and_hold_no_secret() -> None:
    assert shorten("one\n two \x1b[31m three") == "one two [31m three"
    assert len(shorten("word " * 500)) == 160
    text_seen = format_call("login", {"token": "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2, "user": "ann"})
    assert "ghp_a1B2" not in text_seen
    assert text_seen.startswith("login(token=")
    assert format_call("look", {"at": "\ud800"}).isprintable()
    assert format_call("look", {"at": "x" * 500, "in": 1}).endswith("in=1)")


PASSWORD = "kQ7vX2mR9pL4wZ8t"
RANDOM = "Zq3Lw8Xe1Rv6Tb9Yn4Um7Ik2Op5As0Df3Gh"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n1p3"
SECRETS = [
    ("psql postgresql://admin:{}@db.internal/x -c 1", PASSWORD),
    ("git clone https://bob:{}@git.internal/a/b", PASSWORD),
    ('curl -H "Authorization: Bearer {}" x', PASSWORD),
    ('api_key = "{}"', PASSWORD),
    ('client_secret="{}"', PASSWORD),
    ("AWS_SECRET_ACCESS_KEY={}", f"{PASSWORD}{PASSWORD[::-1]}Yw5N1cF7"),
    ("export T={}", f"ghp_{RANDOM}0"),
    ("export T={}", f"sk-ant-api03-{RANDOM}{RANDOM[::-1]}"),
    ("see {}", JWT),
]


def pieces(secret: str, result: str) -> list[str]:
    """What of a secret is told, in pieces of six characters; the beginning that all of its kind share is none."""
    own = secret.removeprefix("sk-ant-api03-").removeprefix("ghp_")
    return [own[at : at + 6] for at in range(len(own) - 5) if own[at : at + 6] in result]


@pytest.mark.parametrize(("frame", "secret"), SECRETS)
def test_wherever_a_call_is_cut_no_piece_of_a_secret_is_left(frame: str, secret: str) -> None:
    text = frame.format(secret)
    for offset in spread(range(170), 45):
        text_seen = [
            format_call("bash", {"command": f"{'a' * offset} {text}"}),
            format_call("bash", {"note": "b" * 40, "command": f"{'a b ' * (offset // 4)}{text}"}),
            format_call("bash", {"steps": [{"run": f"{'a' * offset}\n{text}\n"}]}),
            shorten(f"{'a' * offset} {text}"),
        ]
        assert [pieces(secret, each) for each in text_seen] == [[]] * len(text_seen), offset


LONG = [(*made, length) for length in (10_000, 20_000, 100_000) for made in SECRETS]


@pytest.mark.parametrize(("frame", "secret", "length"), [*((*made, 640) for made in SECRETS), *spread(LONG, 9)])
def test_wherever_a_long_text_is_cut_no_piece_of_a_secret_is_left(frame: str, secret: str, length: int) -> None:
    text = frame.format(secret)
    for offset in spread(range(length - len(text) - 2, length + 2), 8):
        # Blanks become one, so that the very place of the cut would be told.
        padded = f"{' ' * offset}{text} and more{' ' * 20_000}"
        for text_seen in (
            shorten(padded),
            format_call("bash", {"command": padded}),
            format_call("bash", {"in": padded.encode()}),
        ):
            assert pieces(secret, text_seen) == [], offset


def test_a_secret_is_known_by_what_stands_next_to_it_and_behind_what_cannot_be_seen() -> None:
    text_seen = format_call("set", {"name": "DB_PASSWORD", "value": PASSWORD})
    assert text_seen == 'set(name="DB_PASSWORD", value="<redacted:password>")'
    assert pieces(RANDOM, format_call("set", {"to": f"{'a' * 40} ghp_{RANDOM[:9]}\u200b{RANDOM[9:]}0"})) == []
    assert pieces(RANDOM, format_call(f"ghp_{RANDOM}0" + "x" * 300, {f"{'a' * 60} ghp_{RANDOM}0": 1})) == []


class Mute:
    def __str__(self) -> str:
        raise ValueError("nothing to say")


@pytest.mark.parametrize(
    ("value", "text_seen"),
    [
        ({(1, 2): 3}, 'f(a={"tuple": 3})'),
        ({b"x": 1, 2: None}, """f(a={"b'x'": 1, "2": null})"""),
        (10**5000, 'f(a="…")'),
        (Mute(), 'f(a="Mute")'),
        ({"x": {1.5, True}}.keys(), 'f(a="dict_keys")'),
        (b"raw", """f(a="b'raw'")"""),
        (float("nan"), "f(a=NaN)"),
    ],
    ids=["tuple", "bytes as key", "number", "mute", "keys", "bytes", "nan"],
)
def test_a_call_is_reported_whatever_its_arguments_are(value: object, text_seen: str) -> None:
    assert format_call("f", {"a": value}) == text_seen


def test_a_value_within_itself_is_reported_as_far_as_it_is_looked_at() -> None:
    endless: list[object] = []
    endless.append(endless)
    assert format_call("f", {"a": endless}).startswith("f(a=[[[[")


@pytest.mark.parametrize(
    "value",
    ["x" * 50_000_000, b"x" * 50_000_000, ["x" * 1000] * 50_000, dict.fromkeys(range(1_000_000), "x" * 50)],
    ids=["text", "bytes", "list", "mapping"],
)
def test_a_call_with_fifty_megabytes_is_not_looked_at_whole(value: object) -> None:
    tracemalloc.start()
    assert len(format_call("write", {"content": value, "to": "x"})) <= 160
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000
