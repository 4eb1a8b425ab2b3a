"""The file of calls that have a warning: digests only, read in full or not at all, and never without the call it is about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit.ingest.journal import digest
from tacit.recall import call_warnings
from tacit.recall.call_warnings import FILE, CallWarnings
from tacit.text.command_forms import command_forms


def written(folder: Path, *warned: tuple[str, str]) -> CallWarnings:
    call_warnings.write(str(folder), warned)
    found = CallWarnings.read(str(folder))
    assert found is not None
    return found


def test_a_goal_leads_to_its_versions_and_no_other(tmp_path: Path) -> None:
    warnings = written(tmp_path, ("pytest", "v_1"), ("npm run lint", "v_2"), ("pytest", "v_3"))
    assert warnings.versions_for("pytest") == ["v_1", "v_3"]
    assert warnings.versions_for("npm run lint") == ["v_2"]
    assert warnings.versions_for("npm run") == warnings.versions_for("") == []


def test_the_file_names_no_command(tmp_path: Path) -> None:
    written(tmp_path, ("deploy-secretly now", "v_1"))
    text = (tmp_path / FILE).read_text()
    assert "secret" not in text
    assert json.loads(text) == {
        "programs": [digest("deploy-secretly")],
        "goals": {digest("deploy-secretly now"): ["v_1"]},
    }


@pytest.mark.parametrize(
    ("goal", "command"),
    [
        ("pytest", "pytest -q"),
        ("pytest", "cd web && CI=1 uv run pytest -q tests/a.py 2>&1 | tail -5"),
        ("pytest", "bash -c 'pytest -x'"),
        ("pytest", ".venv/bin/pytest"),
        ("pytest", "python3 -m pytest"),
        ("python", "python3 -V"),
        ("pip install", "pip3 install x"),
        ("docker compose up", "docker-compose up"),
        ("node", "nodejs"),
        ("release.sh", "./scripts/release.sh 1.2"),
        ("g++", "g++ a.cc"),
        ("npm run lint:fix", "(npm run lint:fix)"),
    ],
)
def test_a_command_for_a_warned_goal_is_never_missed(tmp_path: Path, goal: str, command: str) -> None:
    assert goal in {form.goal for form in command_forms(command)}
    assert written(tmp_path, (goal, "v_1")).may_concern(command)


@pytest.mark.parametrize(
    "command", ["", "ls -l", "git commit -m 'run my_pytest'", "pytester", "echo py test", "\n" * 9]
)
def test_a_command_of_another_program_is_not_looked_up(tmp_path: Path, command: str) -> None:
    assert not written(tmp_path, ("pytest", "v_1")).may_concern(command)


def test_a_very_long_command_is_read_only_so_far(tmp_path: Path) -> None:
    warnings = written(tmp_path, ("pytest", "v_1"))
    assert warnings.may_concern("a " * 100 + "pytest")
    assert not warnings.may_concern("a " * 100_000 + "pytest")


def test_no_warnings_are_no_file(tmp_path: Path) -> None:
    call_warnings.write(str(tmp_path), [])
    assert CallWarnings.read(str(tmp_path)) is None
    written(tmp_path, ("pytest", "v_1"))
    call_warnings.write(str(tmp_path), [])
    assert list(tmp_path.iterdir()) == []


def test_an_unchanged_file_is_not_written_again(tmp_path: Path) -> None:
    written(tmp_path, ("pytest", "v_1"))
    first = (tmp_path / FILE).stat().st_ino
    written(tmp_path, ("pytest", "v_1"))
    assert (tmp_path / FILE).stat().st_ino == first
    assert written(tmp_path, ("pytest", "v_2")).versions_for("pytest") == ["v_2"]
    assert (tmp_path / FILE).stat().st_ino != first


@pytest.mark.parametrize(
    "damage",
    [
        b"", b"{", b"[]", b"null", b"3", b'{"programs": []}', b'{"goals": {}}', b'{"programs": 3, "goals": {}}',
        b'{"programs": [], "goals": []}', b'{"programs": [], "goals": {"a": 3}}', b"\xff\xfe\x00", b"[" * 200_000,
        b'{"programs": [], "goals": {}, "x": "' + b"y" * (1 << 20) + b'"}',
    ],
    ids=range(13),
)  # fmt: skip
def test_a_damaged_file_warns_of_nothing(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / FILE).write_bytes(damage)
    assert CallWarnings.read(str(tmp_path)) is None
    assert written(tmp_path, ("pytest", "v_1")).versions_for("pytest") == ["v_1"], "and the next publication mends it"


def test_a_folder_in_the_files_place_warns_of_nothing(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    assert CallWarnings.read(str(tmp_path)) is None


def test_more_warnings_than_a_hook_reads_leave_the_first_of_them(tmp_path: Path) -> None:
    warned = [(f"program{number} run", f"v_{number:030}") for number in range(20_000)]
    warnings = written(tmp_path, *warned)
    assert warnings.may_concern("program0 run")
    assert warnings.versions_for("program0 run") == [warned[0][1]]
