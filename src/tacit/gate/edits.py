"""A person's edit beside the version before: what may contradict itself now. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from tacit.domain.candidate import Finding, Severity
from tacit.domain.skill import SkillContent


def edited_sentences(content: SkillContent, before: SkillContent) -> Iterator[Finding]:
    """Name steps whose sentence was rewritten while the tool call below it stayed as it was."""
    for number, (now, then) in enumerate(zip(content.steps, before.steps, strict=False), start=1):
        same_call = now.tool and (now.tool, dict(now.arguments)) == (then.tool, dict(then.arguments))
        if same_call and now.text != then.text:
            message = f"the sentence of step {number} was changed, but its tool call was not: do they still agree?"
            yield Finding(rule="edited_sentence", message=message, severity=Severity.LOW, field=f"steps.{number - 1}")
