"""A selection of skills → what the agent sees: SKILL.md folders, one catalogue in three tiers, and the context block."""

from tacit.render.catalogue import Catalogue, Entry, merge, scan
from tacit.render.context import (
    ITEM_TOKENS_MAX,
    crowded_line,
    frame_tokens,
    quote,
    render_item,
    render_selection,
    source_line,
    static_lines,
)
from tacit.render.frontmatter import Problem
from tacit.render.proposal import proposed, read_evidence, read_proposal
from tacit.render.skill_folder import find_skill_md, is_copy, load, save
from tacit.render.skill_md import Parsed, parse, render
from tacit.render.tiers import Applied, body_of, covers, file_block, file_paths, listing, read_file, standing

__all__ = [
    "ITEM_TOKENS_MAX",
    "Applied",
    "Catalogue",
    "Entry",
    "Parsed",
    "Problem",
    "body_of",
    "covers",
    "crowded_line",
    "file_block",
    "file_paths",
    "find_skill_md",
    "frame_tokens",
    "is_copy",
    "listing",
    "load",
    "merge",
    "parse",
    "proposed",
    "quote",
    "read_evidence",
    "read_file",
    "read_proposal",
    "render",
    "render_item",
    "render_selection",
    "save",
    "scan",
    "source_line",
    "standing",
    "static_lines",
]
