"""The hooks' log: bounded, and silent about everything that an event says."""

from __future__ import annotations

import errno
import os

from tacit.domain.errors import NotPermitted
from tacit.surfaces.hook import log
from tacit.surfaces.hook.events import InvalidEvent


def raised(error):
    try:
        raise error
    except type(error) as caught:
        return caught


def test_a_fault_is_one_line_with_its_kind_and_place(tmp_path):
    log.fault(str(tmp_path / "new"), raised(OSError(errno.ENOSPC, "No space left")), during="hook")
    (line,) = log.recent(str(tmp_path / "new"))
    assert f"hook: OSError ({os.strerror(errno.ENOSPC)}) at test_hook_log.py:" in line
    assert line.startswith("20")


def test_a_fault_never_quotes_the_session(tmp_path):
    secret = "the-password-is-hunter2"
    for error in (ValueError(secret), KeyError(secret), NotPermitted(secret), OSError(errno.EACCES, secret, secret)):
        log.fault(str(tmp_path), raised(error), during="hook")
    ours = InvalidEvent("the event is not JSON", code="not_json")
    log.fault(str(tmp_path), raised(ours), during="hook")
    lines = log.recent(str(tmp_path))
    assert len(lines) == 5
    assert secret not in "\n".join(lines)
    assert f"InvalidEvent ({ours})" in lines[-1]


def test_the_log_does_not_grow_without_end(tmp_path):
    for number in range(3_000):
        log.note(str(tmp_path), f"fault {number} " + "x" * 200)
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hook.log", "hook.log.1"]
    assert max(sizes) < log.MAX_BYTES + 1_000
    assert "fault 2999 " in log.recent(str(tmp_path))[-1]
    assert [line.split()[2] for line in log.recent(str(tmp_path), 3)] == ["2997", "2998", "2999"]


def test_a_log_that_cannot_be_written_is_nobodys_fault(tmp_path):
    (tmp_path / "file").write_text("")
    log.note(str(tmp_path / "file" / "below"), "x")
    (tmp_path / "hook.log").mkdir()
    log.note(str(tmp_path), "x")
    assert log.recent(str(tmp_path)) == []


def test_lines_stay_lines(tmp_path):
    log.note(str(tmp_path), "one\ntwo\r\nthree " + "y" * 1_000)
    (line,) = log.recent(str(tmp_path))
    assert "one two three" in line
    assert len(line) < 350
