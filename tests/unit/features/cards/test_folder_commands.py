"""The commands of `tacit cards` that read and write files: a payload, a folder elsewhere, `.gitignore`, the script."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import Result

from tacit.domain.errors import GateRefusal, Mistake, TacitError
from tacit.features.cards.commands.recording_commands import place_drop_in_script
from tacit.surfaces.cli import main
from tests.raising import raises
from tests.unit.features.cards.test_status_commands import PAYLOAD, Shell

FOLDER = Path(".agent-skills", "self-learning", "v1", "users", "ann")
SCRIPT = Path(".agents", "skills", "self-learning-skills", "scripts", "self_learning.py")
CARD = PAYLOAD["aha_cards"][0]


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    shell = Shell(tmp_path)
    monkeypatch.chdir(shell.project)
    monkeypatch.setenv("HOME", str(shell.home))
    monkeypatch.setenv("USER", "ann")
    return shell


def assert_refused(done: Result, code: int, *words: str) -> None:
    """It ended with an error of its own, or with that code."""
    error = done.exception if isinstance(done.exception, TacitError) else None
    assert (error.exit_code if error else done.exit_code) == code, repr(done.exception)
    for word in words:
        assert word in (error.message if error else done.output)


def test_exporting_never_takes_the_place_of_a_page_that_a_person_wrote(shell: Shell) -> None:
    shell.told("record", stdin=json.dumps(PAYLOAD))
    docs = shell.project / "docs"
    docs.mkdir()
    (docs / "INDEX.md").write_text("# Our pages\n", encoding="utf-8")
    assert_refused(shell.run("export", "docs"), Mistake.exit_code, "somebody's own page")
    assert [path.name for path in docs.iterdir()] == ["INDEX.md"]
    assert not (shell.project / ".docs.lock").exists()
    assert (docs / "INDEX.md").read_text(encoding="utf-8") == "# Our pages\n"
    told = shell.told("export", "away")
    assert told["problems"] == []
    assert shell.told("export", "away")["lines"] == 0, "one that was exported before is brought up to date"


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ('"x": NaN', "x` is NaN"),
        ('"x": 1e999', "x` is Infinity"),
        (f'"x": {"[" * 600}{"]" * 600}', "nested too deeply"),
    ],
    ids=["nan", "large", "deep"],
)
def test_a_value_that_cannot_be_kept_is_named(shell: Shell, field: str, told: str) -> None:
    payload = json.dumps({"aha_cards": [CARD]})[:-3] + f", {field}" + "}]}"
    assert_refused(
        shell.run("record", stdin=payload), Mistake.exit_code, f"aha_cards[0].{told}" if "x`" in told else told
    )


def test_pipes_and_devices_as_a_payload_are_not_waited_for(shell: Shell) -> None:
    os.mkfifo("pipe")
    for file in ("pipe", "/dev/zero", "."):
        assert_refused(shell.run("record", "--json", file), 2, "cannot read")


def test_what_a_shell_pipes_in_by_a_number_is_read(shell: Shell) -> None:
    reading, writing = os.pipe()
    try:
        os.write(writing, json.dumps(PAYLOAD).encode())
        os.close(writing)
        assert shell.told("record", "--json", f"/dev/fd/{reading}")["ok"]
    finally:
        os.close(reading)


def test_a_payload_is_read_up_to_its_limit_only(shell: Shell) -> None:
    with Path("large.json").open("wb") as file:
        file.truncate(1 << 36)
    assert_refused(shell.run("record", "--json", "large.json"), Mistake.exit_code, "larger than 16 megabytes")


def test_an_entry_that_is_longer_than_a_line_is_named(shell: Shell) -> None:
    payload = {"aha_cards": [CARD, {**CARD, "more": "x" * (1 << 19)}]}
    assert_refused(shell.run("record", stdin=json.dumps(payload)), Mistake.exit_code, "`aha_cards[1]` has more than")


def test_a_misspelt_name_is_told_and_nothing_kept_is_no_success(shell: Shell) -> None:
    done = shell.run("record", stdin=json.dumps({"aha_crads": [CARD]}))
    assert_refused(done, Mistake.exit_code, "aha_crads")
    assert json.loads(done.output)["ok"] is False
    beside = shell.told("record", stdin=json.dumps({**PAYLOAD, "notes": "x"}))
    assert beside["ok"]
    assert beside["problems"] == ["unknown field 'notes'; it was ignored"]
    vague = shell.run("record", stdin=json.dumps({"aha_cards": [{"title": "Be careful"}]}))
    assert_refused(vague, GateRefusal.exit_code)
    assert json.loads(vague.output)["ok"] is False


def test_each_card_that_was_kept_is_told_by_its_number_and_title(shell: Shell) -> None:
    other = {**CARD, "title": "Invoices round half up", "when_to_use": "Totals differ by a cent",
             "solution_steps": ["Use `ROUND_HALF_UP` in totals.py"]}  # fmt: skip
    told = shell.told("record", stdin=json.dumps({"aha_cards": [{"title": "Be careful"}, CARD, other]}))
    assert [(each["number"], each["title"]) for each in told["cards"]] == [(2, CARD["title"]), (3, other["title"])]
    assert [each["number"] for each in told["refused"]] == [1]


@pytest.mark.parametrize(
    "way", [".", ".agent-skills", ".agent-skills/self-learning", ".agent-skills/self-learning/v1/users"]
)
def test_cards_are_imported_from_any_place_above_them(shell: Shell, tmp_path: Path, way: str) -> None:
    source = tmp_path / "theirs" / FOLDER
    source.mkdir(parents=True)
    (source / "aha_cards.jsonl").write_text(json.dumps({**CARD, "id": "aha_1"}) + "\n", encoding="utf-8")
    assert shell.told("import", str(tmp_path / "theirs" / way))["lines"] == 1


def test_a_list_of_ignored_files_that_leads_elsewhere_is_told(shell: Shell, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("mine\n", encoding="utf-8")
    Path(".gitignore").symlink_to(outside)
    told = shell.told("init")
    assert told["gitignore_changed"] is False
    assert ".gitignore" in told["problems"][0]
    assert outside.read_text(encoding="utf-8") == "mine\n"
    assert "problems" not in shell.told("init", "--no-gitignore")


def test_a_page_that_cannot_be_written_is_told_and_stops_nothing(shell: Shell) -> None:
    shell.told("init")
    (FOLDER / "INDEX.md").unlink()
    (FOLDER / "INDEX.md").mkdir()
    told = shell.told("record", stdin=json.dumps(PAYLOAD))
    assert len(told["cards"]) == 1
    assert told["problems"] == ["INDEX.md cannot be written (Is a directory); it is out of date"]


def test_what_is_wrong_with_the_folder_is_told_to_people_too(shell: Shell) -> None:
    shell.told("init")
    (FOLDER / "aha_cards.jsonl").write_text("{torn\n", encoding="utf-8")
    assert "! aha_cards.jsonl line 1" in shell.run("review").output


def test_undo_by_the_names_of_the_workflow_needs_no_target(shell: Shell) -> None:
    assert_refused(shell.run("export-backport", "--undo", "slbp_nobody", person=True), 2, "there is no backport")
    assert_refused(shell.run("export-backport", "--ids", "aha_1"), Mistake.exit_code, "no target was named")


def test_a_script_that_only_speaks_of_tacit_is_kept(tmp_path: Path) -> None:
    script = tmp_path / SCRIPT
    script.parent.mkdir(parents=True)
    mine = "# mine; `tacit cards init --drop-in` would be another way\nprint('kept')\n"
    script.write_text(mine, encoding="utf-8")
    told = place_drop_in_script(tmp_path)
    assert (tmp_path / told["kept"]).read_text(encoding="utf-8") == mine
    assert place_drop_in_script(tmp_path)["kept"] is None


def test_a_pipe_in_the_place_of_the_script_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / SCRIPT).parent.mkdir(parents=True)
    os.mkfifo(tmp_path / SCRIPT)
    with raises(Mistake, "unreadable_script"):
        place_drop_in_script(tmp_path)


def test_options_that_cannot_be_read_are_told_as_a_document(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["tacit", "cards", "list", "--limit", "many"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == Mistake.exit_code
    assert "many" in json.loads(capsys.readouterr().out)["error"]["message"]
