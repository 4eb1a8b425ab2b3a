"""Sentences that cannot both be followed, and pairs that are only about the same subject."""

from __future__ import annotations

import pytest

from tacit.text.opposition import opposed, opposite_clause

OPPOSED = [
    ("Use pnpm, not npm.", "Use npm instead of pnpm."),
    ("Use pnpm here.", "Do not use pnpm."),
    ("We use yarn.", "We use npm."),
    ("Use npm ci to install.", "Use pnpm instead of npm."),
    ("Prefer logging over print.", "Use print for output instead of logging."),
    ("Always run the tests before you commit.", "Never run the tests before you commit."),
    ("Avoid force pushing to shared branches.", "Force push to shared branches."),
    ("Squash commits.", "Do not squash commits."),
    ("Use tabs for indentation.", "Use spaces for indentation."),
    ("Use Redis locks for jobs.", "Use Postgres locks for jobs."),
    ("Use port 8080 for the preview server.", "Use port 9090 for the preview server."),
    ("Set the timeout to 30 seconds.", "Set the timeout to 60 seconds."),
    ("Run migrations before deploying.", "First build. Never run migrations before deploying."),
    ("Replace moment with dayjs.", "Replace dayjs with moment."),
    ("Use pnpm, never npm.", "Run npm ci."),
    ("Use pnpm and never npm.", "Use npm instead of pnpm."),
    ("Always use npm and never use pnpm.", "Use pnpm, not npm."),
    ("Use pnpm, not npm, to install packages.", "Never use pnpm."),
    ("The dev server listens on port 8080.", "The dev server listens on port 9090."),
    ("Tokens expire after 15 minutes.", "Tokens expire after 60 minutes."),
    ("Indent with tabs, not spaces.", "Indent with spaces, not tabs."),
    ("Indent with tabs, not spaces.", "Do not use tabs to indent."),
    ("Use tabs.", "Use spaces."),
    ("Use single quotes.", "Use double quotes."),
    ("Use wet sand, not dry sand, for the mould.", "Use dry sand, not wet sand, for the mould."),
    ("Use wet sand, not dry sand, for the mould.", "Use dry sand in the mould."),
]
COMPATIBLE = [
    ("Use pnpm, not npm.", "Use pnpm to install packages."),
    ("Use npm instead of yarn.", "Never use yarn."),
    ("Use pytest.", "Use ruff."),
    ("Postgres locks time out after 30 s.", "Redis locks expire after 10 s."),
    ("Never commit secrets.", "Always commit lock files."),
    ("Use tabs for Makefiles.", "Use spaces for Python."),
    ("Run the tests with pytest -q.", "Run the linter with ruff."),
    ("Do not use print for logging.", "Use the logger for logging."),
    ("Don't push to main.", "Push to a feature branch."),
    ("Use port 8080 for the preview server.", "Use port 9090 for the database."),
    ("Set the timeout to 30 seconds.", "Set the retries to 3."),
    ("Never edit generated files.", "Edit the template and generate the files."),
    ("Do not deploy on Fridays.", "Do not deploy before noon."),
    ("The dev server listens on port 8080.", "The database listens on port 5432."),
    ("The dev server listens on port 8080.", "The dev server listens on port 8080 of the build machine."),
    ("The limit is 30 for guests.", "The limit is 60 for admins."),
    ("In staging the timeout is 30 seconds.", "In production the timeout is 60 seconds."),
    ("Python 3.11 is supported.", "Python 3.12 is supported."),
    ("npm is slow.", "Use pnpm, not npm."),
    ("The changelog is in English.", "The changelog is in docs."),
    ("The backup runs at 8:00.", "The backup runs at 20:00."),
    ("Use single quotes for strings.", "Use double quotes for docstrings."),
    ("Always use npm and never use pnpm.", "Never use pnpm."),
    ("", "Never do anything."),
    ("Use wet sand, not dry sand, for the mould.", "Run `crucible dry --hot`."),
    ("Use wet sand, not dry sand.", "Use dry paint, not wet paint."),
]


@pytest.mark.parametrize(("one", "other"), OPPOSED)
def test_what_cannot_both_be_followed_is_reported_from_either_side(one: str, other: str) -> None:
    assert opposed(one, other)
    assert opposed(other, one)


@pytest.mark.parametrize(("one", "other"), COMPATIBLE)
def test_what_only_speaks_of_the_same_is_no_disagreement(one: str, other: str) -> None:
    assert not opposed(one, other)
    assert not opposed(other, one)


def test_what_is_reported_names_both_sentences() -> None:
    assert (
        opposed("Build it. Use pnpm here.", "Do not use pnpm. Ever.") == "“Use pnpm here.” against “Do not use pnpm.”"
    )


def test_nothing_contradicts_itself() -> None:
    for pair in (*OPPOSED, *COMPATIBLE):
        for text in pair:
            assert not opposed(text, text), text


def test_a_very_long_text_is_read_as_far_as_it_lays_something_down() -> None:
    assert not opposed("word " * 100_000, "never " * 100_000)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Commit generated files.", "Please never commit generated files; regenerate them."),
        ("Never commit generated files.", "Always commit generated files."),
        ("The suite needs network access.", "the suite doesn't need network access"),
        ("Generierte Dateien committen.", "Bitte nie generierte Dateien committen."),
        ("Generierte Dateien nicht committen.", "Generierte Dateien committen"),
        ("Push to main directly.", "no, do not push to main directly"),
    ],
)
def test_a_text_that_turns_a_line_round_is_found(text: str, line: str):
    assert opposite_clause(text, [line])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Never commit generated files.", "Please never commit generated files."),
        ("Do not add loading spinners or skeleton screens.", "- Adding loading spinners or skeleton screens"),
        ("Do not commit to WCAG AA.", "Should we commit to WCAG AA?"),
        ("Skip `<br>` after block elements.", "Don't emit <br> after block elements"),
        ("Skip generated files in commits.", "Never commit generated files"),
        ("No tool results are shown.", "Tool results, raw lines and fallbacks are no longer shown."),
        ("Use pnpm, not npm.", "please don't use npm, use pnpm"),
        ("Run the sync before a migration.", "cat: missing.txt: No such file or directory"),
    ],
)
def test_a_text_that_keeps_the_sense_of_a_line_is_not(text: str, line: str):
    assert not opposite_clause(text, [line])
