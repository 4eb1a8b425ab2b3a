"""What a skill gives a shell to run, in its steps and checks → commands. There every program counts, known by its name or not.

Elsewhere only words that are known to be programs are taken for commands; what stands in a tool's `command` is one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tacit.domain.skill import SkillContent
from tacit.domain.trust import Touch, Touched
from tacit.text.shell import Command, nested_script, parse_command, shell_text
from tacit.text.touches.fields import line_of

_HARMLESS = frozenset({"cd", "pwd", "true", "false", ":"})
_MAX_DEPTH = 3


def run_by_a_shell(content: SkillContent, texts: dict[str, str], told: Collection[tuple[str, str]]) -> Iterator[Touch]:
    """Commands beside those that were told already, as field and value; `texts` are the fields' texts."""
    scripts = [(f"steps.{number}", shell_text(step.arguments)) for number, step in enumerate(content.steps)]
    scripts += [(f"postconditions.{number}", each.check) for number, each in enumerate(content.postconditions)]
    known = set(told)
    for field, script in scripts:
        start = max(0, texts.get(field, "").find(script)) if script else 0
        for command in _commands(script):
            named = f"{command.program} {command.subcommand}".strip()
            if command.program in _HARMLESS or known & {(field, named), (field, command.label)}:
                continue
            known.add((field, command.label))
            line, end = line_of(texts.get(field, ""), start), start + len(script)
            yield Touch(kind=Touched.COMMAND, value=command.label, field=field, line=line, start=start, end=end)


def _commands(script: str, depth: int = 0) -> Iterator[Command]:
    for command in parse_command(script) if script else ():
        yield command
        inner = nested_script(command)
        if inner and depth < _MAX_DEPTH:
            yield from _commands(inner, depth + 1)
