"""Prompts are files: a name such as `wording-1` → its instructions, the schema of its answer, and the version to record.

A file is never changed once it was used in earnest; a better one gets the next number. Knows nothing of models.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from tacit.domain.model import Prompt

WORDING = "wording-1"
MISSED = "missed-1"
_HASH_LENGTH = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptFile:
    """One versioned prompt."""

    name: str
    instructions: str
    schema: Mapping[str, Any]
    digest: str

    @property
    def version(self) -> str:
        """What provenance records: the name, and the beginning of the files' hash."""
        return f"{self.name}@{self.digest[:_HASH_LENGTH]}"

    def about(self, material: str) -> Prompt:
        """The question about some quoted material."""
        return Prompt(instructions=self.instructions, material=material, schema=self.schema)


@cache
def prompt_file(name: str) -> PromptFile:
    """Read one prompt with its schema."""
    folder = resources.files("tacit.learn.language") / "prompts"
    instructions = (folder / f"{name}.md").read_bytes()
    schema = (folder / f"{name}.json").read_bytes()
    return PromptFile(
        name=name,
        instructions=instructions.decode("utf-8"),
        schema=json.loads(schema),
        digest=hashlib.sha256(instructions + b"\0" + schema).hexdigest(),
    )
