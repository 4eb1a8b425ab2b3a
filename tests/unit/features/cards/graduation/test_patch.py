"""Patches: taken by git and by patch, and leading to the very bytes that were meant."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tacit.features.cards.backport.bundle import make_patch
from tacit.features.cards.backport.targets import TargetChange

LONG = "".join(f"line {number}\n" for number in range(40))
CASES = {
    "a new file": ("skill/references/new.md", None, b"one\ntwo\n"),
    "a new file without a last line end": ("new.md", None, b"one\ntwo"),
    "a file that grows at its end": ("AGENTS.md", b"one\n", b"one\n\ntwo\n"),
    "a file of one line that changes": ("AGENTS.md", b"one\n", b"two\n"),
    "a file that was empty": ("AGENTS.md", b"", b"one\n"),
    "a file without a last line end": ("AGENTS.md", b"one", b"one\n\ntwo"),
    "a file that gets a last line end": ("AGENTS.md", b"one", b"one\n"),
    "Windows line ends": ("AGENTS.md", b"one\r\ntwo\r\n", b"one\r\ntwo\r\n\r\nthree\r\n"),
    "a new file with Windows line ends": ("docs/new.md", None, b"one\r\ntwo\r\n"),
    "Windows line ends and no last one": ("AGENTS.md", b"one\r\ntwo", b"one\r\ntwo\r\n\r\nthree"),
    "mixed line ends": ("AGENTS.md", b"one\r\ntwo\nthree\r\n", b"one\r\ntwo\nthree\r\n\nfour\n"),
    "a byte order mark": ("AGENTS.md", b"\xef\xbb\xbfone\n", b"\xef\xbb\xbfone\n\ntwo\n"),
    "a path with blanks": ("my skills/a skill/SKILL.md", b"one\n", b"one\ntwo\n"),
    "a new file at a path with blanks": ("my skills/a skill/new file.md", None, b"one\n"),
    "a path in another script": ("fähigkeiten/日本/SKILL.md", b"one\n", b"one\ntwo\n"),
    "a path with quotes and a backslash": ('a "b"\\c/SKILL.md', b"one\n", b"one\ntwo\n"),
    "separators of lines that are none": ("AGENTS.md", "a\u2028b\x0bc\x85d\n".encode(), "a\u2028b\x0bc\x85d\nmore\n".encode()),
    "two places far apart": ("AGENTS.md", LONG.encode(), LONG.replace("line 3\n", "x\n").replace("line 36\n", "").encode()),
    "a line that looks like a patch": ("AGENTS.md", b"--- a/x\n+++ b/x\n", b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n"),
}  # fmt: skip


@pytest.fixture
def laid(tmp_path: Path) -> Path:
    """A repository with every case in a folder of its own."""
    for number, (path, before, _) in enumerate(CASES.values()):
        file = tmp_path / str(number) / path
        file.parent.mkdir(parents=True)
        if before is not None:
            file.write_bytes(before)
    _run("git", "init", "-q", ".", folder=tmp_path)
    return tmp_path


def _run(*command: str, folder: Path, given: bytes = b"") -> None:
    done = subprocess.run(command, cwd=folder, input=given, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, (command, done.stdout, done.stderr)


def _all() -> bytes:
    changes = enumerate(CASES.values())
    return make_patch(
        [TargetChange(path=f"{number}/{path}", before=before, after=after) for number, (path, before, after) in changes]
    )


def _differing(folder: Path) -> list[str]:
    return [
        case
        for number, (case, (path, _, after)) in enumerate(CASES.items())
        if (folder / str(number) / path).read_bytes() != after
    ]


def test_git_takes_the_patch_and_comes_to_the_same_bytes(laid: Path) -> None:
    """Defect 1 of the workflow's first tool: neither git nor patch took its patches."""
    _run("git", "apply", "--check", "-", folder=laid, given=_all())
    _run("git", "apply", "-", folder=laid, given=_all())
    assert _differing(laid) == []


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed here")
def test_patch_takes_it_and_comes_to_the_same_bytes(laid: Path) -> None:
    _run("patch", "-p1", "--dry-run", folder=laid, given=_all())
    _run("patch", "-p1", folder=laid, given=_all())
    assert _differing(laid) == []


def test_a_changed_file_that_somebody_edited_meanwhile_is_not_patched(laid: Path) -> None:
    (laid / "2/AGENTS.md").write_bytes(b"something else\n")
    done = subprocess.run(["git", "apply", "--check", "-"], cwd=laid, input=_all(), capture_output=True, check=False)
    assert done.returncode != 0


def test_every_file_that_goes_is_deleted_by_the_patch(laid: Path) -> None:
    going = make_patch([TargetChange(path="2/AGENTS.md", before=b"one\n", after=None)])
    _run("git", "apply", "-", folder=laid, given=going)
    assert not (laid / "2/AGENTS.md").exists()


def test_what_does_not_change_is_not_in_the_patch() -> None:
    assert make_patch([TargetChange(path="a.md", before=b"one\n", after=b"one\n")]) == b""
    assert make_patch([]) == b""
