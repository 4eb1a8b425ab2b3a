"""Files of which nobody knows what they are: only plain ones are opened, none is waited for, and none is read without end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tacit.domain.errors import NotPermitted, StoreOutage
from tacit.render.plain_files import locked, open_plain, read_plain, require_no_links


def test_no_more_is_read_than_one_byte_beyond_the_limit(tmp_path: Path) -> None:
    file = tmp_path / "sparse"
    with file.open("wb") as writer:
        writer.truncate(1 << 33)
    assert len(read_plain(file, limit=1000)) == 1001
    file.write_bytes(b"x" * 1000)
    assert read_plain(file, limit=1000) == b"x" * 1000


def test_a_link_is_followed_only_where_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with pytest.raises(OSError, match="it is a link"):
        read_plain(tmp_path / "link", limit=10)
    assert read_plain(tmp_path / "link", limit=10, follow=True) == b"text"


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND])
def test_a_pipe_and_a_device_are_refused_at_once(tmp_path: Path, flags: int) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(OSError):  # noqa: PT011 - each has a word of its own
            open_plain(path, flags)


def test_a_lock_is_neither_made_behind_a_link_nor_waited_for_in_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "made")
    os.mkfifo(tmp_path / "pipe")
    for name in ("lock", "pipe"):
        with pytest.raises(StoreOutage, match="cannot lock"), locked(tmp_path / name):
            pass
    assert not (tmp_path / "made").exists()


def test_a_way_is_refused_at_the_first_link(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    require_no_links(tmp_path, Path("a", "not", "there"))
    (tmp_path / "a" / "link").symlink_to(tmp_path)
    with pytest.raises(NotPermitted, match="link"):
        require_no_links(tmp_path, Path("a", "link", "b"))
