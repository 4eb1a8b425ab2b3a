"""The tools of working memory as an agent calls them over MCP, without the protocol around them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

pytest.importorskip("mcp")

from mcp.server.mcpserver.exceptions import ToolError

from tacit.api import Tacit
from tacit.domain.errors import Mistake
from tacit.features.sessions.mcp_tools import WorkingTools
from tacit.store import Store
from tacit.surfaces.mcp import serve
from tests.raising import raises
from tests.unit.making import NOW

CONNECTION = "mcp-" + "0f" * 16


class Kept(Store):
    """A store that outlives the calls that open it."""

    def close(self) -> None:
        pass


@pytest.fixture
def store() -> Kept:
    return Kept(":memory:")


def connected(store: Kept, session: str = CONNECTION) -> WorkingTools:
    @contextmanager
    def memory(*, create: bool = False) -> Iterator[Tacit]:
        with Tacit(store, clock=lambda: NOW) as loop:
            yield loop

    return WorkingTools(memory, session)


def test_agents_on_one_connection_see_what_each_shares(store: Kept) -> None:
    tools = connected(store)
    assert tools.shared() == "Nothing was shared in this session yet."
    assert CONNECTION in tools.share("the port is 8081", agent="builder")
    assert CONNECTION in tools.artifact("docs/plan.md", "the plan")
    shown = tools.shared(agent="tester")
    assert "the port is 8081" in shown
    assert 'name="docs/plan.md"' in shown
    assert "Background knowledge" in shown


def test_another_connection_sees_nothing_of_it_unless_both_name_one_session(store: Kept) -> None:
    one, two = connected(store), connected(store, "mcp-" + "aa" * 16)
    one.share("only here")
    assert two.shared() == "Nothing was shared in this session yet."
    one.share("for all of us", session="review-7")
    assert "for all of us" in two.shared(session=" review-7 ")
    assert "for all of us" not in one.shared()


def test_notes_are_read_and_replaced_under_the_agents_name(store: Kept) -> None:
    tools = connected(store)
    assert tools.scratch("planner") == "There are no notes under this name."
    tools.scratch("planner", "the old plan")
    assert tools.scratch("planner", "second") == "Kept."
    assert "second" in tools.scratch("planner")
    assert "old plan" not in tools.scratch("planner")
    assert "second" not in tools.shared(agent="tester")
    with raises(Mistake, "no_name"):
        tools.scratch(" ")


def test_the_server_offers_the_tools_and_tells_what_is_refused(store: Kept) -> None:
    server = serve(lambda *, create=False: Tacit(store, clock=lambda: NOW), with_index=False)

    async def talk() -> tuple[set[str], str]:
        offered = {tool.name for tool in await server.list_tools()}
        await server.call_tool("share", {"text": "the port is 8081", "agent": "builder"})
        with pytest.raises(ToolError, match="nothing to share"):
            await server.call_tool("share", {"text": " "})
        return offered, str(await server.call_tool("shared", {}))

    offered, shown = asyncio.run(talk())
    assert {"share", "artifact", "scratch", "shared"} <= offered
    assert "the port is 8081" in shown


def test_what_is_recalled_over_a_connection_is_among_its_questions(store: Kept) -> None:
    server = serve(lambda *, create=False: Tacit(store, clock=lambda: NOW), with_index=False)

    async def talk() -> str:
        await server.call_tool("recall", {"task": "deploy the service"})
        return str(await server.call_tool("shared", {}))

    assert "deploy the service → nothing" in asyncio.run(talk())
