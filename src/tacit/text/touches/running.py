"""What a skill gives a shell to run, in its steps and checks → touches. There every program counts, known by its name or not.

Elsewhere only words that are known to be programs are taken for commands; what stands in a tool's `command` is one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tacit.domain.skill import SkillContent
from tacit.domain.trust import Touch, Touched
from tacit.text.shell import shell_text
from tacit.text.touches.commands import touched_by
from tacit.text.touches.fields import line_of


def run_by_a_shell(
    content: SkillContent, texts: dict[str, str], told: Collection[tuple[str, Touched, str]]
) -> Iterator[Touch]:
    """Touches beside those that were told already, as field, kind and value; `texts` are the fields' texts."""
    scripts = [(f"steps.{number}", shell_text(step.arguments)) for number, step in enumerate(content.steps)]
    scripts += [(f"postconditions.{number}", each.check) for number, each in enumerate(content.postconditions)]
    known = set(told)
    for field, script in scripts:
        start = max(0, texts.get(field, "").find(script)) if script else 0
        line, end = line_of(texts.get(field, ""), start), start + len(script)
        for kind, value in touched_by(script, known=False) if script else ():
            if (field, kind, value) not in known:
                known.add((field, kind, value))
                yield Touch(kind=kind, value=value, field=field, line=line, start=start, end=end)
