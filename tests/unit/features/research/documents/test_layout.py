"""Pieces of text become lines in the order of reading, whatever the order they were drawn in."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from tacit.features.research.documents.pdf import Page, TextLine, TextPiece, lines_of


def piece(x: float, y: float, text: str, *, size: float = 10, turn: int = 0, width: float | None = None) -> TextPiece:
    return TextPiece(
        x=x, y=y, width=5.0 * len(text) if width is None else width, size=size, bold=False, turn=turn, text=text
    )


def page(number: int, *pieces: TextPiece) -> Page:
    return Page(number=number, width=612, height=792, pieces=pieces)


def texts(*pages: Page) -> list[str]:
    return [line.text for line in lines_of(pages)]


def test_pieces_on_one_baseline_are_one_line() -> None:
    assert texts(page(1, piece(100, 700, "world"), piece(72, 700, "Hello "))) == ["Hello world"]


def test_an_exponent_stays_in_its_line() -> None:
    assert texts(page(1, piece(72, 700, "O(n", width=15), piece(87, 703, "2", size=7), piece(92, 700, ") steps"))) == [
        "O(n2) steps"
    ]


def test_lines_go_from_top_to_bottom() -> None:
    drawn = [piece(72, 700 - 12 * n, f"line {n}") for n in range(9)]
    random.Random(1).shuffle(drawn)
    assert texts(page(1, *drawn)) == [f"line {n}" for n in range(9)]


def test_cells_are_kept_apart() -> None:
    [line] = lines_of([page(1, piece(72, 700, "name"), piece(200, 700, "3"), piece(300, 700, "ms"))])
    assert (line.text, line.cells) == ("name | 3 | ms", 3)


def test_a_table_of_many_rows_is_no_pair_of_columns() -> None:
    cells = [piece(x, 700 - 14 * row, f"{row}.{place}") for row in range(30) for place, x in enumerate((72, 310, 400))]
    assert texts(page(1, *cells))[:2] == ["0.0 | 0.1 | 0.2", "1.0 | 1.1 | 1.2"]


def columns(rows: int, *, by_row: bool) -> list[TextPiece]:
    left = [piece(72, 700 - 12 * row, f"L{row:02} " + "x" * 38, width=222) for row in range(rows)]
    right = [piece(318, 700 - 12 * row, f"R{row:02} " + "x" * 38, width=222) for row in range(rows)]
    return [each for pair in zip(left, right, strict=True) for each in pair] if by_row else [*left, *right]


def test_two_columns_are_found_however_they_were_drawn() -> None:
    wanted = [f"{side}{row:02}" for side in "LR" for row in range(20)]
    for by_row in (True, False):
        assert [text[:3] for text in texts(page(1, *columns(20, by_row=by_row)))] == wanted


def test_a_line_across_parts_the_columns_above_from_those_below() -> None:
    above = columns(6, by_row=True)
    across = piece(72, 620, "Across " + "y" * 85, width=468)
    below = [
        TextPiece(x=p.x, y=p.y - 100, width=p.width, size=10, bold=False, turn=0, text="b" + p.text) for p in above
    ]
    found = [text[:3] for text in texts(page(1, *above, across, *below))]
    assert found[:12] == [f"{side}{row:02}" for side in "LR" for row in range(6)]
    assert found[12] == "Acr"
    assert found[13:] == [f"b{side}{row}" for side in "LR" for row in ("0",) * 6]


def test_what_many_pages_share_at_their_edges_is_left_out() -> None:
    pages = [
        page(
            n,
            piece(72, 760, f"Chapter {n}: Caches"),
            *(piece(72, 700 - 12 * k, f"p{n} l{k}") for k in range(6)),
            piece(300, 30, str(n)),
        )
        for n in range(1, 8)
    ]
    assert texts(*pages) == [f"p{n} l{k}" for n in range(1, 8) for k in range(6)]


def test_what_repeats_within_the_text_stays() -> None:
    pages = [
        page(n, *(piece(72, 700 - 12 * k, "The same." if k == 3 else f"p{n} l{k}") for k in range(8)))
        for n in range(1, 8)
    ]
    assert texts(*pages).count("The same.") == 7


def test_two_pages_that_begin_alike_keep_their_beginning() -> None:
    pages = [page(n, piece(72, 760, "Summary"), piece(72, 700, f"text {n}")) for n in (1, 2)]
    assert texts(*pages) == ["Summary", "text 1", "Summary", "text 2"]


def test_writing_in_another_direction_is_left_out() -> None:
    assert texts(page(1, piece(20, 100, "stamp", turn=1), piece(72, 700, "The text of the page."))) == [
        "The text of the page."
    ]


def test_a_page_upside_down_is_read_from_its_own_top() -> None:
    turned = page(1, piece(500, 100, "First line.", turn=2), piece(500, 112, "Second line.", turn=2))
    assert texts(turned) == ["First line.", "Second line."]


def test_a_page_without_text_has_no_lines() -> None:
    assert lines_of([page(1)]) == []


pieces = st.lists(
    st.builds(
        piece,
        x=st.floats(0, 612),
        y=st.floats(0, 792),
        text=st.text(st.sampled_from("abc -|"), min_size=1, max_size=20).filter(str.strip),
        size=st.floats(1, 40),
        turn=st.just(0),
    ),
    max_size=40,
)


@given(pieces)
def test_no_letter_is_lost_on_a_single_page(drawn: list[TextPiece]) -> None:
    lines: list[TextLine] = lines_of([page(1, *drawn)])
    said = sorted(c for each in drawn for c in each.text if c in "abc")
    assert sorted(c for line in lines for c in line.text if c in "abc") == said
