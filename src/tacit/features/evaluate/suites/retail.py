"""Retail: which change does a customer's request need next? Tasks of tau-bench's retail shop with their reference changes.

Learned from are the 500 training tasks, which give changes only; asked are the test tasks that change something, and of
those the changes only. The tools are the shop's seven that change something; one of them no training task uses, as it is
in a shop. Test tasks come in series about one customer, which are variants of one another: such a series is one group.
DATA holds `train_gold.jsonl` and `test_visible_gold.jsonl`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tacit.domain.errors import Mistake
from tacit.domain.tool import Call, Tool
from tacit.domain.trajectory import Trajectory
from tacit.features.evaluate.suites.next_call import NextCallSuite
from tacit.features.evaluate.suites.reference import read_rows, solved, without_held_out

_ADDRESS = ("address1", "address2", "city", "country", "state", "zip")
_ITEMS = ("order_id", "item_ids", "new_item_ids", "payment_method_id")
TOOLS = (
    Tool(
        name="cancel_pending_order",
        description="Cancel an order that has not been sent yet.",
        required=("order_id", "reason"),
    ),
    Tool(
        name="exchange_delivered_order_items",
        description="Exchange items of an order that has arrived for others of the same product.",
        required=_ITEMS,
    ),
    Tool(
        name="modify_pending_order_address",
        description="Send an order that has not been sent yet to another address.",
        required=("order_id", *_ADDRESS),
    ),
    Tool(
        name="modify_pending_order_items",
        description="Swap items of an order that has not been sent yet for others of the same product.",
        required=_ITEMS,
    ),
    Tool(
        name="modify_pending_order_payment",
        description="Pay an order that has not been sent yet in another way.",
        required=("order_id", "payment_method_id"),
    ),
    Tool(
        name="modify_user_address",
        description="Change the address that a customer's account has.",
        required=("user_id", *_ADDRESS),
    ),
    Tool(
        name="return_delivered_order_items",
        description="Return items of an order that has arrived.",
        required=("order_id", "item_ids", "payment_method_id"),
    ),
)
CUSTOMER, TASK = "customer", "task"
_NAMES = tuple(tool.name for tool in TOOLS)


class RetailSuite(NextCallSuite):
    """The test tasks' changes, and what may be learned from."""

    def __init__(self, data: Path, *, by: str = CUSTOMER) -> None:
        """`by` says what makes a group: all tasks about one customer, or each task for itself."""
        if by not in (CUSTOMER, TASK):
            raise Mistake(f"tasks are put together by {CUSTOMER} or by {TASK}, not by {by!r}", hint=f"by={CUSTOMER}")
        path = data / "test_visible_gold.jsonl"
        held_out = _attempts(path)
        together = _customers(path) if by == CUSTOMER else {each.session_id: each.session_id for each in held_out}
        super().__init__("retail", held_out, TOOLS, group=lambda trajectory: together[trajectory.session_id])
        self.tools = TOOLS
        self._training = without_held_out(_attempts(data / "train_gold.jsonl"), held_out)

    def training_trajectories(self) -> list[Trajectory]:
        """The training tasks, solved; none of them is asked."""
        return list(self._training)


def _customers(path: Path) -> dict[str, str]:
    """Task → the first task about the same customer; one that does not say who it is stands for itself."""
    first: dict[str, str] = {}
    found: dict[str, str] = {}
    for row in read_rows(path, fields={"id": str, "actions": list}):
        who = next(
            (call.get("arguments") for call in row["actions"] if str(call["name"]).startswith("find_user")), None
        )
        found[row["id"]] = first.setdefault(json.dumps(who, sort_keys=True), row["id"]) if who else row["id"]
    return found


def _attempts(path: Path) -> list[Trajectory]:
    rows = read_rows(path, fields={"id": str, "instruction": str, "actions": list})
    attempts = [solved(row["id"], row["instruction"], _changes(row["actions"]), tools=_NAMES) for row in rows]
    return [attempt for attempt in attempts if attempt.actions]


def _changes(actions: Iterable[Mapping[str, Any]]) -> list[Call]:
    try:
        return [
            Call(tool=action["name"], arguments=dict(action["arguments"]))
            for action in actions
            if action["name"] in _NAMES
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise Mistake(
            f"a reference call has no name or no arguments: {error}", hint="fetch the retail files again"
        ) from error
