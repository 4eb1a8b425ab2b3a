"""The how-to on readers, followed to the letter: its files, in an empty folder, pass."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.ingest.sources import READERS

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "write-a-reader.md"
BLOCK = re.compile(r"`([\w./]+\.py)`:\n\n```python\n(.*?)```", re.DOTALL)


@pytest.mark.slow
def test_the_reader_of_the_how_to_resumes_and_groups_subagents(tmp_path: Path) -> None:
    files = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert [name for name, _ in files] == ["parley_reader.py", "test_parley_reader.py"]
    for name, text in files:
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_made_up_client_is_not_one_of_ours() -> None:
    assert "parley" not in {reader.name for reader in READERS}
