"""What goes into the sandbox and what comes back: copies that follow no link, and an archive that nobody has to trust."""

from __future__ import annotations

import contextlib
import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.errors import Mistake
from tacit.domain.sandbox import Form, SandboxFile, SandboxLimits, SandboxRequest
from tacit.providers.sandbox import staging
from tacit.providers.sandbox.bubblewrap import Bubblewrap
from tests.raising import raises


def archive(*members: tuple[str, bytes, bytes], executable: bool = False) -> bytes:
    """A GNU archive of (path, content or target, kind)."""
    room = io.BytesIO()
    with tarfile.open(fileobj=room, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, content, kind in members:
            info = tarfile.TarInfo(path)
            info.type = kind
            info.mode = 0o755 if executable else 0o644
            if kind == tarfile.SYMTYPE:
                info.linkname = content.decode()
            info.size = len(content) if kind == tarfile.REGTYPE else 0
            tar.addfile(info, io.BytesIO(content))
    return room.getvalue()


def read(data: bytes) -> list[SandboxFile]:
    return list(staging.entries(io.BytesIO(data)))


def prepared(folder: Path, request: SandboxRequest) -> dict[str, str]:
    (folder / "laid").mkdir()
    staging.prepare_workspace(request, folder / "laid")
    found = folder / "laid" / staging.GIVEN
    return {
        path.relative_to(found).as_posix(): f"-> {path.readlink()}" if path.is_symlink() else path.read_text()
        for path in sorted(found.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def test_files_links_and_folders_are_read() -> None:
    long = "a/" * 80 + "file"
    members = [
        (long, b"content", tarfile.REGTYPE),
        ("link", b"/etc/" + b"x" * 150, tarfile.SYMTYPE),
        ("empty", b"", tarfile.DIRTYPE),
        ("pipe", b"", tarfile.FIFOTYPE),
    ]
    found = {file.path: (file.form, file.content) for file in read(archive(*members))}
    assert found == {
        long: (Form.FILE, b"content"),
        "link": (Form.LINK, b"/etc/" + b"x" * 150),
        "empty": (Form.FOLDER, b""),
    }


def invalid(code: str) -> pytest.RaisesExc[staging.InvalidArchive]:
    return pytest.raises(staging.InvalidArchive, check=lambda caught: caught.code == code)


@pytest.mark.parametrize("path", ["../out", "/etc/passwd", "a/../../b"])
def test_names_that_lead_out_are_refused(path: str) -> None:
    with invalid("outside_workspace"):
        read(archive((path, b"x", tarfile.REGTYPE)))


def test_archive_that_ends_early_or_lies_is_refused() -> None:
    whole = archive(("file", b"content" * 100, tarfile.REGTYPE))
    with invalid("cut_off"):
        read(whole[:600])
    with invalid("cut_off"):
        read(b"")
    with invalid("wrong_checksum"):
        read(b"x" + whole[1:])
    with invalid("not_a_number"):
        read(whole[:148] + b"notoctal" + whole[156:])


@given(st.binary(max_size=2000), st.integers(min_value=0, max_value=600))
def test_no_bytes_bring_the_reader_down(noise: bytes, at: int) -> None:
    whole = archive(("file", b"content", tarfile.REGTYPE), ("other", b"x", tarfile.REGTYPE))
    for data in (noise, whole[:at] + noise + whole[at + len(noise) :]):
        with contextlib.suppress(staging.InvalidArchive):
            assert all(not file.path.startswith(("/", "..")) for file in read(data))


def test_changes_tell_added_altered_and_removed_apart(tmp_path: Path) -> None:
    before = tmp_path / "given"
    before.mkdir()
    for name in ("same", "altered", "removed", "mode"):
        (before / name).write_text("before")
    (before / "link").symlink_to("same")
    after = archive(
        ("same", b"before", tarfile.REGTYPE),
        ("altered", b"after", tarfile.REGTYPE),
        ("link", b"same", tarfile.SYMTYPE),
        ("added/file", b"new", tarfile.REGTYPE),
        ("folder", b"", tarfile.DIRTYPE),
        ("mode", b"before", tarfile.REGTYPE),
    )
    found = {change.path: str(change.how) for change in staging.changes(io.BytesIO(after), before)}
    assert found == {"altered": "altered", "added/file": "added", "folder": "added", "removed": "removed"}
    runs = archive(("mode", b"before", tarfile.REGTYPE), executable=True)
    assert next(iter(staging.changes(io.BytesIO(runs), before))).executable


def test_folder_is_copied_with_its_links_and_files_are_laid_over(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "a").write_text("a")
    (source / "b").write_text("b")
    (source / "out").symlink_to(tmp_path)
    os.mkfifo(source / "pipe")
    request = SandboxRequest(
        command=("true",),
        workspace=source,
        files=(
            SandboxFile(path="sub/a", content=b"other"),
            SandboxFile(path="out/file", content=b"inside"),
            SandboxFile(path="new", content=b"b", form=Form.LINK),
        ),
        removed=("b", "never-there"),
    )
    assert prepared(tmp_path, request) == {"sub/a": "other", "out/file": "inside", "new": "-> b"}
    assert not (tmp_path / "file").exists(), "a file was written through a link of the copied folder"


@pytest.mark.parametrize("path", ["../x", "/x", "", "a/../../x", "a\0b"])
def test_paths_that_lead_out_are_a_mistake(path: str, tmp_path: Path) -> None:
    with raises(Mistake, "outside_workspace"):
        staging.prepare_workspace(
            SandboxRequest(command=("true",), files=(SandboxFile(path=path, content=b""),)), tmp_path
        )


def test_too_much_is_a_mistake_before_it_is_copied(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    with (source / "large").open("wb") as file:
        file.truncate(3 << 20)
    request = SandboxRequest(command=("true",), workspace=source, limits=SandboxLimits(workspace_mb=2))
    with raises(Mistake, "workspace_too_large"):
        staging.prepare_workspace(request, tmp_path)
    assert not (tmp_path / "given" / "large").exists()
    many = SandboxRequest(
        command=("true",),
        files=(SandboxFile(path="x", content=b"x" * (3 << 20)),),
        limits=SandboxLimits(workspace_mb=2),
    )
    (tmp_path / "other").mkdir()
    with raises(Mistake, "workspace_too_large"):
        staging.prepare_workspace(many, tmp_path / "other")


def test_folder_that_is_none_is_a_mistake(tmp_path: Path) -> None:
    with raises(Mistake, "not_a_folder"):
        staging.prepare_workspace(SandboxRequest(command=("true",), workspace=tmp_path / "missing"), tmp_path)


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (SandboxRequest(command=()), "no_command"),
        (SandboxRequest(command=("",)), "no_command"),
        (SandboxRequest(command=("a\0b",)), "nul_character"),
        (SandboxRequest(command=("true",), environment={"A=B": "x"}), "bad_variable"),
        (SandboxRequest(command=("true",), environment={"A": "x\0--bind"}), "nul_character"),
        (SandboxRequest(command=("true",), limits=SandboxLimits(wall_s=0)), "bad_limit"),
    ],
)
def test_bad_requests_are_mistakes_and_start_nothing(asked: SandboxRequest, code: str) -> None:
    with raises(Mistake, code):
        Bubblewrap(program="/nonexistent/bwrap").run(asked)
