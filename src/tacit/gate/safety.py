"""Safety: what in a candidate's text must not reach an agent unseen? Candidate → findings.

Deterministic and small: hidden characters, secrets, and text that came from outside. It flags; people decide. It does not
judge intent, and it is not a malware scanner.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from tacit.domain.candidate import Candidate, Finding, Severity
from tacit.domain.identity import plain
from tacit.domain.origin import Origin
from tacit.text.redaction import redact

_ALLOWED_CONTROLS = frozenset("\n\t\r")


def safety(candidate: Candidate) -> Iterator[Finding]:
    """List what a reviewer must see before anything else."""
    for path, text in _texts(plain(candidate.content), ""):
        hidden = hidden_characters(text)
        if hidden:
            names = ", ".join(sorted(hidden)[:3])
            message = f"{path} contains characters that people do not see: {names}"
            yield Finding(rule="hidden_characters", message=message, severity=Severity.CRITICAL, field=path)
        if redact(text).found:
            message = f"{path} contains what looks like a secret"
            yield Finding(rule="secret", message=message, severity=Severity.CRITICAL, field=path)
    external = sorted(path for path, origin in candidate.origins.items() if origin is Origin.EXTERNAL)
    if external:
        message = f"text from a tool's output, a file or the web in {', '.join(external)}"
        yield Finding(rule="external_text", message=message, severity=Severity.MEDIUM, field=external[0])


def hidden_characters(text: str) -> set[str]:
    """Names of control, bidirectional, zero-width and tag characters in a text."""
    if text.isascii() and text.isprintable():
        return set()
    found = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs") and c not in _ALLOWED_CONTROLS}
    return {unicodedata.name(c, f"U+{ord(c):04X}") for c in found if not _joins_emoji(c, text)}


def _joins_emoji(character: str, text: str) -> bool:
    """A zero-width joiner or variation selector next to a symbol is part of an emoji."""
    if character not in "\u200d\ufe0f":
        return False
    at = text.find(character)
    return at > 0 and unicodedata.category(text[at - 1]) in ("So", "Sk", "Mn")


def _texts(value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield f"{path}.{key}".lstrip("."), str(key)
            yield from _texts(item, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, f"{path}.{index}".lstrip("."))
