"""A deployment proven by the health endpoint of a real service: in sessions whose commands really ran, and by Tacit itself."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.api import Tacit
from tacit.domain.stored import Episode
from tacit.store import open_store
from tests.e2e.conftest import Terminal
from tests.e2e.service import BROKEN, Service

pytestmark = pytest.mark.skipif(
    not shutil.which("curl"), reason="curl is not installed; install it with the system's packages"
)


PACKAGE = '#!/bin/sh\nset -e\nmkdir -p dist\necho "$1" > dist/"$1".txt\necho "packed $1"\n'


@pytest.fixture
def service(terminal: Terminal, tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path / "live") as made:
        for name, text in (("deploy.sh", made.deploy_script), ("package.sh", PACKAGE)):
            (terminal.project / name).write_text(text)
            (terminal.project / name).chmod(0o755)
        (terminal.project / "RELEASES.md").write_text("1.4.0, 1.5.0, 2.0.1\n")
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "begin"]):
            subprocess.run([*git, *words], cwd=terminal.project, check=True)
        yield made


def session(terminal: Terminal, number: int, prompt: str, commands: list[str]) -> None:
    """Run the commands, and leave the transcript of a session in which an agent ran them."""
    place = {"sessionId": f"deploy-{number}", "cwd": str(terminal.project), "version": "2.1.0", "isSidechain": False}
    lines = [{"type": "user", "message": {"role": "user", "content": prompt}}]
    for at, command in enumerate(commands):
        ran = subprocess.run(
            ["/bin/sh", "-c", command], cwd=terminal.project, capture_output=True, text=True, check=False
        )
        seen = f"Exit code {ran.returncode}\n" * bool(ran.returncode) + ran.stdout + ran.stderr
        call = {"type": "tool_use", "id": f"c{at}", "name": "Bash", "input": {"command": command}}
        answer = {"type": "tool_result", "tool_use_id": f"c{at}", "content": seen, "is_error": bool(ran.returncode)}
        lines.append({"type": "assistant", "message": {"id": f"m{at}", "role": "assistant", "content": [call]}})
        lines.append({"type": "user", "message": {"role": "user", "content": [answer]}})
    folder = terminal.home / ".claude" / "projects" / "a-project"
    folder.mkdir(parents=True, exist_ok=True)
    dated = (
        place | {"uuid": f"{number}-{at}", "timestamp": f"2026-03-0{number}T10:00:{at:02d}.000Z"} | line
        for at, line in enumerate(lines)
    )
    (folder / f"deploy-{number}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in dated))


def deployment(service: Service, release: str) -> list[str]:
    return [
        "cat RELEASES.md",
        f"./package.sh {release}",
        f"./deploy.sh {release}",
        f"curl -fsS {service.address}/health",
    ]


def episodes(terminal: Terminal) -> list[Episode]:
    with Tacit(open_store(terminal.project / ".tacit" / "tacit.db")) as memory:
        return sorted(memory.context.store.episodes(), key=lambda each: each.session_id)


def test_deployments_proven_by_a_health_endpoint_become_evidence_and_a_skill(
    terminal: Terminal, service: Service
) -> None:
    for number, release in enumerate(("1.4.0", "1.5.0", BROKEN, "2.0.1"), start=1):
        session(terminal, number, f"Deploy release {release} of the shop", deployment(service, release))
    assert terminal.run("learn").code == 0
    ends = [(each.assessment.outcome, each.assessment.grade, each.assessment.verifier) for each in episodes(terminal)]
    health = f"health: curl -fsS {service.address}/health"
    good = ("success", "machine-verified", health)
    assert ends == [good, good, ("failure", "machine-verified", health), good]

    [waiting] = [each for each in terminal.run("review", "--json").json["waiting"] if each["kind"] == "procedure"]
    [condition] = waiting["content"]["postconditions"]
    assert condition["check"] == f"curl -fsS {service.address}/health"
    assert "./deploy.sh {release}" in waiting["skill_md"]


def test_tacit_asks_the_service_itself(terminal: Terminal, service: Service) -> None:
    for number, release in enumerate(("1.4.0", "1.5.0", "2.0.1"), start=1):
        session(terminal, number, f"Deploy release {release} of the shop", deployment(service, release))
    assert terminal.run("learn").code == 0
    [waiting] = [each for each in terminal.run("review", "--json").json["waiting"] if each["kind"] == "procedure"]
    assert set(waiting["from_outside"]) == {"postconditions.0", "steps.2"}, "the script's output named the address"
    approved = terminal.type("review", waiting["version_id"], "--approve", answers={"Is it right?": "y\n"})
    assert approved.code == 0, approved.out

    def record() -> dict[str, str]:
        use = terminal.run("recall", "Deploy release 3.0.0 of the shop", "--json").json["use_id"]
        [kept] = terminal.run("record", use, "--with", "postconditions", "--verify", "", "--json").json["evidence"]
        return {name: kept[name] for name in ("outcome", "grade")}

    assert record() == {"outcome": "success", "grade": "machine-verified"}
    service.live.write_text(BROKEN)
    assert record() == {"outcome": "failure", "grade": "machine-verified"}
