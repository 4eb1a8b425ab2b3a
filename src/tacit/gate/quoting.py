"""Quoting: is this nothing but a document's own record, and which of its passages may be quoted? Pure.

A document is never an instruction: what is shown of it is a quotation with its place. So a person's yes to it is a yes to
quoting the text that its digest names, and no single literal of it is believed or ticked. What the checks find grave in a
passage is not quoted at all, whoever adds the document; what they find in a heading, is not told of the text under it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from tacit.domain.candidate import Finding, Severity
from tacit.domain.document import ABSTRACT, REFERENCES, Passage
from tacit.domain.skill import Kind, SkillContent, said_in
from tacit.gate import checks
from tacit.gate.safety import hidden_characters
from tacit.text.redaction import redact

_BESIDE = 200
"""Characters of a text that are looked at together with its heading."""
TEXT_DIGEST = "document.text_digest"
_RECORD = frozenset({"name", "description", "metadata", "tags", "category"})
_KEPT = 4096


def is_quotation(content: SkillContent) -> bool:
    """Whether it stands for a document, and has nothing that could be followed."""
    fields = {path.partition(".")[0] for path in said_in(content)}
    return content.kind is Kind.REFERENCE and bool(content.metadata.get(TEXT_DIGEST)) and fields <= _RECORD


@lru_cache(maxsize=_KEPT)
def unquotable(text: str) -> tuple[Finding, ...]:
    """What speaks against quoting a text, the heaviest first; nothing where it may be quoted."""
    asked = SkillContent(kind=Kind.REFERENCE, name="passage", description="A passage of a document.", body=text)
    grave = checks.WEIGHT[Severity.HIGH]
    return (*_unseen(text), *(found for found in checks.examine(asked) if checks.WEIGHT[found.severity] >= grave))


def unnameable(passage: Passage) -> tuple[Finding, ...]:
    """What speaks against telling a passage's section, whose name its author chose as freely as the text."""
    name = passage.section
    if name in ("", ABSTRACT, REFERENCES):
        return ()
    return unquotable(name) or unquotable(f"{name} {passage.text[:_BESIDE]}")


def _unseen(text: str) -> Iterator[Finding]:
    """What nobody may hand on, whatever the checks know of it: characters that hide, and secrets."""
    if hidden := hidden_characters(text):
        message = f"contains characters that people do not see: {', '.join(sorted(hidden)[:3])}"
        yield Finding(rule="hidden_characters", message=message, severity=Severity.CRITICAL, field="body")
    if redact(text).found:
        yield Finding(
            rule="secret", message="contains what looks like a secret", severity=Severity.CRITICAL, field="body"
        )
