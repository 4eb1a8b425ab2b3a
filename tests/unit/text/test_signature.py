from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.text.signature import MAX_LENGTH, error_signature


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        (
            "Exit code 1\nerror: revision chain is stale: run `python3 manage.py sync` first",
            "error: revision chain is stale: run `python3 <path> sync` first",
        ),
        (
            "Traceback (most recent call last):\n  File \"/a/b.py\", line 3\nModuleNotFoundError: No module named 'requests'\n",
            "ModuleNotFoundError: No module named <value>",
        ),
        ("npm ERR! code ERESOLVE\nnpm ERR! A complete log of this run is in: /x/y.log", "npm ERR! code ERESOLVE"),
        (
            "src/m.rs:3:5: error[E0382]: use of `x`\nerror: could not compile `foo`",
            "<path>: error[E0382]: use of <value>",
        ),
        ("bash: foo: command not found", "bash: foo: command not found"),
        ("a.ts(3,4): error TS2345: Argument 'x'", "<path>(<n>): error TS2345: Argument <value>"),
        ("E       AssertionError: assert 3 == 4\nshort test summary info", "AssertionError: assert <n> == <n>"),
        ("fatal: unable to access 'https://x.org/y.git'", "fatal: unable to access <value>"),
        ("something went\nquite wrong here", "quite wrong here"),
        ("\x1b[31merror\x1b[0m: bad thing at 0x7ffe", "error: bad thing at <hex>"),
        ("error: id 123e4567-e89b-12d3-a456-426614174000 at 2024-05-01T12:00:00Z", "error: id <id> at <time>"),
        ("HTTP 404 for user 17", "HTTP 404 for user <n>"),
        ("make: *** [Makefile:3: x] Error 1\n", "make: *** [Makefile:<n>: x] Error <n>"),
        ("", ""),
        (" \n\t\n", ""),
        ("Exit code 1", ""),
    ],
)
def test_telling_line_is_chosen_and_masked(text: str, signature: str) -> None:
    assert error_signature(text) == signature


def test_same_failure_elsewhere_has_the_same_signature() -> None:
    one = "FileNotFoundError: [Errno 2] No such file or directory: '/srv/app/x/due_date.py'"
    other = "FileNotFoundError: [Errno 2] No such file or directory: 'C:\\work\\phone.py'"
    assert error_signature(one) == error_signature(other)


def test_last_exception_wins_and_first_plain_error_wins() -> None:
    assert error_signature("KeyError: 'a'\n\nDuring handling:\n\nValueError: b") == "ValueError: b"
    assert error_signature("x: error: first\ny: error: second") == "x: error: first"


@given(st.text(max_size=400))
def test_signature_is_bounded_one_line_and_idempotent(text: str) -> None:
    signature = error_signature(text)
    assert len(signature) <= MAX_LENGTH
    assert "\n" not in signature
    assert error_signature(signature) == signature


@given(
    st.lists(
        st.sampled_from(["'", '"', "`", "/a/b", "12", "0x1f", "error:", "a1b2c3d", " ", "E   ", "<n>", "x@y.z", "::"]),
        max_size=80,
    )
)
def test_signature_is_idempotent_on_odd_mixtures(pieces: list[str]) -> None:
    signature = error_signature("".join(pieces))
    assert error_signature(signature) == signature


@pytest.mark.parametrize(
    "piece", ["x/", "error ", "a.b@c-", "a", "'", "error: 'foo\n", "1,", "\x1b[", "E   x\n", "0-", "a/b "]
)
def test_a_megabyte_is_quick(piece: str) -> None:
    began = time.perf_counter()
    error_signature(piece * (1_000_000 // len(piece)))
    assert time.perf_counter() - began < 30
