"""Terminal recordings of mini-swe-agent (asciinema files of its screen) → trajectories.

The agent prints every message on a screen of fixed width, so words were wrapped there; the wraps are undone. What its own
libraries print between the messages (the spinner, a logging fault) belongs to no message and is left out. Not a reader of
the product: the client keeps JSON files of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import tacit
from tacit.domain.trajectory import Environment, Role, Step, StepResult, Task

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b[=>()B]")
_SPINNER = re.compile(r"[^\r\n]*Waiting for the LM to respond\.\.\.[ ]*\r?")
_TURN = re.compile(r"^(?:mini-swe-agent \(step \d+, \$[\d.]+\)|User|System):$", re.MULTILINE)
_RULE = re.compile(r"^─{20,}$", re.MULTILINE)
_BLOCK = re.compile(r"```bash\n(.*?)\n```", re.DOTALL)
_RESULT = re.compile(r"<returncode>(-?\d+)</returncode>\n?(.*)", re.DOTALL)
_TASK = re.compile(r"Please solve this issue: (.*?)\n\nYou can execute bash commands", re.DOTALL)
_TAGS = re.compile(r"</?(?:output|output_head|output_tail|warning)>\n?|<elided_chars>.*?</elided_chars>", re.DOTALL)
_KILLED = re.compile(
    r"The last command <command>.*</command> timed out and has been killed\.\nThe output of the command was:(.*?)"
    r"(?:\nPlease try another command and make sure to avoid those requiring interactive input\.|\Z)",
    re.DOTALL,
)


def trajectories(folder: Path) -> Iterator[tuple[str, tacit.Trajectory]]:
    """Every run below a folder in which the agent did something, with the name of its task: its folder's name."""
    for path in sorted(folder.rglob("*.cast")):
        read = trajectory_of(path)
        if read.actions:
            yield path.parent.name, read


def trajectory_of(path: Path) -> tacit.Trajectory:
    """One recording."""
    width, screen = _screen(path)
    turns = list(_turns(screen, width))
    task = next((found[1].strip() for _, text in turns if (found := _TASK.search(text))), path.parent.name)
    steps = [Step(index=0, role=Role.USER, text=task)]
    for (who, said), (_, answer) in pairwise(turns):
        blocks = _BLOCK.findall(said)
        if who.startswith("mini-swe-agent") and len(blocks) == 1:
            steps.append(_step(len(steps), said, command=blocks[0], answer=answer))
    return tacit.Trajectory(
        task=Task(text=task),
        steps=tuple(steps),
        environment=Environment(client="mini-swe-agent", workspace="/app"),
        session_id=path.name.removesuffix(".agent.cast"),
        source=path.name,
    )


def _step(index: int, said: str, *, command: str, answer: str) -> Step:
    found, killed = _RESULT.search(answer), _KILLED.search(answer)
    code = int(found[1]) if found else None
    seen = found[2] if found else f"{killed[1]}\nCommand timed out and was killed" if killed else answer
    result = StepResult.FAILED if code or killed else StepResult.UNKNOWN if code is None else StepResult.OK
    return Step(
        index=index,
        role=Role.AGENT,
        text=said.split("```bash", 1)[0].strip(),
        tool="bash",
        arguments={"command": command},
        observation=_TAGS.sub("", seen).strip(),
        result=result,
        exit_code=code,
    )


def _screen(path: Path) -> tuple[int, str]:
    """Its width, and everything that was written on it."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    written: list[str] = []
    for line in lines[1:]:
        try:
            event = json.loads(line)
        except ValueError:
            continue  # the recorder was killed while writing
        if event[1] == "o":
            written.append(event[2])
    text = _SPINNER.sub("", _ESCAPE.sub("", "".join(written)))
    return int(json.loads(lines[0])["width"]), text.replace("\r\n", "\n")


def _turns(screen: str, width: int) -> Iterator[tuple[str, str]]:
    heads = list(_TURN.finditer(screen))
    ends = [head.start() for head in heads[1:]] + [len(screen)]
    for head, end in zip(heads, ends, strict=False):
        text = _RULE.split(screen[head.end() : end], maxsplit=1)[0]
        yield head.group(), _unwrapped(text, width)


def _unwrapped(text: str, width: int) -> str:
    """Join what was broken at the screen's edge: a broken line ends with a blank, or fills the screen."""
    joined: list[str] = [""]
    before = ""
    for line in text.split("\n"):
        full = len(before) >= width
        if line and (full or before.endswith(" ")) and len(before) + len(line.split(" ", 1)[0]) >= width:
            # A word longer than the screen fills whole lines; a shorter one that ends at the edge lost its blank.
            joined[-1] += (" " if full and " " in before and not before.endswith(" ") else "") + line
        else:
            joined.append(line)
        before = line
    return "\n".join(joined[1:])
