"""Error signatures are stable between runs, and similar ones share a template."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.text.error_signatures import MAX_LENGTH, error_signature, missing_name, tells, without_name


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        (
            "Exit code 1\nerror: revision chain is stale: run `python3 manage.py sync` first",
            "error: revision chain is stale: run `python3 <path> sync` first",
        ),
        (
            "Traceback (most recent call last):\n  File \"/a/b.py\", line 3\nModuleNotFoundError: No module named 'requests'\n",
            "ModuleNotFoundError: No module named requests",
        ),
        ("npm ERR! code ERESOLVE\nnpm ERR! A complete log of this run is in: /x/y.log", "npm ERR! code ERESOLVE"),
        (
            "src/m.rs:3:5: error[E0382]: use of `x`\nerror: could not compile `foo`",
            "<path>: error[E0382]: use of <value>",
        ),
        ("bash: foo: command not found", "foo: command not found"),
        ("User: not found", "User: not found"),
        ("some output\nCommand timed out after 2m 0.0s\nmore", "Command timed out after <n>m <n>s"),
        ("ValueError: bad\nFutureWarning: will change", "ValueError: bad"),
        ("FutureWarning: will change", "FutureWarning: will change"),
        (
            "error: subprocess-exited-with-error\na.c: fatal error: x.h: gone\nerror: command 'gcc' failed with exit code 1",
            "<path>: fatal error: <path>: gone",
        ),
        ("a.ts(3,4): error TS2345: Argument 'x'", "<path>(<n>): error TS2345: Argument <value>"),
        ("E       AssertionError: assert 3 == 4\nshort test summary info", "AssertionError: assert <n> == <n>"),
        ("fatal: unable to access 'https://x.org/y.git'", "fatal: unable to access <value>"),
        ("something went\nquite wrong here", "quite wrong here"),
        ("\x1b[31merror\x1b[0m: bad thing at 0x7ffe", "error: bad thing at <hex>"),
        ("error: id 123e4567-e89b-12d3-a456-426614174000 at 2024-05-01T12:00:00Z", "error: id <id> at <time>"),
        ("HTTP 404 for user 17", "HTTP 404 for user <n>"),
        ("make: *** [Makefile:3: x] Error 1\n", "make: *** [Makefile:<n>: x] Error <n>"),
        ("1 failed\nFAILED tests/test_lock.py: the lock is stale", "the lock is stale"),
        ("FAILED tests/a.py::test_b[1:2] - AssertionError: boom\n1 failed in 0.2s", "AssertionError: boom"),
        ("FAILED a.py: FAILED b.py: stale", "stale"),
        ("FAIL src/api.test.ts\n  api.yaml is out of date\n\nTests: 1 failed, 80 total", "<path> is out of date"),
        ("", ""),
        (" \n\t\n", ""),
        ("Exit code 1", ""),
    ],
)
def test_telling_line_is_chosen_and_masked(text: str, signature: str) -> None:
    assert error_signature(text) == signature


@pytest.mark.parametrize(
    "error",
    [
        "",
        "1 failed",
        "=== 1 failed, 9 passed in 0.12s ===",
        "Test Suites: 1 failed, 11 passed, 12 total",
        "FAILED tests/test_lock.py",
        "error",
        "ERROR: 3 errors",
        "exit status 1",
        "Command failed with exit code 2",
        "make: *** [Makefile:3: x] Error 1",
    ],
)
def test_line_that_holds_whatever_is_wrong_is_not_telling(error: str) -> None:
    assert not tells(error_signature(error))


@pytest.mark.parametrize(
    "error",
    ["error: foo", "npm ERR! code ERESOLVE", "a.ts: error TS2345", "FAILED tests/a.py::test_b", "no such table"],
)
def test_line_that_names_something_is_telling(error: str) -> None:
    assert tells(error_signature(error))


def test_same_failure_elsewhere_has_the_same_signature() -> None:
    one = "FileNotFoundError: [Errno 2] No such file or directory: '/srv/app/x/due_date.py'"
    other = "FileNotFoundError: [Errno 2] No such file or directory: 'C:\\work\\phone.py'"
    assert error_signature(one) == error_signature(other)


@pytest.mark.parametrize(
    "line",
    [
        "pg_dump: command not found",
        "bash: pg_dump: command not found",
        "-bash: line 3: pg_dump: command not found",
        "./run.sh: line 12: pg_dump: command not found",
        "/bin/sh: 1: pg_dump: not found",
        "sh: pg_dump: not found",
        "zsh: command not found: pg_dump",
        "(eval):1: command not found: pg_dump",
        "<path>: <n>: pg_dump: not found",
    ],
)
def test_every_shell_says_the_same_of_a_missing_program(line: str) -> None:
    signature = error_signature(f"checking\n{line}\n")
    assert signature == "pg_dump: command not found"
    assert without_name(signature) == "<value>: command not found"
    assert missing_name(line) == "pg_dump"


@pytest.mark.parametrize(
    ("text", "name", "general"),
    [
        ("ModuleNotFoundError: No module named 'a.b'", "a.b", "ModuleNotFoundError: No module named <value>"),
        ("/usr/bin/python3: No module named pytest", "pytest", "<path>: No module named <value>"),
        ("Error: Cannot find module 'express'", "express", "Error: Cannot find module <value>"),
        (
            "ImportError: cannot import 'x' (No module named 'y')",
            "y",
            "ImportError: cannot import <value> (No module named <value>)",
        ),
    ],
)
def test_name_of_what_is_missing_is_kept_and_can_be_taken_out(text: str, name: str, general: str) -> None:
    signature = error_signature(text)
    assert missing_name(text) == name
    assert signature == name.join(general.rsplit("<value>", 1))
    assert without_name(signature) == general
    assert (error_signature(general), without_name(general)) == (general, "")


@pytest.mark.parametrize("text", ["Error: Cannot find module './x'", "KeyError: 'a'", "", "a: b: not found"])
def test_error_that_names_nothing_missing_has_no_other_signature(text: str) -> None:
    assert missing_name(text) == ""
    assert without_name(error_signature(text)) == ""


def test_last_exception_wins_and_first_plain_error_wins() -> None:
    assert error_signature("KeyError: 'a'\n\nDuring handling:\n\nValueError: b") == "ValueError: b"
    assert error_signature("x: error: first\ny: error: second") == "x: error: first"


@given(st.text(max_size=400))
def test_signature_is_bounded_one_line_and_idempotent(text: str) -> None:
    signature = error_signature(text)
    assert len(signature) <= MAX_LENGTH
    assert "\n" not in signature
    assert error_signature(signature) == signature
    assert len(without_name(signature)) <= MAX_LENGTH


@given(
    st.lists(
        st.sampled_from(
            [
                "'",
                '"',
                "`",
                "/a/b",
                "12",
                "0x1f",
                "error:",
                "a1b2c3d",
                " ",
                "E   ",
                "<n>",
                "x@y.z",
                "::",
                "sh: ",
                "1: ",
                "x",
            ]
        )
        | st.sampled_from(["FAILED ", "a.py: ", "::t - ", "1 failed\n", "FAIL 'a b': "])
        | st.sampled_from(["No module named ", "command not found: ", ": command not found", ": not found"]),
        max_size=80,
    )
)
def test_signature_is_idempotent_on_odd_mixtures(pieces: list[str]) -> None:
    signature = error_signature("".join(pieces))
    assert error_signature(signature) == signature


@pytest.mark.parametrize(
    "piece",
    [
        "x/",
        "error ",
        "a.b@c-",
        "a",
        "'",
        "error: 'foo\n",
        "FAILED a.py: ",
        "1 failed\n",
        "1,",
        "\x1b[",
        "E   x\n",
        "0-",
        "a/b ",
        "sh: ",
        "x: not found\n",
    ],
)
def test_the_signature_of_a_megabyte_is_short(piece: str) -> None:
    assert len(error_signature(piece * (1_000_000 // len(piece)))) < 10_000


def test_a_time_limit_is_filed_with_the_program_that_hung():
    hung = "Command timed out after 2m 0.0s"
    filed = error_signature(hung, command="cd app && pip3 install moviepy")
    assert filed.startswith("pip3 install: Command timed out")
    assert filed == error_signature("Command timed out after 5m 3.5s", command="pip3 install -q numpy")
    assert filed != error_signature(hung, command="make data")
    assert error_signature(filed) == filed
    assert error_signature(hung, command="cd app") == error_signature(hung)
    assert error_signature("error: no rule", command="make data") == error_signature("error: no rule")


WORDS = st.sampled_from(["error:", "user", "order", "not", "found", "<n>", "<path>", "x1", "timed", "out"])
LINES = st.lists(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), max_size=40)
