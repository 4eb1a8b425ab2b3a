"""A recalled skill → the block that the agent sees. Pure text; what is recalled and how much fits is decided elsewhere.

The block is delimited, says where it comes from and how well it is proved, and is framed as background knowledge. Its
text is cleaned (see `fence`), so nothing inside can end the block or hide from a person. A budget drops whole sections,
the least needed first, and says which; it never breaks a text in the middle.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tacit.domain.evidence import Reliability
from tacit.domain.lifecycle import Status
from tacit.domain.skill import Condition, Kind, SkillContent, SkillStep
from tacit.text.fence import attribute, clean, framed, one_line
from tacit.text.words import estimate_tokens

ITEM_TOKENS_MAX = 1200
_PART = re.compile(r"\n(?=#{1,3} )")


@dataclass(frozen=True, slots=True)
class _Section:
    label: str
    text: str
    need: int
    """Lower is needed more."""


def render_item(
    content: SkillContent, *, status: Status, reliability: Reliability, max_tokens: int | None = None
) -> str:
    """Write one skill as a delimited block of at most `max_tokens`; empty if not even its heading fits."""
    limit = ITEM_TOKENS_MAX if max_tokens is None else max_tokens
    heading = _heading(content, status, reliability)
    sections = list(_sections(content))
    kept: list[_Section] = []
    for section in sorted(sections, key=lambda section: section.need):
        tried = [s for s in sections if s in kept or s is section]
        if estimate_tokens(_block(heading, tried, sections)) <= limit:
            kept.append(section)
    ordered = [section for section in sections if section in kept]
    block = _block(heading, ordered, sections)
    return block if estimate_tokens(block) <= limit else ""


def render_selection(items: Iterable[str]) -> str:
    """Put rendered items into one framed block; nothing in, nothing out."""
    return framed(items)


def frame_tokens() -> int:
    """What the frame of `render_selection` costs beside its items."""
    return estimate_tokens(render_selection([" "]))


def evidence_line(reliability: Reliability) -> str:
    """Say in words how well a skill is proved."""
    if not reliability.known:
        reports = f" ({reliability.self_reported} unverified reports)" if reliability.self_reported else ""
        return "not measured yet" + reports
    trials = max(1, round(reliability.trials))
    uses = "use" if trials == 1 else "uses"
    return f"worked in {min(trials, round(reliability.successes))} of {trials} verified {uses}"


def _heading(content: SkillContent, status: Status, reliability: Reliability) -> list[str]:
    extends = f' extends="{attribute(content.extends)}"' if content.extends else ""
    return [
        f'<tacit-skill name="{attribute(content.name)}" kind="{content.kind}"{extends}>',
        f"[{status}; {evidence_line(reliability)}]",
        one_line(content.description),
    ]


def _block(heading: list[str], kept: list[_Section], every: list[_Section]) -> str:
    lines = [
        *heading,
        *(f"{section.label}\n{section.text}" if section.label else section.text for section in kept),
    ]
    if left_out := [section for section in every if section not in kept]:
        named = dict.fromkeys(section.label.rstrip(":").lower() or "notes" for section in left_out)
        lines.append(f"[left out for space: {', '.join(named)}]")
    return "\n".join([*(line for line in lines if line), "</tacit-skill>"])


def _sections(content: SkillContent) -> Iterator[_Section]:
    """All that can be shown, in reading order."""
    body_first = content.kind is not Kind.PROCEDURE or not content.steps
    if content.signature:
        yield _Section("Error:", one_line(content.signature), 2)
    if content.parameters:
        yield _Section(
            "Parameters:", _lines(_parameter(p.name, p.description, p.example) for p in content.parameters), 3
        )
    if content.preconditions:
        yield _Section("Needs:", _lines(_condition(condition) for condition in content.preconditions), 2)
    if content.steps:
        yield _Section("Steps:", "\n".join(f"{i}. {_step(step)}" for i, step in enumerate(content.steps, 1)), 0)
    if content.postconditions:
        yield _Section("Check:", _lines(_condition(condition) for condition in content.postconditions), 1)
    parts = _PART.split("\n" + clean(content.body)) if content.body.strip() else []
    for number, part in enumerate(part for part in parts if part.strip()):
        yield _Section("", part.strip("\n"), (0 if body_first else 10) + number)


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)


def _parameter(name: str, description: str, example: str) -> str:
    said = f"{{{one_line(name)}}}" + (f": {one_line(description)}" if description else "")
    return said + (f" (e.g. {one_line(example)})" if example else "")


def _condition(condition: Condition) -> str:
    return one_line(condition.text) + (f" [{one_line(condition.check)}]" if condition.check else "")


def _step(step: SkillStep) -> str:
    """A step's text, and its call where the text does not already show it."""
    text = clean(step.text).replace("\n", "\n   ")
    shown = [value for value in step.arguments.values() if isinstance(value, str)]
    if step.tool and len(shown) == len(step.arguments) and all(value in step.text for value in shown):
        call = ""
    elif step.tool or step.arguments:
        value = shown[0] if len(shown) == len(step.arguments) == 1 else _compact(step)
        call = f" [{one_line(f'{step.tool}: {value}')}]"
    else:
        call = ""
    return f"{text}{call}" + (" (optional)" if step.optional else "")


def _compact(step: SkillStep) -> str:
    return json.dumps(dict(step.arguments), ensure_ascii=False, separators=(",", ":"), default=str)
