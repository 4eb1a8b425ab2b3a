"""The `reading` check: a language model reads a skill and names the lines that its purpose does not explain.

What a line means within its skill is beyond patterns. Runs only when a person names a model (`tacit check --model NAME`). The
model's word adds findings and removes none, and a finding whose quote does not stand in the skill is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.domain.candidate import Finding, Severity
from tacit.domain.errors import ModelOutage
from tacit.domain.ports import LanguageModel
from tacit.domain.skill import SkillContent
from tacit.gate.checks.text_segments import TextSegment, excerpt, text_segments
from tacit.learn.reading.prompt_files import prompt_file
from tacit.text.redaction import redact

PART_CHARACTERS = 24_000
"""Characters of one prompt, about 6,000 tokens."""
PARTS_MAX = 6
"""Prompts for one skill; what is beyond them is reported as not read."""
_HARMS = frozenset({"exfiltration", "destruction", "takeover", "weakening", "deception", "authority", "money"})
_SEVERITIES = {"high": Severity.HIGH, "medium": Severity.MEDIUM}
_FRAME = re.compile(r"</?text\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece of one text of the skill, as it is sent: without secrets."""

    segment: TextSegment
    text: str


class ReadingCheck:
    """Findings of a language model, each with a quote that stands in the skill."""

    name = "reading"

    def __init__(self, model: LanguageModel) -> None:
        """Ask this model."""
        self._model = model
        self._prompt = prompt_file("check-1", package="tacit.features.scan")
        self.version = f"{self._prompt.version} {model.name}"

    def examine(self, content: SkillContent) -> Iterator[Finding]:
        """Yield what the model names; raises `ModelOutage` or `OverBudget` if it cannot be asked."""
        parts, left = _parts([segment for segment in text_segments(content) if not segment.is_block])
        head = (
            f"skill: {excerpt(redact(content.name).text)}\ndescription: {excerpt(redact(content.description).text)}\n"
        )
        for part in parts:
            texts = (f'<text number="{n}" of="{_title(p)}">\n{p.text}\n</text>' for n, p in enumerate(part, start=1))
            answer = self._model.ask(self._prompt.request("\n".join((head, *texts))))
            yield from _findings(answer, part)
        if left:
            message = f"is longer than what a model is given, so {left:,} characters were not read by it"
            yield Finding(rule="not_read", message=message, severity=Severity.LOW)


def _title(piece: _Piece) -> str:
    segment = piece.segment
    hidden = f", decoded from {segment.encoding}" if segment.encoding else ""
    return excerpt(segment.path or segment.field or "SKILL.md").replace('"', "'") + hidden


def _parts(segments: Sequence[TextSegment]) -> tuple[list[list[_Piece]], int]:
    """Return what each prompt shows, and how many characters no prompt has room for."""
    parts: list[list[_Piece]] = [[]]
    room, left = PART_CHARACTERS, 0
    for segment in segments:
        text = _FRAME.sub(lambda match: match.group().replace("<", "‹"), redact(segment.text).text)
        while text:
            if room < min(len(text), PART_CHARACTERS // 8):
                if len(parts) == PARTS_MAX:
                    left += len(text)
                    break
                parts.append([])
                room = PART_CHARACTERS
            parts[-1].append(_Piece(segment, text[:room]))
            text, room = text[room:], room - len(text[:room])
    return [part for part in parts if part], left


def _findings(answer: Mapping[str, Any], part: Sequence[_Piece]) -> Iterator[Finding]:
    found = answer.get("findings")
    if not isinstance(found, list):
        hint = "run it again, or check without a model"
        raise ModelOutage("the model's answer has no list of findings", code="bad_answer", hint=hint)
    for each in found:
        if not isinstance(each, dict):
            continue
        severity, harm = _SEVERITIES.get(str(each.get("severity"))), str(each.get("harm"))
        words = str(each.get("quote", "")).split()
        if severity is None or harm not in _HARMS or not words:
            continue
        quoted = re.compile(r"\s+".join(map(re.escape, words)))
        number = each.get("text")
        # The quote decides; a wrong number only changes where it is looked for first.
        first = [part[number - 1]] if isinstance(number, int) and 0 < number <= len(part) else []
        piece = next((piece for piece in (*first, *part) if quoted.search(piece.text)), None)
        if piece is None:
            continue
        match = quoted.search(piece.segment.text)
        span = match.span() if match else (0, 0)  # the quote holds a placeholder for a secret
        why = excerpt(redact(str(each.get("why", ""))).text) or harm
        yield piece.segment.finding(f"reads_as_{harm}", severity, reason=f"a model reads {harm} here: {why}", span=span)
