"""A feature can be removed by deleting its folder: the core still learns and recalls, and its commands are gone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.project_files import ROOT

COMMANDS = {
    "cards": "cards",
    "evaluate": "eval",
    "people": "forecast",
    "research": "research",
    "scan": "check",
    "sessions": "session",
    "train": "train",
}
NEEDS = {"evaluate": ("train",)}
"""What builds on a feature goes with it."""
USE = """
import sys, tacit
from pathlib import Path
memory = tacit.open(":memory:")
memory.capture(tacit.read(sorted(Path(sys.argv[1]).rglob("*.jsonl"))[0]))
report = memory.learn()
assert report.held, report
memory.review(report.held[0].version_id, "reject", by="ann")
memory.recall(report.held[0].name, session="s")
memory.close()

from tacit.surfaces.entry import main
for words, code in ((["--help"], 0), ([sys.argv[2], "--help"], 2)):
    sys.argv[1:] = words
    try:
        main()
    except SystemExit as end:
        assert end.code == code, (words, end.code)
    else:
        raise AssertionError(words)
"""

pytestmark = pytest.mark.slow


def test_every_feature_is_tried() -> None:
    folders = {path.parent.name for path in (ROOT / "src/tacit/features").glob("*/__init__.py")}
    assert folders == set(COMMANDS)


@pytest.mark.parametrize("feature", COMMANDS)
def test_without_a_feature_the_core_works(feature: str, tmp_path: Path) -> None:
    source = tmp_path / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("*.egg-info"))
    for name in (feature, *NEEDS.get(feature, ())):
        shutil.rmtree(source / "tacit" / "features" / name)
    transcripts = source / "tacit" / "demo" / "transcripts"
    environment = {**os.environ, "PYTHONPATH": str(source), "HOME": str(tmp_path), "COLUMNS": "120"}
    done = subprocess.run(
        [sys.executable, "-c", USE, str(transcripts), COMMANDS[feature]],
        env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
