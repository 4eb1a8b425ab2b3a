"""Words parted at the end of a line: the document itself says how they are written."""

from __future__ import annotations

import pytest

from tacit.features.research.documents.document_sections import joined, vocabulary
from tacit.features.research.documents.pdf import clean


@pytest.mark.parametrize(
    ("lines", "elsewhere", "text"),
    [
        (["The meas-", "urement ends."], "", "The measurement ends."),
        (["A well-", "known fact."], "", "A well-known fact."),
        (["A time-", "out came."], "the time-out", "A time-out came."),
        (["A time-", "out came."], "the timeout", "A timeout came."),
        (["A state-of-the-", "art model."], "", "A state-of-the-art model."),
        (["From 3-", "5 items."], "", "From 3- 5 items."),
        (["By Smith-", "Jones."], "", "By Smith- Jones."),
        (["One line", "and another."], "", "One line and another."),
    ],
)
def test_a_hyphen_stays_where_it_belongs(lines: list[str], elsewhere: str, text: str) -> None:
    assert joined(lines, vocabulary([*lines, elsewhere])) == text


def test_letters_are_told_as_letters_and_what_hides_is_gone() -> None:
    assert clean("ﬁnal oﬃce\u00a0\u00adwork\u200bﬂow \u202ex") == "final office workflow x"
    assert clean("  two\t blanks ") == "two blanks"
