"""Versioned prompts: a file that was used, such as `read-1`, never changes; a better prompt gets the next number."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from tacit.domain.ports import Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptFile:
    """One versioned prompt."""

    name: str
    instructions: str
    schema: Mapping[str, Any]
    digest: str

    @property
    def version(self) -> str:
        """The name, and the start of the files' hash."""
        return f"{self.name}@{self.digest[:12]}"

    def request(self, material: str, *, max_output_tokens: int = 1_200) -> Prompt:
        """Return the prompt for some material."""
        return Prompt(
            instructions=self.instructions, material=material, schema=self.schema, max_output_tokens=max_output_tokens
        )


@cache
def prompt_file(name: str, *, package: str = "tacit.learn.reading") -> PromptFile:
    """Read one prompt with its schema from the `prompts` folder of a package."""
    folder = resources.files(package) / "prompts"
    instructions, schema = (folder / f"{name}.md").read_bytes(), (folder / f"{name}.json").read_bytes()
    return PromptFile(
        name=name,
        instructions=instructions.decode("utf-8"),
        schema=json.loads(schema),
        digest=hashlib.sha256(instructions + b"\0" + schema).hexdigest(),
    )
