"""The sandbox at work: what goes in and comes out, and that nothing runs without it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest

from tacit.domain.errors import SandboxOutage
from tacit.domain.sandbox import Ended, Form, SandboxFile, SandboxLimits, SandboxRequest, SandboxResult
from tacit.domain.skill import SkillFile
from tacit.features.scan.detonation import detonate
from tacit.providers.sandbox import Bubblewrap
from tests.e2e.sandbox.conftest import Caller
from tests.raising import raises


def test_command_gets_its_files_and_variables_and_its_changes_come_back(caller: Caller) -> None:
    request = SandboxRequest(
        command=(
            "sh",
            "-c",
            'cat in.txt; echo "$COLOUR"; cat ~/.note; cp in.txt out.txt; ln -s out.txt l; mkdir d; exit 3',
        ),
        files=(SandboxFile(path="in.txt", content=b"given\n"),),
        home=(SandboxFile(path=".note", content=b"at home\n"),),
        environment={"COLOUR": "blue"},
    )
    ran = caller(request)
    assert (ran.status, ran.ended, ran.passed) == (3, Ended.EXIT, False)
    assert ran.output.splitlines() == ["given", "blue", "at home"]
    found = {change.path: (change.form, change.content) for change in ran.changes}
    assert found == {"out.txt": (Form.FILE, b"given\n"), "l": (Form.LINK, b"out.txt"), "d": (Form.FOLDER, b"")}
    assert ran.alarms == ()


def test_workspace_that_is_emptied_and_one_that_only_hides_its_files_are_told_apart(caller: Caller) -> None:
    files = (SandboxFile(path="a", content=b"a"), SandboxFile(path=".b", content=b"b"))
    gone = caller(SandboxRequest(command=("sh", "-c", "rm a .b"), files=files))
    assert {change.path: str(change.how) for change in gone.changes} == {"a": "removed", ".b": "removed"}
    for hidden in (".c", "..c", "...", "-c", "*", "a\nb"):
        made = caller(SandboxRequest(command=("touch", f"./{hidden}")))
        assert [change.path for change in made.changes] == [hidden]
        assert made.alarms == ()
    dangling = caller(SandboxRequest(command=("ln", "-s", "/nowhere", "link")))
    assert [(change.path, change.form) for change in dangling.changes] == [("link", Form.LINK)]


def test_large_files_of_a_workspace_go_in_whole(caller: Caller) -> None:
    file = SandboxFile(path="large", content=b"x" * (20 << 20))
    assert caller(SandboxRequest(command=("sh", "-c", "wc -c < large"), files=(file,))).output.strip() == str(20 << 20)


def test_signal_is_told_as_a_shell_tells_it(caller: Caller) -> None:
    assert caller(SandboxRequest(command=("sh", "-c", "kill -SEGV $$"))).status == 128 + 11


def test_missing_program_is_not_found(caller: Caller) -> None:
    assert caller(SandboxRequest(command=("no-such-program",))).status == 127


def test_forged_archive_is_an_alarm_and_no_change(caller: Caller) -> None:
    """An ordinary user's channel can be reached through /proc; what is written there is not believed."""
    text = "echo noise > /proc/1/fd/2; echo x > made"
    ran = caller(SandboxRequest(command=("sh", "-c", text)))
    if "Permission denied" in ran.output:  # root's pipes are closed to the user that root becomes
        assert [change.path for change in ran.changes] == ["made"]
    else:
        assert ran.changes == ()
        assert "could not be brought back" in ran.alarms[0]


def test_witness_that_is_ended_is_an_alarm(caller: Caller) -> None:
    ready = "import os, time\nchild = os.fork()\nif child: os.write(1, b'%d' % child)\n"
    silent = ready + "else: os.close(1); os.close(2); time.sleep(60)\n"
    ran = caller(SandboxRequest(command=("true",), witness=silent))
    assert "the witness was ended" in ran.alarms[0]


@pytest.mark.parametrize(
    "meddling",
    [
        "pkill -KILL -f witness.py",
        "pkill -KILL -f witness.py; echo end > /proc/1/fd/0",
        "echo '{}' > /proc/1/fd/0",
        "cat /proc/$(pgrep -f witness.py)/maps && echo ESCAPED; ls /proc/$(pgrep -f witness.py)/fd && echo ESCAPED; kill -9 -1",
    ],
)
def test_who_meddles_with_the_witness_is_noticed(caller: Caller, meddling: str) -> None:
    if not Path("/usr/bin/pkill").exists():
        pytest.skip("there is no pkill here")
    seen = []

    class Watched:
        def run(self, request: SandboxRequest) -> SandboxResult:
            seen.append(caller(request))
            return seen[-1]

    found = detonate([SkillFile(path="a.sh", content=meddling + "\n")], Watched())
    if "Permission denied" not in seen[0].output or "kill" in meddling:
        assert "detonation_tampering" in {finding.rule for finding in found.findings}
    assert "ESCAPED" not in seen[0].output


def test_where_bubblewrap_cannot_start_nothing_runs(sandbox: Bubblewrap) -> None:
    with tempfile.TemporaryDirectory() as name:
        proof = Path(name) / "proof"
        Path(name).chmod(0o777)
        stand_in = Path(name) / "bwrap"
        stand_in.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
        stand_in.chmod(0o755)
        broken = Bubblewrap(program=str(stand_in), setpriv=sandbox.setpriv, machine=sandbox.machine)
        with pytest.raises(SandboxOutage) as refused:
            broken.run(SandboxRequest(command=("touch", str(proof))))
        assert refused.value.code in ("apparmor", "namespaces_off", "container", "not_started")
        assert "uid map: Permission denied" in refused.value.message
        with pytest.raises(SandboxOutage):
            detonate([SkillFile(path="a.sh", content=f"touch {proof}\n")], broken)
        missing = Bubblewrap(program=name + "/none", machine=sandbox.machine)
        with raises(SandboxOutage, "not_started"):
            missing.run(SandboxRequest(command=("touch", str(proof))))
        assert not proof.exists()


def test_files_that_cannot_be_copied_are_an_outage_and_nothing_runs(sandbox: Bubblewrap) -> None:
    with raises(SandboxOutage, "files_not_copied"):
        sandbox.run(SandboxRequest(command=("true",), files=(SandboxFile(path="x" * 300),)))
    with raises(SandboxOutage, "files_not_copied"):
        sandbox.run(SandboxRequest(command=("true",), files=(SandboxFile(path="\ud800"),)))


def test_nothing_is_left_on_the_host(sandbox: Bubblewrap, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only folders that this run made are looked at: others use the sandbox at the same time."""
    made: list[Path] = []

    def noting(*arguments: str | None) -> str:
        made.append(Path(make(*arguments)))
        return str(made[-1])

    make = tempfile.mkdtemp
    monkeypatch.setattr(tempfile, "mkdtemp", noting)
    sandbox.run(
        SandboxRequest(
            command=("sleep", "9"), files=(SandboxFile(path="a", content=b""),), limits=SandboxLimits(wall_s=0.2)
        )
    )
    assert [folder.name.startswith("tacit-sandbox-") for folder in made] == [True]
    assert not made[0].exists()


def test_several_run_at_the_same_time(sandbox: Bubblewrap) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        ran = list(pool.map(lambda n: sandbox.run(SandboxRequest(command=("echo", str(n)))).output, range(8)))
    assert ran == [f"{n}\n" for n in range(8)]


def test_sandboxed_program_does_not_see_the_callers_python(sandbox: Bubblewrap) -> None:
    if sys.executable.startswith("/usr/"):
        pytest.skip("the caller's Python is the system's")
    assert sandbox.run(SandboxRequest(command=("test", "-e", sys.executable))).status == 1
