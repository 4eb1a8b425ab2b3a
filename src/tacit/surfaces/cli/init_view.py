"""What `tacit init` and `tacit uninstall` show: the difference, the files, what to know and what to do next.

Prints only. With `--json` everything is one document at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.text import Text

from tacit.config.channels import HOOK, MCP, SKILL
from tacit.surfaces.cli.context import CommandContext, clean
from tacit.surfaces.clients.installation import Change
from tacit.surfaces.clients.registry import CLIENTS

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_WAYS = {HOOK: "as context at the right moment", SKILL: "procedures as SKILL.md folders", MCP: "on demand"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What would be written, and what a person should know before."""

    changes: Sequence[Change]
    notes: Sequence[str]
    channels: Mapping[str, str] = field(default_factory=dict)
    """Client → how learned skills will come to it."""
    quiet: bool = False
    """Whether nobody is asked, so that the list of files at the end is enough."""
    is_safe: bool = True
    """Whether a bare Enter may mean yes."""

    @property
    def touched(self) -> list[Change]:
        """The files that change or that cannot be changed."""
        return [change for change in self.changes if change.is_change or change.kept or change.problem]


def show_outlook(ctx: CommandContext, outlook: Outlook) -> None:
    """Before anything is written: the difference, then the files, then what to know."""
    if ctx.as_json:
        return
    for change in outlook.changes:
        for line in change.diff():
            ctx.console.print(Text(clean(line), style=_COLOURS.get(line[:1], "")), soft_wrap=True)
    _show_list(ctx, outlook, would=True)


def answer(
    ctx: CommandContext, outlook: Outlook, *, written: bool, left: Sequence[str] = (), steps: Sequence[str] = ()
) -> None:
    """At the end: what was done, what was left as it is, and what to do next."""
    document = {
        "written": written,
        "changes": [_document(change) for change in outlook.touched],
        "channels": outlook.channels,
        "warnings": outlook.notes,
        "left": left,
        "next": steps,
    }

    def show() -> None:
        if outlook.quiet:
            _show_list(ctx, outlook, would=False)
        count = sum(change.is_change for change in outlook.changes)
        if not outlook.touched:
            ctx.console.print("nothing to change")
        elif not written:
            ctx.console.print("nothing was written")
        else:
            ctx.console.print(f"{count} {'file' if count == 1 else 'files'} changed")
        for text in left:
            ctx.console.print(Text(f"note: {clean(text)}", style="yellow"), soft_wrap=True)
        for text in steps:
            ctx.console.print(Text(f"next: {clean(text)}", style="cyan"), soft_wrap=True)

    ctx.answer(document, show)


def _show_list(ctx: CommandContext, outlook: Outlook, *, would: bool) -> None:
    for change in outlook.touched:
        action = _action(change)
        action = f"would {action}" if would and change.is_change else action
        why = change.kept or change.problem
        line = f"{action:{14 if would else 8}} {change.file.path}  ({change.file.what}{', ' + why if why else ''})"
        ctx.console.print(Text(clean(line), style="red" if change.problem else ""), soft_wrap=True)
    for client, channel in outlook.channels.items():
        ctx.console.print(f"{CLIENTS[client].title}: what was learned comes by {channel} ({_WAYS[channel]})")
    for text in outlook.notes:
        ctx.console.print(Text(f"note: {clean(text)}", style="yellow"), soft_wrap=True)


def _document(change: Change) -> dict[str, Any]:
    return {
        "path": str(change.file.path),
        "client": change.file.client,
        "audience": change.file.audience,
        "what": change.file.what,
        "action": _action(change),
        "kept": change.kept,
        "problem": change.problem,
        "diff": "\n".join(change.diff()),
    }


def _action(change: Change) -> str:
    if not change.is_change:
        return "keep"
    return "create" if change.before is None else "remove" if change.after is None else "edit"
