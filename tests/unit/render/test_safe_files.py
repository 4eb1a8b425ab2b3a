"""A skill is written to its own folder and nowhere else; what the file system refuses is told with a next step."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from tacit.config.files import open_plain, read_plain
from tacit.domain.errors import InvalidSkill, Mistake, NotPermitted, StoreOutage, TacitError
from tacit.domain.skill import Kind, SkillContent, SkillFile
from tacit.render.safe_files import locked, require_no_links
from tacit.render.skill_folder import load, save
from tests.raising import raises, raises_errno

CONTENT = SkillContent(kind=Kind.PROCEDURE, name="pack-crates", description="Pack crates.", body="Pack them.")


def test_a_planted_draft_is_never_written_through(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    folder = tmp_path / "out/pack-crates"
    folder.mkdir(parents=True)
    (folder / ".SKILL.md.draft").symlink_to(precious)
    assert load(save(CONTENT, tmp_path / "out")).content == CONTENT
    assert precious.read_text() == "mine"


def test_pipes_in_the_way_do_not_make_it_wait(tmp_path: Path) -> None:
    folder = tmp_path / "pack-crates"
    folder.mkdir()
    os.mkfifo(folder / ".SKILL.md.draft")
    os.mkfifo(folder / "SKILL.md")
    os.mkfifo(folder / "pipe")
    loaded = load(save(CONTENT, tmp_path))
    assert loaded.content == CONTENT
    left_out = [warning.message.split()[0] for warning in loaded.warnings if warning.rule == "file-left-out"]
    assert left_out == [".SKILL.md.draft", "pipe"]


@pytest.mark.parametrize(
    "link", ["pack-crates", "pack-crates/SKILL.md", "pack-crates/scripts", "pack-crates/scripts/a.sh"]
)
def test_a_link_anywhere_below_the_root_is_refused(tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    place = tmp_path / "root" / link
    place.parent.mkdir(parents=True)
    place.symlink_to(outside)
    with raises(NotPermitted, "behind_link") as caught:
        save(replace(CONTENT, files=(SkillFile(path="scripts/a.sh", content="x"),)), tmp_path / "root")
    assert caught.value.hint
    assert list(outside.iterdir()) == []


def test_the_root_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to(tmp_path / "real")
    save(CONTENT, tmp_path / "root")
    assert load(tmp_path / "real/pack-crates").content == CONTENT


def test_a_folder_in_place_of_the_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "pack-crates/SKILL.md").mkdir(parents=True)
    with raises(Mistake, "is_a_folder"):
        save(CONTENT, tmp_path)
    assert [path.name for path in (tmp_path / "pack-crates").iterdir()] == ["SKILL.md"]


def test_a_file_in_place_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "pack-crates").write_text("mine")
    with raises(Mistake, "impossible_path"):
        save(CONTENT, tmp_path)
    assert (tmp_path / "pack-crates").read_text() == "mine"


@pytest.mark.parametrize(
    "root", ["/proc", "/proc/self", "/dev/null", "/dev/null/x", "/" + "x" * 300, "/tmp/" + "y/" * 3000, "a\0b"]
)
def test_a_place_where_nothing_can_be_written_is_told_with_a_next_step(root: str) -> None:
    with pytest.raises((Mistake, StoreOutage, NotPermitted)) as caught:
        save(CONTENT, Path(root))
    assert caught.value.hint
    assert len(caught.value.message) < 600


def test_modes_are_those_of_the_files_whatever_was_there(tmp_path: Path) -> None:
    content = replace(CONTENT, files=(SkillFile(path="run.sh", content="x", executable=True),))
    for writable, rights in ((False, 0o444), (True, 0o644), (False, 0o444)):
        path = save(content, tmp_path, writable=writable)
        assert stat.S_IMODE(path.stat().st_mode) == rights
        assert stat.S_IMODE((path.parent / "run.sh").stat().st_mode) == rights | 0o111


@pytest.mark.parametrize("path", ["x" * 300, "y/" * 3000, "a\0b", "/dev/null/x"])
def test_a_path_that_cannot_be_is_told_when_read(path: str) -> None:
    with pytest.raises(InvalidSkill) as caught:
        load(Path(path))
    assert caught.value.hint


def test_a_folder_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    folder = save(CONTENT, tmp_path).parent
    (folder / "closed").mkdir(mode=0)
    (folder / "secret").touch(mode=0)
    if os.geteuid() == 0:
        pytest.skip("nothing is forbidden to root")
    left_out = {(warning.rule, warning.message.split()[0]) for warning in load(folder).warnings}
    assert left_out == {("file-left-out", "closed"), ("file-left-out", "secret")}
    folder.chmod(0)
    try:
        with pytest.raises(TacitError):
            load(folder)
        with raises(StoreOutage, "not_writable"):
            save(CONTENT, tmp_path)
    finally:
        folder.chmod(0o755)


def test_a_file_whose_name_is_not_utf8_is_left_out(tmp_path: Path) -> None:
    folder = save(CONTENT, tmp_path).parent
    try:
        Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9")).touch()
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    loaded = load(folder)
    assert loaded.content.files == ()
    assert [warning.message.isprintable() for warning in loaded.warnings] == [True]


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
    with raises_errno(errno.ELOOP):
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
        with raises(StoreOutage, "not_lockable"), locked(tmp_path / name):
            pass
    assert not (tmp_path / "made").exists()


def test_a_way_is_refused_at_the_first_link(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    require_no_links(tmp_path, Path("a", "not", "there"))
    (tmp_path / "a" / "link").symlink_to(tmp_path)
    with raises(NotPermitted, "behind_link"):
        require_no_links(tmp_path, Path("a", "link", "b"))
