"""All that the checks look at in one content: its pieces and what is hidden in them, worked out once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from tacit.domain.skill import SkillContent
from tacit.gate.checks.decoding import decoded, view
from tacit.gate.checks.pieces import Piece, pieces
from tacit.gate.checks.python_flow import SUSPECT, parsed, span_of
from tacit.gate.checks.python_values import built_texts

_last: tuple[SkillContent, tuple[Piece, ...]] | None = None


def looked_at(content: SkillContent) -> tuple[Piece, ...]:
    """Every piece of a content and every text hidden in one."""
    global _last  # noqa: PLW0603 - several checks look at the same content in turn
    if _last is not None and _last[0] is content:
        return _last[1]
    own = tuple(pieces(content))
    views = (each for piece in own if not _is_block(piece) for each in decoded(piece))
    built = _built([piece for piece in own if piece.language == "python"])
    found = (*own, *views, *built)
    _last = (content, found)
    return found


def _built(scripts: list[Piece]) -> Iterator[Piece]:
    """The texts that Python scripts put together, from each other's constants too, and what is hidden in those."""
    if not any(SUSPECT.search(piece.text) for piece in scripts):
        return
    modules = [module for piece in scripts if (module := parsed(piece))]
    named = {PurePosixPath(module.piece.path).stem: module.values for module in modules if module.piece.path}
    for module in modules:
        module.values.others = named
        texts = built_texts(module.tree, module.values)
        if parts := [(span_of(module.piece.text, node), text) for node, text in texts]:
            built = view(module.piece, parts, way="text put together", language="text")
            yield built
            yield from decoded(built)


def _is_block(piece: Piece) -> bool:
    """A block of a Markdown text, whose hidden texts are found in that text already."""
    return piece.start > 0 and piece.language not in ("shell", "powershell")
