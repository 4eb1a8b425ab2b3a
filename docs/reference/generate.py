"""Writes docs/reference/cli.md from the command line's own help, and clients.md by reading a session of each client.

Run `python docs/reference/generate.py`. A test compares the files with what this would write, so the reference cannot drift
from the program.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from tacit.domain.trajectory import StepResult, Trajectory
from tacit.ingest.sources import PLACES, find_reader
from tacit.surfaces.cli import cli
from tacit.surfaces.cli.table import HIDDEN, OLD_NAMES, REPLACED, less_used
from tacit.surfaces.clients.checks import moment_of
from tacit.surfaces.clients.connections import CLIENTS as CLIENT_TABLE
from tacit.surfaces.clients.connections import Audience, ClientFolders, Launcher, files_of
from tacit.surfaces.hook.events import BEFORE, CALL, LEARN, PROMPT, START

ROOT = Path(__file__).parents[2]
TARGET = Path(__file__).with_name("cli.md")
INTRODUCTION = """\
# Command line

Every command takes `--json` (exactly one JSON document on stdout) and `--store PATH`. Exit codes: 0 done, 1 a bug,
2 a mistake in the input, 3 refused by the rules, 4 something outside failed; see [errors](errors.md). With `--json` an error is
`{"error": {"code": …, "kind": …, "message": …, "hint": …}}`. Renamed JSON keys: [JSON aliases](json-aliases.md).

This page is written by `python docs/reference/generate.py`.
"""
LESS_USED = """
## Less used

These commands are not in the lists of `--help`: they are for agents and other programs, or rarely needed.
"""
OLD_HEADING = """
## Old names

These names keep working; the command on the right is the one to use.

| old | now |
| --- | --- |
"""


def reference() -> str:
    """Return the whole page."""
    rows = (f"| `tacit {old}` | `tacit {new}` |\n" for old, new in (OLD_NAMES | REPLACED).items())
    pages = [*_pages(cli, "tacit"), LESS_USED, *_less_used_pages(), OLD_HEADING, *rows]
    return INTRODUCTION + "".join(pages)


def _pages(command: click.Command, path: str) -> Iterator[str]:
    context = _context(command, path)
    yield _page(command, path)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None and not found.hidden:
                yield from _pages(found, f"{path} {name}")


CLIENTS = """\
# Clients and formats

What `tacit learn` gets out of each client's log. Each row comes from reading one small session in the client's own form: a
test command fails, an edit finds nothing, another edit works, the test passes. This page is written by
`python docs/reference/generate.py`.

- **found**: `tacit learn` without a path finds the sessions of the project. The others are read by path.
- **reads on**: a session that has grown is read on from its open task. The others are read whole; what is known adds nothing.
- **results**, **exit codes**, **failed edits**: of each call it is known whether it worked, with which code, and which edit
  found nothing.
- **asked by**: who is taken for the author of the prompts, where the log says no more. A program's request is never a
  person's word.

| client or format | found | reads on | calls | results | exit codes | failed edits | asked by | times | tokens |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""
RECORDED = {
    "claude-code": "src/tacit/demo/transcripts",
    "codex": "tests/e2e/recordings/codex/transcripts/01-fix",
    "opentelemetry": "tests/e2e/recordings/telemetry/pydantic-ai.jsonl",
}
AFTER_THE_TABLE = """
What a client's log does not hold, no reader can give: Cursor's transcripts and SWE-agent's runs do not say how a call ended,
aider writes down only edits. Cursor keeps its history twice; the database of its editor has results. Its service is never
asked. SQLite databases are opened to read only. OpenHands' events are read as a list, as lines, and as one file per event.

Kept in git: transcripts on the branch `entire/checkpoints/…` or on refs of that name are read from the objects of the
checkout, whichever of these clients wrote them. Claude Code's log events and Copilot's file of spans count as OpenTelemetry.

Subagents are attempts of their own, with their session. Those of Claude Code and Codex are read as real sessions show them;
those of Copilot, Cursor, Gemini CLI, OpenClaw and opencode by the clients' schemas: no real session with one was at hand.
"""


CONNECTIONS = """
## Connections

What `tacit init` writes for each client, for one person and with `--shared`, and by which events the client calls the hook.
A client without a file for something gets none. The closed loops in `tests/e2e/loops` run all of them but aider.

| client | for | hooks | MCP server | deny rules | skill | policy or guide |
| --- | --- | --- | --- | --- | --- | --- |
"""
EVENTS = """
| client | a session starts | you send a prompt | before a command | after a call | the agent stops |
| --- | --- | --- | --- | --- | --- |
"""


def connections() -> str:
    """Return the tables of what each client is given, and of the events that call the hook."""
    places = ClientFolders(
        project=Path("/."), user_home=Path("~"), claude_home=Path("~/.claude"), codex_home=Path("~/.codex")
    )
    written, called = [], []
    for client in CLIENT_TABLE.values():
        person = client.default
        for audience in dict.fromkeys((person, Audience.USER, Audience.SHARED)):
            files = files_of(client, places, audience, launcher=Launcher(words=("tacit",)))
            if not files or files[0].audience is not audience:
                continue
            named = {file.what: str(file.path).removeprefix("/") for file in files}
            parts = (("hooks",), ("MCP server",), ("deny rules",), ("skill",), ("policy", "guide", ".yaml"))
            cells = [next((path for what, path in named.items() if any(p in what for p in part)), "") for part in parts]
            shown = (f"`{cell}`" if cell else "" for cell in cells)
            written.append(f"| {client.title} | {audience} | {' | '.join(shown)} |\n")
        moments: dict[str, list[str]] = {}
        for event in client.events:
            moments.setdefault(moment_of(event), []).append(f"`{event}`")
        cells = [", ".join(moments.get(moment, ())) for moment in (START, PROMPT, BEFORE, CALL, LEARN)]
        called.append(f"| {client.title} | {' | '.join(cells)} |\n")
    return CONNECTIONS + "".join(written) + EVENTS + "".join(called)


def clients() -> str:
    """Return the page on clients: a row for each, by what reading its session gave and by the table of connections."""
    sys.path.insert(0, str(ROOT))
    from tests.unit.ingest.client_samples import SAMPLES

    rows = [_client_row(name, ROOT / place) for name, place in RECORDED.items()]
    for name, write in SAMPLES.items():
        with tempfile.TemporaryDirectory() as home:
            rows.append(_client_row(name, write(Path(home))))
    return CLIENTS + "".join(sorted(rows)) + AFTER_THE_TABLE + connections()


def _client_row(name: str, place: Path) -> str:
    path = place if place.is_file() else sorted(place.rglob("*.jsonl"))[0]
    stream = find_reader(path).read(path)
    main: Trajectory = next(stream)
    rest = list(stream)
    calls = [step for each in (main, *rest) for step in each.actions]
    shows = (
        name in PLACES,
        stream.mark is not None,
        bool(calls),
        any(step.result is not StepResult.UNKNOWN for step in calls),
        any(step.exit_code for step in calls),
        any(step.result is StepResult.NO_MATCH for step in calls),
    )
    asked = "a program" if main.task.by else "a person"
    told = [
        *("yes" if each else "" for each in shows),
        asked,
        *("yes" if each else "" for each in (main.started_at, main.usage.output_tokens)),
    ]
    return f"| {name} | {' | '.join(told)} |\n"


def _less_used_pages() -> Iterator[str]:
    context = _context(cli, "tacit")
    for name in [*cli.list_commands(context), *(name for name in HIDDEN if name not in REPLACED)]:
        command = cli.get_command(context, name)
        if command is not None and command.hidden:
            yield _page(command, f"tacit {name}", level=3)
        elif isinstance(command, click.Group):
            inner = _context(command, f"tacit {name}")
            for each in less_used(command, inner):
                found = command.get_command(inner, each)
                assert found is not None
                yield _page(found, f"tacit {name} {each}", level=3)


def _page(command: click.Command, path: str, *, level: int = 2) -> str:
    return f"\n{'#' * level} `{path}`\n\n```text\n{command.get_help(_context(command, path)).strip()}\n```\n"


def _context(command: click.Command, path: str) -> click.Context:
    return click.Context(
        command, info_name=path, terminal_width=100, max_content_width=100, help_option_names=["-h", "--help"]
    )


if __name__ == "__main__":
    for path, text in ((TARGET, reference()), (TARGET.with_name("clients.md"), clients())):
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
