"""The journal: one line per event, remembered per context, readable when torn, bounded, and safe by name."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from tacit.ingest import journal as journals
from tacit.ingest.journal import Journal, JournalFull, append_late, digest, parsed, path_of
from tests.raising import raises_errno


def write(folder, *lines, session="s1"):
    for line in lines:
        with Journal(str(folder), "claude-code", session) as journal:
            journal.append(line)


def past(folder, agent="", session="s1"):
    with Journal(str(folder), "claude-code", session) as journal:
        return journal.past(agent)


def test_what_was_shown_is_remembered_in_its_order(tmp_path):
    write(tmp_path, {"moment": "prompt", "shown": ["v1"]}, {"moment": "call", "shown": ["v2"], "answered": ["e1"]})
    seen = past(tmp_path)
    assert (list(seen.shown), seen.answered, seen.is_asked) == (["v1", "v2"], {"e1"}, True)


@pytest.mark.parametrize(("source", "kept"), [("compact", []), ("clear", []), ("startup", []), ("resume", ["v1"])])
def test_a_context_that_began_anew_has_seen_nothing(tmp_path, source, kept):
    action = {"did": "read", "what": "f"}
    write(tmp_path, {"moment": "prompt", "shown": ["v1"], "warned": ["w"], "deeds": [action]})
    write(tmp_path, {"moment": "start", "source": source})
    seen = past(tmp_path)
    assert list(seen.shown) == kept
    assert (bool(seen.warned), bool(seen.actions)) == (bool(kept), bool(kept))


def test_starts_of_one_kind_at_the_same_moment_are_one(tmp_path):
    write(tmp_path, {"moment": "prompt", "shown": ["v0"]})
    write(tmp_path, {"at": 100.0, "moment": "start", "source": "startup", "shown": ["v1"]})
    write(tmp_path, {"at": 99.5, "moment": "start", "source": "startup"})
    seen = past(tmp_path)
    assert list(seen.shown) == ["v1"]
    assert list(seen.renewed("startup", 104.0).shown) == ["v1"]
    assert list(seen.renewed("compact", 100.0).shown) == []
    assert list(seen.renewed("startup", 106.0).shown) == []


def test_a_subagent_has_a_context_of_its_own(tmp_path):
    write(tmp_path, {"moment": "prompt", "shown": ["v1"]}, {"moment": "call", "agent": "a7", "shown": ["v2"]})
    assert list(past(tmp_path).shown) == ["v1"]
    assert list(past(tmp_path, "a7").shown) == ["v2"]
    write(tmp_path, {"moment": "start", "source": "compact"})
    assert list(past(tmp_path, "a7").shown) == []


def test_what_never_reached_the_agent_was_not_shown(tmp_path):
    action = {"did": "failed", "what": "x"}
    write(tmp_path, {"at": 1.5, "moment": "prompt", "shown": ["v1"]})
    write(
        tmp_path, {"at": 2.5, "moment": "call", "shown": ["v2"], "answered": ["e"], "warned": ["w"], "deeds": [action]}
    )
    write(tmp_path, {"moment": "lost", "lost": 2.5})
    seen = past(tmp_path)
    assert (list(seen.shown), seen.answered, seen.warned) == (["v1"], set(), set())
    assert seen.actions == [action], "what happened has happened"


def test_odd_values_in_a_journal_are_passed_over(tmp_path):
    write(tmp_path, {"at": [], "lost": {}, "shown": 7, "answered": [1], "warned": {}, "deeds": ["x"], "moment": [1]})
    write(
        tmp_path, {"at": 1e999, "source": ["x"], "agent": {"a": 1}}, {"at": "x", "source": "startup"}, {"lost": [[1]]}
    )
    seen = past(tmp_path)
    assert (list(seen.shown), seen.answered, seen.warned, seen.actions) == ([], set(), set(), [])


def test_sessions_and_clients_have_journals_of_their_own(tmp_path):
    write(tmp_path, {"moment": "prompt", "shown": ["v1"]})
    assert list(past(tmp_path, session="s2").shown) == []
    assert path_of("/x", "codex", "s1") != path_of("/x", "claude-code", "s1")


@pytest.mark.parametrize(
    "session", ["../../etc/passwd", "a/b", "", ".", "x" * 500, "a\0b", "é", "-rf", "a b", "\ud800"]
)
def test_a_session_of_any_name_stays_in_the_folder(tmp_path, session):
    path = Path(path_of(str(tmp_path), "codex", session))
    assert path.parent == tmp_path / "sessions"
    assert len(path.name) < 130
    with Journal(str(tmp_path), "codex", session) as journal:
        journal.append({"moment": "call"})
    assert path.exists()


def test_different_names_have_different_journals():
    names = ["a/b", "a_b", "a b", "ab", "x" * 500, "x" * 501]
    assert len({path_of("/f", "codex", name) for name in names}) == len(names)


@pytest.mark.parametrize("torn", [b'{"moment":"prom', b'{"moment":"call","shown":["v9"', b"\xff\xfe", b"7", b"null"])
def test_a_torn_last_line_is_passed_over_and_closed(tmp_path, torn):
    write(tmp_path, {"moment": "prompt", "shown": ["v1"]})
    with Path(path_of(str(tmp_path), "claude-code", "s1")).open("ab") as file:
        file.write(torn)
    assert list(past(tmp_path).shown) == ["v1"]
    write(tmp_path, {"moment": "call", "shown": ["v2"]})
    assert list(past(tmp_path).shown) == ["v1", "v2"]


def test_every_line_is_whole_json_without_empty_fields(tmp_path):
    write(tmp_path, {"moment": "call", "agent": "", "shown": [], "tool": "Bash"})
    text = (tmp_path / "sessions" / "claude-code-s1.jsonl").read_text()
    assert text == '{"moment":"call","tool":"Bash"}\n'


def test_long_ago_is_forgotten_but_not_what_was_shown(tmp_path):
    action = {"did": "read", "what": "long ago"}
    write(tmp_path, {"moment": "call", "shown": ["v1"], "deeds": [action]}, {"moment": "call", "deeds": [action]})
    path = tmp_path / "sessions" / "claude-code-s1.jsonl"
    with path.open("a") as file:
        file.write('{"moment":"call","tool":"Bash"}\n' * (journals.RECENT_LINES + 5))
    seen = past(tmp_path)
    assert list(seen.shown) == ["v1"]
    assert len(seen.actions) == 1, "the deed of a line that showed something is read with it"


def test_a_full_journal_keeps_what_matters_and_a_closed_one_nothing(tmp_path):
    write(tmp_path, {"moment": "start", "source": "startup"})
    path = tmp_path / "sessions" / "claude-code-s1.jsonl"
    filler = b'{"moment":"call","tool":"' + b"x" * 1000 + b'"}\n'
    with path.open("ab") as file:
        file.write(filler * (journals.FULL_BYTES // len(filler) + 1))
    full = path.stat().st_size
    write(tmp_path, {"moment": "call", "tool": "Bash"})
    assert path.stat().st_size == full
    write(tmp_path, {"moment": "prompt", "shown": ["v1"]})
    assert list(past(tmp_path).shown) == ["v1"]
    with path.open("ab") as file:
        file.write(filler * (journals.FULL_BYTES // len(filler) + 1))
    with pytest.raises(JournalFull):
        past(tmp_path)


def test_a_line_is_bounded_and_keeps_what_was_shown(tmp_path):
    actions = [{"did": "edited", "what": "x" * 20}] * 100_000
    many = {"moment": "call", "shown": [f"v{n}" for n in range(90)], "deeds": actions, "skipped": ["v"] * 9_000}
    write(tmp_path, many)
    assert len(past(tmp_path).actions) == journals.LISTED
    write(tmp_path, many | {"assumed": [["x" * 9_000, ""]] * 20})
    path = tmp_path / "sessions" / "claude-code-s1.jsonl"
    assert max(map(len, path.read_bytes().splitlines())) < journals.MAX_LINE_BYTES
    assert len(past(tmp_path).shown) == 90
    path.write_bytes(b'{"shown":["v1"]}\n{"shown":["v2"],"x":"' + b"x" * journals.MAX_LINE_BYTES + b'"}\n')
    assert list(past(tmp_path).shown) == ["v1"], "a line that nobody here wrote is passed over"


def test_a_pipe_in_the_place_of_a_journal_is_refused_and_not_waited_for(tmp_path):
    (tmp_path / "sessions").mkdir()
    os.mkfifo(tmp_path / "sessions" / "claude-code-s1.jsonl")
    with raises_errno(errno.EINVAL):
        write(tmp_path, {"moment": "call"})
    with raises_errno(errno.ENXIO):
        append_late(str(tmp_path), "claude-code", "s1", {"moment": "call"})


def test_a_folder_or_journal_that_leads_elsewhere_is_refused(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    store = tmp_path / "store"
    store.mkdir()
    (store / "sessions").symlink_to(elsewhere)
    with raises_errno(errno.ENOTDIR):
        write(store, {"moment": "call"})
    (store / "sessions").unlink()
    (store / "sessions").mkdir()
    (store / "sessions" / "claude-code-s1.jsonl").symlink_to(elsewhere / "file")
    with raises_errno(errno.ELOOP):
        write(store, {"moment": "call"})
    assert list(elsewhere.iterdir()) == []


def test_journals_are_the_persons_own(tmp_path):
    write(tmp_path, {"moment": "call"})
    assert (tmp_path / "sessions").stat().st_mode & 0o077 == 0
    assert (tmp_path / "sessions" / "claude-code-s1.jsonl").stat().st_mode & 0o077 == 0


def test_a_digest_is_short_stable_and_tells_parts_apart():
    assert digest("a", "b") == digest("a", "b")
    assert len({digest("ab"), digest("a", "b"), digest("b", "a"), digest("")}) == 4
    assert len(digest("\ud800" * 10_000)) == 20


def test_lines_are_read_in_order_and_damage_costs_one_line():
    lines = [json.dumps({"n": n}).encode() for n in range(5)]
    lines[2] = lines[2][:-1]
    assert [line["n"] for line in parsed(b"\n".join(lines))] == [0, 1, 3, 4]
