"""An installed coding agent as a language model: `claude -p` and `codex exec`, with the person's own login and no key.

The client runs without a person, in an empty folder, without tools, hooks, MCP servers, skills and files of instructions; of
the person's settings it gets those of the login alone. The prompt goes over stdin. Nothing of the call stays on disk.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tacit.config.environment import ClientEnvironment
from tacit.config.files import read_plain, write_atomically
from tacit.config.location import MODEL_CALL_FOLDER
from tacit.domain.errors import ModelOutage
from tacit.domain.ports import Prompt, Spending
from tacit.providers.budget import Budget

NOT_INSTALLED, TIMED_OUT, LOGGED_OUT = "client_not_installed", "client_timed_out", "client_logged_out"
RATE_LIMITED, FAILED, NO_ANSWER = "client_rate_limited", "client_failed", "client_no_answer"
_FRAME_TOKENS = 3_000
"""What the client itself may add to one request."""
_TURNS = 2
"""Requests for one answer: a client asks again where the model did not keep to the schema."""
_CATALOGUE_S = 10
_MAX_BYTES = 16_000_000
_EMPTY = "empty"
"""The folder that the client runs in."""
_STANDS = "what was mined stands without it"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientAnswer:
    """What a client printed: the answer, or why there is none, and what it took."""

    answer: Any = None
    is_counted: bool = False
    """Whether the client says what the call took."""
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None
    status: int = 0
    """The HTTP status of the vendor's refusal."""
    is_logged_out: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """One call: where its files lie, and what to run."""

    program: str
    folder: Path
    prompt: Prompt
    model: str
    environment: ClientEnvironment
    usd: float
    """What it may still cost."""

    def file(self, name: str, text: str) -> str:
        """Write a file for the client and return its path."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def run(self, command: list[str], variables: Mapping[str, str], given: bytes, *, timeout_s: float) -> str:
        """Run a command in a process group of its own, which is killed at the time limit; return what it prints."""
        output = self.folder / "output"
        with (
            output.open("wb") as file,
            (self.folder / "errors").open("wb") as errors,
            subprocess.Popen(
                command,
                cwd=self.folder / _EMPTY,
                env={**self.environment.variables, **variables},
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=errors,
                start_new_session=True,
            ) as process,
        ):
            try:
                process.communicate(given, timeout=timeout_s)
            finally:
                if process.poll() is None:
                    with suppress(ProcessLookupError, PermissionError):
                        os.killpg(process.pid, signal.SIGKILL)  # and whatever it started
        return read_plain(output, limit=_MAX_BYTES).decode("utf-8", "replace")

    @property
    def complaint(self) -> str:
        """The last line that the client wrote to stderr, such as an option that it does not know."""
        lines = read_plain(self.folder / "errors", limit=_MAX_BYTES).decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


class ClaudeCode:
    """Claude Code, with the small model of the day."""

    name, title, vendor = "claude-code", "Claude Code", "anthropic"
    program, default_model, priced_as = "claude", "haiku", "claude-haiku-5-5"
    login = "run `claude` and type /login"
    _LOGIN_SETTINGS: ClassVar = (
        "env", "apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "forceLoginMethod",
        "forceLoginOrgUUID",
    )  # fmt: skip
    _SETTINGS: ClassVar[Mapping[str, Any]] = {"disableAllHooks": True, "permissions": {"deny": ["Read"]}}
    """No file is read for a mention of it (`@name`) in the material."""

    def command(self, call: _Call) -> list[str]:
        """The command line. An empty list of setting sources leaves out the person's files of instructions too."""
        given = _document(call.environment.claude_home / "settings.json", json.loads)
        settings = {**{key: given[key] for key in self._LOGIN_SETTINGS if key in given}, **self._SETTINGS}
        return [
            call.program, "-p", "--output-format", "json", "--json-schema", json.dumps(call.prompt.schema),
            "--system-prompt-file", call.file("instructions.md", call.prompt.instructions),
            "--settings", call.file("settings.json", json.dumps(settings)), "--setting-sources", "",
            "--tools", "", "--strict-mcp-config", "--disable-slash-commands", "--no-session-persistence",
            "--max-turns", str(_TURNS), *(["--max-budget-usd", f"{call.usd:.4f}"] if call.usd > 0 else []),
            "--effort", "low", "--model", call.model or self.default_model,
        ]  # fmt: skip

    def variables(self, call: _Call) -> dict[str, str]:
        """What it sees besides its environment."""
        return {
            "CLAUDE_CODE_SAFE_MODE": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
            "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(call.prompt.max_output_tokens),
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def read(self, call: _Call, output: str) -> ClientAnswer:
        """Its one result document."""
        found = next((each for each in _records(output) if each.get("type") == "result"), None)
        if found is None:
            return ClientAnswer(problem=call.complaint or "it printed no result")
        usage = _mapping(found.get("usage"))
        read = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        refusal = str(found.get("result") or found.get("subtype") or "") if found.get("is_error") else ""
        cost = found.get("total_cost_usd")
        return ClientAnswer(
            answer=found.get("structured_output", None if refusal else found.get("result")),
            is_counted=bool(usage),
            input_tokens=sum(_count(usage.get(key)) for key in read),
            output_tokens=_count(usage.get("output_tokens")),
            usd=float(cost) if isinstance(cost, int | float) and cost >= 0 else None,
            status=_count(found.get("api_error_status")),
            is_logged_out="/login" in refusal,
            problem=refusal,
        )

    def end(self, call: _Call) -> None:
        """It leaves nothing behind."""


class Codex:
    """Codex, with the small model of its catalogue.

    It reads its home's instructions and skills whatever its options are, so it gets a home of its own with a link to the login.
    """

    name, title, vendor = "codex", "Codex", "openai"
    program, default_model, priced_as = "codex", "", "gpt-6-luna"
    login = "run `codex login`"
    _LOGIN_FILES: ClassVar = ("auth.json", "auth.lock")
    _LOGIN_SETTINGS: ClassVar = (
        "model_provider", "model_providers", "openai_base_url", "chatgpt_base_url", "forced_login_method",
        "forced_chatgpt_workspace_id", "cli_auth_credentials_store",
    )  # fmt: skip
    _SETTINGS: ClassVar[Mapping[str, Any]] = {
        "project_doc_max_bytes": 0, "web_search": "disabled", "include_apps_instructions": False,
        "include_permissions_instructions": False, "include_collaboration_mode_instructions": False,
        "include_environment_context": False, "check_for_update_on_startup": False, "model_reasoning_effort": "low",
        "analytics": {"enabled": False}, "history": {"persistence": "none"},
        "skills": {"include_instructions": False, "bundled": {"enabled": False}},
        "features": dict.fromkeys(
            ("hooks", "shell_tool", "unified_exec", "apps", "plugins", "remote_plugin", "view_image", "goals", "multi_agent",
             "tool_suggest", "skill_search", "image_generation", "computer_use", "browser_use", "browser_use_external",
             "in_app_browser", "shell_snapshot", "memories", "workspace_dependencies", "sleep_tool",
             "unbounded_connection_retries"), False),
    }  # fmt: skip
    _WITHOUT_TOOLS: ClassVar[Mapping[str, Any]] = {
        "tool_mode": None, "apply_patch_tool_type": None, "multi_agent_version": None, "experimental_supported_tools": [],
        "shell_type": "disabled",
    }  # fmt: skip
    _SMALL = re.compile(r"-(?:mini|luna|nano)\b")
    _REFUSED = re.compile(r"status:? (\d{3})\b")

    def command(self, call: _Call) -> list[str]:
        """The command line; the rest is in the settings of its own home."""
        self._make_home(call)
        schema = call.file("schema.json", json.dumps(_strict(call.prompt.schema)))
        return [
            call.program, "exec", "--ephemeral", "--skip-git-repo-check", "--ignore-rules", "--json", "--color", "never",
            "--sandbox", "read-only", "--output-schema", schema, "--output-last-message", str(call.folder / "answer.json"),
            "-",
        ]  # fmt: skip

    def variables(self, call: _Call) -> dict[str, str]:
        """What it sees besides its environment: a Codex home of its own."""
        return {"CODEX_HOME": str(call.folder / "codex")}

    def read(self, call: _Call, output: str) -> ClientAnswer:
        """Its events, and the file with its last message."""
        events = list(_records(output))
        usage = next((_mapping(e.get("usage")) for e in reversed(events) if e.get("type") == "turn.completed"), {})
        failed = [_mapping(e.get("error")) for e in events if e.get("type") == "turn.failed"]
        kinds = {str(_mapping(e.get("item")).get("type")) for e in events if e.get("type") == "item.completed"}
        refusal = " ".join(str(each.get("message", "")) for each in failed)
        status = self._REFUSED.search(refusal)
        used = kinds - {"agent_message", "reasoning", "error"}
        read, written = _count(usage.get("input_tokens")), _count(usage.get("output_tokens"))
        taken = ClientAnswer(is_counted=bool(usage), input_tokens=read, output_tokens=written)
        with suppress(OSError, ValueError):
            answer = read_plain(call.folder / "answer.json", limit=_MAX_BYTES).decode("utf-8")
            if not failed and not used:
                return dataclasses.replace(taken, answer=answer)
        unanswered = f"it used a tool ({', '.join(sorted(used))})" if used else call.complaint or "it wrote no answer"
        status_code = int(status[1]) if status else 429 if "usage limit" in refusal else 0
        return dataclasses.replace(
            taken, problem=refusal or unanswered, status=status_code, is_counted=taken.is_counted or bool(status_code)
        )

    def end(self, call: _Call) -> None:
        """Keep a login that was renewed meanwhile, should the link to it have been replaced."""
        login = self._LOGIN_FILES[0]
        renewed = call.folder / "codex" / login
        if renewed.is_file() and not renewed.is_symlink():
            write_atomically(call.environment.codex_home / login, renewed.read_bytes(), mode=0o600)

    def _make_home(self, call: _Call) -> None:
        home, own = call.folder / "codex", call.environment.codex_home
        home.mkdir()
        for name in self._LOGIN_FILES:
            if own.is_dir():
                (home / name).symlink_to(own / name)
        given = _document(own / "config.toml", tomllib.loads)
        settings = {**{key: given[key] for key in self._LOGIN_SETTINGS if key in given}, **self._SETTINGS}
        # A skill whose name the material mentions would be loaded.
        skills = call.environment.user_home / ".agents" / "skills"
        found = [path for depth in ("*", "*/*") for path in skills.glob(f"{depth}/SKILL.md")]
        off = [{"path": str(name), "enabled": False} for path in found for name in {path, path.resolve()}]
        settings["skills"] = {**self._SETTINGS["skills"], "config": off}
        settings["model_instructions_file"] = call.file("instructions.md", call.prompt.instructions)
        catalogue = self._catalogue(call)
        # A provider of the person's own has the person's own model, and not those of the catalogue.
        model = call.model or (given.get("model", "") if "model_provider" in given else self._small(catalogue))
        if model:
            settings["model"] = model
        if entry := next((each for each in catalogue if each.get("slug") == model), None):
            models = {"models": [{**entry, **self._WITHOUT_TOOLS}]}
            settings["model_catalog_json"] = call.file("models.json", json.dumps(models))
        lines = [f"{json.dumps(key, ensure_ascii=False)} = {_toml_value(value)}\n" for key, value in settings.items()]
        (home / "config.toml").write_text("".join(lines), encoding="utf-8")

    def _catalogue(self, call: _Call) -> list[dict[str, Any]]:
        """The models that the client knows; none where it cannot say."""
        try:
            output = call.run([call.program, "debug", "models"], self.variables(call), b"", timeout_s=_CATALOGUE_S)
            return [each for each in json.loads(output)["models"] if isinstance(each, dict)]
        except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError):
            return []

    def _small(self, catalogue: list[dict[str, Any]]) -> str:
        """The newest small model that is offered; empty leaves the choice to the client."""
        small = [m for m in catalogue if m.get("visibility") == "list" and self._SMALL.search(str(m.get("slug")))]
        return str(min(small, key=lambda each: _count(each.get("priority")))["slug"]) if small else ""


Client = ClaudeCode | Codex
CLIENTS: Mapping[str, Client] = {client.name: client for client in (ClaudeCode(), Codex())}


def find_program(client: Client, environment: ClientEnvironment) -> str:
    """Return the client's program, or nothing; one that lies in the project is not taken."""
    return shutil.which(client.program, path=environment.variables.get("PATH", "")) or ""


class ClientModel:
    """A client that is asked as a language model."""

    def __init__(
        self, client: Client, *, model: str, budget: Budget, environment: ClientEnvironment, timeout_s: float
    ) -> None:
        """Ask this client; `model` is one of its own, empty for a small one."""
        self.name = f"{client.name}:{model}" if model else client.name
        self.vendor = client.vendor
        self._client, self._model, self._budget = client, model, budget
        self._environment, self._timeout_s = environment, timeout_s

    @property
    def spent(self) -> Spending:
        """All that was spent so far."""
        return self._budget.spent

    def __enter__(self) -> ClientModel:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def program(self) -> str:
        """Return the client's program; raise `ModelOutage` where it is not installed."""
        program = find_program(self._client, self._environment)
        if not program:
            hint = "install it, or choose another model"
            raise ModelOutage(f"{self._client.title} is not installed", code=NOT_INSTALLED, hint=hint)
        return program

    def ask(self, prompt: Prompt) -> Mapping[str, Any]:
        """Run the client once and return the object that it answers with."""
        program = self.program()
        held = self._budget.hold(
            input_tokens=_TURNS * (prompt.tokens_at_most + _FRAME_TOKENS),
            output_tokens=_TURNS * prompt.max_output_tokens,
        )
        with tempfile.TemporaryDirectory(prefix=MODEL_CALL_FOLDER, ignore_cleanup_errors=True) as folder:
            call = _Call(
                program=program,
                folder=Path(folder).resolve(),
                prompt=prompt,
                model=self._model,
                environment=self._environment,
                usd=self._budget.limits.usd - self._budget.spent.usd + held.usd,
            )
            (call.folder / _EMPTY).mkdir()
            try:
                found = self._client.read(call, self._run(call))
            finally:
                self._client.end(call)
        if found.is_counted:
            self._budget.settle(held, input_tokens=found.input_tokens, output_tokens=found.output_tokens, usd=found.usd)
        return self._object(found)

    def _run(self, call: _Call) -> str:
        """Run the client and return what it prints."""
        client = self._client
        try:
            command = client.command(call)
            given = call.prompt.material.encode("utf-8", "replace")
            return call.run(command, client.variables(call), given, timeout_s=self._timeout_s)
        except subprocess.TimeoutExpired as error:
            what = f"did not answer within {self._timeout_s:g} s"
            raise self._outage(what, TIMED_OUT, "raise model.timeout_s") from error
        except OSError as error:
            hint = f"run `{client.program} --version`"
            raise self._outage(f"cannot be started: {error.strerror}", FAILED, hint) from error

    def _object(self, found: ClientAnswer) -> Mapping[str, Any]:
        if found.is_logged_out or found.status in (401, 403):
            without = "".join(f"; {name} is ignored because {file} sets it" for name, file in self._environment.ignored)
            raise self._outage("is not logged in", LOGGED_OUT, f"{self._client.login}{without}")
        if found.status == 429:
            raise self._outage("has reached its rate limit", RATE_LIMITED, "try again later")
        if found.problem:
            update = f"try it by hand, or update it: {self._client.program} --version"
            raise self._outage(f"gave no answer: {found.problem[:200]}", FAILED, update)
        answer = found.answer
        if isinstance(answer, str):
            with suppress(ValueError, RecursionError):
                answer = json.loads(answer)
        if not isinstance(answer, dict):
            hint = f"try another model, such as {self._client.name}:NAME"
            raise self._outage("answered with something else than a JSON object", NO_ANSWER, hint)
        return answer

    def _outage(self, what: str, code: str, hint: str) -> ModelOutage:
        return ModelOutage(f"{self._client.title} {what}", code=code, hint=f"{hint}; {_STANDS}")


def _records(output: str) -> Iterator[dict[str, Any]]:
    """The JSON objects among the lines."""
    for line in output.splitlines():
        with suppress(ValueError, RecursionError):
            found = json.loads(line)
            if isinstance(found, dict):
                yield found


def _document(path: Path, parse: Callable[[str], Any]) -> Mapping[str, Any]:
    """A file of settings; nothing where there is none, or none that can be read."""
    try:
        return _mapping(parse(read_plain(path, limit=_MAX_BYTES, follow=True).decode("utf-8")))
    except (OSError, ValueError, RecursionError):
        return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0


def _strict(schema: Any) -> Any:
    """A schema as the vendor's strict mode wants it: every object closed, every field required, no limits of length."""
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    closed = {key: _strict(value) for key, value in schema.items() if key not in ("minLength", "maxLength")}
    if schema.get("type") == "object" and isinstance(schema.get("properties"), Mapping):
        closed |= {"additionalProperties": False, "required": list(schema["properties"])}
    return closed


def _toml_value(value: Any) -> str:
    """One value: JSON but for tables, which TOML writes inline with equal signs."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{json.dumps(key, ensure_ascii=False)} = {_toml_value(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    return json.dumps(value, default=str, ensure_ascii=False)
