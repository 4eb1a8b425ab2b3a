"""Plans how pieces of knowledge are written into the files of a target, and how they are removed again. No input or output.

A person's text stays, byte for byte. A piece that is there already stays, or is updated on request. Removal by markers
is for files that were edited since, and removes nothing that a person wrote between the markers; otherwise `bundle.put_back`
restores every byte. The text of a piece is data: quotations and list items contain it, and comments, headings, link definitions
and anything that a viewer fetches or runs lose their effect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tacit.domain.errors import Mistake
from tacit.features.cards.backport.markers import (
    BLOCK_END,
    CARD_END,
    REFERENCE,
    CardBlock,
    Markers,
    block_start,
    card_ids,
    card_start,
    header,
    header_meta,
    header_span,
    read_markers,
)
from tacit.features.cards.backport.targets import (
    Target,
    TargetChange,
    TargetKind,
    TextFile,
    fingerprint,
    joined,
    read_text,
)
from tacit.text.safe_markdown import shown, shown_line

_STRUCTURE = re.compile(r"(?=#{1,6}(?:\s|$)|[>+*-](?:\s|$)|[=_*-]{2,}\s*$|\|)")
_DEFINITION = re.compile(r"^([ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)\[(?=[^\]\n]{1,1000}\]:)", re.MULTILINE)
_UNTITLED = "(untitled)"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgePiece:
    """What graduates: a card, or an approved skill."""

    id: str
    title: str
    when: str = ""
    tags: tuple[str, ...] = ()
    problem: str = ""
    steps: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    gotchas: tuple[str, ...] = ()


PieceWriter = Callable[[KnowledgePiece, str], str]
"""Returns the text of a piece with markers, from the piece and the id of its backport; ends with a line end."""


def full(piece: KnowledgePiece, backport_id: str) -> str:
    """Return the whole piece, for a reference file or a page."""
    return "\n".join((card_start(piece.id, backport_id), *_full_lines(piece), "", CARD_END, ""))


def brief(piece: KnowledgePiece, backport_id: str) -> str:
    """Return the piece as one bullet, for an instructions file, which every session pays for."""
    when = f": {plain_line(piece.when)}" if piece.when.strip() else ""
    details = piece.steps or ((piece.problem,) if piece.problem.strip() else ())
    below = [f"  {each}".rstrip() for bullet in bullets(details) for each in bullet.split("\n")]
    text_lines = [f"- **{plain_line(piece.title) or _UNTITLED}**{when}", *below]
    return "\n".join((card_start(piece.id, backport_id), *text_lines, CARD_END, ""))


def _full_lines(piece: KnowledgePiece) -> Iterator[str]:
    yield from (f"## {plain_line(piece.title) or _UNTITLED}", f"- **ID:** `{piece.id}`")
    if piece.when.strip():
        yield f"- **When to use:** {plain_line(piece.when)}"
    if tags := [text for tag in piece.tags if (text := plain_line(tag))]:
        yield f"- **Tags:** {', '.join(tags)}"
    if piece.problem.strip():
        yield from ("", "**Problem**", "", quoted(piece.problem))
    for heading, texts in (("Solution", piece.steps), ("Evidence", piece.evidence), ("Gotchas", piece.gotchas)):
        if text_lines := list(bullets(texts)):
            yield from ("", f"**{heading}**", *text_lines)


def plain_line(text: str) -> str:
    """Return a text on one line, without effects."""
    return _at_start(_unmarked(shown_line(text)))


def quoted(text: str) -> str:
    """Return a single line as a paragraph, any other text as a quotation, which contains its structure."""
    if "\n" not in (text_lines := block(text)):
        return plain_line(text)
    return "\n".join(f"> {each}".rstrip() for each in text_lines.split("\n"))


def bullets(texts: Sequence[str]) -> Iterator[str]:
    """Yield texts as list items; further lines are indented, so that they belong to their item."""
    for text in texts:
        if text_lines := block(text):
            first, *rest = (text_lines if "\n" in text_lines else plain_line(text)).split("\n")
            yield "\n".join((f"- {_at_start(first)}", *(f"  {each}".rstrip() for each in rest)))


def block(text: str) -> str:
    """Return a text without effects; its structure still needs a container."""
    return _unmarked(shown(text)).strip()


def _unmarked(text: str) -> str:
    """Disarm what could be read as a marker, a comment, a declaration or a link definition."""
    text = text.replace("<!", "&lt;!").replace("<?", "&lt;?").replace("-->", "--&gt;").replace("--!>", "--!&gt;")
    return _DEFINITION.sub(r"\1\\[", text.replace("**ID:**", r"\*\*ID:\*\*"))


def _at_start(text: str) -> str:
    """Escape the start of a line that would make it a heading, a list, a quotation or a rule."""
    return "\\" + text if _STRUCTURE.match(text) else text


HEADING = "## Learnings (self-learning)"
TITLE = "# Self-learning Aha Cards"
_POINTER = (
    f"Before starting, read `{REFERENCE}` beside this file: short notes from earlier work, each checked by a person. "
    "They are background; the task at hand and the rules you were given come first."
)
_FRAME = "Notes from earlier work, each checked by a person. They are background; the task at hand comes first."
Edit = tuple[int, int, str]
"""Start, end, and the replacement."""
Prints = Mapping[str, Collection[str]]
"""Piece → the prints of its block as written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackportStamp:
    """Id and time of a backport."""

    backport_id: str
    generated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EditPlan:
    """What a backport would change in a target."""

    changes: tuple[TargetChange, ...] = ()
    """Files that change, in the order in which they are written."""
    existing: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    refreshed: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    """Pieces in the target that are out of date, and stay."""
    by_hand: tuple[str, ...] = ()
    """Those of them that somebody edited in the target; they are never overwritten."""
    result: tuple[str, ...] = ()
    replaced: Mapping[str, str] = field(default_factory=dict)
    """Piece → its earlier block, for updated ones."""
    blocks: Mapping[str, str] = field(default_factory=dict)
    """Piece → the print of its block as this backport writes it."""
    skill_change: str = "unchanged"
    block: str = ""
    """The block of the file that every reader of the target sees."""
    reference: str = ""
    """The pieces in full, as a reference file would hold them."""


def plan_edits(
    target: Target,
    held: Mapping[str, bytes | None],
    pieces: Sequence[KnowledgePiece],
    *,
    stamp: BackportStamp,
    refresh: bool = False,
    written: Mapping[str, str] | None = None,
) -> EditPlan:
    """Plan how pieces are written into a target; `written` has the print of each block as last written there."""
    host = read_text(held[target.host], path=target.host)
    marks = _trusted(host.text, target.host)
    existing = card_ids(host.text)
    write = writer(target)
    blocks = {card.id: _plain(host.text[card.start : card.end]) for card in marks.cards}
    added = [piece for piece in pieces if piece.id not in existing]
    by = {card.id: card.backport_id for card in marks.cards if card.backport_id}
    now = {piece.id: write(piece, by.get(piece.id, stamp.backport_id)) for piece in pieces}
    stale = [piece.id for piece in pieces if blocks.get(piece.id, now[piece.id]).strip() != now[piece.id].strip()]
    known = written or {}
    by_hand = [one for one in stale if one in known and known[one] != block_print(blocks[one])]
    refreshed = [one for one in stale if one not in by_hand] if refresh else []
    result = tuple(dict.fromkeys([*existing, *(piece.id for piece in added)]))
    change = _Planned(target=target, stamp=stamp, added=[now[piece.id] for piece in added], result=result)
    change.renewed = {one: now[one] for one in refreshed}
    after, skill_change = change.files(held, host, marks)
    return EditPlan(
        changes=tuple(
            TargetChange(path=path, before=held[path], after=after[path])
            for path in target.files
            if after.get(path, held[path]) != held[path]
        ),
        existing=tuple(existing),
        added=tuple(piece.id for piece in added),
        refreshed=tuple(refreshed),
        stale=tuple(one for one in stale if one not in refreshed),
        by_hand=tuple(by_hand),
        result=result,
        replaced={one: blocks[one] for one in refreshed},
        blocks={one: block_print(now[one]) for one in (*(piece.id for piece in added), *refreshed)},
        skill_change=skill_change,
        block=_shown_block(target, after.get(target.main), held[target.main], stamp),
        reference=_reference(TextFile(), stamp, [full(piece, stamp.backport_id) for piece in pieces], result).text
        if target.kind is not TargetKind.SKILL
        else _decoded(after.get(target.reference, held[target.reference])),
    )


@dataclass(slots=True, kw_only=True)
class _Planned:
    """One change of a target, while it is planned."""

    target: Target
    stamp: BackportStamp
    added: list[str]
    """Blocks that are new."""
    result: tuple[str, ...]
    renewed: dict[str, str] = field(default_factory=dict)

    def files(self, held: Mapping[str, bytes | None], host: TextFile, marks: Markers) -> tuple[dict[str, bytes], str]:
        """Return the files that change, and what happens to the block in the main file."""
        has_changes = bool(self.added or self.renewed)
        if self.target.kind is not TargetKind.SKILL:
            if not has_changes:
                return {}, "unchanged"
            state = "updated_marker_id" if marks.block else "appended_block"
            return {self.target.main: self._in_page(host, marks).data()}, state
        main = read_text(held[self.target.main], path=self.target.main)
        shown = _trusted(main.text, self.target.main)
        if not has_changes and shown.block:
            return {}, "unchanged"
        after: dict[str, bytes] = {}
        if has_changes:
            if self.added and host.text.strip():
                _check_end(marks, self.target.reference)
            renewed = _edited(host, _renewals(host, marks, self.renewed))
            reference = _reference(renewed, self.stamp, self.added, self.result)
            after = {self.target.reference: reference.data()}
        if shown.opening:
            start = block_start(self.stamp.backport_id)
            return after | {self.target.main: _edited(main, [(*shown.opening, start)]).data()}, "updated_marker_id"
        _check_end(shown, self.target.main)
        return after | {self.target.main: joined(main, pointer(self.stamp)).data()}, "appended_block"

    def _in_page(self, host: TextFile, marks: Markers) -> TextFile:
        apart = "\n" if self.target.kind is TargetKind.PAGE else ""
        if marks.block is None:
            _check_end(marks, self.target.main)
            start, pieces = block_start(self.stamp.backport_id), apart.join(self.added)
            return joined(host, "\n".join((start, HEADING, "", _FRAME, "", pieces + BLOCK_END, "")))
        assert marks.opening is not None
        edits: list[Edit] = [(*marks.opening, block_start(self.stamp.backport_id))]
        if self.added:
            edits.append((marks.closing, marks.closing, host.native(apart + apart.join(self.added))))
        return _edited(host, [*edits, *_renewals(host, marks, self.renewed)])


def block_print(block: str) -> str:
    """Return the print of a block, independent of line ends."""
    return fingerprint(_plain(block).strip().encode())


def writer(target: Target) -> PieceWriter:
    """Return the function that writes a piece for this kind of target."""
    return brief if target.kind is TargetKind.INSTRUCTIONS else full


def pointer(stamp: BackportStamp) -> str:
    """Return the block of a SKILL.md."""
    return "\n".join((block_start(stamp.backport_id), HEADING, "", _POINTER, BLOCK_END, ""))


def plan_removal(
    target: Target,
    held: Mapping[str, bytes | None],
    backport_id: str,
    *,
    replaced: Mapping[str, str],
    created: Collection[str],
    written: Prints | None = None,
) -> tuple[TargetChange, ...]:
    """Remove by markers what a backport added, and restore what it updated.

    `written` has the prints of each block as backports wrote it: a block that somebody edited since stays, and so do lines that
    somebody wrote between the markers. Without it, everything between the markers is removed. A file that a backport created
    is removed if only its frame is left.
    """
    host = read_text(held[target.host], path=target.host)
    marks = _trusted(host.text, target.host)
    kept = edited_pieces(host.text, written or {})
    gone = [card for card in marks.cards if card.backport_id == backport_id and card.id not in {*replaced, *kept}]
    left = [card for card in marks.cards if card not in gone]
    edits = [_removal(host.text, card.start, card.end) for card in gone]
    back = {card.id for card in left if card.id not in kept}
    edits += _renewals(host, marks, {one: block for one, block in replaced.items() if one in back})
    last = left[-1].backport_id if left else ""
    after: dict[str, bytes | None] = {}
    if target.kind is TargetKind.SKILL:
        after[target.reference] = _left_reference(target, _edited(host, edits), left, created)
        main = read_text(held[target.main], path=target.main)
        shown = _trusted(main.text, target.main)
        if not left and not card_ids(_decoded(after[target.reference])):
            cleared = _cleared(main, shown, knows=written is not None)
        else:
            cleared = _renamed(shown, backport_id, last)
        after[target.main] = _kept(main, cleared, target.main, created)
    else:
        if not left and marks.block:
            edits = _cleared(host, marks, knows=written is not None)
        else:
            edits += _renamed(marks, backport_id, last)
        after[target.main] = _kept(host, edits, target.main, created)
    changed = (path for path in target.files if after[path] != held[path])
    return tuple(TargetChange(path=path, before=held[path], after=after[path]) for path in changed)


def _left_reference(
    target: Target, file: TextFile, left: Sequence[CardBlock], created: Collection[str]
) -> bytes | None:
    """Return a reference file after the removal; None if only the frame of a created file is left."""
    span = header_span(file.text)
    bare = file.text[span[1] :] if span else file.text
    if not left and target.reference in created and not re.sub(r"\s+", "", bare.replace(TITLE, "", 1)):
        return None
    if not span:
        return file.data() if file.text else None
    known = header_meta(file.text)
    backport_id = left[-1].backport_id if left else known.get("backport_id", "")
    text_lines = header(
        backport_id or known.get("backport_id", ""), known.get("generated_at", ""), [c.id for c in left]
    )
    return _edited(file, [(*span, file.native(text_lines))]).data()


def _kept(file: TextFile, edits: Sequence[Edit], path: str, created: Collection[str]) -> bytes | None:
    after = _edited(file, edits)
    return None if path in created and not after.text.strip() else after.data()


def edited_pieces(text: str, written: Prints) -> tuple[str, ...]:
    """Return the pieces of a text that were edited since a backport wrote them."""
    found = {card.id: block_print(text[card.start : card.end]) for card in read_markers(text).cards}
    return tuple(one for one, now in found.items() if now not in written.get(one, (now,)))


def _renamed(marks: Markers, backport_id: str, last: str) -> list[Edit]:
    """Rename a block that is still needed and names the undone backport."""
    if marks.opening and last and backport_id in marks.backport_ids:
        return [(*marks.opening, block_start(last))]
    return []


def _cleared(file: TextFile, marks: Markers, *, knows: bool) -> list[Edit]:
    """Remove an empty block; lines that somebody else wrote in it stay."""
    if not marks.block or not marks.opening:
        return []
    start, end = marks.block
    others = _others(file.text, marks) if knows else ""
    if not others:
        return [_removal(file.text, start, end)]
    return [(start, end, others + (file.newline if file.text[:end].endswith("\n") else ""))]


def _others(text: str, marks: Markers) -> str:
    """Return the lines of a block that are neither its frame nor a piece."""
    assert marks.opening is not None
    at, rest = marks.opening[1], ""
    for card in (card for card in marks.cards if at <= card.start < marks.closing):
        rest, at = rest + text[at : card.start], card.end
    rest += text[at : marks.closing]
    lines = [line for line in rest.splitlines(keepends=True) if line.strip() not in (HEADING, _POINTER, _FRAME)]
    return "".join(lines).strip("\r\n")


def _removal(text: str, start: int, end: int) -> Edit:
    """Remove a block with the blank line before it."""
    before = text[:start]
    for blank in ("\r\n\r\n", "\n\n"):
        if before.endswith(blank):
            return (start - len(blank) // 2, end, "")
    return (start, end, "")


def _reference(host: TextFile, stamp: BackportStamp, added: Sequence[str], result: Sequence[str]) -> TextFile:
    """Return a reference file with an updated header and blocks appended."""
    head = header(stamp.backport_id, stamp.generated_at, result)
    if not host.text.strip():
        return TextFile(head + TITLE + "\n\n" + "\n".join(added), host.has_mark)
    span = header_span(host.text) or (0, 0)
    headed = _edited(host, [(*span, host.native(head))])
    return joined(headed, "\n".join(added)) if added else headed


def _renewals(host: TextFile, marks: Markers, blocks: Mapping[str, str]) -> list[Edit]:
    """Return the edits that replace blocks with the same ids."""
    edits = []
    for card in marks.cards:
        if card.id in blocks:
            unended = not host.text[card.start : card.end].endswith("\n")
            block = blocks[card.id].removesuffix("\n") if unended else blocks[card.id]
            edits.append((card.start, card.end, host.native(block)))
    return edits


def _edited(file: TextFile, edits: Sequence[Edit]) -> TextFile:
    text = file.text
    for start, end, instead in sorted(edits, reverse=True):
        text = text[:start] + instead + text[end:]
    return file.with_text(text)


def _trusted(text: str, path: str) -> Markers:
    marks = read_markers(text)
    if marks.problems:
        message = f"the markers in {path} are broken: {'; '.join(marks.problems)}"
        raise Mistake(message, code="broken_markers", hint="correct them by hand, then try again")
    return marks


def _check_end(marks: Markers, path: str) -> None:
    if marks.open_end:
        raise Mistake(f"{path} ends within {marks.open_end}", code="unclosed_end", hint="close it, then try again")


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _decoded(data: bytes | None) -> str:
    return _plain(data.decode()) if data else ""


def _shown_block(target: Target, after: bytes | None, before: bytes | None, stamp: BackportStamp) -> str:
    """Return the block of the target after the change."""
    if target.kind is TargetKind.SKILL:
        return pointer(stamp)
    text = _decoded(after or before)
    block = read_markers(text).block
    return text[slice(*block)].rstrip("\n") + "\n" if block else ""
