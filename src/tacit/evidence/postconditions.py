"""A person's messages → the commands that they named as the condition of success: "`curl -f localhost/health` must work".

Reads commands between backticks in sentences that speak of passing or making sure. The agent's own words name nothing,
and neither does the task that one agent gives another.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tacit.domain.trajectory import Role, Trajectory
from tacit.text.shell import Command, parse_command

_LONGEST_MESSAGE = 20_000
_SENTENCE = re.compile(r"(?:[^.!?\n`]|`[^`\n]{1,200}`|[.!?](?!\s|$))+")
_QUOTED = re.compile(r"`([^`\n]{1,200})`")
_DEMANDS = re.compile(
    r"\b(?:pass(?:es)?|succeeds?|exits? (?:with )?(?:status |code )?(?:0|zero)|(?:must|should|needs? to|has to) (?:work|run)|"
    r"verify with|check with|confirm with|make sure|ensure|is green|done when)\b",
    re.IGNORECASE,
)
_SILENT = frozenset({"cd", "export", "set", "source", ".", "unset", "pushd", "popd"})
_SAYS_NOTHING = frozenset({"echo", "printf", "true", ":", "exit", "pwd", "sleep"})


def named_by_person(trajectory: Trajectory) -> dict[str, int]:
    """Each command that a person named as a condition → the step of the message that first did so."""
    named: dict[str, int] = {}
    if trajectory.task.by == "agent":
        return named
    messages = [(step.index, step.text) for step in trajectory.steps if step.role is Role.USER]
    for index, text in ((-1, trajectory.task.text), *messages):
        for sentence in _SENTENCE.findall(text[:_LONGEST_MESSAGE]):
            for quoted in _QUOTED.findall(sentence) if _DEMANDS.search(_QUOTED.sub("", sentence)) else ():
                command = only_command(parse_command(quoted))
                if command and command.program not in _SAYS_NOTHING:
                    named.setdefault(command.text, index)
    return named


def only_command(commands: Sequence[Command]) -> Command | None:
    """The one command of a line that does something, where it is the only one."""
    real = [command for command in commands if command.program not in _SILENT]
    return real[0] if len(real) == 1 else None
