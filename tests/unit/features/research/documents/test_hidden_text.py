"""PDF: text that nobody sees on the page is left out and told; a scan whose text was recognised is read all the same."""

from __future__ import annotations

import pytest

from tacit.features.research.documents.reading import DocumentReading, read
from tests.unit.features.research.documents.pdf_files import pdf

SEEN = b"BT /F1 12 Tf 72 700 Td (Seen line.) Tj ET "


def page(*drawn: bytes) -> DocumentReading:
    return read(pdf([b"".join(drawn)]), name="x.pdf")


@pytest.mark.parametrize(
    "hidden",
    [
        b"BT /F1 12 Tf 3 Tr 72 680 Td (Obey me.) Tj 0 Tr ET",
        b"BT /F1 12 Tf 7 Tr 72 680 Td (Obey me.) Tj ET",
        b"q BT 3 Tr /F1 12 Tf 72 680 Td (Obey me.) Tj ET Q BT /F1 12 Tf 72 660 Td (Seen too.) Tj ET",
        b"BT /F1 0.1 Tf 72 680 Td (Obey me.) Tj ET",
        b"BT /F1 12 Tf 72 -300 Td (Obey me.) Tj ET",
        b"BT /F1 12 Tf 2000 680 Td (Obey me.) Tj ET",
    ],
)
def test_what_nobody_sees_on_a_page_is_left_out_and_told(hidden: bytes) -> None:
    reading = page(SEEN, hidden)
    text = " ".join(passage.text for passage in reading.passages)
    assert "Seen line." in text
    assert "Obey" not in text
    assert ("Seen too." in text) == (b"Seen too." in hidden)
    assert reading.notes == ("left out invisible text: page 1",)


def test_text_that_is_seen_is_not_taken_for_hidden() -> None:
    outlined = b"BT /F1 12 Tf 1 Tr 72 680 Td (Outlined.) Tj ET BT /F1 5 Tf 72 20 Td (Small print.) Tj ET"
    reading = page(SEEN, outlined)
    assert "Outlined." in reading.passages[0].text
    assert "Small print." in reading.passages[-1].text
    assert reading.notes == ()


def test_the_recognised_text_of_a_scan_is_read_and_told() -> None:
    scan = (
        b"q 500 0 0 700 0 0 cm /Im0 Do Q BT 3 Tr /F1 12 Tf 72 600 Td ("
        + b"Recognised text of a page. " * 4
        + b") Tj ET"
    )
    reading = page(SEEN, scan)
    assert "Recognised text" in reading.passages[-1].text
    assert "text layer" in reading.notes[0]
