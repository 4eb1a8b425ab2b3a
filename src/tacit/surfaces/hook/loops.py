"""Going round in circles: one tool call and what came before → what it did, as digests, and a warning if that is a loop.

Three kinds: the same file read again though it has not changed, the same call failing in the same way, and an edit that
takes back an earlier one. Each is reported once per target. Pure, except that it reads a file's time and size.
"""

from __future__ import annotations

import os
import re

from tacit.ingest.journal import FAILED, digest
from tacit.surfaces.hook.events import HookCall

READ, REPEATED, EDITED = "read", "repeated", "edited"
OFTEN = 3
"""How many times the same is a loop."""

_READERS = frozenset({"Read", "NotebookRead", "view", "read_file"})
_SHELLS = frozenset({"Bash", "PowerShell", "shell", "exec_command", "run_shell_command"})
# Patterns are texts: each is compiled when it is first needed, which for most events is never.
_SHOWS_FILE = r"\s*(?:cat|nl|head|tail|less|more|bat|sed\s+-n)\s[^|;&<>`$\n]*"
_SHOWS_TEXT = (
    r"(?:^|[|;&]\s*)(?:cat|nl|head|tail|less|more|bat|sed|awk|e?grep|rg|ag|find|jq|"
    r"git\s+(?:log|show|diff|grep|blame))\b"
)
_PATCHED = r"(?m)^\*\*\* (?:Add|Update|Delete) File: (.+)$"
_TARGET_CHARACTERS = 120
_HARMLESS = str.maketrans({"<": "‹", "＜": "‹", "﹤": "‹", ">": "›", "＞": "›", "﹥": "›", "`": "'"})
"""A name is anybody's text, and the agent reads it: it opens no tag and ends no quotation."""
_TELLS = {
    READ: "{target} has now been read {times} times and has not changed in between. What it says is further up.",
    FAILED: "{target} has now failed {times} times in the same way. Doing it once more will not help: "
    "look at the cause, or try another way.",
    REPEATED: "{target} has now given the same errors {times} times. Doing it once more will not help: "
    "look at the cause, or try another way.",
    EDITED: "This edit of {target} takes back an earlier one: the text is as it was before. "
    "Decide what it should be before changing it again.",
}

CallAction = dict[str, object]
"""What a call did, as the journal keeps it: `did`, `what`, and for edits `before` and `after`."""


def actions_of(call: HookCall, *, signature: str, cwd: str) -> list[CallAction]:
    """What a call did that may turn out to be part of a loop. `signature` is that of its errors, if it shows any."""
    if signature:
        did = FAILED if call.failed else REPEATED
        return [{"did": did, "what": digest(call.tool, repr(sorted(call.arguments.items())), signature)}]
    if call.failed:
        return []
    if call.tool in _READERS:
        path = call.argument("file_path") or call.argument("path")
        try:
            state = os.stat(os.path.join(cwd, path)) if path else None
        except (OSError, ValueError):
            state = None  # a file that cannot be looked at is not followed
        part = repr([call.arguments.get(name) for name in ("offset", "limit", "pages", "view_range")])
        what = digest(path, part, f"{state.st_mtime_ns} {state.st_size}") if state else ""
        return [{"did": READ, "what": what}] if what else []
    if call.tool in _SHELLS and re.fullmatch(_SHOWS_FILE, call.argument("command")):
        return [{"did": READ, "what": digest(call.argument("command"), call.output)}]
    return [
        {"did": EDITED, "what": digest(path), "before": digest(before), "after": digest(after)}
        for path, before, after in _edits(call)
    ]


def shows_text(call: HookCall) -> bool:
    """Whether a shell command only looks at texts, so that an error in its output need not be its own."""
    return call.tool in _SHELLS and bool(re.search(_SHOWS_TEXT, call.argument("command")))


def key_of(action: CallAction) -> str:
    """What a warning about it is remembered by."""
    return f"{action['did']}:{action['what']}"


def times(action: CallAction, earlier: list[CallAction]) -> int:
    """How many times the same was done, with this time; for edits, 2 if it takes back an earlier one."""
    same = [past for past in earlier if past.get("did") == action["did"] and past.get("what") == action["what"]]
    if action["did"] == EDITED:
        back = (action["after"], action["before"])
        undone = back[0] != back[1] and any((past.get("before"), past.get("after")) == back for past in same)
        return 2 if undone else 1
    return len(same) + 1


def is_loop(action: CallAction, earlier: list[CallAction]) -> bool:
    """Whether this is the moment to say something."""
    return times(action, earlier) >= (2 if action["did"] == EDITED else OFTEN)


def warning(action: CallAction, earlier: list[CallAction], *, target: str) -> str:
    """What to tell the agent."""
    return _TELLS[str(action["did"])].format(target=target, times=times(action, earlier))


def target_of(call: HookCall, *, cwd: str) -> str:
    """What the warning speaks of: a path as the agent knows it, or a command's beginning."""
    path = call.argument("file_path") or call.argument("path") or next(iter(re.findall(_PATCHED, _patch(call))), "")
    if path:
        is_inside = os.path.isabs(path) and path.startswith(cwd.rstrip("/") + "/")
        name = (os.path.relpath(path, cwd) if is_inside else path).translate(_HARMLESS)
        return name if len(name) <= _TARGET_CHARACTERS else f"…{name[-_TARGET_CHARACTERS:]}"
    command = " ".join((call.argument("command") or call.tool).split()).translate(_HARMLESS)
    return f"`{command[:80]}{'…' if len(command) > 80 else ''}`"


def _edits(call: HookCall) -> list[tuple[str, str, str]]:
    """Each change of a file: its path, the text before and the text after, as far as the call shows them."""
    path = call.argument("file_path")
    if path and "new_string" in call.arguments:
        return [(path, call.argument("old_string"), call.argument("new_string"))]
    if path and call.overwritten and "content" in call.arguments:
        return [(path, call.overwritten, call.argument("content"))]
    listed = call.arguments.get("edits")
    if path and isinstance(listed, list):
        pairs = [(edit.get("old_string"), edit.get("new_string")) for edit in listed if isinstance(edit, dict)]
        return [(path, old, new) for old, new in pairs if isinstance(old, str) and isinstance(new, str)]
    patch = _patch(call)  # of Codex: each file with the lines that are taken out and those that are put in
    found: list[tuple[str, str, str]] = []
    places = list(re.finditer(_PATCHED, patch)) if patch else []
    ends = [place.start() for place in places[1:]] + [len(patch)]
    for place, end in zip(places, ends, strict=False):
        lines = patch[place.end() : end].splitlines()
        before = "\n".join(line[1:] for line in lines if line.startswith("-"))
        after = "\n".join(line[1:] for line in lines if line.startswith("+"))
        found.append((place[1].strip(), before, after))
    return found


def _patch(call: HookCall) -> str:
    return call.argument("command") if call.tool == "apply_patch" else ""
