"""The real clients as language models: they answer in the form asked for, and send nothing of what the person set up."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from tacit.config.environment import ClientEnvironment, client_environment
from tacit.config.settings import ModelSettings
from tacit.domain.errors import ModelOutage
from tacit.domain.ports import Prompt
from tacit.ingest.sources import transcripts
from tacit.providers.opening import open_model
from tests.e2e.loops import ledger
from tests.e2e.loops.dialects import Call, Request, Turn
from tests.e2e.loops.world import World
from tests.raising import raises

pytestmark = pytest.mark.slow
MARK = "mark-of-the-person"
"""Stands in every file that a client may read by itself."""
SCHEMA = {
    "type": "object",
    "properties": {"lessons": {"type": "array", "items": {"type": "string"}}},
    "required": ["lessons"],
}
PROMPT = Prompt(instructions="Read the session.", material="<session>uv run pytest</session>", schema=SCHEMA)
ANSWER = {"lessons": ["use uv"]}
ANSWERING_TOOLS = {"StructuredOutput", "DeferredToolPlaceholder", "functions", "request_user_input"}
"""What a client offers the model for its answer, or cannot leave out; none of them does anything."""


def answered(request: Request) -> Turn:
    text = json.dumps(ANSWER)
    return Turn("", Call("StructuredOutput", ANSWER)) if "StructuredOutput" in request.tools else Turn(text)


@pytest.fixture
def traces(world: World, tmp_path: Path) -> Path:
    """Furnish the person's home and project with all that a client loads; a hook or server that runs leaves a file here."""
    folder = tmp_path / "traces"
    folder.mkdir()
    hook = [{"hooks": [{"type": "command", "command": f"touch {folder}/hook; echo {MARK}"}]}]
    hooks = {"hooks": {"SessionStart": hook, "UserPromptSubmit": hook, "Stop": hook}}
    server = {"command": "touch", "args": [str(folder / "server")]}
    skill = f"---\nname: sk\ndescription: {MARK}\n---\n{MARK}\n"
    files = {
        ".claude/settings.json": json.dumps({**hooks, "outputStyle": "Explanatory", "language": MARK}),
        ".claude/CLAUDE.md": MARK,
        ".claude/skills/sk/SKILL.md": skill,
        ".claude.json": json.dumps({"mcpServers": {"m": {"type": "stdio", **server}}}),
        ".codex/AGENTS.md": MARK,
        ".codex/hooks.json": json.dumps(hooks),
        ".codex/skills/sk/SKILL.md": skill,
        ".agents/skills/sk/SKILL.md": skill,
    }
    for name, text in files.items():
        (world.home / name).parent.mkdir(parents=True, exist_ok=True)
        (world.home / name).write_text(text, encoding="utf-8")
    config = world.home / ".codex" / "config.toml"
    if config.exists():
        own = f'developer_instructions = "{MARK}"\nnotify = ["touch", "{folder}/notify"]\n'
        servers = f'[mcp_servers.m]\ncommand = "touch"\nargs = ["{folder}/server"]\n'
        config.write_text(f"{own}{config.read_text(encoding='utf-8')}{servers}", encoding="utf-8")
    for name in ("CLAUDE.md", "AGENTS.md"):
        (world.project / name).write_text(MARK, encoding="utf-8")
    return folder


@pytest.fixture
def environment(world: World, monkeypatch: pytest.MonkeyPatch) -> ClientEnvironment:
    """What a learner sees that a hook of the client started in the project."""
    (world.home / ".local" / "bin" / world.client.program.name).symlink_to(world.client.program)
    of_the_session = {"CLAUDECODE": "1", "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_PROJECT_DIR": str(world.project)}
    monkeypatch.chdir(world.project)
    given = world.environment | world.client.environment(world.home, world.model.address) | of_the_session
    return client_environment(world.project, variables=given)


def settings(world: World) -> ModelSettings:
    return ModelSettings(name=world.client.name)


def test_client_answers_in_the_form_asked_for_and_sends_nothing_of_the_persons_own(
    world: World, traces: Path, environment: ClientEnvironment
) -> None:
    world.model.script = answered
    mentions = f"/sk @{world.project}/CLAUDE.md @~/.claude/CLAUDE.md $sk [$sk]({world.home}/.agents/skills/sk/SKILL.md)"
    prompt = dataclasses.replace(
        PROMPT, material=f"{mentions}\n{PROMPT.material}\n!echo {world.home} @{world.home}/.profile"
    )
    with open_model(settings(world), home=world.home / ".tacit", environment=environment) as model:
        assert model.ask(prompt) == ANSWER
        assert (model.spent.calls, model.spent.input_tokens, model.spent.output_tokens) == (1, 1000, 20)
    [body] = world.model.bodies
    sent = json.dumps(body)
    assert PROMPT.instructions in sent
    assert "uv run pytest" in sent
    assert MARK not in sent
    assert "Explanatory" not in sent
    assert "PATH=" not in sent
    assert world.model.requests[0].tools <= ANSWERING_TOOLS
    assert list(traces.iterdir()) == []
    homes = {"claude-code": world.home / ".claude", "codex": world.home / ".codex"}
    assert transcripts(homes) == []
    assert not world.model.faults


def test_default_model_is_a_small_one(world: World, environment: ClientEnvironment) -> None:
    world.model.script = answered
    config = world.home / ".codex" / "config.toml"
    if config.exists():  # with the vendor's own provider, at the address of the script
        config.write_text(f'openai_base_url = "{world.model.address}/v1"\n', encoding="utf-8")
    with open_model(settings(world), environment=environment) as model:
        model.ask(PROMPT)
    assert any(small in world.model.bodies[0]["model"] for small in ("haiku", "luna", "mini"))


def test_client_asks_with_the_persons_own_login(world: World, environment: ClientEnvironment) -> None:
    world.model.script = answered
    of_claude = {
        "accessToken": "login-of-ann",
        "refreshToken": "r",
        "expiresAt": 4_000_000_000_000,
        "scopes": ["user:inference"],
    }
    logins = {
        ".claude/.credentials.json": {"claudeAiOauth": of_claude | {"subscriptionType": "max"}},
        ".codex/auth.json": {"auth_mode": "apikey", "OPENAI_API_KEY": "login-of-ann"},
        ".codex/config.toml": f'openai_base_url = "{world.model.address}/v1"\n',
    }
    for name, document in logins.items():
        (world.home / name).parent.mkdir(exist_ok=True)
        (world.home / name).write_text(
            document if isinstance(document, str) else json.dumps(document), encoding="utf-8"
        )
    keyless = {name: value for name, value in environment.variables.items() if not name.endswith("_KEY")}
    with open_model(settings(world), environment=dataclasses.replace(environment, variables=keyless)) as model:
        assert model.ask(PROMPT) == ANSWER
    assert world.model.logins == ["Bearer login-of-ann"]


@pytest.mark.parametrize(
    ("status", "code"), [(401, "client_logged_out"), (429, "client_rate_limited"), (500, "client_failed")]
)
def test_refusal_of_the_vendor_is_an_outage_with_its_own_code(
    world: World, environment: ClientEnvironment, status: int, code: str
) -> None:
    world.model.refuses_with = status
    with open_model(settings(world), environment=environment) as model, raises(ModelOutage, code) as raised:
        model.ask(PROMPT)
    assert raised.value.hint


def test_babbling_model_is_an_outage_and_its_cost_counts(world: World, environment: ClientEnvironment) -> None:
    world.model.script = lambda _: Turn("I would rather talk about the weather.")
    with open_model(settings(world), environment=environment) as model:
        with raises(ModelOutage, "client_no_answer"):
            model.ask(PROMPT)
        assert model.spent.input_tokens >= 1000


def proposing(request: Request) -> Turn:
    """A model that reads the record and proposes one lesson of it."""
    steps = {command: int(step) for step, command in re.findall(r"^(\d+) \$ (.+) → ", request.told, re.MULTILINE)}
    failing = next(command for command in steps if command.startswith("python3 -m ledger report"))
    cited = [{"step": steps[ledger.COMPILE], "quote": ledger.COMPILE}]
    proposal = {
        "kind": "lesson", "title": "Compile the rates before a report", "evidence": cited, "relation": "new", "item": "",
        "text": f"Run `{ledger.COMPILE}` before `python3 -m ledger report`: a report needs compiled exchange rates.",
        "when": "writing the report of a month", "why": "the error does not say how", "check": "",
        "fails": failing, "works": ledger.COMPILE, "error": "LookupError: exchange rates were never compiled",
    }  # fmt: skip
    answer = {"summary": "A month was closed.", "proposals": [proposal]}
    is_tool = "StructuredOutput" in request.tools
    return Turn("", Call("StructuredOutput", answer)) if is_tool else Turn(json.dumps(answer))


def test_session_is_read_by_its_own_client_and_what_it_proposes_waits_for_review(world: World) -> None:
    (world.home / ".local" / "bin" / world.client.program.name).symlink_to(world.client.program)
    session = world.session(ledger.task("2026-04"), lambda _: ledger.long_way("2026-04"))
    assert session.code == 0, session
    world.model.script = proposing
    person = world.person
    person.variables |= world.client.environment(world.home, world.model.address)
    done = person.type("learn", "--model", world.client.name, timeout_s=120)
    assert done.code == 0, done
    use = world.tacit("stats")["language_model"]
    assert (use["today"]["calls"], use["today"]["tokens"]) == (1, 1020)
    assert (use["candidates"], use["approved"]) == (1, 0)
    [waiting] = [each for each in world.tacit("review")["waiting"] if "report needs compiled" in each["skill_md"]]
    world.approve(waiting["version_id"])
    assert world.tacit("stats")["language_model"]["approved"] == 1
    assert world.tacit("learn")["captured"]["added"] == 0, "the client that was asked left a transcript"
