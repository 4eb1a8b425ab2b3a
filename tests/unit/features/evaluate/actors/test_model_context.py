"""A conversation that has grown beyond what the model can read ends the attempt, whatever the model then says."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tacit.features.evaluate.actors.model_agent import ModelActor
from tacit.features.evaluate.conversation import DONE, ChatMessage, ModelReply, format_tool_call
from tacit.features.evaluate.suite import Aid
from tacit.features.evaluate.tool import Call
from tests.unit.features.evaluate.flats import Flat

EACH = 100
"""Tokens that a message takes here."""


class Growing:
    """Mends the flat, then says that all is done; every message takes so many tokens."""

    def complete(
        self, conversations: Sequence[Sequence[ChatMessage]], *, adapter: str = "", max_tokens: int = 96
    ) -> list[ModelReply]:
        text_seen = (DONE if len(each) > 2 else format_tool_call(Call(tool="switch_power")) for each in conversations)
        return [ModelReply(text, EACH * len(each), 7) for text, each in zip(text_seen, conversations, strict=True)]


@pytest.mark.parametrize(
    ("context", "calls", "noted"),
    [
        pytest.param(0, 1, False, id="nobody knows the limit"),
        pytest.param(4 * EACH + 7, 1, False, id="all of it fits"),
        pytest.param(4 * EACH + 6, 1, True, id="the last word does not fit"),
        pytest.param(2 * EACH, 0, True, id="not even the first call fits"),
    ],
)
def test_an_attempt_ends_where_the_model_cannot_read_it(context: int, calls: int, *, noted: bool) -> None:
    flat = Flat(("power",))
    spent = ModelActor(Growing(), max_context=context).act([flat], [Aid()])
    assert len(flat.turns) == calls
    assert bool(spent.notes[0]) is noted
    assert not noted or f"{context} tokens" in spent.notes[0]
