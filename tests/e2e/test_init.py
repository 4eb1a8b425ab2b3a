"""`tacit init`, `tacit uninstall` and `tacit doctor` as people run them: real processes, real files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from tacit.surfaces.clients.connections import is_hook_command
from tests.e2e.conftest import Terminal, approve_all

BOTH = ("--client", "claude-code", "--client", "codex")
CLAUDE_EVENTS = {
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "PermissionDenied",
    "Stop",
    "SessionEnd",
}
CODEX_EVENTS = {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"}

SETTINGS = {
    "missing": None,
    "empty": "",
    "nothing in it": "{}",
    "odd indentation": '{ "a" :1,\n\t\t"hooks":\n {"Stop":[ {"hooks":[{"type":"command","command":"x.sh"}]}\n]}}',
    "windows": '{\r\n    "model": "opus"\r\n}\r\n',
    "byte order mark, no newline": '\ufeff{\n\t"permissions": {"deny": ["Bash(rm:*)"]}\n}',
    "foreign hooks": json.dumps(
        {
            "hooks": {
                event: [{"matcher": "Bash", "hooks": [{"type": "command", "command": "lint.sh"}]}]
                for event in sorted(CLAUDE_EVENTS)
            }
        },
        indent=1,
    ),
}


def snapshot(*roots: Path) -> dict[str, tuple[str, bytes]]:
    """Every file and folder below, with links as links; git's own files aside, except for its list of ignored ones."""
    found = {}
    for root in roots:
        for path in sorted(root.rglob("*")):
            if ".git" in path.parts and path.name != "exclude":
                continue
            kind = "link" if path.is_symlink() else "folder" if path.is_dir() else oct(path.stat().st_mode)
            found[str(path)] = (kind, path.read_bytes() if path.is_file() else b"")
    return found


def lay_out(terminal: Terminal, text: str | None) -> None:
    """Put the same settings into every file that init edits."""
    if text is None:
        return
    places = (
        terminal.project / ".claude",
        terminal.project / ".codex",
        terminal.home / ".claude",
        terminal.home / ".codex",
    )
    for folder in places:
        folder.mkdir(parents=True)
    for folder, names in (
        (terminal.project / ".claude", ("settings.json", "settings.local.json")),
        (terminal.home / ".claude", ("settings.json",)),
        (terminal.project / ".codex", ("hooks.json",)),
        (terminal.home / ".codex", ("hooks.json",)),
        (terminal.project, (".mcp.json",)),
        (terminal.home, (".claude.json",)),
    ):
        for name in names:
            (folder / name).write_bytes(text.encode())
    newline = "\r\n" if "\r\n" in text else "\n"
    for page in (
        terminal.project / "CLAUDE.md",
        terminal.project / "AGENTS.md",
        terminal.home / ".codex" / "AGENTS.md",
    ):
        page.write_bytes(f"# Rules{newline}{newline}Be kind.".encode())
    toml = f'# mine{newline}model = "x"   # odd{newline}{newline}[projects."/p"]{newline}trust_level = "trusted"'
    (terminal.home / ".codex" / "config.toml").write_bytes(toml.encode())


AUDIENCES: dict[str, tuple[str, ...]] = {"local": (), "user": ("--user",), "shared": ("--shared",)}
CASES = [
    (name, audience)
    for name in SETTINGS
    for audience in AUDIENCES
    if audience == "local" or name in ("missing", "odd indentation")
]


@pytest.mark.parametrize(("name", "audience"), CASES)
def test_init_then_uninstall_leaves_every_byte_as_it_was(terminal: Terminal, name: str, audience: str) -> None:
    lay_out(terminal, SETTINGS[name])
    options = AUDIENCES[audience]
    before = snapshot(terminal.project, terminal.home)
    done = terminal.run("init", *BOTH, "--yes", *options)
    assert done.code == 0, done.err
    between = snapshot(terminal.project, terminal.home)
    assert len([path for path in between if between[path] != before.get(path)]) >= 9
    again = terminal.run("init", *BOTH, "--yes", "--json", *options)
    assert again.json["changes"] == []
    assert snapshot(terminal.project, terminal.home) == between
    undone = terminal.run("uninstall", "--yes")
    assert undone.code == 0, undone.err
    assert snapshot(terminal.project, terminal.home) == before


@pytest.mark.parametrize("audience", ["user", "shared"])
@pytest.mark.parametrize(
    ("client", "hooks", "servers", "timeout"),
    [
        (
            "copilot",
            (".copilot/hooks/tacit.json", ".github/hooks/tacit.json"),
            (".copilot/mcp-config.json", ".github/mcp.json"),
            10,
        ),
        ("gemini", (".gemini/settings.json",) * 2, (".gemini/settings.json",) * 2, 10_000),
        ("qwen-code", (".qwen/settings.json",) * 2, (".qwen/settings.json",) * 2, 10_000),
    ],
)
def test_a_client_of_the_table_is_connected_and_left_as_it_was(
    terminal: Terminal, client: str, hooks: tuple[str, str], servers: tuple[str, str], timeout: int, audience: str
) -> None:
    root = terminal.project if audience == "shared" else terminal.home
    settings = root / servers[audience == "shared"]
    settings.parent.mkdir(parents=True)
    settings.write_text('{ "security": {"auth": {"selectedType": "x"}},\n\t"mcpServers": {"mine": {"command": "m"}} }')
    before = snapshot(terminal.project, terminal.home)
    assert terminal.run("init", "--client", client, "--yes", *AUDIENCES[audience]).code == 0
    groups = json.loads((root / hooks[audience == "shared"]).read_bytes())["hooks"].values()
    called = [hook for group in groups for each in group for hook in each["hooks"]]
    assert {hook["timeout"] for hook in called} == {timeout}, "in the client's own unit"
    assert all(f"hook --client {client}" in hook["command"] for hook in called)
    assert {"mine", "tacit"} == set(json.loads(settings.read_bytes())["mcpServers"])
    assert_checked_and_undone(terminal, client, audience, before)


@pytest.mark.parametrize("audience", ["user", "shared"])
def test_a_client_with_plugins_is_connected_by_one_and_its_settings_stay_as_they_are(
    terminal: Terminal, audience: str
) -> None:
    root = terminal.project / ".opencode" if audience == "shared" else terminal.home / ".config" / "opencode"
    (root / "plugins").mkdir(parents=True)
    (root / "plugins" / "mine.js").write_text("export const Mine = async () => ({})\n")
    (root / "opencode.jsonc").write_text('{ "permission": "ask", // mine\n}')
    before = snapshot(terminal.project, terminal.home)
    assert terminal.run("init", "--client", "opencode", "--yes", *AUDIENCES[audience]).code == 0
    plugin = (root / "plugins" / "tacit.js").read_text()
    assert "hook --client opencode" in plugin
    assert '"*tacit review*": "deny"' in plugin
    assert not re.search(r"(?m)^const \w+ = \{\w+\}$", plugin), "nothing is left to fill in"
    assert_checked_and_undone(terminal, "opencode", audience, before)


def assert_checked_and_undone(
    terminal: Terminal, client: str, audience: str, before: dict[str, tuple[str, bytes]]
) -> None:
    """Connecting again changes nothing, the checks pass, and every byte comes back."""
    assert terminal.run("init", "--client", client, "--yes", "--json", *AUDIENCES[audience]).json["changes"] == []
    checked = findings(terminal, "--client", client)
    assert checked[f"{client}: policy"]["state"] == "ok"
    if audience != "shared":  # what is shared asks for a `tacit` that every shell finds
        assert checked[f"{client}: hook command"]["state"] == "ok"
        assert checked[f"{client}: MCP server"]["state"] == "ok"
    assert terminal.run("uninstall", "--yes").code == 0
    assert snapshot(terminal.project, terminal.home) == before


@pytest.mark.parametrize("audience", AUDIENCES)
def test_letta_code_is_connected_in_each_reach_and_left_as_it_was(terminal: Terminal, audience: str) -> None:
    names = {"local": "settings.local.json", "user": "settings.json", "shared": "settings.json"}
    settings = (terminal.home if audience == "user" else terminal.project) / ".letta" / names[audience]
    settings.parent.mkdir()
    settings.write_text('{"lastAgent": "agent-1", "hooks": {"Stop": [{"hooks": []}]}}')
    before = snapshot(terminal.project, terminal.home)
    assert terminal.run("init", "--client", "letta-code", "--yes", *AUDIENCES[audience]).code == 0
    hooks = json.loads(settings.read_bytes())["hooks"]
    assert set(hooks) == {"SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"}
    assert {hook["timeout"] for groups in hooks.values() for group in groups for hook in group["hooks"]} == {10_000}
    checked = findings(terminal, "--client", "letta-code")
    assert checked["letta-code: skill"]["state"] == "ok"
    assert "letta-code: MCP server" not in checked
    assert terminal.run("uninstall", "--yes", "--shared").code == 0
    assert snapshot(terminal.project, terminal.home) == before


def test_clients_without_hooks_get_a_guide_that_is_kept_current(terminal: Terminal) -> None:
    before = snapshot(terminal.project, terminal.home)
    clients = ("--client", "aider", "--client", "mini-swe-agent", "--client", "claude-code")
    assert terminal.run("init", *clients, "--yes").code == 0
    guide, settings = terminal.project / ".tacit" / "guide.md", terminal.project / ".aider.conf.yml"
    assert f'read: ["{guide}"]' in settings.read_text()
    assert terminal.run("init", *clients, "--yes", "--json").json["changes"] == []
    excluded = (terminal.project / ".git" / "info" / "exclude").read_text().split()
    assert {"/.aider.conf.yml", "/.claude/settings.local.json"} <= set(excluded)

    terminal.run("propose", "use-pnpm", "--kind", "norm", "--description", "Use pnpm {% here %}.", "--by", "ann")
    assert "pnpm" not in guide.read_text(), "nobody approved it"
    approve_all(terminal)
    config = (terminal.project / ".tacit" / "mini-swe-agent.yaml").read_text()
    assert "• Use pnpm {% here %}.\n" in guide.read_text()
    assert "\n    • Use pnpm { % here %}.\n" in config, "it must not end what keeps the template as it is"
    assert f'cwd: "{terminal.project}"' in config
    checked = findings(terminal, "--client", "aider", "--client", "mini-swe-agent")
    assert {each["state"] for name, each in checked.items() if name.startswith(("aider", "mini"))} == {"ok"}
    assert terminal.run("uninstall", "--yes").code == 0
    left = set(snapshot(terminal.project, terminal.home)) - set(before)
    assert not [path for path in left if path.endswith(("guide.md", "mini-swe-agent.yaml", ".aider.conf.yml"))]


def test_a_list_of_files_that_aider_reads_already_is_not_written_over(terminal: Terminal) -> None:
    (terminal.project / ".aider.conf.yml").write_text("model: x\nread: [CONVENTIONS.md]\n")
    before = snapshot(terminal.project, terminal.home)
    refused = terminal.run("init", "--client", "aider", "--yes", "--json")
    assert refused.json["error"]["code"] == "not_ours"
    assert snapshot(terminal.project, terminal.home) == before


def test_settings_with_comments_are_refused_because_the_client_ignores_them(terminal: Terminal) -> None:
    lay_out(terminal, '{\n  "model": "opus", // best\n}\n')
    before = snapshot(terminal.project, terminal.home)
    done = terminal.run("init", *BOTH, "--yes", "--json")
    assert (done.code, done.json["error"]["code"]) == (2, "not_json")
    assert snapshot(terminal.project, terminal.home) == before


def events(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_bytes())["hooks"])


def test_every_moment_gets_its_hook_by_an_absolute_path(terminal: Terminal) -> None:
    assert terminal.run("init", *BOTH, "--yes").code == 0
    claude = events(terminal.project / ".claude" / "settings.local.json")
    codex = events(terminal.home / ".codex" / "hooks.json")
    assert (set(claude), set(codex)) == (CLAUDE_EVENTS, CODEX_EVENTS)
    for client, hooks in (("claude-code", claude), ("codex", codex)):
        commands = {hook["command"] for groups in hooks.values() for group in groups for hook in group["hooks"]}
        (command,) = commands
        assert command.startswith("sh -c '/")
        assert is_hook_command(command, client)
    assert {name for name, groups in claude.items() if groups[0].get("matcher") == "Bash"} == {"PreToolUse"}
    assert not any("matcher" in group for groups in codex.values() for group in groups)
    servers = json.loads((terminal.home / ".claude.json").read_text())["projects"][str(terminal.project)]["mcpServers"]
    assert " mcp --client claude-code;" in servers["tacit"]["args"][-1]
    toml = tomllib.loads((terminal.home / ".codex" / "config.toml").read_text())
    assert " mcp --client codex;" in toml["mcp_servers"]["tacit"]["args"][-1]


def test_what_is_for_one_person_stays_out_of_version_control(terminal: Terminal) -> None:
    terminal.run("init", *BOTH, "--yes")
    status = subprocess.run(
        ["git", "status", "--short"], cwd=terminal.project, capture_output=True, text=True, check=True
    )
    assert status.stdout == ""


def test_a_persons_commands_are_denied_to_agents(terminal: Terminal) -> None:
    terminal.run("init", *BOTH, "--yes")
    deny = json.loads((terminal.project / ".claude" / "settings.local.json").read_text())["permissions"]["deny"]
    rules = (terminal.home / ".codex" / "rules" / "tacit.rules").read_text()
    verbs = (
        "review",
        "skills rollback",
        "skills edit",
        "config*--new-key",
        "config*--add-signer",
        "pause",
        "init",
        "uninstall",
    )
    for verb in (*verbs, "purge", "restore", "index", "check*--apply"):
        assert f"Bash(*tacit {verb}*)" in deny
        assert f'"{verb.replace("*", " ").split()[-1]}"' in rules

    def denied(line: str) -> bool:  # the real client reads a run of blanks as one, in the rule too
        return any(fnmatchcase(f"Bash({' '.join(line.split())})", " ".join(rule.split())) for rule in deny)

    no = ("tacit review 1", "tacit  review", "tacit\treview", "tacit --store x review", "uvx tacit skills  edit")
    yes = (
        "tacit recall 'review the code' --json",
        "tacit skills show x --store y",
        "tacit session note x",
        "pytest -q",
    )
    assert [line for line in (*no, *yes) if denied(line)] == [*no]
    assert '["tacit", ["--store", "--json"]]' in rules


def test_the_skill_is_a_valid_agent_skill(terminal: Terminal) -> None:
    terminal.run("init", *BOTH, "--yes")
    checked = terminal.run(
        "skills", "import", "--dry-run", str(terminal.project / ".claude" / "skills" / "tacit"), "--json"
    )
    assert checked.code == 0, checked.out + checked.err


def test_shared_hooks_do_nothing_in_a_clone_without_tacit(terminal: Terminal, tmp_path: Path) -> None:
    terminal.run("init", *BOTH, "--shared", "--yes")
    hooks = {
        **events(terminal.project / ".claude" / "settings.json"),
        **events(terminal.project / ".codex" / "hooks.json"),
    }
    for groups in hooks.values():
        command = groups[0]["hooks"][0]["command"]
        assert str(terminal.home) not in command
        done = subprocess.run(
            ["env", "-i", f"HOME={tmp_path}", "PATH=/usr/bin:/bin", "sh", "-c", command],
            input=b"{}",
            capture_output=True,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_policy_goes_where_claude_reads_it_and_hides_nothing(terminal: Terminal) -> None:
    (terminal.project / "AGENTS.md").write_text("# Ours\n")
    terminal.run("init", "--client", "claude-code", "--shared", "--yes")
    assert not (terminal.project / "CLAUDE.md").exists()
    assert "Tacit" in (terminal.project / "AGENTS.md").read_text()


def test_changing_the_reach_takes_the_former_one_back(terminal: Terminal) -> None:
    (terminal.home / ".claude.json").write_text('{\n  "theme": "dark"\n}\n')
    before = snapshot(terminal.project, terminal.home)
    terminal.run("init", "--client", "claude-code", "--yes")
    terminal.run("init", "--client", "claude-code", "--shared", "--yes")
    assert not (terminal.project / ".claude" / "settings.local.json").exists()
    assert (terminal.project / ".claude" / "settings.json").exists()
    done = terminal.run("init", "--client", "claude-code", "--user", "--yes")
    assert "fire twice" in done.out
    assert (terminal.project / ".claude" / "settings.json").exists(), "what the team has is not moved by one person"
    assert set(json.loads((terminal.home / ".claude.json").read_text())) == {"theme", "mcpServers"}
    terminal.run("uninstall", "--yes")
    assert snapshot(terminal.project, terminal.home) == before


def test_a_channel_is_chosen_with_the_connection_and_goes_with_it(terminal: Terminal) -> None:
    before = snapshot(terminal.project, terminal.home)
    assert terminal.run("init", "--client", "claude-code", "--channel", "skill", "--yes").code == 0
    chosen = terminal.project / ".tacit" / "channels.json"
    assert json.loads(chosen.read_text()) == {"claude-code": "skill"}
    assert terminal.run("init", "--client", "claude-code", "--yes").code == 0
    assert json.loads(chosen.read_text()) == {"claude-code": "skill"}
    assert terminal.run("uninstall", "--yes").code == 0
    assert snapshot(terminal.project, terminal.home) == before


def test_projects_that_share_a_file_do_not_disturb_each_other(terminal: Terminal, tmp_path: Path) -> None:
    (terminal.home / ".claude.json").write_text('{\n  "theme": "dark"\n}\n')
    other = Terminal(project=tmp_path / "other", home=terminal.home)
    other.project.mkdir()
    before = snapshot(terminal.project, other.project, terminal.home)
    for each in (terminal, other, terminal):
        assert each.run("init", "--client", "claude-code", "--yes").code == 0
    projects = json.loads((terminal.home / ".claude.json").read_text())["projects"]
    assert set(projects) == {str(terminal.project), str(other.project)}
    assert other.run("uninstall", "--yes").code == 0
    assert snapshot(terminal.project, other.project, terminal.home) == before


def test_dry_run_writes_nothing_and_shows_everything(terminal: Terminal) -> None:
    before = snapshot(terminal.project, terminal.home)
    done = terminal.run("init", *BOTH, "--dry-run")
    assert done.code == 0
    assert "settings.local.json" in done.out
    assert "+++" not in done.out
    every_line = terminal.run("init", *BOTH, "--dry-run", "--diff").out
    assert '+    "SessionStart": [' in every_line
    assert "+[mcp_servers.tacit]" in every_line
    assert "Nothing was written." in done.out
    assert snapshot(terminal.project, terminal.home) == before


def test_at_a_terminal_it_asks_and_no_means_no(terminal: Terminal) -> None:
    before = snapshot(terminal.project, terminal.home)
    done = terminal.type("init", *BOTH, answers={"Connect Claude Code?": ["d\r", "n\r"], "Connect Codex?": "n\r"})
    summary, lines = done.out.split("Connect Claude Code?", 1)
    assert "settings.local.json" in summary
    assert "+++" not in summary
    assert "+++" in lines.split("Connect Claude Code?")[0]
    assert done.out.rstrip().endswith("Nothing was written.")
    assert snapshot(terminal.project, terminal.home) == before
    done = terminal.type("init", *BOTH, answers={"Connect Claude Code?": "y\r", "Connect Codex?": "n\r"})
    assert done.code == 0
    assert (terminal.project / ".claude" / "settings.local.json").exists()
    assert not (terminal.home / ".codex").exists()


def test_enter_connects_what_stays_in_this_project_and_nothing_that_reaches_beyond(terminal: Terminal) -> None:
    for name in (".claude", ".codex"):
        (terminal.home / name).mkdir()
    done = terminal.type("init", answers={"Connect Claude Code?": "\r", "Connect Codex?": "\r"})
    assert done.code == 0
    assert (terminal.project / ".claude" / "settings.local.json").exists()
    assert list((terminal.home / ".codex").iterdir()) == []


def test_the_hooks_of_every_project_create_nothing_where_nobody_connected_it(
    terminal: Terminal, tmp_path: Path, transcripts: Path
) -> None:
    assert terminal.run("init", "--client", "codex", "--yes").code == 0
    assert (terminal.project / ".tacit").is_dir()
    other = Terminal(project=tmp_path / "other", home=terminal.home)
    other.project.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=other.project, check=True)
    transcript = str(sorted(transcripts.glob("*.jsonl"))[0])
    for name in ("SessionStart", "UserPromptSubmit", "Stop"):
        event = {"hook_event_name": name, "session_id": "s1", "cwd": str(other.project), "prompt": "Add a table",
                 "transcript_path": transcript}  # fmt: skip
        ran = other.run("hook", "--client", "codex", stdin=json.dumps(event))
        assert (ran.code, ran.out) == (0, "")
    assert [path.name for path in other.project.iterdir()] == [".git"]


def test_who_says_yes_beforehand_sees_the_files_and_not_every_line(terminal: Terminal) -> None:
    done = terminal.run("init", *BOTH, "--yes")
    assert "+++" not in done.out
    assert f"create   {terminal.project / '.claude' / 'settings.local.json'}" in done.out
    assert "would" not in done.out
    assert "Claude Code gets skills by hook" in done.out.replace("\r", "")
    assert "Codex gets skills by hook" in done.out.replace("\r", "")


def test_without_a_terminal_it_wants_to_be_told(terminal: Terminal) -> None:
    done = terminal.run("init", *BOTH)
    assert done.code == 2
    assert "--yes" in done.err


@pytest.mark.parametrize("verb", ["init", "uninstall"])
def test_an_agent_may_look_and_not_touch(terminal: Terminal, verb: str) -> None:
    terminal.run("init", *BOTH, "--yes")
    before = snapshot(terminal.project, terminal.home)
    terminal.variables["CLAUDECODE"] = "1"
    refused = terminal.run(verb, "--yes")
    assert refused.code == 3
    assert terminal.run(verb, "--dry-run").code == 0
    assert snapshot(terminal.project, terminal.home) == before


def test_a_file_that_cannot_be_read_is_named_with_its_line_and_nothing_is_touched(terminal: Terminal) -> None:
    broken = terminal.project / ".claude" / "settings.local.json"
    broken.parent.mkdir()
    broken.write_text('{\n  "a": 1\n  "b": 2\n}\n')
    before = snapshot(terminal.project, terminal.home)
    done = terminal.run("init", *BOTH, "--yes")
    assert done.code == 2
    assert f"{broken}: line 3" in done.err
    assert snapshot(terminal.project, terminal.home) == before


def test_only_clients_that_are_there_are_connected(terminal: Terminal) -> None:
    terminal.variables["PATH"] = "/usr/bin:/bin"
    assert "--client" in terminal.run("init", "--yes").err
    (terminal.home / ".claude").mkdir()
    (terminal.home / ".codex").mkdir()
    done = terminal.run("init", "--yes", "--json").json
    assert {change["client"] for change in done["changes"]} == {"claude-code"}, "Codex reaches beyond this project"
    assert any("--client codex" in note for note in done["warnings"])


def test_a_linked_worktree_is_connected_for_itself(terminal: Terminal, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    identity = ["-c", "user.email=a@b.c", "-c", "user.name=a"]
    subprocess.run(["git", *identity, "commit", "-q", "--allow-empty", "-m", "x"], cwd=terminal.project, check=True)
    subprocess.run(["git", "worktree", "add", "-q", str(tree)], cwd=terminal.project, check=True)
    before = snapshot(terminal.project, tree, terminal.home)
    there = Terminal(project=tree, home=terminal.home)
    assert there.run("init", "--client", "claude-code", "--yes").code == 0
    assert (tree / ".claude" / "settings.local.json").exists()
    status = subprocess.run(["git", "status", "--short"], cwd=tree, capture_output=True, text=True, check=True)
    assert status.stdout == ""
    assert terminal.run("uninstall", "--yes").code == 0
    assert snapshot(terminal.project, tree, terminal.home) == before


def findings(terminal: Terminal, *options: str) -> dict[str, dict[str, str]]:
    done = terminal.run("doctor", "--json", *options)
    assert done.out, done.err
    return {each["about"]: each for each in done.json["findings"]}


def test_doctor_says_what_to_do_when_nothing_is_connected(terminal: Terminal) -> None:
    assert "tacit init" in findings(terminal)["clients"]["remedy"]
    assert terminal.run("doctor", "--client", "codex").code == 4


def test_doctor_tells_when_events_last_fired_and_what_hooks_complained_of(terminal: Terminal) -> None:
    terminal.run("init", "--client", "claude-code", "--yes")
    sessions = terminal.project / ".tacit" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "claude-code-abc.jsonl").write_text('{"at":4000000000.5,"moment":"prompt"}\n{"at":17')
    (sessions / "claude-code-abc.wanted").write_text("{}")
    os.utime(sessions / "claude-code-abc.wanted", (4_000_000_060, 4_000_000_060))
    (terminal.home / ".tacit" / "hook.log").write_text("2026-01-01T00:00:00Z hook: OSError at x.py:1\n")
    found = findings(terminal)
    assert "2096-10-02 07:06:40" in found["claude-code: UserPromptSubmit"]["told"]
    assert "2096-10-02 07:07:40" in found["claude-code: Stop"]["told"]
    assert found["claude-code: events"]["told"].endswith(": SessionStart"), "rare events are no matter of concern"
    assert "OSError" in found["hook log"]["told"]


def test_doctor_does_not_count_what_fired_before_it_was_connected(terminal: Terminal) -> None:
    terminal.run("init", "--client", "claude-code", "--yes")
    sessions = terminal.project / ".tacit" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "claude-code-abc.jsonl").write_text('{"at":1700000000.5,"moment":"prompt"}\n')
    found = findings(terminal)
    assert "claude-code: UserPromptSubmit" not in found
    told = "not fired in this project since the client was connected: SessionStart, UserPromptSubmit, Stop"
    assert found["claude-code: events"]["told"] == told


def test_doctor_names_settings_that_cannot_be_read(terminal: Terminal) -> None:
    terminal.run("init", "--client", "claude-code", "--yes")
    broken = terminal.project / ".claude" / "settings.local.json"
    broken.write_text('{\n  "a": 1\n  "b": 2\n}\n')
    done = terminal.run("doctor", "--json")
    assert done.code == 4
    (found,) = [each for each in done.json["findings"] if each["state"] == "fault"]
    assert f"{broken}: line 3" in found["told"]


def test_doctor_does_not_take_the_stand_in_for_a_server(terminal: Terminal) -> None:
    terminal.run("init", "--client", "claude-code", "--shared", "--yes")
    found = findings(terminal)["claude-code: MCP server"]
    assert (found["state"], "offers nothing" in found["told"]) == ("note", True)
    assert "every shell finds it" in found["remedy"]


@pytest.mark.parametrize(
    "command",
    ["touch {proof}; : tacit hook --client claude-code", "{evil}/tacit hook --client claude-code"],
    ids=["a line of shell", "a program of the repository"],
)
def test_doctor_runs_nothing_that_a_repository_brings(terminal: Terminal, tmp_path: Path, command: str) -> None:
    proof, evil = tmp_path / "proof", terminal.project / "bin"
    evil.mkdir()
    (evil / "tacit").write_text(f"#!/bin/sh\ntouch {proof}\n")
    (evil / "tacit").chmod(0o755)
    hook = {"type": "command", "command": command.format(proof=proof, evil=evil)}
    events = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop")
    settings = terminal.project / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"hooks": {event: [{"hooks": [hook]}] for event in events}}))
    terminal.run("doctor")
    terminal.run("doctor", "--client", "claude-code")
    assert not proof.exists()


def test_what_only_mentions_tacit_is_somebody_elses(terminal: Terminal) -> None:
    settings = terminal.project / ".claude/settings.local.json"
    settings.parent.mkdir()
    own = {"type": "command", "command": "notify.sh; tacit hook --client claude-code"}
    before = json.dumps(
        {"hooks": {"Stop": [{"hooks": [own]}]}, "permissions": {"deny": ["Bash(*tacit review*)"]}}, indent=1
    )
    settings.write_text(before)
    notes = "<!-- tacit: begin of my notes -->\nmine\n<!-- tacit: end -->\n"
    (terminal.project / "AGENTS.md").write_text(notes)
    assert terminal.run("init", "--client", "claude-code", "--yes").code == 0
    assert "notify.sh" in settings.read_text()
    settings.write_text(settings.read_text() + "\n")  # touched since, so that only Tacit's part is taken out
    assert terminal.run("uninstall", "--yes").code == 0
    assert json.loads(settings.read_text()) == json.loads(before)
    assert (terminal.project / "AGENTS.md").read_text() == notes


def test_doctor_tells_of_sessions_that_nobody_could_learn_from(terminal: Terminal, transcripts: Path) -> None:
    assert terminal.run("learn", str(transcripts)).code == 0
    sessions = terminal.project / ".tacit/sessions"
    sessions.mkdir()
    (sessions / "codex-0199.failed").write_text("{}")
    told = terminal.run("doctor", "--json").json["findings"]
    assert any(each["state"] == "note" and each["message"].startswith("1 session ") for each in told)
