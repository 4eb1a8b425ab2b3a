"""A small world for agents: a heating system with faults, some of which hide others."""

from __future__ import annotations

import json
from typing import Any

from tacit.features.evaluate.tool import Tool

TASK = "The flat is cold, please make it warm. I am Ann, house H-7002."
TOOLS = (
    Tool(name="read_room", read_only=True),
    Tool(name="read_panel", read_only=True),
    Tool(name="find_house", required=("house",), read_only=True),
    Tool(name="get_boiler", required=("boiler_id",), read_only=True),
    Tool(name="switch_power"),
    Tool(name="open_valve"),
    Tool(name="refill", required=("boiler_id", "litres")),
    Tool(name="call_technician", required=("summary",)),
)


class Heating:
    """Faults: power, valve, water, lock (needs a technician) and draught (nobody ever showed what helps).

    Without power the panel shows nothing of valve and lock.
    """

    def __init__(self, *faults: str, task: str = TASK) -> None:
        self.task = task
        self.tools = TOOLS
        self.faults = set(faults)
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.abstained = ""
        self.handed_over = False

    @property
    def changes(self) -> list[str]:
        """The calls that were not only looking."""
        reading = {tool.name for tool in TOOLS if tool.read_only}
        return [tool for tool, _ in self.calls if tool not in reading]

    @property
    def solved(self) -> bool:
        """Whether it is warm, or in the right hands."""
        return self.handed_over if "lock" in self.faults else not self.faults and not self.handed_over

    def abstain(self, reason: str) -> None:
        """Take note of it."""
        self.abstained = reason

    def call(self, tool: str, /, **arguments: Any) -> tuple[str, bool]:
        """Answer as the real thing would."""
        self.calls.append((tool, arguments))
        try:
            answer = getattr(self, f"_{tool}")(**arguments)
        except (AttributeError, TypeError) as error:
            return f"Error: {error}", True
        return answer, answer.startswith("Error")

    def _read_room(self) -> str:
        return f"The room is {'cold' if self.faults else 'warm'}."

    def _read_panel(self) -> str:
        if "power" in self.faults:
            return "Power: OFF\nValve: unknown\nLock: unknown"
        valve, lock = "closed" if "valve" in self.faults else "open", "sealed" if "lock" in self.faults else "free"
        return f"Power: ON\nValve: {valve}\nLock: {lock}"

    def _find_house(self, house: str) -> str:
        return json.dumps({"house": house, "boiler_ids": ["b-1", "b-2", "b-3"]}) if house == "H-7002" else "Error: no"

    def _get_boiler(self, boiler_id: str) -> str:
        house = {"b-1": "H-7001", "b-2": "H-7002", "b-3": "H-7003"}[boiler_id]
        low = house != "H-7002" or "water" in self.faults
        water = {"water_litres": 3.5 if low else 12.0, "least_litres": 10.0}
        return json.dumps({"boiler_id": boiler_id, "house": house, **water})

    def _switch_power(self) -> str:
        self.faults ^= {"power"}
        return f"Power is now {'OFF' if 'power' in self.faults else 'ON'}."

    def _open_valve(self) -> str:
        if "power" in self.faults:
            return "Error: no power"
        self.faults -= {"valve"}
        return "Valve is now open."

    def _refill(self, boiler_id: str, litres: int) -> str:
        if boiler_id == "b-2" and litres >= 8:
            self.faults -= {"water"}
        return json.dumps({"boiler_id": boiler_id, "added_litres": litres})

    def _call_technician(self, summary: str) -> str:
        self.handed_over = True
        return f"Somebody will come: {summary}"
