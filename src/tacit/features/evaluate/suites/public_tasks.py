"""Suites of public tasks with reference calls: tau-bench retail and BFCL multi-turn.

A task with the calls that solve it is an attempt that is known to be right. Held-out tasks are never among the training
tasks. Retail: the 500 training tasks and the test tasks that change something; the tools are the seven that change
something; test tasks about one customer are variants and form one group. BFCL: turns of scenarios whose number is a
multiple of four are for training, those in between for the test; turns of one scenario form one group.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tacit.domain.errors import Mistake, NotFound
from tacit.domain.trajectory import Claim, Environment, Role, Step, Task, Trajectory
from tacit.features.evaluate.suites.next_call import NextCallSuite
from tacit.features.evaluate.tool import Call, Tool
from tacit.text.words import terms

VERIFIED_BY = "reference calls"


def read_rows(path: Path, *, fields: Mapping[str, type]) -> list[dict[str, Any]]:
    """Read the objects of a JSON Lines file (also .gz) that must have these fields; raise one error with every bad line."""
    require_data_file(path)
    opened = gzip.open if path.suffix == ".gz" else open
    rows: list[dict[str, Any]] = []
    problems: list[str] = []
    try:
        with opened(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    row = parse_json(line)
                except ValueError:
                    row = None
                if not isinstance(row, dict):
                    problems.append(f"line {number}: no JSON object")
                elif missing := [name for name, kind in fields.items() if not isinstance(row.get(name), kind)]:
                    problems.append(f"line {number}: lacks {', '.join(missing)}")
                else:
                    rows.append(row)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise Mistake(f"{path} cannot be read: {error}", code="bad_data", hint="fetch the file again") from error
    if problems:
        description = "; ".join(problems[:5]) + (f"; and {len(problems) - 5} more" if len(problems) > 5 else "")
        hint = "compare it with the suite's documentation"
        raise Mistake(f"{path} is not as expected: {description}", code="bad_data", hint=hint)
    if not rows:
        raise Mistake(f"{path} has no tasks", code="bad_data", hint="fetch the file again")
    return rows


def require_data_file(path: Path) -> None:
    """Raise `NotFound` if a file of the suite is missing."""
    if not path.is_file():
        raise NotFound(f"no such file: {path}", code="no_data", hint="give the folder with the suite's files by --data")


def parse_json(text: str) -> Any:
    """Parse JSON; raise `ValueError` if it is invalid, too deep, or has infinite numbers."""
    try:
        return json.loads(text, parse_constant=_finite_number, parse_float=_finite_number)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def solved_attempt(
    key: str, text: str, calls: Iterable[Call], *, tools: Sequence[str] = (), project: str = ""
) -> Trajectory:
    """Return a task with its reference calls as a successful attempt."""
    asked = Step(index=0, role=Role.USER, text=text)
    steps = [
        Step(index=index, role=Role.AGENT, tool=call.tool, arguments=call.arguments)
        for index, call in enumerate(calls, 1)
    ]
    return Trajectory(
        task=Task(text=text, project=project),
        steps=(asked, *steps),
        environment=Environment(client="reference", tools=tuple(tools)),
        claim=Claim(result="success", score=1.0, verified_by=VERIFIED_BY),
        session_id=key,
        source=key,
    )


def without_held_out(training: Iterable[Trajectory], held_out: Iterable[Trajectory]) -> list[Trajectory]:
    """Return the training tasks whose words are not held out."""
    kept_back = {tuple(terms(trajectory.task.text)) for trajectory in held_out}
    return [trajectory for trajectory in training if tuple(terms(trajectory.task.text)) not in kept_back]


def _finite_number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a JSON number")
    return number


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
_TOOL_NAMES = tuple(tool.name for tool in TOOLS)


class RetailSuite(NextCallSuite):
    """The changes of the test tasks, and the training tasks. DATA has `train_gold.jsonl` and `test_visible_gold.jsonl`."""

    def __init__(self, data: Path, *, by: str = CUSTOMER) -> None:
        """`by` says what makes a group: all tasks about one customer, or each task."""
        if by not in (CUSTOMER, TASK):
            hint = f"by={CUSTOMER}"
            raise Mistake(f"by must be {CUSTOMER} or {TASK}, not {by!r}", code="bad_option_value", hint=hint)
        path = data / "test_visible_gold.jsonl"
        held_out = _retail_attempts(path)
        together = (
            _first_task_of_customer(path) if by == CUSTOMER else {each.session_id: each.session_id for each in held_out}
        )
        super().__init__("retail", held_out, TOOLS, group=lambda trajectory: together[trajectory.session_id])
        self.tools = TOOLS
        self._training = without_held_out(_retail_attempts(data / "train_gold.jsonl"), held_out)

    def training_trajectories(self) -> list[Trajectory]:
        """Return the training tasks, solved."""
        return list(self._training)


def _first_task_of_customer(path: Path) -> dict[str, str]:
    """Return task → the first task about the same customer; a task without a customer is its own."""
    first: dict[str, str] = {}
    found: dict[str, str] = {}
    for row in read_rows(path, fields={"id": str, "actions": list}):
        who = next(
            (call.get("arguments") for call in row["actions"] if str(call["name"]).startswith("find_user")), None
        )
        found[row["id"]] = first.setdefault(json.dumps(who, sort_keys=True), row["id"]) if who else row["id"]
    return found


def _retail_attempts(path: Path) -> list[Trajectory]:
    rows = read_rows(path, fields={"id": str, "instruction": str, "actions": list})
    attempts = [
        solved_attempt(row["id"], row["instruction"], _reference_calls(row["actions"]), tools=_TOOL_NAMES)
        for row in rows
    ]
    return [attempt for attempt in attempts if attempt.actions]


def _reference_calls(actions: Iterable[Mapping[str, Any]]) -> list[Call]:
    try:
        return [
            Call(tool=action["name"], arguments=dict(action["arguments"]))
            for action in actions
            if action["name"] in _TOOL_NAMES
        ]
    except (KeyError, TypeError, ValueError) as error:
        hint = "fetch the retail files again"
        raise Mistake(f"a reference call has no name or no arguments: {error}", code="bad_data", hint=hint) from error


_FIELDS = {"id": str, "category": str, "number": int, "text": str, "tools": list, "gold": list, "kind": str}
_POSITIONAL = "_positional"
_PREAMBLE = "Tool description:"
"""The text before it names the tool's program and is the same for all tools of that program."""


class BfclSuite(NextCallSuite):
    """The test turns, and the training turns. DATA has `turns.jsonl.gz` and `tools.json`."""

    def __init__(self, data: Path) -> None:
        documented = _read_tools(data / "tools.json")
        rows = [
            row
            for row in read_rows(data / "turns.jsonl.gz", fields=_FIELDS)
            if row["category"] == "base" and row["kind"] == "answer" and row["text"].strip()
        ]
        numbers = {row["id"]: row["number"] for row in rows}
        learned, held_out = (
            [_bfcl_attempt(row, documented) for row in rows if row["number"] % 4 == part] for part in (0, 2)
        )
        super().__init__(
            "bfcl",
            held_out,
            lambda trajectory: [documented[name] for name in trajectory.environment.tools],
            group=lambda trajectory: f"scenario {numbers[trajectory.session_id]}",
        )
        self._read_tools = documented
        self._training = without_held_out(learned, held_out)

    def training_trajectories(self) -> list[Trajectory]:
        """Return turns of other scenarios, solved."""
        return list(self._training)

    def tools_of(self, trajectory: Trajectory) -> list[Tool]:
        """Return the tools of a turn."""
        return [self._read_tools[name] for name in trajectory.environment.tools]


def _bfcl_attempt(row: Mapping[str, Any], documented: Mapping[str, Tool]) -> Trajectory:
    try:
        unknown = sorted({*row["tools"], *(call["name"] for call in row["gold"])} - set(documented))
        if unknown:
            hint = "fetch both files"
            raise Mistake(f"{row['id']} uses undocumented tools: {', '.join(unknown)}", code="bad_data", hint=hint)
        calls = [
            Call(tool=call["name"], arguments=_named_arguments(call["arguments"], documented[call["name"]]))
            for call in row["gold"]
        ]
    except (KeyError, TypeError, AttributeError) as error:
        message = f"{row['id']} has a reference call that cannot be read: {error}"
        raise Mistake(message, code="bad_data", hint="fetch the file again") from error
    return solved_attempt(row["id"], row["text"], calls, tools=row["tools"])


def _named_arguments(arguments: Mapping[str, Any], tool: Tool) -> dict[str, Any]:
    """Return arguments with names for those that the reference gives by position."""
    named = {name: value for name, value in arguments.items() if name != _POSITIONAL}
    free = [name for name in (*tool.required, *tool.optional) if name not in named]
    return dict(zip(free, arguments.get(_POSITIONAL, ()), strict=False)) | named


def _read_tools(path: Path) -> dict[str, Tool]:
    require_data_file(path)
    try:
        classes: Mapping[str, Sequence[Mapping[str, Any]]] = parse_json(path.read_text("utf-8"))
        tools = [_bfcl_tool(tool) for documented in classes.values() for tool in documented]
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        hint = "fetch the file again"
        raise Mistake(f"{path} does not document tools by class: {error}", code="bad_data", hint=hint) from error
    return {tool.name: tool for tool in tools}


def _bfcl_tool(description: Mapping[str, Any]) -> Tool:
    required = tuple(description["parameters"].get("required", ()))
    if not isinstance(description["name"], str):
        raise TypeError(f"{description['name']!r} is not the name of a tool")
    return Tool(
        name=description["name"],
        description=description["description"].rpartition(_PREAMBLE)[2].strip(),
        required=required,
        optional=tuple(name for name in description["parameters"].get("properties", {}) if name not in required),
    )
