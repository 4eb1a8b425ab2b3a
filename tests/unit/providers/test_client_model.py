"""A client as a language model: what it is given, how it may fail, and that nothing of it outlives its time limit."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tacit.config.environment import client_environment
from tacit.config.settings import ModelSettings
from tacit.domain.errors import ModelOutage, OverBudget
from tacit.domain.ports import Prompt, Spending
from tacit.providers.client_model import CLIENTS, ClientModel, find_program
from tacit.providers.opening import known_price, open_model, vendor_of
from tests.raising import raises

pytestmark = pytest.mark.slow
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
PROMPT = Prompt(instructions="Say one word.", material="private words", schema=SCHEMA, max_output_tokens=700)
USAGE = {"input_tokens": 90, "cache_read_input_tokens": 10, "output_tokens": 7}
NAMES = {"claude-code": "claude", "codex": "codex"}


class Machine:
    """A person's home, and a program in the place of a client, which keeps what it was given."""

    def __init__(self, folder: Path, client: str) -> None:
        self.client, self.home, self.given = client, folder / "home", folder / "given"
        self.variables = {"HOME": str(self.home), "PATH": f"{self.home}/bin:/usr/bin:/bin"}
        (self.home / "bin").mkdir(parents=True)
        self.given.mkdir()

    def install(self, output: str, *, answer: str = "", code: int = 0, then: str = "") -> None:
        """Make the client print this, and write the answer to the file that Codex is told."""
        (self.given / "output").write_text(output)
        (self.given / "answer").write_text(answer)
        program = self.home / "bin" / NAMES[self.client]
        program.write_text(
            f"""#!/bin/sh
[ "$1" = debug ] && exit 1
cd {self.given} && cat > stdin; printf '%s\\n' "$@" > argv; env > env; ls -A "$OLDPWD" > files
for word; do [ "$last" = --output-last-message ] && cp answer "$word"; last=$word; done
[ -z "$CODEX_HOME" ] || cp "$CODEX_HOME/config.toml" config.toml
{then}
cat output
exit {code}
"""
        )
        program.chmod(0o755)

    def open(self, **more: Any) -> ClientModel:
        settings = ModelSettings(**{"name": self.client, **more})
        model = open_model(settings, environment=client_environment(variables=self.variables))
        assert isinstance(model, ClientModel)
        return model

    def outage(self, code: str, **more: Any) -> ClientModel:
        model = self.open(**more)
        with raises(ModelOutage, code) as raised:
            model.ask(PROMPT)
        assert raised.value.hint
        return model


@pytest.fixture
def claude(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "claude-code")


@pytest.fixture
def codex(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "codex")


def result(**fields: Any) -> str:
    return json.dumps({"type": "result", "is_error": False, "usage": USAGE, "total_cost_usd": 0.25, **fields})


def events(*more: dict[str, Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in ({"type": "turn.started"}, *more))


DONE = {"type": "turn.completed", "usage": {"input_tokens": 100, "output_tokens": 7}}


def test_claude_answers_and_says_what_it_took(claude):
    claude.install(result(structured_output={"word": "yes"}))
    with claude.open() as model:
        assert model.ask(PROMPT) == {"word": "yes"}
        assert model.spent == Spending(calls=1, input_tokens=100, output_tokens=7, usd=0.25)
    assert (model.name, model.vendor) == ("claude-code", "anthropic")


def test_codex_answers_and_says_what_it_took(codex):
    codex.install(events(DONE), answer='{"word": "yes"}')
    with codex.open(name="codex:gpt-5.5", price_in=1.0, price_out=10.0) as model:
        assert model.ask(PROMPT) == {"word": "yes"}
        assert model.spent == Spending(
            calls=1, input_tokens=100, output_tokens=7, usd=(100 * 1.0 + 7 * 10.0) / 1_000_000
        )
    assert (model.name, model.vendor) == ("codex:gpt-5.5", "openai")
    assert 'model" = "gpt-5.5"' in (codex.given / "config.toml").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_prompt_goes_over_stdin_in_an_empty_folder_without_the_marks_of_a_session(tmp_path, name):
    machine = Machine(tmp_path, name)
    machine.variables |= {
        "CLAUDECODE": "1",
        "CODEX_THREAD_ID": "t",
        "TACIT_CONFIG": "secret",
        "ANTHROPIC_API_KEY": "own",
    }
    machine.install(result(structured_output={}) + "\n" + events(DONE), answer="{}")
    machine.open().ask(PROMPT)
    assert (machine.given / "stdin").read_text() == PROMPT.material
    argv = (machine.given / "argv").read_text()
    assert PROMPT.material not in argv
    assert PROMPT.instructions not in argv
    assert (machine.given / "files").read_text() == ""
    seen = dict(line.partition("=")[::2] for line in (machine.given / "env").read_text().splitlines())
    assert not {"CLAUDECODE", "CODEX_THREAD_ID", "TACIT_CONFIG"} & seen.keys()
    assert (seen["TACIT_MODEL_CALL"], seen["ANTHROPIC_API_KEY"]) == ("1", "own")


def test_claude_gets_the_settings_of_the_login_and_no_others(claude):
    (claude.home / ".claude").mkdir()
    own = {
        "apiKeyHelper": "print-key",
        "env": {"CLAUDE_CODE_USE_BEDROCK": "1"},
        "hooks": {"Stop": []},
        "language": "fr",
    }
    (claude.home / ".claude" / "settings.json").write_text(json.dumps(own))
    keep = 'for word; do [ "$last" = --settings ] && cp "$word" settings.json; last=$word; done'
    claude.install(result(structured_output={}), then=keep)
    claude.open().ask(PROMPT)
    given = json.loads((claude.given / "settings.json").read_text())
    assert given.keys() == {"apiKeyHelper", "env", "disableAllHooks", "permissions"}
    assert (given["apiKeyHelper"], given["env"], given["disableAllHooks"]) == ("print-key", own["env"], True)


def test_codex_renews_the_login_in_the_persons_own_file(codex):
    own = codex.home / ".codex"
    own.mkdir()
    for then, renewed in (
        ('echo new > "$CODEX_HOME/auth.json"', "new\n"),  # through the link
        ('rm "$CODEX_HOME/auth.json"; echo newer > "$CODEX_HOME/auth.json"', "newer\n"),  # in its place
    ):
        (own / "auth.json").write_text("old")
        codex.install(events(DONE), answer="{}", then=then)
        codex.open().ask(PROMPT)
        assert (own / "auth.json").read_text() == renewed


def test_client_that_is_not_installed_or_lies_in_the_project_is_not_asked(claude):
    assert claude.outage("client_not_installed").spent == Spending()
    claude.install(result(structured_output={}))
    for project, found in ((claude.home / "shop", True), (claude.home, True), (claude.home / "bin", False)):
        environment = client_environment(project, variables=claude.variables)
        assert bool(find_program(CLIENTS["claude-code"], environment)) is found


def test_variables_that_the_projects_files_set_do_not_reach_the_client(tmp_path):
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text('{"env": {"ANTHROPIC_BASE_URL": "https://x.example"}}')
    given = {
        "HOME": str(tmp_path / "ann"),
        "ANTHROPIC_BASE_URL": "https://x.example",
        "HTTPS_PROXY": "http://own.example",
    }
    environment = client_environment(project, variables=given)
    assert "ANTHROPIC_BASE_URL" not in environment.variables
    assert environment.variables["HTTPS_PROXY"] == "http://own.example"
    assert [name for name, _ in environment.ignored] == ["ANTHROPIC_BASE_URL"]


def test_hanging_client_is_killed_with_all_it_started_and_its_estimate_counts(claude):
    claude.install("", then="sleep 60 & echo $! > child; wait")
    model = claude.outage("client_timed_out", timeout_s=1)
    assert model.spent.tokens > PROMPT.tokens_at_most
    child = Path("/proc", (claude.given / "child").read_text().strip(), "stat")
    deadline = time.monotonic() + 20
    while child.exists() and child.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("output", "code"),
    [
        (result(is_error=True, result="Not logged in · Please run /login", usage={}), "client_logged_out"),
        (result(is_error=True, api_error_status=401, result="no"), "client_logged_out"),
        (result(is_error=True, api_error_status=429, result="slow down"), "client_rate_limited"),
        (result(is_error=True, api_error_status=500, result="broken"), "client_failed"),
        (result(is_error=True, subtype="error_max_turns"), "client_failed"),
        ("error: unknown option '--json-schema'", "client_failed"),
        ("", "client_failed"),
        ("\x00\xff{[", "client_failed"),
        (result(result="I would rather talk about the weather."), "client_no_answer"),
        (result(result="[1, 2]"), "client_no_answer"),
        (result(structured_output="yes"), "client_no_answer"),
        (result(structured_output=None), "client_no_answer"),
        (json.dumps({"type": "result", "usage": [], "total_cost_usd": "much"}), "client_no_answer"),
    ],
)
def test_failing_claude_is_an_outage_with_its_code(claude, output, code):
    claude.install(output, code=1)
    claude.outage(code)


@pytest.mark.parametrize(
    ("output", "answer", "code"),
    [
        ({"type": "turn.failed", "error": {"message": "unexpected status 401 Unauthorized"}}, "", "client_logged_out"),
        ({"type": "turn.failed", "error": {"message": "last status: 429 Too Many"}}, "", "client_rate_limited"),
        ({"type": "turn.failed", "error": {"message": "You've hit your usage limit"}}, "", "client_rate_limited"),
        ({"type": "turn.failed", "error": {"message": "Connection failed"}}, "", "client_failed"),
        ({"type": "turn.failed", "error": "no"}, "{}", "client_failed"),
        (DONE, "the weather", "client_no_answer"),
        (DONE, "[]", "client_no_answer"),
        ({"type": "item.completed", "item": {"type": "command_execution"}}, '{"word": "x"}', "client_failed"),
    ],
)
def test_failing_codex_is_an_outage_with_its_code(codex, output, answer, code):
    codex.install(events(output), answer=answer)
    codex.outage(code)


@pytest.mark.parametrize("name", NAMES)
def test_outage_says_what_the_client_complained_of(tmp_path, name):
    machine = Machine(tmp_path, name)
    unwritten = 'for word; do [ "$before" = --output-last-message ] && rm "$word"; before=$word; done'
    machine.install("", code=1, then=f"{unwritten}\nprintf 'usage\\nerror: unknown option --x\\n\\n' >&2")
    model = machine.open()
    with raises(ModelOutage, "client_failed") as raised:
        model.ask(PROMPT)
    assert "unknown option --x" in raised.value.message


def test_program_that_cannot_be_started_is_an_outage(claude):
    claude.install("")
    (claude.home / "bin" / "claude").write_bytes(b"\x7fELF nothing")
    claude.outage("client_failed")


def test_one_call_where_one_is_allowed(claude):
    claude.install(result(structured_output={"word": "yes"}))
    model = claude.open(max_calls=1)
    model.ask(PROMPT)
    (claude.given / "stdin").unlink()
    with raises(OverBudget, "over_budget"):
        model.ask(PROMPT)
    assert not (claude.given / "stdin").exists()


def test_days_limit_is_kept_in_the_persons_home(claude, tmp_path):
    claude.install(result(structured_output={"word": "yes"}))
    environment = client_environment(variables=claude.variables)
    settings = ModelSettings(name="claude-code", max_tokens_per_day=20_000)
    for _ in range(2):  # a learner and the next one
        open_model(settings, home=tmp_path, environment=environment).ask(PROMPT)
    small = ModelSettings(name="claude-code", max_tokens_per_day=1000)
    with raises(OverBudget, "over_daily_budget"):
        open_model(small, home=tmp_path, environment=environment).ask(PROMPT)
    assert json.loads((tmp_path / "model-usage.json").read_text())["days"].popitem()[1]["calls"] == 2


@pytest.mark.parametrize(
    ("settings", "vendor"),
    [
        ({"name": "claude-code"}, "anthropic"),
        ({"name": "codex:x"}, "openai"),
        ({"name": "openai:gpt-5-mini"}, "openai"),
        ({"name": "anthropic:x"}, "anthropic"),
        ({"name": "openai:x", "base_url": "http://127.0.0.1/v1"}, ""),
    ],
)
def test_vendor_is_who_gets_what_is_asked(settings, vendor):
    assert vendor_of(ModelSettings(**settings)) == vendor


def test_price_of_a_clients_model_is_that_of_its_vendor_or_unknown():
    pytest.importorskip("genai_prices")
    price = known_price(ModelSettings(name="claude-code"))
    assert price is not None
    assert 0 < price(6000, 1000) < 0.1
    assert known_price(ModelSettings(name="codex:model-nobody-knows")) is None


def test_nothing_is_left_in_the_temporary_folder(claude, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    claude.install(result(structured_output={}))
    claude.open().ask(PROMPT)
    assert list((tmp_path / "tmp").iterdir()) == []
