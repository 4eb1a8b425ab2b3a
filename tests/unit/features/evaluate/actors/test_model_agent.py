"""A model as an agent: many worlds in one batch, in the one form; circles, limits and nonsense end an attempt."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tacit.features.evaluate.actors.model_agent import ModelActor
from tacit.features.evaluate.actors.stepping import retries
from tacit.features.evaluate.conversation import DONE, ChatMessage, ModelReply, format_tool_call, prompt_messages
from tacit.features.evaluate.suite import ARMS, Aid
from tacit.features.evaluate.tool import Call, Turn
from tests.unit.features.evaluate.flats import FIXES, Flat
from tests.unit.features.evaluate.heating import TASK, TOOLS


class Model:
    """Says what a function of the conversation says, and keeps what it was asked."""

    def __init__(self, says: Callable[[Sequence[ChatMessage]], str]) -> None:
        self._says = says
        self.batches: list[list[Sequence[ChatMessage]]] = []
        self.adapters: list[str] = []

    def complete(
        self, conversations: Sequence[Sequence[ChatMessage]], *, adapter: str = "", max_tokens: int = 96
    ) -> list[ModelReply]:
        self.batches.append(list(conversations))
        self.adapters.append(adapter)
        return [ModelReply(self._says(conversation), 100, 7) for conversation in conversations]


def follows_aid(conversation: Sequence[ChatMessage]) -> str:
    """Calls the tools that stand before the task, in order."""
    named = conversation[1].content.split("\n\n")[0].split()
    turn = (len(conversation) - 2) // 2
    return format_tool_call(Call(tool=named[turn])) if turn < len(named) else DONE


def aid(*tools: str) -> Aid:
    return Aid(text=" ".join(tools))


def test_worlds_are_asked_together_until_each_is_over() -> None:
    model = Model(follows_aid)
    worlds = [Flat(("power",)), Flat(("power", "valve"))]
    aids = [aid("switch_power"), aid("switch_power", "open_valve")]
    spent = ModelActor(model).act(worlds, aids)
    assert [world.score().success for world in worlds] == [True, True]
    assert [len(batch) for batch in model.batches] == [2, 2, 1]
    assert spent.context_tokens == (200, 300)
    assert spent.output_tokens == (14, 21)
    assert spent.notes == ("", "")


def test_the_model_is_asked_in_the_one_form() -> None:
    model = Model(follows_aid)
    ModelActor(model).act([Flat(("power",))], [aid("switch_power")])
    turn = Turn(call=FIXES["power"], observation="Power is now ON.")
    assert model.batches[0][0] == prompt_messages(TASK, TOOLS, aid="switch_power")
    assert model.batches[1][0] == prompt_messages(TASK, TOOLS, aid="switch_power", turns=[turn])


def test_an_adapter_is_used_in_its_arms_alone() -> None:
    model = Model(lambda conversation: DONE)
    actor = ModelActor(model, name="small", adapter="a1")
    actor.act([Flat(("power",))], [aid()], adapter=True)
    actor.act([Flat(("power",))], [aid()])
    assert model.adapters == ["a1", ""]
    assert actor.name == "small+a1"
    assert not actor.objection(ARMS["skills+adapter"])
    assert ModelActor(model).objection(ARMS["adapter"]) == "no adapter was given"
    assert not ModelActor(model).objection(ARMS["skills"])


@pytest.mark.parametrize(
    ("says", "calls", "note"),
    [
        (format_tool_call(Call(tool="read_room")), 3, "stopped: read_room gave the same answer 3 times"),
        (format_tool_call(Call(tool="switch_power")), 4, "stopped: 4 calls were not enough"),
        ("I am sorry, " * 50, 0, "stopped: no call can be read from 'I am sorry, "),
        ('<tool_call>{"name": "read_room", "argu', 0, "stopped: no call can be read from"),
        ('<tool_call>{"name": "refill", "arguments": {"tool": 1}}', 0, "stopped: no world can be called with"),
        ("[" * 100_000, 0, "stopped: no call can be read from"),
        ("", 0, "stopped: no call can be read from ''"),
    ],
)
def test_an_attempt_that_leads_nowhere_is_stopped(says: str, calls: int, note: str) -> None:
    world = Flat(("valve",))
    spent = ModelActor(Model(lambda conversation: says), max_calls=4).act([world], [aid()])
    assert spent.notes[0].startswith(note)
    assert len(spent.notes[0]) < 200
    assert len(world.turns) == calls
    assert world.abstained
    assert not world.score().success


def test_one_world_that_is_stopped_stops_no_other() -> None:
    worlds = [Flat(("power",)), Flat(("power", "valve"))]
    aids = [Aid(text="read_room " * 9), aid("switch_power", "open_valve")]
    spent = ModelActor(Model(follows_aid)).act(worlds, aids)
    assert spent.notes == ("stopped: read_room gave the same answer 3 times", "")
    assert [world.score().success for world in worlds] == [False, True]


class Endless(Flat):
    """A world that never says that it is over."""

    @property
    def over(self) -> bool:
        return False


def test_an_agent_that_ended_is_not_asked_again_whatever_the_world_says() -> None:
    model = Model(lambda conversation: DONE)
    ModelActor(model).act([Endless(("power",))], [aid()])
    assert len(model.batches) == 1


def test_a_retry_is_a_call_after_a_failed_one_of_the_same_tool() -> None:
    def turn(tool: str, *, failed: bool = False) -> Turn:
        return Turn(call=Call(tool=tool), failed=failed)

    assert retries([]) == 0
    assert retries([turn("a", failed=True), turn("a"), turn("a")]) == 1
    assert retries([turn("a", failed=True), turn("b"), turn("a")]) == 0
    assert retries([turn("a", failed=True), turn("a", failed=True), turn("a")]) == 2
