"""`tacit mcp` as a client meets it: a real server process on standard input and output, the official client beside it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import IO, Any

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

import tacit
from tacit.config import channels
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.trajectory import Origin
from tacit.evidence.skill_usage import CONNECTION
from tacit.text.error_signatures import error_signature
from tests.e2e.conftest import Terminal

Talk = Callable[[Client], Awaitable[Any]]
TASK = "Add a migration that adds column `paid_at` to `payments`"


def talk(terminal: Terminal, speak: Talk, *arguments: str) -> Any:
    """Start the server, connect to it as a client does, say something to it, and let it end."""
    if not (nursery := terminal.begins_at):
        words = ["-m", "tacit", "mcp", *arguments]
        server = StdioServerParameters(
            command=sys.executable, args=words, env=terminal.environment, cwd=terminal.project
        )
        return asyncio.run(session(server, speak))
    (reading, to), (out, writing) = os.pipe(), os.pipe()
    with os.fdopen(to, "wb") as to_server, os.fdopen(out, "rb") as from_server:
        begun = nursery.begin(terminal.start(("mcp", *arguments)), (reading, writing, os.dup(2)))
        streams = f"/proc/{os.getpid()}/fd"
        relay = f"cat {streams}/{out} & exec cat > {streams}/{to}"
        server = StdioServerParameters(command="sh", args=["-c", relay])
        said = asyncio.run(session(server, speak, to_server, from_server))
    assert begun.wait() == 0
    return said


async def session(server: StdioServerParameters, speak: Talk, *handed_over: IO[bytes]) -> Any:
    """Connect, and say something; what was handed over to the client is closed here once it is connected."""
    async with Client(server, read_timeout_seconds=60) as client:
        for stream in handed_over:
            stream.close()
        return await speak(client)


async def ask(client: Client, tool: str, **arguments: Any) -> tuple[str, bool]:
    """Call one tool; returns its text and whether it is an error."""
    result = await client.call_tool(tool, arguments)
    return "\n".join(block.text for block in result.content if block.type == "text"), bool(result.is_error)


def call(terminal: Terminal, tool: str, **arguments: Any) -> tuple[str, bool]:
    """The same on a connection of its own."""
    answer: tuple[str, bool] = talk(terminal, lambda client: ask(client, tool, **arguments))
    return answer


def use_id(text: str) -> str:
    return text.rsplit("use_id: ", 1)[1].split(maxsplit=1)[0]


def test_an_agent_gets_its_own_verbs_and_none_of_a_persons(terminal: Terminal) -> None:
    async def speak(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    terminal.variables["PYTHONUNBUFFERED"] = "1"  # an interpreter of its own, started by the client
    assert sorted(talk(terminal, speak)) == [
        "apply", "artifact", "assume", "checkpoint", "propose", "recall", "record", "scratch", "share", "shared",
    ]  # fmt: skip


def test_the_instructions_carry_manners_and_the_index(approved: Terminal) -> None:
    async def speak(client: Client) -> str:
        return client.instructions or ""

    told = talk(approved, speak)
    assert "call `recall`" in told
    assert "Known here:\n- " in told
    assert "migration" in told
    assert "Known here" not in talk(approved, speak, "--client", "codex"), "its hook tells it already"
    channels.choose(str(approved.project / ".tacit"), "codex", channels.MCP)
    assert "Known here" in talk(approved, speak, "--client", "codex")


def test_what_is_recalled_can_be_recorded(approved: Terminal) -> None:
    async def speak(client: Client) -> tuple[str, tuple[str, bool]]:
        text, failed = await ask(client, "recall", task=TASK)
        assert not failed
        return text, await ask(client, "record", use_id=use_id(text), outcome="success")

    text, (answer, failed) = talk(approved, speak)
    assert "<tacit-skills-" in text
    assert not failed
    assert "as your own report" in answer
    stats = approved.run("stats", "--json").json
    assert stats["uses"] == 1
    assert set(stats["evidence"]) == {"self-reported"}


def test_an_error_recalls_the_lesson_about_it(approved: Terminal) -> None:
    lessons = approved.run("skills", "list", "--json").json["skills"]
    [lesson] = [each for each in lessons if each["kind"] == "lesson"]
    error = approved.run("skills", "show", lesson["name"], "--json").json["content"]["signature"]
    text, failed = call(approved, "recall", task="", error=error.replace("<path>", "manage.py"))
    assert not failed
    assert f'name="{lesson["name"]}"' in text


def test_nothing_known_is_said_plainly(terminal: Terminal) -> None:
    text, failed = call(terminal, "recall", task="bake bread")
    assert not failed
    assert text.startswith("Nothing to recall:")
    assert not (terminal.project / ".tacit").exists()


def test_apply_gives_the_whole_skill_and_counts_as_a_use(approved: Terminal) -> None:
    [name, *_] = [each["name"] for each in approved.run("skills", "list", "--json").json["skills"]]
    text, failed = call(approved, "apply", name=name)
    assert not failed
    assert "<tacit-skills-" in text
    assert call(approved, "record", use_id=use_id(text), outcome="failure") == (
        "Recorded for 1 skill, as your own report.",
        False,
    )


def test_a_proposal_waits_for_a_person(terminal: Terminal) -> None:
    text, failed = call(
        terminal,
        "propose",
        name="restart-the-worker",
        description="Restart the worker after its queue was drained.",
        steps=["Drain the queue with `make drain`", "Restart with `make worker`"],
        check="make worker-status",
    )
    assert not failed, text
    assert text.startswith("hold:")
    [waiting] = terminal.run("review", "--json").json["waiting"]
    assert waiting["name"] == "restart-the-worker"


MISTAKES: list[tuple[str, dict[str, str], str]] = [
    ("propose", {"name": "Not A Name!", "description": ""}, "name"),
    ("propose", {"name": "a-name", "description": "x", "kind": "reference"}, "cannot be proposed"),
    ("record", {"use_id": "u_nothing", "outcome": "success"}, "u_nothing"),
    ("record", {"use_id": "u_nothing", "outcome": "great"}, "u_nothing"),
    ("apply", {"name": "no-such-skill"}, "no skill 'no-such-skill'"),
    ("recall", {}, "task"),
]


def test_mistakes_reach_the_model_as_messages_and_end_no_connection(terminal: Terminal) -> None:
    async def speak(client: Client) -> list[tuple[str, bool]]:
        return [await ask(client, tool, **arguments) for tool, arguments, _ in MISTAKES]

    for (text, failed), mistake in zip(talk(terminal, speak), MISTAKES, strict=True):
        assert failed, mistake
        assert mistake[2] in text
        assert "Traceback" not in text


def test_a_damaged_store_is_told_by_the_call_and_stops_no_server(approved: Terminal) -> None:
    (approved.project / ".tacit/tacit.db").write_bytes(b"no database at all" * 50)

    async def speak(client: Client) -> list[bool]:
        answers = [await client.call_tool("recall", {"task": TASK}) for _ in range(2)]
        return [bool(answer.is_error) for answer in answers]

    assert talk(approved, speak) == [True, True]


def test_a_server_that_may_touch_little_tells_little(approved: Terminal) -> None:
    everything = [f"{name}=*" for name in ("hosts", "reads", "writes", "commands", "secrets", "effects")]

    async def speak(client: Client) -> tuple[str, ...]:
        """The instructions, and what is recalled with what the agent allows itself: nothing said, little, everything."""
        allowed: tuple[dict[str, Any], ...] = ({}, {"allow": ["commands=git"]}, {"allow": everything})
        return client.instructions or "", *[(await ask(client, "recall", task=TASK, **each))[0] for each in allowed]

    told, freely, little, much = talk(approved, speak)
    assert "add-database-migration-column" in told
    assert "use_id" in freely
    assert "not allowed here" in little
    assert "use_id" in much
    told, *answers = talk(approved, speak, "--allow", "commands=git")
    assert "add-database-migration-column" not in told
    assert "not allowed here: commands" in answers[0]
    assert "not allowed here" in answers[2], "an agent cannot widen what it may"


def test_a_client_that_tells_its_session_gets_what_is_kept_for_it(terminal: Terminal) -> None:
    error = "LookupError: exchange rates were never compiled"
    lesson = SkillContent(
        kind=Kind.LESSON, name="compile-first", description="Compile the rates first.", signature=error_signature(error)
    )
    with tacit.open(terminal.project / ".tacit" / "tacit.db") as memory:
        made = memory.propose(lesson, by="ann", origin=Origin.USER, scope=Scope(Level.SESSION, "s1"))
        memory.review(made.version_id, "approve", by="ann")
    for session, is_kept_for_it in (("s1", True), ("s2", False)):
        terminal.variables["CLAUDE_CODE_SESSION_ID"] = session
        recalled, _ = call(terminal, "recall", task="the report fails", error=error)
        _, refused = call(terminal, "apply", name="compile-first")
        assert ("compile-first" in recalled, not refused) == (is_kept_for_it, is_kept_for_it)


def test_what_is_asked_on_one_connection_is_one_session(approved: Terminal) -> None:
    async def speak(client: Client) -> list[str]:
        answers = [await client.call_tool("recall", {"task": TASK}) for _ in range(2)]
        return [use_id(str(getattr(answer.content[0], "text", ""))) for answer in answers]

    first, again = talk(approved, speak)
    other, _ = talk(approved, speak)
    with tacit.open(approved.project / ".tacit" / "tacit.db") as loop:
        sessions = [loop.context.store.use(identity).session_id for identity in (first, again, other)]
    assert sessions[0] == sessions[1] != sessions[2]
    assert all(session.startswith(CONNECTION) for session in sessions)


def test_recall_names_a_static_skill_that_fits_and_apply_gives_it(terminal: Terminal) -> None:
    file = terminal.project / ".claude" / "skills" / "release" / "SKILL.md"
    file.parent.mkdir(parents=True)
    head = "---\nname: release\ndescription: Release the shop to the stores.\nallowed-tools: Read\n"
    file.write_text(f"{head}---\nTag it.\n", encoding="utf-8")
    assert terminal.run("init", "--client", "claude-code", "--yes").code == 0
    found, failed = call(terminal, "recall", task="Release the shop to the stores")
    assert (failed, "release (.claude/skills/release/SKILL.md)" in found, "use_id" in found) == (False, True, False)
    whole, failed = call(terminal, "apply", name="release")
    assert (failed, "Tag it." in whole, "use_id" in whole) == (False, True, False)
    assert "asks for: Read" in whole
    assert "unlocked" not in whole


def test_apply_says_which_tools_a_person_unlocked_at_review(terminal: Terminal) -> None:
    tag = {"name": "tag-first", "description": "Tag first.", "body": "Run `git tag`.", "kind": "lesson"}
    assert not call(terminal, "propose", **tag, tools=["Bash(git:*)", "Edit"])[1]
    answers = {"`Bash(git:*)`. Unlock it? [y/N]:": "y\n", "`Edit`. Unlock it? [y/N]:": "\n", "on trial? [y/N]:": "y\n"}
    approved = terminal.type("review", "tag-first", "--approve", "--by", "Ann", answers=answers)
    assert approved.code == 0, approved.out
    whole, _ = call(terminal, "apply", name="tag-first")
    block, _, after = whole.rpartition("</")
    assert "asks for: Bash(git:*), Edit" in block
    assert "unlocked for it: Bash(git:*)\n" in after
