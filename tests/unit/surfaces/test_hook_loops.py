"""Loops: the same read, the same failure, an edit taken back; and what only looks like one."""

from __future__ import annotations

import os

import pytest

from tacit.ingest.journal import FAILED
from tacit.surfaces.hook import loops
from tacit.surfaces.hook.events import parse
from tests.unit.surfaces.hook_events import (
    claude_edit,
    claude_failure,
    claude_read,
    claude_shell,
    claude_write,
    codex_patch,
    codex_shell,
    stdin,
)


def call_of(event):
    return parse(stdin(event)).calls[0]


def follow(events, *, cwd="/srv/ann/shop", signature=""):
    """The kind, number and target of the warning that each event gives, without the rule of once; "" where it gives none."""
    earlier: list[loops.CallAction] = []
    told = []
    for event in events:
        call = call_of(event)
        actions = loops.actions_of(call, signature=signature, cwd=cwd)
        looping = [action for action in actions if loops.is_loop(action, earlier)]
        target = loops.target_of(call, cwd=cwd)
        told.append((looping[0]["did"], loops.times(looping[0], earlier), target) if looping else "")
        earlier += actions
    return told


def test_the_third_read_of_an_unchanged_file_is_a_loop(tmp_path):
    file = tmp_path / "app.py"
    file.write_text("x = 1\n")
    told = follow([claude_read(file)] * 4, cwd=str(tmp_path))
    assert told == ["", "", (loops.READ, 3, "app.py"), (loops.READ, 4, "app.py")]


def test_a_changed_file_and_another_part_of_it_are_no_loop(tmp_path):
    file = tmp_path / "app.py"
    file.write_text("x = 1\n")
    earlier: list[loops.CallAction] = []
    for number in range(4):
        os.utime(file, ns=(number, number))
        actions = loops.actions_of(call_of(claude_read(file)), signature="", cwd=str(tmp_path))
        assert not any(loops.is_loop(action, earlier) for action in actions)
        earlier += actions
    assert follow([claude_read(file, offset=n * 100, limit=100) for n in range(4)], cwd=str(tmp_path)) == [""] * 4


def test_a_file_that_cannot_be_looked_at_is_not_followed(tmp_path):
    gone = [claude_read(tmp_path / "gone.py")] * 4
    assert follow(gone, cwd=str(tmp_path)) == [""] * 4
    assert follow([claude_read("\0")] * 4, cwd=str(tmp_path)) == [""] * 4


def test_a_shell_that_shows_the_same_file_again_is_a_loop_only_with_the_same_text():
    same = [codex_shell("cat src/app.py", "x = 1\n")] * 3
    assert follow(same)[2] == (loops.READ, 3, "`cat src/app.py`")
    changed = [codex_shell("sed -n 1,80p app.py", f"x = {n}\n") for n in range(3)]
    assert follow(changed) == ["", "", ""]
    assert follow([claude_shell("cat a | wc -l", "3")] * 3) == ["", "", ""], "a pipe is more than a read"
    assert follow([claude_shell("pytest -q", "3 passed")] * 3) == ["", "", ""], "what works may be done again"


def test_the_third_identical_failure_is_a_loop():
    told = follow([claude_failure("make", "Exit code 2\nboom")] * 3, signature="boom")
    assert told == ["", "", (FAILED, 3, "`make`")]
    other = [claude_failure(f"make {target}", "boom") for target in "abc"]
    assert follow(other, signature="boom") == ["", "", ""]


def test_where_nobody_says_that_it_failed_the_warning_does_not_either():
    told = follow([codex_shell("make", "error: boom")] * 3, signature="error: boom")
    assert told[2] == (loops.REPEATED, 3, "`make`")


@pytest.mark.parametrize("edit", [claude_edit, claude_write])
def test_an_edit_that_takes_back_an_earlier_one_is_a_loop(edit):
    path = "/srv/ann/shop/src/app.py"
    told = follow([edit(path, "a", "b"), edit(path, "b", "c"), edit(path, "b", "a")])
    assert told == ["", "", (loops.EDITED, 2, "src/app.py")]


@pytest.mark.parametrize("did", [loops.READ, FAILED, loops.REPEATED, loops.EDITED])
def test_a_warning_names_the_target_and_how_many_times(did):
    action: loops.CallAction = {"did": did, "what": "w", "before": "a", "after": "b"}
    shown = loops.warning(action, [action] * 6, target="app.py")
    assert "app.py" in shown
    assert "7 times" in shown or did == loops.EDITED


def test_edits_of_other_files_and_other_texts_are_no_loop():
    events = [claude_edit("a.py", "a", "b"), claude_edit("b.py", "b", "a"), claude_edit("a.py", "c", "a")]
    assert follow(events) == ["", "", ""]
    assert follow([claude_edit("a.py", "a", "a")] * 3) == ["", "", ""], (
        "an edit that changes nothing takes nothing back"
    )


def test_several_edits_in_one_call_are_each_followed():
    def edits(*pairs):
        listed = [{"old_string": old, "new_string": new} for old, new in pairs]
        return claude_edit("a.py", "", "", tool_name="MultiEdit", tool_input={"file_path": "a.py", "edits": listed})

    assert follow([edits(("a", "b"), ("x", "y")), edits(("y", "x"))])[1] == (loops.EDITED, 2, "a.py")


def test_a_patch_that_takes_back_an_earlier_one_is_a_loop():
    there = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** Update File: b.py\n+y\n*** End Patch\n"
    back = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 2\n+x = 1\n*** End Patch\n"
    told = follow([codex_patch(there), codex_patch(back)])
    assert told[1] == (loops.EDITED, 2, "a.py")
    assert follow([codex_patch(there), codex_patch(there)]) == ["", ""]
    assert follow([codex_patch("")] * 2) == ["", ""]


@pytest.mark.parametrize(
    ("command", "shows"),
    [
        ("cat build.log", True),
        ("cd src && grep -n error app.py", True),
        ("git log --oneline", True),
        ("tail -50 log | sort", True),
        ("make test", False),
        ("npm run find-errors", False),
        ("git push", False),
    ],
)
def test_a_command_that_shows_texts_may_show_errors_of_others(command, shows):
    assert loops.shows_text(call_of(codex_shell(command, "error: x"))) is shows


def test_a_deed_holds_digests_and_nothing_else():
    secret = "sk-live-51Hx-very-secret"
    events = [
        claude_edit(f"/srv/{secret}/a.py", secret, secret + "x"),
        codex_shell(f"cat {secret}", secret),
        claude_failure(f"curl -H {secret}", secret),
    ]
    for event in events:
        actions = loops.actions_of(call_of(event), signature=secret, cwd="/srv")
        assert actions
        assert secret not in str(actions)
