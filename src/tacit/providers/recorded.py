"""A model whose answers lie in files: for measuring, for tests, and for answering by hand.

Each prompt that has no answer yet is written to the folder; whoever answers puts the answer beside it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacit.domain.errors import Mistake, ModelOutage
from tacit.domain.ports import Prompt, Spending
from tacit.text.words import estimate_tokens

NOT_RECORDED = "not_recorded"


class RecordedModel:
    """Answers from `KEY.answer.json` in a folder; without one the prompt is written to `KEY.prompt.md` there.

    The key is the hash of the prompt, or of the prompt without the items that are known: an answer stays that of its session.
    """

    vendor = ""

    def __init__(self, folder: Path) -> None:
        """Use the files of this folder, which is made where it is missing."""
        if folder.exists() and not folder.is_dir():
            raise Mistake(f"{folder} is not a folder", code="not_a_folder", hint="recorded:FOLDER")
        self.name = f"recorded:{folder.name}"
        self._folder = folder
        self._spent = Spending()

    @property
    def spent(self) -> Spending:
        """Tokens that the answers would have taken."""
        return self._spent

    def __enter__(self) -> RecordedModel:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def ask(self, prompt: Prompt) -> Mapping[str, Any]:
        """Return the recorded answer."""
        schema = json.dumps(prompt.schema, indent=1)
        text = f"{prompt.instructions}\n\n## The material\n\n{prompt.material}\n\n## JSON schema of the answer\n\n{schema}\n"
        key = _key(text)
        if not (self._folder / f"{key}.answer.json").exists():
            key = _key(_KNOWN.sub("", text))  # an answer stays that of its session, whatever was learned since
        answer = self._folder / f"{key}.answer.json"
        if not answer.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            prompt_path = self._folder / f"{key}.prompt.md"
            prompt_path.touch(mode=0o600)  # it holds what was said and done in a session
            prompt_path.write_text(text, encoding="utf-8")
            raise ModelOutage(
                f"no answer is recorded for {key}",
                code=NOT_RECORDED,
                hint=f"read {key}.prompt.md and write {key}.answer.json beside it",
            )
        try:
            found = json.loads(answer.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise ModelOutage(
                f"{answer.name} is not JSON", code="bad_recording", hint="correct or delete it"
            ) from error
        if not isinstance(found, dict):
            raise ModelOutage(f"{answer.name} is not an object", code="bad_recording", hint="correct or delete it")
        spent = Spending(
            calls=1,
            input_tokens=estimate_tokens(text),
            output_tokens=estimate_tokens(json.dumps(found, ensure_ascii=False)),
        )
        self._spent = self._spent + spent
        return found


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


_KNOWN = re.compile(r"(?<=^<record>\n)(?:known: [^\n]*\n)+\n|^known: [^\n]*\n", re.MULTILINE)
"""The lines of a prompt that say what is learned already."""
