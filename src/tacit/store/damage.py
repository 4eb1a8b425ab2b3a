"""Damage: what can be wrong with a stored row, an index, the audit chain or the file; a code for each, and its English."""

from __future__ import annotations

from tacit.domain.errors import StoreOutage
from tacit.domain.stored import Damage

PROBLEMS = {
    "anchor_unreadable": "cannot be used",
    "bad_chain_order": "does not follow the link before it",
    "bad_file": "is damaged",
    "bad_manifest": "is not a manifest",
    "changed_since_audit": "is not what the audit chain last saw",
    "chain_rewritten": "was cut or rewritten: it lacks a link that was noted outside the file",
    "manifest_mismatch": "has another value than the file",
    "missing": "is missing",
    "missing_audited": "is in the audit chain, but is missing or cannot be read",
    "missing_parent": "refers to a missing row",
    "missing_steps": "has lost its steps",
    "no_trajectory": "belongs to no trajectory",
    "not_a_database": "is not a SQLite database",
    "not_a_space": "is not a space of vectors",
    "not_audited": "is not in the audit chain",
    "not_recallable": "belongs to a version that is not recallable",
    "not_utf8": "is not valid UTF-8",
    "overlapping_blocks": "covers what another block covers",
    "row_count": "has lost or gained rows",
    "schema_changed": "was changed",
    "schema_extra": "has something that Tacit did not create",
    "schema_lacks": "lacks something",
    "unknown_subject": "is about something that does not exist",
    "unknown_value": "has an unknown value",
    "unreadable": "cannot be read",
    "version_missing": "belongs to a missing version",
    "wrong_block": "does not hold the vectors that it covers",
    "wrong_content": "does not hold the content that its id names",
    "wrong_content_approved": "is of another content than its version has",
    "wrong_dimensions": "does not have the length of its space",
    "wrong_hash": "does not fit its hash",
    "wrong_index": "is not where its index says",
    "wrong_index_terms": "does not count a term as the words do",
    "wrong_owner": "belongs to another version or place",
    "wrong_record": "does not fit its record",
    "wrong_rendering": "does not render what its version says",
    "wrong_seal": "does not fit its seal",
    "wrong_sketch": "is not the sketch of its block",
    "wrong_transitions": "does not fit its transitions",
    "wrong_use_index": "is not indexed under what it belongs to",
    "wrong_words": "does not have the words of what it indexes",
}
"""Code → what is wrong, to be read after the name of what is damaged."""


class StoreDamaged(StoreOutage):
    """A damaged row or file: its name (`subject`), the code of the problem, and its text, as `verify` reports them."""

    def __init__(self, path: str, subject: str, code: str, detail: str = "") -> None:
        self.subject = subject
        self.problem = problem_text(code, detail)
        self.detail = detail
        hint = "run `tacit store verify` to see what is damaged, and restore a backup"
        super().__init__(f"the store {path} is damaged: {subject} {self.problem}", code=code, hint=hint)


def problem_text(code: str, detail: str = "") -> str:
    """The English for a problem."""
    return f"{PROBLEMS[code]}: {detail}" if detail else PROBLEMS[code]


def damage_of(subject: str, code: str, *, detail: str = "") -> Damage:
    """One piece of damage, for a report."""
    return Damage(subject=subject, problem=problem_text(code, detail), code=code)
