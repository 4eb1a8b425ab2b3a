"""Ten documents of known content: which sentence stands on which page, and what must not be read at all."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

from tests.unit.features.research.documents.pdf_files import Run, column, pdf, scanned, with_ligatures

_WORDS = (
    "cache index latency memory query worker shard replica ledger buffer signal window kernel schedule branch commit "
    "vector gradient sample variance estimate baseline threshold budget margin protocol channel packet session handler"
).split()
_VERBS = "reduces keeps measures improves splits orders repeats limits shares follows precedes replaces".split()


def body(text: str, *, spaced: bool = False) -> list[Run]:
    """A text in one column down a page."""
    return column(text, x=72, top=700, width=468, spaced=spaced)


@dataclass(frozen=True)
class Made:
    """A file with the sentences that must be found in it, each with its page; none where it must be refused."""

    data: bytes
    sentences: Mapping[str, int] = field(default_factory=dict)
    refused: str = ""
    """A word of the refusal."""


class Writer:
    """Writes sentences that occur once, and notes the page of each."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self.sentences: dict[str, int] = {}

    def sentence(self, page: int) -> str:
        dice = self._dice
        words = " ".join(dice.choice(_WORDS) for _ in range(6))
        text = f"In case {len(self.sentences) + 1} the {dice.choice(_WORDS)} {dice.choice(_VERBS)} each {words}."
        self.sentences[text] = page
        return text

    def text(self, page: int, count: int) -> str:
        return " ".join(self.sentence(page) for _ in range(count))


def single_column() -> Made:
    writer = Writer(1)
    pages = [body(writer.text(page, 20)) for page in (1, 2, 3)]
    return Made(pdf(pages, title="One Column of Cases"), writer.sentences)


def two_columns() -> Made:
    """A title across, two columns drawn line by line across the page, a line across in the middle, two columns again."""
    writer, pages = Writer(2), []
    for page in (1, 2):
        runs = [Run(150, 745, "Two Columns of Cases", 18, bold=True)] if page == 1 else []
        for top in (700, 380):
            left = column(writer.text(page, 9), x=72, top=top, width=222)
            right = column(writer.text(page, 9), x=318, top=top, width=222)
            pairs = zip(left, right, strict=False)
            runs += [run for pair in pairs for run in pair]
            runs += left[len(right) :] + right[len(left) :]
            if top == 700:
                across = writer.sentence(page)
                runs += column(f"{across} {writer.sentence(page)}", x=72, top=405, width=468)
        pages.append(runs)
    return Made(pdf(pages, title="Two Columns of Cases"), writer.sentences)


def table() -> Made:
    writer = Writer(3)
    rows = [
        ("Method", "Recall", "Time"),
        ("baseline", "0.61", "12 s"),
        ("cached", "0.83", "4 s"),
        ("both", "0.88", "5 s"),
    ]
    cells = [
        Run(72 + 160 * place, 560 - 14 * row, cell) for row, each in enumerate(rows) for place, cell in enumerate(each)
    ]
    above = body(writer.text(1, 4))
    below = column(writer.text(1, 4), x=72, top=470, width=468)
    return Made(pdf([[*above, *cells, *below]], title="A Table of Cases"), writer.sentences)


def ligatures() -> Made:
    """Set as typesetters do: ligatures by glyph, and no blanks between words but moves."""
    said = "The final office workflow is efficient and offers five affine flows."
    writer = Writer(4)
    text = f"{said} {writer.text(1, 5)}"
    runs = body(with_ligatures(text), spaced=True)
    return Made(pdf([runs], title="Ligatures"), {said: 1, **writer.sentences})


def three_hundred_pages(density: int = 4) -> Made:
    writer, pages = Writer(5), []
    for page in range(1, 301):
        head = [Run(72, 752, "A Long Book of Cases", 8), Run(300, 40, str(page), 8)]
        pages.append([*head, *body(writer.text(page, density), spaced=True)])
    return Made(pdf(pages, title="A Long Book of Cases"), writer.sentences)


def sections() -> Made:
    """A paper with headings, an abstract, words parted at line ends, running headers, an outline and references."""
    writer, pages = Writer(6), []
    heads = ["1 Introduction", "2 Method", "3 Results", "References"]
    for page, head in enumerate(heads, 1):
        runs = [Run(72, 752, f"Ann and Ben: Cases in Sections {page}", 8), Run(300, 40, str(page), 8)]
        top = 700.0
        if page == 1:
            runs += [Run(130, 720, "Cases in Sections", 18, bold=True), Run(72, 690, "Abstract", 11, bold=True)]
            runs += column(writer.text(1, 3), x=72, top=674, width=468)
            top = 600
        runs += [Run(72, top, head, 12, bold=True), *column(writer.text(page, 8), x=72, top=top - 20, width=468)]
        parted = [
            Run(72, 300, "It was meas-"),
            Run(72, 288, "ured with a well-"),
            Run(72, 276, "known clock, as measured before."),
        ]
        runs += parted if page == 2 else []
        pages.append(runs)
    outline = [(head, page) for page, head in enumerate(heads, 1)]
    return Made(pdf(pages, title="Cases in Sections", author="Ann Able; Ben Best", outline=outline), writer.sentences)


def user_password() -> Made:
    return Made(pdf([body("Nobody may read this.")], user_password="sesame"), refused="password")


def owner_password() -> Made:
    """Encrypted so that everybody may read it, and only its owner change it."""
    writer = Writer(8)
    return Made(pdf([body(writer.text(1, 10))], title="Open to Readers", user_password=""), writer.sentences)


def truncated() -> Made:
    return Made(single_column().data[:2500], refused="cut off")


def scan() -> Made:
    return Made(scanned(), refused="scans")


DOCUMENTS: Mapping[str, Callable[[], Made]] = {
    each.__name__: cache(each)
    for each in (
        single_column, two_columns, table, ligatures, three_hundred_pages, sections, user_password, owner_password,
        truncated, scan,
    )
}  # fmt: skip
