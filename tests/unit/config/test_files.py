"""Files are replaced whole or not at all, with their permissions."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tacit.config.files import write_atomically


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_gets_the_content_and_mode_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "new.json"
    write_atomically(path, '{"a": "é"}', mode=0o600)
    assert path.read_text(encoding="utf-8") == '{"a": "é"}'
    assert mode_of(path) == 0o600
    before = os.umask(0o027)
    try:
        write_atomically(str(tmp_path / "other"), b"\x00")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "other") == 0o640


@pytest.mark.parametrize("sync", [True, False])
def test_an_existing_file_keeps_its_permissions(tmp_path: Path, sync: bool) -> None:
    path = tmp_path / "settings"
    path.write_text("old")
    path.chmod(0o604)
    write_atomically(path, "new", sync=sync)
    assert (path.read_text(), mode_of(path)) == ("new", 0o604)
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "other")
    write_atomically(tmp_path / "link", "new")
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "other").read_text() == "kept"


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    with pytest.raises(OSError, match=str(target)):
        write_atomically(target, "text")
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "missing" / "file", "text")
