"""A person decides at a terminal: one page after another, every question asked, and what became of it told at the end.

Stored versions that wait → decisions of a person. What will probably be approved comes first, and where a forecast is sure its
answer is laid ready: a no for Enter, a yes for its own letter. Enter never approves, and what was typed before a page was
there decides nothing. What is shown of a version is `inspecting`'s; the rules are the gate's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from enum import StrEnum

import click
from rich.markup import escape

from tacit.domain.errors import GateRefusal, IllegalTransition, InvalidSkill, Mistake, StoreOutage
from tacit.domain.ports import Stored
from tacit.features.people.decisions import Queued, by_an_agent, unready
from tacit.features.people.calibration import SURE
from tacit.features.people.commands import in_words, tell_taught
from tacit.features.people.forecast import Outlook
from tacit.gate import Review
from tacit.surfaces.cli.context import CommandContext, clean
from tacit.surfaces.cli.review_page import (
    Answer,
    ask,
    ask_for_ticks,
    findings_of,
    grave_ones,
    show_candidate,
    show_findings,
)
from tacit.surfaces.cli.skills import edit_version
from tacit.surfaces.cli.typing_ahead import discard_typed_ahead
from tacit.surfaces.cli.views import show_diff, whole_text
from tacit.surfaces.exports import export

_ASKED = "[a]pprove  [r]eject  [e]dit  [s]kip  [?]help  [q]uit"
_CONFIRMS = {"a": "a", "r": "Enter"}
_HELP = """\
a  approve: agents may be given it, on trial; what came from outside is asked for one by one first (never by Enter)
r  reject: it is turned down, and the same text is not learned again
e  edit it in your editor, then decide on the edited text
v  view the page again
s  skip: it goes on waiting
q  quit: this one and all that follow go on waiting"""


class _Done(StrEnum):
    APPROVED = "approved"
    REJECTED = "rejected"
    SKIPPED = "still waiting"


def go_through(ctx: CommandContext, waiting: Sequence[Stored], *, by: str) -> None:
    """Show and ask for one after the other, until the end or until the person has had enough."""
    told: Counter[_Done] = Counter()
    for count, queued in enumerate(_queue(ctx, waiting, by=by), start=1):
        ctx.console.rule(f"{count} of {len(waiting)}")
        show_candidate(ctx, queued.stored)
        done = _decide_on(ctx, queued.stored, by=by, ready=_laid_ready(ctx, queued, by=by))
        if done is None:
            break
        told[done] += 1
    told[_Done.SKIPPED] = len(waiting) - told[_Done.APPROVED] - told[_Done.REJECTED]
    _sum_up(ctx, told)


def _queue(ctx: CommandContext, waiting: Sequence[Stored], *, by: str) -> list[Queued]:
    """What waits in the order to ask in; as it came, where what was decided before cannot be read."""
    try:
        return ctx.memory.people.queue(waiting, by)
    except StoreOutage as error:
        told = f"nothing is expected of you, for earlier decisions cannot be read: {error.message}"
        ctx.console.print(f"[yellow]{escape(clean(told))}[/yellow]", soft_wrap=True)
        return [Queued(stored=stored, outlook=Outlook(why_not=told), shown=False) for stored in waiting]


def _sum_up(ctx: CommandContext, told: Counter[_Done]) -> None:
    ctx.console.print("\n" + ", ".join(f"{told[done]} {done}" for done in _Done if told[done]) + ".")
    if told[_Done.SKIPPED]:
        ctx.console.print("Next: [bold]tacit review[/bold] goes on with what waits.")
    elif told[_Done.APPROVED]:
        ctx.console.print("Next: [bold]tacit init[/bold] connects your agents, [bold]tacit recall TASK[/bold] asks.")


def _laid_ready(ctx: CommandContext, queued: Queued, *, by: str) -> str:
    """Tell what is expected, unless a lot says not to; the key that is laid ready where the record bears that out, or none."""
    stored, people = queued.stored, ctx.memory.people
    try:
        seen_before = people.has_seen(stored, by)
        queued = people.show(stored, by)  # decisions since the queue was made count
    except StoreOutage:  # told with the queue; a version can be decided on all the same
        return ""
    known = queued.outlook
    if not queued.shown:
        return ""
    key = "a" if known.posterior == Review.APPROVE else "r"
    sure = known.posterior_confidence >= SURE
    against = _against_laying_ready(ctx, stored, seen_before=seen_before) if sure and key == "a" else ""
    ready = f"; not laid ready: {against}" if against else f"; {_CONFIRMS[key]} confirms" if sure else ""
    ctx.console.print(f"[dim]expected of you: {escape(clean(in_words(known) + ready))}[/dim]", soft_wrap=True)
    return key if sure and not against else ""


def _against_laying_ready(ctx: CommandContext, stored: Stored, *, seen_before: bool) -> str:
    """Why an approval is not laid ready, however often the person approved what looked like it; empty where it may be."""
    found = findings_of(ctx, stored, ctx.memory.examine(stored.version.id))
    reasons = unready(stored, found)
    if by_an_agent(stored) and not seen_before:
        reasons.append("an agent wrote it, and you see it for the first time")
    return "; ".join(reasons)


def _decide_on(ctx: CommandContext, stored: Stored, *, by: str, ready: str = "") -> _Done | None:
    """Ask until something is decided, or the skill is passed over; nothing: the person stops here."""
    while True:
        choice = _typed(ready)
        ready = ""  # only the first time: after anything else was done the person says it
        if choice == "q":
            return None
        if choice == "s":
            return _Done.SKIPPED
        if choice == "?":
            ctx.console.print(_HELP, markup=False)
        elif choice == "v":
            show_candidate(ctx, stored)
        elif choice == "r":
            reason = click.prompt("Why", default="", show_default=False)
            _carry_out(ctx, stored, Review.REJECT, by=by, reason=reason)
            return _Done.REJECTED
        else:
            said = Answer.YES
            if choice == "e":
                stored, said = _edited(ctx, stored, by=by)
            if said is Answer.YES:
                said = _approved(ctx, stored, by=by)
            if said is Answer.YES:
                return _Done.APPROVED
            if said is Answer.QUIT:
                return None


def _typed(ready: str) -> str:
    """The key that a person types now. Enter takes up a no that is laid ready, and never a yes."""
    known, enter = click.Choice(list("arevsq?")), "r" if ready == "r" else None
    discard_typed_ahead()
    return str(click.prompt(_ASKED, type=known, show_choices=False, default=enter, show_default=False))


def _edited(ctx: CommandContext, stored: Stored, *, by: str) -> tuple[Stored, Answer]:
    """What waits after an edit, and whether the person approves it right away."""
    try:
        edited = edit_version(ctx, stored, by=by)
    except (InvalidSkill, GateRefusal, Mistake) as error:
        problems = error.problems if isinstance(error, InvalidSkill) else ()
        for line in problems or (error.message,):
            ctx.console.print(f"[red]not taken:[/red] {escape(clean(line))}", soft_wrap=True)
        return stored, Answer.NO
    if edited is None:
        ctx.console.print("You changed nothing.")
        return stored, Answer.NO
    show_diff(ctx.console, whole_text(stored.version.content), whole_text(edited.version.content))
    show_findings(ctx.console, ctx.memory.examine(edited.version.id).findings, edited.version.content)
    said = ask(ctx, "Approve your edit?")
    if said is not Answer.YES:
        ctx.console.print("Your edit waits in its place.")
    return edited, said


def _approved(ctx: CommandContext, stored: Stored, *, by: str) -> Answer:
    said, ticked = confirmed(ctx, stored)
    if said is Answer.YES:
        try:
            _carry_out(ctx, stored, Review.APPROVE, by=by, ticked=ticked)
        except IllegalTransition as error:  # an edit that says what is in use already
            ctx.console.print(escape(clean(error.message)))
            return Answer.NO
    return said


def confirmed(
    ctx: CommandContext, stored: Stored, *, ticked: Collection[str] = (), despite: bool = False
) -> tuple[Answer, tuple[str, ...]]:
    """Ask all that an approval needs: once more where something grave was found, then each tick that was not given."""
    examination = ctx.memory.examine(stored.version.id)
    discard_typed_ahead()
    if grave_ones(ctx, stored, examination) and not despite:
        said = ask(ctx, "Approve it in spite of what was found?")
        if said is not Answer.YES:
            ctx.console.print("Nothing is approved.")
            return said, ()
    return ask_for_ticks(ctx, stored, examination.literals, ticked=ticked)


def _carry_out(
    ctx: CommandContext, stored: Stored, decision: Review, *, by: str, reason: str = "", ticked: Collection[str] = ()
) -> None:
    version = stored.version
    moved = ctx.memory.review(version.id, decision, by=by, reason=reason, content_hash=version.hash, ticked=ticked)
    export(ctx.memory)
    ctx.console.print(f"[bold]{escape(clean(version.name))}[/bold] is now {moved.after}")
    tell_taught(ctx, ctx.memory.people.taught_with(stored, by))
