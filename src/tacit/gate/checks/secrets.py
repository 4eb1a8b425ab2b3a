"""Secrets written into a skill: whoever gets the skill gets them. Uses the same finder that redacts what is stored."""

from __future__ import annotations

from collections.abc import Iterator

from tacit.domain.candidate import Finding, Severity
from tacit.domain.skill import SkillContent
from tacit.gate.checks.pieces import pieces
from tacit.text.redaction import may_hold_secret, redact

_SURE = frozenset({"private-key"})
_KINDS_MAX = 3


class SecretsCheck:
    """Keys, tokens and passwords in any text."""

    name = "secrets"
    version = "1"

    def examine(self, content: SkillContent) -> Iterator[Finding]:
        """List texts that hold what looks like a secret; the secret itself is never shown."""
        for piece in pieces(content):
            if piece.start or not may_hold_secret(piece.text):
                continue
            at = 0
            found: list[Finding] = []
            for line in piece.text.splitlines(keepends=True):
                if len(line) < 2000 and may_hold_secret(line) and (result := redact(line)).found:
                    reason = f"contains what looks like a secret ({', '.join(sorted(set(result.found))[:_KINDS_MAX])})"
                    bare = Finding(
                        rule="secret_inside",
                        message=reason,
                        severity=Severity.LOW,
                        field=piece.field,
                        line=piece.line(piece.start + at),
                        start=piece.start + at,
                        end=piece.start + at + len(line.rstrip("\n")),
                        excerpt=result.text.strip()[:120],
                    )
                    found.append(bare)
                at += len(line)
            yield from found[:5]
