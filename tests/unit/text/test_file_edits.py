"""Edits of every client reduced to files and what is replaced in them."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.text.file_edits import FileEdit, Hunk, edits_of, hunk_of

WORKSPACE = "/srv/ann/shop"
FILE = f"{WORKSPACE}/src/cart.py"
SAME = FileEdit(file="src/cart.py", hunks=(Hunk("total = 0", "total = Decimal(0)"),))

PATCH = """*** Begin Patch
*** Update File: src/cart.py
@@ def sum(items):
 def sum(items):
-total = 0
+total = Decimal(0)
     return total
*** End Patch"""
UNIFIED = """diff --git a/src/cart.py b/src/cart.py
index 1..2 100644
--- a/src/cart.py
+++ b/src/cart.py
@@ -1,3 +1,3 @@
 def sum(items):
-total = 0
+total = Decimal(0)
     return total
"""


@pytest.mark.parametrize(
    "arguments",
    [
        {"file_path": FILE, "old_string": "total = 0", "new_string": "total = Decimal(0)"},
        {"file_path": FILE, "old_string": "def\ntotal = 0\nend", "new_string": "def\ntotal = Decimal(0)\nend"},
        {"path": "src/cart.py", "old_str": "total = 0", "new_str": "total = Decimal(0)", "command": "str_replace"},
        {"filePath": FILE, "oldString": "total = 0", "newString": "total = Decimal(0)"},
        {"file_path": FILE, "edits": [{"old_string": "total = 0", "new_string": "total = Decimal(0)"}]},
        {"filePath": FILE, "structuredPatch": [{"lines": [" def", "-total = 0", "+total = Decimal(0)", " end"]}]},
        {"input": PATCH},
        {"patch": PATCH},
        {"command": ["apply_patch", PATCH]},
        {"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF"},
        {"diff": UNIFIED},
        {"input": PATCH.replace("src/cart.py", FILE)},
    ],
    ids="edit context str_replace camel several structured input patch list heredoc unified absolute".split(),
)
def test_the_same_edit_comes_out_alike_whatever_the_tool(arguments: dict[str, Any]) -> None:
    assert edits_of(arguments, workspace=WORKSPACE) == (SAME,)


def test_a_written_file_is_whole() -> None:
    whole = FileEdit(file="a.py", hunks=(Hunk("", "x = 1\n"),), whole=True)
    assert edits_of({"file_path": f"{WORKSPACE}/a.py", "content": "x = 1\n"}, workspace=WORKSPACE) == (whole,)
    assert edits_of({"input": "*** Begin Patch\n*** Add File: a.py\n+x = 1\n*** End Patch"}) == (whole,)


def test_a_patch_may_change_delete_and_move_several_files() -> None:
    patch = (
        "*** Begin Patch\n*** Delete File: old.py\n*** Update File: a.py\n*** Move to: b.py\n@@\n-x\n+y\n@@\n-1\n+2\n"
        "*** Add File: c.py\n+z\n*** End Patch\n"
    )
    assert edits_of({"input": patch}) == (
        FileEdit(file="old.py", deleted=True),
        FileEdit(file="a.py", hunks=(Hunk("x", "y"), Hunk("1", "2")), moved_to="b.py"),
        FileEdit(file="c.py", hunks=(Hunk("", "z\n"),), whole=True),
    )


def test_a_unified_diff_may_change_several_files() -> None:
    found = edits_of({"patch": UNIFIED + UNIFIED.replace("cart", "order")})
    assert [edit.file for edit in found] == ["src/cart.py", "src/order.py"]
    assert {edit.hunks for edit in found} == {SAME.hunks}


def test_deletions_and_moves_may_come_as_arguments() -> None:
    assert edits_of({"file_path": "a.py", "deleted": True}) == (FileEdit(file="a.py", deleted=True),)
    assert edits_of({"file_path": "a.py", "moved_to_path": "b.py"}) == (FileEdit(file="a.py", moved_to="b.py"),)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"file_path": "a.py"},
        {"command": "ls"},
        {"file_path": 3, "old_string": "x"},
        {"edits": "x"},
        {"file_path": "a", "edits": [1]},
    ],
)
def test_arguments_that_tell_of_no_edit_give_none(arguments: dict[str, Any]) -> None:
    assert edits_of(arguments) == ()


def test_lines_that_stay_are_left_out_of_a_hunk() -> None:
    assert hunk_of("a\nb\nc", "a\nX\nc") == Hunk("b", "X")
    assert hunk_of("a", "a\nb") == Hunk("", "b")
    assert hunk_of("a\nb", "a") == Hunk("b", "")
    assert hunk_of("a", "a") == Hunk("", "")
