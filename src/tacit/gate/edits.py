"""An edit beside the version that it was made of: what may contradict itself now. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tacit.domain.candidate import Candidate, Finding, Severity
from tacit.domain.identity import canonical
from tacit.domain.skill import SkillContent, SkillStep
from tacit.domain.stored import Stored


def edited_from(candidate: Candidate, known: Sequence[Stored], newest: Stored) -> SkillContent:
    """What an edit was made of: its parent, where that is known; a version that came in between is somebody else's."""
    parents = [stored for stored in known if stored.version.id in candidate.parents]
    return (parents[0] if parents else newest).version.content


def edited_sentences(content: SkillContent, before: SkillContent) -> Iterator[Finding]:
    """Name steps whose sentence was rewritten while the tool call below it stayed as it was, wherever they stand now."""
    now, then = _sentences(content.steps), _sentences(before.steps)
    for call, told in now.items():
        gone = [text for _, text in then[call] if text not in {text for _, text in told}]
        new = [(number, text) for number, text in told if text not in {text for _, text in then[call]}]
        for (number, _), _ in zip(new, gone, strict=False):  # what is left over was added, or went
            message = f"the sentence of step {number} was changed, but its tool call was not: do they still agree?"
            yield Finding(rule="edited_sentence", message=message, severity=Severity.LOW, field=f"steps.{number - 1}")


def _sentences(steps: Sequence[SkillStep]) -> defaultdict[bytes, list[tuple[int, str]]]:
    """Tool call → the steps that make it, each with its number and its sentence."""
    found: defaultdict[bytes, list[tuple[int, str]]] = defaultdict(list)
    for number, step in enumerate(steps, start=1):
        if step.tool:
            found[canonical([step.tool, step.arguments])].append((number, step.text))
    return found
