"""`tacit cards review`, `rec-status`, `aha-status`, `repair` and `promote`: one document each, and who may do what."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tacit.config.environment import UserEnvironment
from tacit.config.signers import forget_unlocked_key
from tacit.domain.errors import GateRefusal, Mistake, NotFound, NotPermitted
from tacit.surfaces.cli import cli
from tacit.surfaces.cli.context import CommandContext
from tests.person import enter, leave

PAYLOAD: dict[str, list[dict[str, Any]]] = {
    "aha_cards": [
        {
            "title": "Export writes cents",
            "when_to_use": "Reading the order export",
            "solution_steps": ["Divide `gross` by 100"],
            "primary_skill": "orders",
            "shareable": True,
        }
    ],
    "recommendations": [
        {"title": f"Improve {number}", "why": "it is slow", "primary_skill": "orders"} for number in range(6)
    ],
}
THEIRS = {
    "id": "aha_anybody",
    "ts": "2026-02-01T00:00:00Z",
    "title": "Orders wait for stock",
    "when_to_use": "An order hangs",
    "solution_steps": ["Count the stock"],
    "status": "accepted",
}
SHARED = {"ok", "repo_root", "user", "project_store"}


class Shell:
    """A project of ann's; with her passphrase commands are hers, without it anybody's."""

    def __init__(self, folder: Path) -> None:
        self.project, self.home = folder / "invoices", folder / "home"
        self.project.mkdir()
        (self.project / ".git").mkdir()
        leave(self.home / ".tacit")

    def run(self, *words: str, person: bool = False, stdin: str = "") -> Result:
        ctx = CommandContext(environment=UserEnvironment.read({"HOME": str(self.home), "USER": "ann"}))
        if person:
            enter()
        try:
            return CliRunner().invoke(cli, ["cards", *words], obj=ctx, input=stdin)
        finally:
            ctx.close()
            forget_unlocked_key()

    def told(self, *words: str, person: bool = False, stdin: str = "") -> dict[str, Any]:
        done = self.run(*words, person=person, stdin=stdin)
        assert done.exit_code == 0, done.output + repr(done.exception)
        document: dict[str, Any] = json.loads(done.output)
        return document

    @property
    def card(self) -> str:
        return str(self.told("list")["items"][0]["id"])

    @property
    def recommendation(self) -> str:
        return str(self.told("review", "--format", "json")["recommendations"]["open"][0]["id"])


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    made = Shell(tmp_path)
    monkeypatch.chdir(made.project)
    for name, value in {"HOME": str(made.home), "USER": "ann"}.items():
        monkeypatch.setenv(name, value)
    for name in ("SELF_LEARNING_REPO_ROOT", "SELF_LEARNING_GLOBAL_DIR", "TACIT_STORE", "TACIT_HOME"):
        monkeypatch.delenv(name, raising=False)
    made.told("record", stdin=json.dumps(PAYLOAD))
    return made


def test_review_prints_a_summary_and_the_command_for_all_of_it(shell: Shell) -> None:
    shell.told("use", "--aha", shell.card)
    done = shell.run("review", "--days", "7", "--query", "e", "--next-actions-limit", "6")
    lines = done.output.splitlines()
    actions = [line for line in lines if line.startswith("- ")]
    assert len(actions) == 5
    assert "[backport, score 3, skill orders] Export writes cents" in actions[1]
    assert "1 card; 6 recommendations (6 open" in done.output
    assert "and 2 more" in done.output
    [command] = [line.partition(": ")[2] for line in lines if line.startswith("All as JSON: ")]
    assert shlex.split(command) == shlex.split(
        "tacit cards review --format json --query e --days 7 --next-actions-limit 6"
    )
    document = shell.told(*shlex.split(command)[2:])
    assert len(document["next_actions"]) == 6


def test_review_as_json_has_the_keys_of_the_original(shell: Shell) -> None:
    document = shell.told("review", "--format", "json", "--include-global")
    assert document.keys() >= SHARED | {"global_store", "filters", "summary", "next_actions", "recommendations", "aha"}
    assert document["global_store"].startswith(str(shell.home))
    assert shell.told("review", "--json")["global_store"] is None


def test_unknown_status_and_time_are_mistakes(shell: Shell) -> None:
    assert shell.run("review", "--status", "wat").exit_code != 0
    assert shell.run("review", "--since", "wat").exit_code != 0


def test_recommendation_moves_and_tells_previous_and_updated(shell: Shell) -> None:
    key = shell.recommendation
    document = shell.told("rec-status", "--id", key, "--status", "completed", "--note", "in v2", "--scope", "portable")
    assert document.keys() >= SHARED | {"id", "previous", "updated", "written_to"}
    assert document["previous"].keys() == {"status", "ts", "created_ts", "title", "scope", "last_touched_ts"}
    assert document["previous"]["status"] == "proposed"
    assert document["updated"] == document["updated"] | {"status": "done", "note": "in v2", "scope": "portable"}
    assert document["written_to"] is None


def test_agent_may_change_the_word_of_a_card_and_never_accept_it(shell: Shell) -> None:
    document = shell.told("aha-status", "--id", shell.card, "--status", "deprecated")
    assert document["updated"]["status"] == "deprecated"
    assert document["lesson"]["status"] == "candidate"
    refused = shell.run("aha-status", "--id", document["id"], "--status", "accepted")
    assert isinstance(refused.exception, NotPermitted)
    assert refused.exception.exit_code == 3


def test_person_accepts_a_card_and_its_lesson_with_it(shell: Shell) -> None:
    words = ("aha-status", "--id", shell.card, "--status", "accepted")
    read = shell.told("list")["items"][0]["version_id"]
    document = shell.told(*words, "--version", read, person=True)
    assert document["lesson"]["status"] == "trial"
    [item] = shell.told("list")["items"]
    assert (item["status"], item["reviewed"]) == ("accepted", True)


def test_a_person_accepts_only_the_text_that_was_read(shell: Shell) -> None:
    words = ("aha-status", "--id", shell.card, "--status", "accepted")
    unread = shell.run(*words, person=True)
    assert isinstance(unread.exception, Mistake)
    assert "--version" in (unread.exception.hint or "")
    read = shell.told("list")["items"][0]["version_id"]
    [card] = PAYLOAD["aha_cards"]
    edited = card | {"id": shell.card, "solution_steps": ["Multiply `gross` by 7"]}
    assert shell.told("record", stdin=json.dumps({"aha_cards": [edited]}))["cards"][0]["outcome"] == "updated"
    late = shell.run(*words, "--version", read, person=True)
    assert isinstance(late.exception, GateRefusal)
    assert late.exception.code == "card_changed"
    assert [item["reviewed"] for item in shell.told("list")["items"]] == [False]


def test_unknown_ids_are_errors(shell: Shell) -> None:
    for words in (
        ("rec-status", "--id", "rec_x", "--status", "done"),
        ("aha-status", "--id", "aha_x", "--status", "rejected"),
    ):
        assert isinstance(shell.run(*words).exception, NotFound)


def test_repair_shows_first_and_then_writes(shell: Shell) -> None:
    document = shell.told("repair")
    assert document.keys() >= SHARED | {"applied", "planned", "counts", "note"}
    assert (document["applied"], document["counts"]) == (False, {"aha_updates": 0, "rec_updates": 0})
    assert shell.told("repair", "--apply")["note"] == "Nothing needs repair."


def test_promoting_is_for_a_person_and_tells_what_came_of_it(shell: Shell) -> None:
    card = shell.card
    assert isinstance(shell.run("promote", "--ids", card).exception, NotPermitted)
    document = shell.told("promote", "--ids", f"{card},{card}", person=True)
    expected = {"user", "from_project_store", "to_global_store", "requested", "promoted_count", "promoted_ids"}
    assert document.keys() >= expected
    assert (document["promoted_count"], document["promoted_ids"], document["requested"]) == (1, [card], [card])
    [note] = document["notes"]
    assert note.endswith(f"tacit review --store {shell.home / '.tacit' / 'tacit.db'}")
    again = shell.told("promote", "--ids", card, person=True)
    assert (again["promoted_ids"], again["unchanged_ids"]) == ([], [card])
    everybody = ("review", "--json", "--include-global")
    assert shell.told(*everybody, person=True)["summary"]["global_aha_cards"] == 1
    assert shell.told(*everybody)["summary"]["global_aha_cards"] == 0, "nobody reviewed the copy yet"


def test_missing_ids_and_private_cards_are_refused(shell: Shell) -> None:
    assert isinstance(shell.run("promote", "--ids", "aha_x,aha_y", person=True).exception, NotFound)
    private = {"aha_cards": [{**PAYLOAD["aha_cards"][0], "title": "Ours alone", "shareable": False}]}
    shell.told("record", stdin=json.dumps(private))
    [key] = [item["id"] for item in shell.told("list")["items"] if item["title"] == "Ours alone"]
    refused = shell.run("promote", "--ids", key, person=True)
    assert isinstance(refused.exception, GateRefusal)
    assert "shareable" in refused.exception.message


def test_a_folder_that_came_with_the_repository_waits_for_a_persons_init(shell: Shell) -> None:
    folder = shell.project / ".agent-skills" / "self-learning" / "v1" / "users" / "ann"
    folder.mkdir(parents=True)
    (folder / "aha_cards.jsonl").write_text(json.dumps(THEIRS) + "\n", encoding="utf-8")
    (shell.project / ".git").rmdir()
    for words in (["init", "-q"], ["add", "-f", ".agent-skills"]):
        subprocess.run(["git", *words], cwd=shell.project, check=True, capture_output=True)
    document = shell.told("list")
    assert "aha_anybody" not in json.dumps(document["items"])
    assert str(folder.parent.parent) in document["problems"][0]
    assert "tacit cards init" in document["problems"][0]
    assert isinstance(shell.run("init").exception, NotPermitted)
    assert "problems" not in shell.told("init", person=True)
    listed = {item["id"]: item["status"] for item in shell.told("list")["items"]}
    assert listed["aha_anybody"] == "proposed"


def test_a_variable_puts_nothing_into_the_persons_own_store(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shell.home / "anywhere"
    folder.mkdir()
    (folder / "aha_cards.jsonl").write_text(json.dumps(THEIRS) + "\n", encoding="utf-8")
    monkeypatch.setenv("SELF_LEARNING_GLOBAL_DIR", str(folder))
    assert "aha_anybody" not in json.dumps(shell.told("list"))
    assert not (shell.home / ".tacit" / "tacit.db").exists()
    assert "aha_anybody" in json.dumps(shell.told("list", person=True))
    document = shell.told("list")
    assert "aha_anybody" not in json.dumps(document)
    assert document["withheld"]["count"] == 1
