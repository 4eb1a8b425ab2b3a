"""From files and pieces to changes on disk: links, permissions, interruptions, upgrades, and a record that got lost."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tacit.domain.errors import Mistake, StaleVersion, StoreOutage
from tacit.surfaces.clients.connections import (
    CLAUDE_CODE,
    SHARED,
    Audience,
    ClientFile,
    ClientPiece,
    Launcher,
    find_launcher,
    hook_entries,
    is_hook_command,
    policy_text,
    skill_text,
)
from tacit.surfaces.clients.installation import (
    RECORD,
    InstallationRecord,
    SettingsChange,
    apply_changes,
    plan_install,
    plan_uninstall,
)
from tacit.surfaces.clients.json_settings import SettingsEntries
from tacit.surfaces.clients.text_edits import WRITTEN_BY, MarkedBlock, WholeFile
from tests.raising import raises

LAUNCHER = Launcher(words=("/opt/tacit",))


class Desk:
    """A person's home and a project, and what is to be installed there."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self.project.mkdir()
        self.settings = self.project / ".claude" / "settings.json"
        self.notes = self.project / "NOTES.md"
        self.skill = self.project / ".claude" / "skills" / "tacit" / "SKILL.md"

    def files(self, launcher: Launcher = LAUNCHER) -> list[ClientFile]:
        return [
            self.file(self.settings, SettingsEntries(hook_entries(launcher, CLAUDE_CODE.name, CLAUDE_CODE.events))),
            self.file(self.notes, MarkedBlock("Ask Tacit.")),
            self.file(self.skill, WholeFile(f"{WRITTEN_BY}\n")),
        ]

    def file(self, path: Path, piece: ClientPiece) -> ClientFile:
        return ClientFile(path=path, piece=piece, client="claude-code", audience=Audience.LOCAL, what="test")

    def put(self, launcher: Launcher = LAUNCHER) -> list[SettingsChange]:
        record = InstallationRecord.load(self.home)
        changes = plan_install(self.files(launcher), record)
        apply_changes(changes, record, self.home, at=1_000.5)
        return [change for change in changes if change.is_change]

    def take(self) -> list[SettingsChange]:
        record = InstallationRecord.load(self.home)
        changes = plan_uninstall(self.files(), record)
        apply_changes(changes, record, self.home, at=1_000.5)
        return [change for change in changes if change.is_change]

    def tree(self) -> dict[str, bytes | None]:
        paths = sorted(self.project.rglob("*"))
        return {str(p.relative_to(self.project)): p.read_bytes() if p.is_file() else None for p in paths}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def test_files_and_folders_that_were_made_vanish_again(desk: Desk) -> None:
    desk.put()
    assert desk.settings.is_file()
    desk.take()
    assert desk.tree() == {}
    assert not desk.home.exists()


def test_existing_files_come_back_to_the_byte(desk: Desk) -> None:
    write(desk.settings, '\ufeff{\r\n\t"a": [1,2]  \r\n}')
    write(desk.notes, "# Mine")
    before = desk.tree()
    assert len(desk.put()) == 3
    assert desk.tree() != before
    desk.take()
    assert desk.tree() == before


def test_a_second_run_changes_nothing(desk: Desk) -> None:
    desk.put()
    between = desk.tree()
    record = (desk.home / RECORD).read_bytes()
    assert desk.put() == []
    assert desk.tree() == between
    assert (desk.home / RECORD).read_bytes() == record


def test_a_moved_program_is_written_anew_and_still_comes_out_to_the_byte(desk: Desk) -> None:
    write(desk.settings, '{\n  "a": 1\n}\n')
    before = desk.tree()
    desk.put()
    assert [change.file.path for change in desk.put(Launcher(words=("/new/tacit",)))] == [desk.settings]
    text = desk.settings.read_text()
    assert "/new/tacit" in text
    assert "/opt/tacit" not in text
    desk.take()
    assert desk.tree() == before


def test_without_the_record_our_entries_are_still_found(desk: Desk) -> None:
    write(desk.settings, '{\n  "a": 1\n}\n')
    write(desk.notes, "# Mine\n")
    before = desk.tree()
    desk.put()
    (desk.home / RECORD).unlink()
    desk.take()
    assert {name: data for name, data in desk.tree().items() if data is not None} == {
        name: data for name, data in before.items() if data is not None
    }


def test_a_record_knows_when_and_one_without_times_is_still_read(desk: Desk) -> None:
    desk.put()
    (hooks, *_) = desk.files()
    note = InstallationRecord.load(desk.home).of(hooks)
    assert note is not None
    assert note.written_at == 1_000.5
    path = desk.home / RECORD
    document = json.loads(path.read_text())
    for note in document["files"]:
        del note["written_at"]
    path.write_text(json.dumps(document))
    note = InstallationRecord.load(desk.home).of(hooks)
    assert note is not None
    assert note.written_at is None


@pytest.mark.parametrize("damage", ['{"tacit": oops}', "\udcff tacit"])
def test_a_file_that_cannot_be_read_is_left_and_the_others_are_taken_back(desk: Desk, damage: str) -> None:
    write(desk.notes, "mine\n")
    desk.put()
    desk.settings.write_bytes(damage.encode("utf-8", "surrogateescape"))
    record = InstallationRecord.load(desk.home)
    changes = plan_uninstall(desk.files(), record)
    assert {change.file.path for change in changes if change.is_change} == {desk.notes, desk.skill}
    (message,) = [change.problem for change in changes if change.problem]
    assert f"{desk.settings}" in message
    assert "line 1" in message
    assert desk.files()[0].piece.by_hand in message
    apply_changes(changes, record, desk.home, at=1.0)
    assert desk.notes.read_text() == "mine\n"
    assert [note.path for note in InstallationRecord.load(desk.home).notes] == [str(desk.settings)], (
        "a later run can finish"
    )


def test_a_broken_file_without_anything_of_ours_is_nobodys_concern(desk: Desk) -> None:
    desk.settings.parent.mkdir()
    desk.settings.write_bytes(b"\xff oops")
    assert [change.problem for change in plan_uninstall(desk.files(), InstallationRecord()) if change.problem] == []


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"files": [{}]}', '{"files": 3}', "\x00"])
def test_a_damaged_record_is_an_empty_one(desk: Desk, damage: str) -> None:
    desk.put()
    (desk.home / RECORD).write_text(damage)
    assert InstallationRecord.load(desk.home) == InstallationRecord()
    desk.take()
    assert not desk.skill.exists()


def test_edits_in_between_stay_and_only_our_part_goes(desk: Desk) -> None:
    write(desk.settings, '{\n  "a": 1\n}\n')
    write(desk.notes, "# Mine\n")
    desk.put()
    write(desk.settings, desk.settings.read_text().replace('"a": 1', '"a": 2, "b": [3]'))
    write(desk.notes, "Preface.\n\n" + desk.notes.read_text() + "\nAfterword.\n")
    desk.take()
    assert desk.settings.read_text() == '{\n  "a": 2, "b": [3]\n}\n'
    assert desk.notes.read_text() == "Preface.\n\n# Mine\n\nAfterword.\n"


def test_a_file_written_anew_by_its_program_loses_only_our_part(desk: Desk) -> None:
    write(desk.settings, '{"a": 1}')
    desk.put()
    document = json.loads(desk.settings.read_text()) | {"z": 9}
    write(desk.settings, json.dumps(document, indent=4))
    desk.take()
    assert json.loads(desk.settings.read_text()) == {"a": 1, "z": 9}


def test_a_created_file_that_somebody_added_to_stays_without_our_part(desk: Desk) -> None:
    desk.put()
    document = json.loads(desk.settings.read_text()) | {"z": 9}
    write(desk.settings, json.dumps(document))
    desk.take()
    assert json.loads(desk.settings.read_text()) == {"z": 9}


def test_our_own_file_that_a_person_changed_is_theirs(desk: Desk) -> None:
    desk.put()
    write(desk.skill, f"{WRITTEN_BY}\nand my own remarks\n")
    assert desk.put() == []
    desk.take()
    assert "my own remarks" in desk.skill.read_text()


def test_links_are_followed_and_stay_links(desk: Desk) -> None:
    target = desk.project / "dotfiles" / "settings.json"
    write(target, "{}\n")
    desk.settings.parent.mkdir()
    desk.settings.symlink_to(target)
    desk.put()
    assert desk.settings.is_symlink()
    assert "tacit" in target.read_text()
    desk.take()
    assert desk.settings.is_symlink()
    assert target.read_text() == "{}\n"


def test_a_link_to_nothing_yet_is_filled_and_emptied(desk: Desk) -> None:
    target = desk.project / "dotfiles" / "settings.json"
    desk.settings.parent.mkdir()
    desk.settings.symlink_to(target)
    desk.put()
    assert target.is_file()
    desk.take()
    assert desk.settings.is_symlink()
    assert not target.parent.exists()


def test_a_link_that_leads_to_itself_is_told(desk: Desk) -> None:
    desk.notes.symlink_to(desk.notes)
    with raises(Mistake, "unreadable"):
        desk.put()
    assert not desk.settings.exists()


def test_permissions_stay(desk: Desk) -> None:
    write(desk.settings, "{}")
    desk.settings.chmod(0o600)
    write(desk.notes, "x\n")
    desk.notes.chmod(0o664)
    desk.put()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (desk.settings, desk.notes)] == [0o600, 0o664]
    desk.take()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (desk.settings, desk.notes)] == [0o600, 0o664]


@pytest.mark.parametrize(
    ("content", "message"),
    [(b'{"a": \n oops}', "line 2"), (b"\xff\xfe{}", "not UTF-8"), (b'{"hooks": 3}', "hooks is no")],
)
def test_a_file_that_cannot_be_read_stops_everything_before_it_begins(desk: Desk, content: bytes, message: str) -> None:
    desk.settings.parent.mkdir()
    desk.settings.write_bytes(content)
    before = desk.tree()
    with pytest.raises(Mistake, match=message) as refused:
        desk.put()
    assert str(desk.settings) in refused.value.message
    assert desk.tree() == before
    assert not desk.home.exists()


def test_a_file_that_changed_while_the_person_was_asked_is_left_alone(desk: Desk) -> None:
    record = InstallationRecord.load(desk.home)
    changes = plan_install(desk.files(), record)
    write(desk.settings, '{"mine": 1}')
    with pytest.raises(StaleVersion):
        apply_changes(changes, record, desk.home, at=1_000.5)
    assert desk.tree() == {".claude": None, ".claude/settings.json": b'{"mine": 1}'}


def test_if_one_file_cannot_be_written_the_others_are_put_back(desk: Desk) -> None:
    write(desk.settings, "{}\n")
    before = desk.tree()
    record = InstallationRecord.load(desk.home)
    nowhere = desk.file(Path("/proc/nowhere/SKILL.md"), WholeFile(f"{WRITTEN_BY}\n"))
    changes = plan_install([*desk.files(), nowhere], record)
    with raises(StoreOutage, "not_writable"):
        apply_changes(changes, record, desk.home, at=1_000.5)
    assert desk.tree() == before
    assert InstallationRecord.load(desk.home) == InstallationRecord()


def test_a_client_that_was_connected_before_gets_the_hook_before_commands_too(desk: Desk) -> None:
    desk.put()
    complete = json.loads(desk.settings.read_text())
    assert [group["matcher"] for group in complete["hooks"]["PreToolUse"]] == ["Bash"]
    older = {**complete, "hooks": {name: group for name, group in complete["hooks"].items() if name != "PreToolUse"}}
    desk.settings.write_text(json.dumps(older))
    entries = SettingsEntries(hook_entries(LAUNCHER, CLAUDE_CODE.name, CLAUDE_CODE.events))
    assert not entries.is_complete(desk.settings.read_text())
    desk.put()
    assert json.loads(desk.settings.read_text()) == complete


@pytest.mark.parametrize("steps", range(4))
def test_killed_between_two_writes_nothing_is_torn_and_everything_can_be_taken_back(desk: Desk, steps: int) -> None:
    write(desk.settings, '{"a": 1}')
    write(desk.notes, "mine\n")
    before = desk.tree()
    in_a_child_that_dies(desk.put, after_renames=steps)
    for path in (desk.settings, desk.notes):
        assert path.read_bytes() == before[str(path.relative_to(desk.project))] or b"tacit" in path.read_bytes()
    json.loads(desk.settings.read_text())
    desk.take()
    left = {name: data for name, data in desk.tree().items() if data is not None and not name.endswith(".part")}
    assert left == {name: data for name, data in before.items() if data is not None}
    desk.put()
    assert SettingsEntries(hook_entries(LAUNCHER, CLAUDE_CODE.name, CLAUDE_CODE.events)).is_complete(
        desk.settings.read_text()
    )


def in_a_child_that_dies(work: Callable[[], object], *, after_renames: int) -> None:
    """Run something in a process that ends without a word before its next rename."""
    child = os.fork()
    if child == 0:
        done: list[int] = []
        real: Any = os.replace

        def counted(*arguments: object, **options: object) -> None:
            if len(done) == after_renames:
                os._exit(9)
            done.append(1)
            real(*arguments, **options)

        os.replace = counted  # not ours: what every program calls last when it puts a file in place
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 9


def test_the_diff_shows_no_secret_of_somebody_else(desk: Desk) -> None:
    token = "ghp_" + "a1B2" * 9
    write(desk.settings, '{\n  "env": {"T": "' + token + '"}\n}\n')
    (change, *_) = plan_install(desk.files(), InstallationRecord())
    shown = "\n".join(change.diff())
    assert "+" in shown
    assert token not in shown


def test_a_shared_hook_keeps_still_where_there_is_no_tacit(tmp_path: Path) -> None:
    for shell in ("sh", "bash"):
        done = subprocess.run(
            ["env", "-i", f"HOME={tmp_path}", "PATH=/usr/bin:/bin", shell, "-c", SHARED.hook("codex")],
            input="{}",
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_shared_hook_finds_what_pipx_or_uv_installed(tmp_path: Path) -> None:
    shim = tmp_path / ".local" / "bin" / "tacit"
    write(shim, '#!/bin/sh\necho "$@"; cat\n')
    shim.chmod(0o755)
    done = subprocess.run(
        ["env", "-i", f"HOME={tmp_path}", "PATH=/usr/bin:/bin", "sh", "-c", SHARED.hook("codex")],
        input="event",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["hook --client codex", "event"]


@pytest.mark.parametrize("identity", ["0", '"a-1"'])
def test_a_shared_server_answers_politely_where_there_is_no_tacit(tmp_path: Path, identity: str) -> None:
    command, arguments = SHARED.server("codex")
    greeting = (
        '{"method":"initialize","params":{"protocolVersion":"2025-06-18"},"jsonrpc":"2.0","id":' + identity + "}\n"
    )
    done = subprocess.run(
        ["env", "-i", f"HOME={tmp_path}", "PATH=/usr/bin:/bin", command, *arguments],
        input=greeting + '{"method":"notifications/initialized","jsonrpc":"2.0"}\n',
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert answer["id"] == json.loads(identity)
    assert answer["result"]["protocolVersion"] == "2025-06-18"


def linked(shim: Path, target: Path) -> Path:
    shim.parent.mkdir(parents=True, exist_ok=True)
    shim.symlink_to(target)
    return shim


def test_the_program_on_the_path_is_named_rather_than_the_environment_behind_it(tmp_path: Path) -> None:
    shim = linked(tmp_path / ".local" / "bin" / "tacit", Path(sysconfig.get_path("scripts")) / "pytest")
    found = find_launcher(tmp_path, tmp_path)
    assert (found.words, found.warning) == ((str(shim),), "")


def test_a_program_of_that_name_from_another_installation_is_not_ours(tmp_path: Path) -> None:
    shim = linked(tmp_path / ".local" / "bin" / "tacit", Path("/bin/sh"))
    assert str(shim) not in find_launcher(tmp_path, tmp_path).words


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="speaks of virtual environments")
def test_a_program_that_may_vanish_is_told(tmp_path: Path) -> None:
    assert "virtual environment" in find_launcher(tmp_path, tmp_path).warning
    assert "belongs to this project" in find_launcher(Path(sys.prefix).parent, tmp_path).warning


def test_the_program_is_named_by_its_whole_path(tmp_path: Path) -> None:
    assert Path(find_launcher(tmp_path, tmp_path).words[0]).is_absolute()


def test_agents_are_told_a_plain_name_only_if_their_shell_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert find_launcher(tmp_path, tmp_path).program == shlex.join(find_launcher(tmp_path, tmp_path).words)
    shim = linked(tmp_path / ".local" / "bin" / "tacit", Path(sysconfig.get_path("scripts")) / "pytest")
    assert find_launcher(tmp_path, tmp_path).program == str(shim)
    monkeypatch.setenv("PATH", f"{shim.parent}:/usr/bin:/bin")
    assert find_launcher(tmp_path, tmp_path).program == "tacit"
    other = tmp_path / "bin" / "tacit"
    write(other, "#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{other.parent}:{shim.parent}:/usr/bin:/bin")
    assert find_launcher(tmp_path, tmp_path).program == str(shim), "another program would answer to the plain name"


@pytest.mark.parametrize("audience", Audience)
def test_texts_name_a_command_that_works_and_promise_what_holds(audience: Audience) -> None:
    launcher = SHARED if audience is Audience.SHARED else Launcher(words=("/venv/bin/tacit",))
    policy, skill = policy_text(launcher, audience), skill_text(launcher)
    for text in (policy, skill):
        assert f"`{'tacit' if audience is Audience.SHARED else '/venv/bin/tacit'} recall" in text
        assert "{" not in text
    assert len(policy) <= 400
    assert "came with a use id" in skill
    assert ("Projects with a `.tacit` folder learn" in policy) == (audience is Audience.USER)


def test_a_path_with_spaces_and_quotes_survives_the_shell() -> None:
    launcher = Launcher(words=("/opt/my 'tools'/tacit",))
    shell, option, script = shlex.split(launcher.hook("codex"))
    assert (shell, option) == ("sh", "-c")
    assert shlex.split(script)[:4] == ["/opt/my 'tools'/tacit", "hook", "--client", "codex"]
    assert is_hook_command(launcher.hook("codex"), "codex")
    assert not is_hook_command(launcher.hook("codex"), "claude-code")


def test_a_hook_whose_program_was_removed_stays_silent_and_succeeds(tmp_path: Path) -> None:
    gone = Launcher(words=(str(tmp_path / "gone" / "tacit"),)).hook("codex")
    done = subprocess.run(gone, shell=True, input="{}", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
