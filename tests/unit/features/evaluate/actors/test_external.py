"""Anybody's agent by JSON: a program, a function, a server; and what becomes of those that hang, die or talk nonsense."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tacit.domain.errors import Mistake, NotFound, Outage
from tacit.features.evaluate.actors.agents import ActorOptions, open_actor
from tacit.features.evaluate.actors.external import CommandActor, HttpActor, PythonActor, load_function
from tacit.features.evaluate.actors.stepping import parse_decision, read_decision
from tacit.features.evaluate.suite import ARMS, Actor, Aid, AttemptCost
from tests.raising import raises
from tests.unit.features.evaluate.flats import Flat
from tests.unit.providers.loopback import answering, dripping, redirecting, saying, scripted

FIX = {"tool": "switch_power", "arguments": {}}
OBEDIENT = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"done": True} if asked["turns"] else {"tool": asked["aid"], "arguments": {}}
    print(json.dumps({**answer, "tokens": {"context": 9, "output": 2}}), flush=True)
"""


def attempt(actor: Actor, *aids: str) -> tuple[list[Flat], AttemptCost]:
    worlds = [Flat(("power",)) for _ in aids]
    return worlds, actor.act(worlds, [Aid(text=text) for text in aids])


def program(folder: Path, text: str) -> str:
    (folder / "agent.py").write_text(text)
    return f"{sys.executable} -S {folder / 'agent.py'}"


def test_a_program_acts_line_by_line(tmp_path: Path) -> None:
    worlds, spent = attempt(CommandActor(program(tmp_path, OBEDIENT)), "switch_power", "read_room")
    assert [world.score().success for world in worlds] == [True, False]
    assert spent.context_tokens == (18, 18)
    assert spent.output_tokens == (4, 4)
    assert spent.notes == ("", "")


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("import time; time.sleep(60)", "no answer within 0.5 seconds"),
        ("import sys; sys.stdin.readline(); print('yes', flush=True)", "is not JSON: 'yes'"),
        ("import sys; sys.stdin.readline(); print('x' * 10_000_000, flush=True)", "longer than 1 megabyte"),
        ("import sys; sys.stdin.readline(); sys.exit('no key was set')", "ended with code 1: no key was set"),
        ("print('[]')", "is not an object"),
        ("print('{}')", "has no decision"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended with code -9"),
        ("import sys; sys.stdout.buffer.write(bytes(range(128, 255)) + b'\\n')", "is not JSON"),
    ],
)
def test_a_program_that_gives_no_decision_loses_that_attempt(tmp_path: Path, text: str, note: str) -> None:
    timeout_s = 0.5 if "sleep" in text else 20
    (world,), spent = attempt(CommandActor(program(tmp_path, text), timeout_s=timeout_s), "")
    assert note in spent.notes[0]
    assert world.abstained == spent.notes[0]


def test_a_program_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    left = tmp_path / "left"
    text = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen(['sleep', '60']); open({str(left)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(60)\n"
    )
    attempt(CommandActor(program(tmp_path, text), timeout_s=2), "")
    for _ in range(100):
        try:
            os.kill(int(left.read_text()), 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{left.read_text()}/stat").read_text().split()[2] == "Z":
            return  # dead, and nobody has asked for its end yet
        time.sleep(0.02)
    pytest.fail("what the agent started goes on")


LEAVING = """
import os, sys, time
sys.stdin.readline()
{before}
if os.fork() == 0:
    os.setsid()
    open({left!r}, "w").write(str(os.getpid()))
    time.sleep(60)
    os._exit(0)
{after}
"""


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        ("", "", "no answer within 1 seconds"),
        ("", "time.sleep(60)", "no answer within 1 seconds"),
        ("print('{\"done\": true}', flush=True)", "sys.stdin.readline()", ""),
    ],
    ids=["it ends", "it hangs", "it answers"],
)
def test_nobody_waits_for_what_a_program_left_in_a_session_of_its_own(
    tmp_path: Path, before: str, after: str, note: str
) -> None:
    left = tmp_path / "left"
    threads = threading.active_count()
    command = program(tmp_path, LEAVING.format(before=before, after=after, left=str(left)))
    try:
        _, spent = attempt(CommandActor(command, timeout_s=1 if note else 20), "")
        assert note in spent.notes[0]
        assert bool(spent.notes[0]) == bool(note)
        assert threading.active_count() <= threads
    finally:
        for _ in range(100):
            if left.exists() and left.read_text():
                os.kill(int(left.read_text()), 9)
                break
            time.sleep(0.02)


@pytest.mark.parametrize("drips", ["sys.stdout.write('x')", "sys.stdout.write(' ')"])
def test_the_time_is_for_the_whole_line_however_slowly_it_comes(tmp_path: Path, drips: str) -> None:
    text = f"import sys, time\nfor _ in range(400):\n    {drips}; sys.stdout.flush(); time.sleep(0.05)\n"
    _, spent = attempt(CommandActor(program(tmp_path, text), timeout_s=1), "")
    assert "within 1 seconds" in spent.notes[0]


def test_a_long_question_reaches_a_program_that_talks_before_it_listens(tmp_path: Path) -> None:
    aid = "x" * 1_000_000
    text = (
        "import json, sys\n"
        "print(' ' * 300_000, end='', flush=True)\n"
        "asked = json.loads(sys.stdin.readline())\n"
        "print(json.dumps({'abstain': str(len(asked['aid']))}), flush=True)\n"
    )
    (world,), spent = attempt(CommandActor(program(tmp_path, text), timeout_s=20), aid)
    assert spent.notes == ("",)
    assert world.abstained == "1000000"


def test_a_program_that_never_listens_is_not_waited_for(tmp_path: Path) -> None:
    text = "import time\nprint('{}', flush=True)\ntime.sleep(60)\n"
    _, spent = attempt(CommandActor(program(tmp_path, text), timeout_s=1), "x" * 1_000_000)
    assert "within 1 seconds" in spent.notes[0]


def test_a_program_that_never_answers_ends_the_run(tmp_path: Path) -> None:
    broken = CommandActor(program(tmp_path, "import sys; sys.exit('no such option')"))
    with raises(Outage, "agent_never_answers"):
        attempt(broken, *[""] * 6)


def test_a_program_that_answered_once_may_fail_often(tmp_path: Path) -> None:
    text = OBEDIENT.replace("    answer =", "    if asked['aid'] == 'die': sys.exit(1)\n    answer =")
    _, spent = attempt(CommandActor(program(tmp_path, text)), "switch_power", *["die"] * 6)
    assert [bool(note) for note in spent.notes] == [False, *[True] * 6]


@pytest.mark.parametrize(
    ("command", "code"), [("", "empty_command"), ("'", "bad_command"), ("no-such-program-7", "agent_not_started")]
)
def test_a_program_that_is_not_there_is_reported_at_once(command: str, code: str) -> None:
    with raises(Mistake, code):
        attempt(CommandActor(command), "")


# --- a server -------------------------------------------------------------------------------------------------------


@contextmanager
def served(answer: Any) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that gives `answer(question)`: a status and a body."""
    with answering(lambda asked: answer(asked[-1])) as (place, asked):
        yield f"http://{place}/act", asked


def test_a_server_acts_question_by_question() -> None:
    def answer(question: Mapping[str, Any]) -> tuple[int, bytes]:
        return 200, json.dumps({"done": True} if question["turns"] else FIX).encode()

    with served(answer) as (url, asked):
        worlds, spent = attempt(HttpActor(url), "a", "b", "c")
    assert all(world.score().success for world in worlds)
    assert all(spent.context_tokens)
    assert {each["aid"] for each in asked} == {"a", "b", "c"}
    assert asked[-1]["turns"] == [
        {"tool": "switch_power", "arguments": {}, "observation": "Power is now ON.", "failed": False}
    ]


@pytest.mark.parametrize(
    ("status", "body", "note"),
    [
        (500, b"", "answered 500"),
        (404, b"", "answered 404"),
        (200, b"<html>", "is not JSON"),
        (200, b'{"tool": "' + b"x" * 10_000_000 + b'"}', "longer than 1 MB"),
        (307, b"", "answered 307"),
    ],
)
def test_a_server_that_gives_no_decision_loses_that_attempt(status: int, body: bytes, note: str) -> None:
    with served(lambda question: (status, body)) as (url, _):
        _, spent = attempt(HttpActor(url), "")
    assert note in spent.notes[0]


def test_a_server_that_hangs_loses_that_attempt() -> None:
    waiting = threading.Event()
    with served(lambda question: (200, str(waiting.wait(10)).encode())) as (url, _):
        _, spent = attempt(HttpActor(url, timeout_s=0.3), "")
        waiting.set()
    assert spent.notes == ("stopped: the agent gave no answer within 0.3 seconds",)


def test_a_server_has_its_time_for_the_whole_answer() -> None:
    with scripted(dripping(b"HTTP/1.1 200 OK\r\n\r\n", then=b'{"done": true}')) as (place, _):
        _, spent = attempt(HttpActor(f"http://{place}", timeout_s=0.3), "")
    assert spent.notes == ("stopped: the agent gave no answer within 0.3 seconds",)


@pytest.mark.parametrize("place", ["http://{other}/act", "http://[::1", "http://a..b/"])
def test_a_server_that_sends_elsewhere_loses_that_attempt(place: str) -> None:
    with (
        scripted(saying(b"")) as (other, elsewhere),
        scripted(redirecting(place.format(other=other))) as (here, _),
    ):
        _, spent = attempt(HttpActor(f"http://{here}/act"), "")
    assert spent.notes == ("stopped: the agent's server answered 307 Moved",)
    assert elsewhere == []


def test_a_server_that_breaks_off_loses_that_attempt() -> None:
    with scripted(saying(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{")) as (place, _):
        _, spent = attempt(HttpActor(f"http://{place}/act"), "")
    assert "broke off" in spent.notes[0]


def test_a_server_that_is_not_there_ends_the_run() -> None:
    with served(lambda question: (200, b"")) as (url, _):
        pass
    with raises(Outage, "http_unreachable") as outage:
        attempt(HttpActor(url), "")
    assert outage.value.retryable


# --- what an answer may say -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ({"tool": "a", "done": True}, "has tool and done"),
        ({"tool": 7}, "a tool is a text"),
        ({"tool": "a", "arguments": [1]}, "its arguments are an object"),
        ({"done": False}, "has no decision"),
        ("done", "is not an object"),
        (None, "is not an object"),
    ],
)
def test_an_answer_that_is_no_decision_says_why(answer: object, result: str) -> None:
    assert result in parse_decision(answer, {}).broken


def test_deeply_nested_nonsense_is_nonsense() -> None:
    assert "not JSON" in read_decision(b"[" * 500_000, {}).broken


def test_tokens_are_estimated_where_the_agent_does_not_tell_them() -> None:
    asked = {"task": "x" * 400}
    assert parse_decision({"done": True}, asked).context_tokens > 90
    assert parse_decision({"done": True, "tokens": {"context": -5, "output": True}}, asked).context_tokens > 90
    assert parse_decision({"done": True, "tokens": {"context": 5}}, asked).context_tokens == 5
    assert parse_decision({"done": True, "tokens": {"context": 10**9 - 1}}, asked).context_tokens == 10**9 - 1


@pytest.mark.parametrize("count", [10**9, 10**400, -(10**400), float("inf"), "5", [5], None])
def test_tokens_that_cannot_be_true_are_estimated(count: object) -> None:
    decision = read_decision(
        json.dumps({"done": True, "tokens": {"context": count, "output": count}}).encode(), {"task": "x"}
    )
    assert not decision.broken
    assert 0 < decision.context_tokens < 10
    assert 0 < decision.output_tokens < 1000


# --- by name --------------------------------------------------------------------------------------------------------


def test_agents_are_opened_by_name(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def answer(question):\n    return {'tool': 'switch_power'}\n")
    worlds, spent = attempt(open_actor(f"python:{tmp_path / 'mine.py'}:answer", options=ActorOptions(max_calls=1)), "")
    assert spent.notes == ("stopped: 1 calls were not enough",)
    assert worlds[0].turns[0].call.tool == "switch_power"
    for name in ("reference", "http://localhost:1/act", "command:true", "chat:http://localhost:1/v1#small"):
        assert open_actor(name).name.startswith(name)
    assert not open_actor("command:true", options=ActorOptions(adapter="yes")).objection(ARMS["adapter"])
    assert open_actor("command:true").objection(ARMS["adapter"])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("somebody", Mistake),
        ("", Mistake),
        ("chat:", Mistake),
        ("chat:localhost", Mistake),
        ("chat:http://ann:secret@localhost/v1", Mistake),
        ("http://[::1", Mistake),
        ("http:///act", Mistake),
        ("python:nowhere", Mistake),
        ("python:no_such_module_7:answer", NotFound),
        ("python:/no/such/file.py:answer", NotFound),
        ("python:json:no_such_function", NotFound),
    ],
)
def test_an_agent_that_does_not_exist_is_reported(name: str, kind: type[Mistake]) -> None:
    with pytest.raises(kind):
        open_actor(name)


def test_an_adapter_that_is_ignored_is_a_mistake() -> None:
    with raises(Mistake, "adapter_not_selectable"):
        open_actor("command:true", options=ActorOptions(adapter="mine"))


def test_what_a_function_raises_is_reported_with_its_place_as_its_authors_mistake(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("def answer(question):\n    return {}['call']\n", "utf-8")
    acting = PythonActor(load_function(f"{tmp_path / 'agent.py'}:answer"), name="mine")
    with raises(Mistake, "agent_raised"):
        acting.act([Flat(("power",))], [Aid()])


def test_a_file_that_cannot_be_loaded_is_reported_and_may_import_what_lies_next_to_it(tmp_path: Path) -> None:
    (tmp_path / "beside_the_agent.py").write_text("DONE = {'done': True}\n", "utf-8")
    (tmp_path / "whole.py").write_text(
        "from beside_the_agent import DONE\n\n\ndef answer(question):\n    return DONE\n", "utf-8"
    )
    (tmp_path / "torn.py").write_text("import no_such_module_anywhere\n", "utf-8")
    assert load_function(f"{tmp_path / 'whole.py'}:answer")({}) == {"done": True}
    with raises(Mistake, "agent_raised"):
        load_function(f"{tmp_path / 'torn.py'}:answer")
