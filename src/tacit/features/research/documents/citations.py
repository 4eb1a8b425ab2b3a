"""Citations: what a document says of itself and a place in it → how it is cited; its opening sentences. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tacit.domain.document import Passage

_NAMED = 3
"""Authors that a citation names; of more the first alone."""
_SENTENCE = re.compile(r".+?[.!?](?=\s+[A-Z“\"(\[]|\s*$)", re.DOTALL)


def cited(title: str, *, authors: Sequence[str] = (), year: int = 0, passage: Passage | None = None) -> str:
    """Authors (year), title, page and section, as far as they are known."""
    named = f"{authors[0]} et al." if len(authors) > _NAMED else _listed(authors)
    if year:
        named = f"{named} ({year})" if named else f"({year})"
    parts = [part for part in (named, title) if part]
    if passage is not None:
        parts += [part for part in (_pages(passage), f"§ {passage.section}" if passage.section else "") if part]
    return ", ".join(parts)


def opening(text: str, *, most: int = 300) -> str:
    """The first sentences of a text that fit; of a very long one its beginning."""
    line = " ".join(text.split())
    taken = ""
    for found in _SENTENCE.finditer(line[: 4 * most]):
        longer = f"{taken} {found[0].strip()}".strip()
        if taken and len(longer) > most:
            break
        taken = longer
    taken = taken or line
    return taken if len(taken) <= most else taken[: most - 1].rsplit(" ", 1)[0] + "…"


def _listed(authors: Sequence[str]) -> str:
    return ", ".join(authors[:-1]) + f" and {authors[-1]}" if len(authors) > 1 else "".join(authors)


def _pages(passage: Passage) -> str:
    if passage.first_page and passage.last_page > passage.first_page:
        return f"pp. {passage.first_page}–{passage.last_page}"
    if passage.first_page:
        return f"p. {passage.first_page}"
    return f"line {passage.line}" if passage.line else ""
