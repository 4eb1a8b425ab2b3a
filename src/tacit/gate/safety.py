"""Safety: what in a candidate's text must not reach an agent unseen? Candidate → findings.

Deterministic and small: hidden characters, secrets, text that came from outside, and a language model's words. It flags;
people decide. It does not judge intent, and it is not a malware scanner.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from tacit.domain.candidate import Candidate, Finding, Severity
from tacit.domain.identity import plain
from tacit.domain.origin import Origin
from tacit.domain.skill import unaccounted
from tacit.text.redaction import redact

_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks that show nothing."""
_JOINING = re.compile(r"[\u0600-\u07bf\u0900-\u0dff\u1000-\u109f\u1780-\u17ff]")
"""Scripts whose spelling needs zero-width joiners and non-joiners."""


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
    marked = [path for path, origin in candidate.origins.items() if origin is Origin.EXTERNAL]
    marked += unaccounted(candidate.content, candidate.origins)
    external = sorted({path.removesuffix(".arguments") for path in marked})  # a step stands for its arguments
    if external:
        message = f"text from a tool's output, a file or the web in {', '.join(external)}"
        yield Finding(rule="external_text", message=message, severity=Severity.MEDIUM, field=external[0])
    if candidate.provenance.model:
        # The checks on its words understand nothing of them, so no policy lets them pass unread.
        message = f"worded or proposed by the language model {candidate.provenance.model}: hold it against the steps"
        yield Finding(rule="model_wording", message=message, severity=Severity.MEDIUM)


def hidden_characters(text: str) -> set[str]:
    """Names of control, bidirectional, zero-width, filling and tag characters in a text."""
    if text.isascii() and text.isprintable():
        return set()
    hiding = {c for c in set(text) if _hides(c)} - {"\n", "\t"}  # most texts have few characters, and none of these
    found = {c for at, c in enumerate(text) if c in hiding and not _belongs(text, at)} if hiding else set()
    return {unicodedata.name(c, f"U+{ord(c):04X}") for c in found}


def _hides(character: str) -> bool:
    return (
        unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
        or character in _BLANKS
        or _is_selector(character)
    )


def _belongs(text: str, at: int) -> bool:
    """Whether a hidden character has its place here: an end of line, part of an emoji, or a joiner its script needs."""
    character, before = text[at], text[at - 1] if at else ""
    if character == "\r":
        return text[at + 1 : at + 2] == "\n"
    if not before:
        return False
    if character in "\u200c\u200d" and _JOINING.match(before):
        return True
    kind = unicodedata.category(before)
    if character == "\u200d":
        return kind in ("So", "Sk") or before == "\ufe0f"
    return character in "\ufe0e\ufe0f" and kind in ("So", "Sk", "Sm", "Po", "Nd")


def _is_selector(character: str) -> bool:
    """Variation selectors: a run of them can spell a hidden text."""
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


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
