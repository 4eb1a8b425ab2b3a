"""What `tacit doctor` looks at: commands run as a client runs them, settings that switch hooks off, and Codex's trust."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tacit.config.environment import UserEnvironment
from tacit.surfaces.clients.checks import (
    ConfiguredHook,
    check_codex,
    check_files,
    check_readable,
    check_switch,
    check_trust,
    hooks_in,
    moment_of,
    probe_hook,
    probe_server,
)
from tacit.surfaces.clients.connections import (
    CLAUDE_CODE,
    CLIENTS,
    CODEX,
    COPILOT,
    GEMINI,
    OPENCODE,
    QWEN_CODE,
    SHARED,
    Audience,
    Client,
    ClientFolders,
    Launcher,
    hook_entries,
    is_hook_command,
)
from tacit.surfaces.clients.installation import is_connected

COMMAND = "/opt/tacit hook --client codex"
WORKS = """mkdir -p .tacit/sessions; id=$(grep -o '"doctor-[0-9a-f]*"' | tr -d '"')
echo '{}' > ".tacit/sessions/codex-$id.jsonl"; """


@pytest.fixture
def around(tmp_path: Path) -> UserEnvironment:
    return UserEnvironment.read({"HOME": str(tmp_path)})


@pytest.fixture
def places(tmp_path: Path) -> ClientFolders:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    (home / ".codex").mkdir(parents=True)
    (home / ".claude").mkdir()
    return ClientFolders(project=project, user_home=home, claude_home=home / ".claude", codex_home=home / ".codex")


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        (WORKS, ""),
        (WORKS + "echo '{}'", ""),
        ("cat > /dev/null", "left no line in the journal"),
        ("echo oops >&2; exit 7", "status 7: oops"),
        ("/nowhere/tacit hook", "status 127"),
        (WORKS + "echo hello", "no JSON"),
        (WORKS + "printf '{%012000d}' 1", "12002 characters"),
    ],
)
def test_a_hook_is_run_and_its_line_looked_for(
    tmp_path: Path, around: UserEnvironment, script: str, problem: str
) -> None:
    found = probe_hook(script, "codex", folder=tmp_path, environment=around, nonce="00ff")
    assert problem in found.problem
    assert bool(found.problem) == bool(problem)


def test_nothing_of_the_caller_reaches_a_probed_hook(
    tmp_path: Path, around: UserEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("VIRTUAL_ENV", "/venv")
    probe_hook("env > seen", "codex", folder=tmp_path, environment=around, nonce="00ff")
    seen = (tmp_path / "seen").read_text()
    assert f"HOME={tmp_path}\n" in seen
    assert "CLAUDECODE" not in seen
    assert "VIRTUAL_ENV" not in seen


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("""read -r line; echo '{"result":{"serverInfo":{}}}'; cat > /dev/null""", ""),
        ("echo 'no module named mcp' >&2; exit 1", "no module named mcp"),
        ("exit 0", "nothing was said"),
    ],
)
def test_a_server_is_greeted_and_has_to_answer(
    tmp_path: Path, around: UserEnvironment, script: str, problem: str
) -> None:
    found = probe_server("sh", ["-c", script], folder=tmp_path, environment=around)
    assert problem in found.problem
    assert bool(found.problem) == bool(problem)


def test_a_server_that_only_stands_in_is_told_apart(tmp_path: Path, around: UserEnvironment) -> None:
    found = probe_server(*SHARED.server("codex"), folder=tmp_path, environment=around)
    assert (found.problem, found.offers_nothing) == ("", True)
    real = """read -r line; echo '{"result":{"serverInfo":{"name":"tacit","version":"0.1"}}}'; cat > /dev/null"""
    assert not probe_server("sh", ["-c", real], folder=tmp_path, environment=around).offers_nothing


def fingerprint(event: str, timeout_s: int) -> str:
    """As Codex 0.166.0 makes it."""
    hook = f'{{"async":false,"command":"{COMMAND}","timeout":{timeout_s},"type":"command"}}'
    return "sha256:" + hashlib.sha256(f'{{"event_name":"{event}","hooks":[{hook}]}}'.encode()).hexdigest()


def codex_hooks(places: ClientFolders) -> list[ConfiguredHook]:
    (file, *_) = CODEX.files(places, Audience.USER, Launcher(words=("/opt/tacit",)))
    foreign = {"hooks": [{"type": "command", "command": "lint.sh"}]}
    ours = {"hooks": [{"type": "command", "command": COMMAND, "timeout": 10}]}
    file.path.write_text(json.dumps({"hooks": {"Stop": [foreign, ours], "SessionStart": [ours]}}))
    return hooks_in(CODEX, file)


def test_codex_hooks_are_found_behind_those_of_others(places: ClientFolders) -> None:
    found = {hook.event: (hook.group, hook.position, hook.command) for hook in codex_hooks(places)}
    assert found == {"Stop": (1, 0, COMMAND), "SessionStart": (0, 0, COMMAND)}


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("", "not trusted yet"),
        (f'trusted_hash = "{fingerprint("stop", 10)}"', ": trusted"),
        (f'trusted_hash = "{fingerprint("stop", 11)}"', "changed since"),
        (f'trusted_hash = "{fingerprint("stop", 10)}"\nenabled = false', "switched off"),
    ],
)
def test_a_codex_hook_that_is_skipped_silently_is_told(places: ClientFolders, state: str, message: str) -> None:
    hooks = codex_hooks(places)
    table = f'[hooks.state."{places.codex_home}/hooks.json:stop:1:0"]\n{state}\n'
    (places.codex_home / "config.toml").write_text(table if state else "")
    (found,) = [each for each in check_codex(places, hooks, Audience.USER) if "Stop" in each.message]
    assert message in found.message
    assert (found.state == "ok") == (message == ": trusted")
    assert found.state == "ok" or "/hooks" in found.remedy


def test_hooks_that_codex_treats_alike_are_told_in_one_line(places: ClientFolders) -> None:
    (found,) = check_codex(places, codex_hooks(places), Audience.USER)
    assert found.message.startswith("SessionStart, Stop: not trusted yet")


def test_shared_settings_of_an_untrusted_project_are_told(places: ClientFolders) -> None:
    assert "codex: trust" in {each.about for each in check_codex(places, [], Audience.SHARED)}
    (places.codex_home / "config.toml").write_text(f'[projects."{places.project}"]\ntrust_level = "trusted"\n')
    assert list(check_codex(places, [], Audience.SHARED)) == []
    (places.codex_home / "config.toml").write_text("[features]\nhooks = false\n")
    assert [each.state for each in check_codex(places, [], Audience.USER)] == ["fault"]


def test_settings_that_claude_code_ignores_are_told(places: ClientFolders) -> None:
    (file, *_) = CLAUDE_CODE.files(places, Audience.USER, Launcher(words=("/opt/tacit",)))
    assert not is_connected([file])
    assert [each.state for each in check_files([file])] == ["note"]
    document: dict[str, dict[str, list[Any]]] = {"hooks": {}, "permissions": {}}
    for entry in file.piece.entries:  # type: ignore[union-attr]
        document[entry.at[0]].setdefault(entry.at[1], []).append(entry.value)
    file.path.write_text(json.dumps(document))
    assert is_connected([file])
    assert [each.state for each in check_files([file])] == ["ok"]
    file.path.write_text("// mine\n" + json.dumps(document))
    (found,) = check_readable([file]).values()
    assert (found.state, found.message.startswith(str(file.path))) == ("fault", True)


def test_settings_that_cannot_be_read_are_told_with_their_line(places: ClientFolders) -> None:
    launcher = Launcher(words=("/opt/tacit",))
    claude, codex = (client.files(places, Audience.USER, launcher) for client in (CLAUDE_CODE, CODEX))
    assert check_readable([*claude, *codex]) == {}
    claude[0].path.write_text('{\n  "a": 1\n  "b": 2\n}\n')
    codex[1].path.write_text("model = \n")
    found = check_readable([*claude, *codex])
    assert set(found) == {claude[0].path, codex[1].path}
    assert {each.state for each in found.values()} == {"fault"}
    assert "line 3" in found[claude[0].path].message
    assert "line 1" in found[codex[1].path].message


def test_hooks_that_are_switched_off_are_told(places: ClientFolders) -> None:
    off = '{"disableAllHooks": true}'
    for client, text in ((CLAUDE_CODE, off), (QWEN_CODE, off), (GEMINI, '{"hooksConfig": {"enabled": false}}')):
        client.home(places).mkdir(parents=True, exist_ok=True)
        assert list(check_switch(client, places)) == []
        (client.home(places) / "settings.json").write_text(text)
        assert [each.state for each in check_switch(client, places)] == ["fault"]


@pytest.mark.parametrize(
    ("client", "file", "text"),
    [
        (COPILOT, "config.json", '// managed\n{{"trustedFolders": ["{}"]}}'),
        (GEMINI, "trustedFolders.json", '{{"{}": "TRUST_FOLDER"}}'),
        (QWEN_CODE, "trustedFolders.json", '{{"{}/below": "TRUST_PARENT"}}'),
    ],
)
def test_a_project_that_is_not_trusted_is_told_where_its_own_hooks_are_skipped_for_that(
    places: ClientFolders, client: Client, file: str, text: str
) -> None:
    home = client.home(places)
    home.mkdir(parents=True)
    (home / "settings.json").write_text('{"security": {"folderTrust": {"enabled": true}}} // on')
    assert list(check_trust(client, places, Audience.USER)) == []
    assert [each.state for each in check_trust(client, places, Audience.SHARED)] == ["fault"]
    (home / file).write_text(text.format(places.project.parent))
    assert list(check_trust(client, places, Audience.SHARED)) == []


def test_the_command_of_a_plugin_is_found_as_it_stands_there(places: ClientFolders) -> None:
    launcher = Launcher(words=("/opt/it's/tacit",))
    (file, *_) = OPENCODE.files(places, Audience.USER, launcher)
    assert hooks_in(OPENCODE, file) == []
    file.path.parent.mkdir(parents=True)
    file.path.write_text(file.piece.text)  # type: ignore[union-attr]
    assert {hook.command for hook in hooks_in(OPENCODE, file)} == {launcher.hook("opencode")}
    file.path.write_text(file.piece.text.replace("hook --client opencode", "hook; evil"))  # type: ignore[union-attr]
    assert hooks_in(OPENCODE, file) == []


@pytest.mark.parametrize("client", CLIENTS.values(), ids=lambda client: client.name)
def test_every_event_that_is_asked_for_means_something_to_the_hook(client) -> None:
    assert all(moment_of(event) for event in client.events)


@pytest.mark.parametrize(
    ("client", "matcher"), [(CLAUDE_CODE, {"matcher": "Bash"}), (CODEX, {})], ids=["claude-code", "codex"]
)
def test_a_hook_runs_before_commands_and_after_every_call(client, matcher) -> None:
    groups = {entry.at[1]: entry.value for entry in hook_entries(SHARED, client.name, client.events)}
    assert {key: value for key, value in groups["PreToolUse"].items() if key != "hooks"} == matcher
    assert all(list(group) == ["hooks"] for event, group in groups.items() if event != "PreToolUse")
    assert len({group["hooks"][0]["command"] for group in groups.values()}) == 1


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ("/opt/tacit/bin/tacit hook --client codex", True),
        ("'/home of mine/bin/tacit' hook --client codex", True),
        ("/usr/bin/python3.12 -P -m tacit hook --client codex", True),
        ("/usr/bin/python3 -m tacit hook --client codex", True),
        (SHARED.hook("codex"), True),
        ("tacit hook --client claude-code", False),
        ("id; : tacit hook --client codex", False),
        ("notify.sh; tacit hook --client codex", False),
        ("tacit hook --client codex; id", False),
        ("tacit hook --client codex $(id)", False),
        ("$(id)/tacit hook --client codex", False),
        ("sh -c 'id; exec tacit hook --client codex'", False),
        ("python3 -c id -m tacit hook --client codex", False),
        ("'", False),
        ("", False),
    ],
)
def test_only_a_command_that_does_nothing_else_is_taken_for_a_hook_of_tacit(command: str, ours: bool) -> None:
    assert is_hook_command(command, "codex") is ours
