"""`tacit review`: a person decides on what was learned, bound to the exact content and to what was seen of it."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum

import click
from rich.markup import escape

from tacit import render as application
from tacit.domain.errors import GateRefusal, IllegalTransition, InvalidSkill, Mistake, StoreOutage
from tacit.domain.lifecycle import Status
from tacit.domain.ports import Stored
from tacit.features.people.calibration import SURE
from tacit.features.people.commands import in_words, tell_taught
from tacit.features.people.decisions import Queued, by_an_agent, unready
from tacit.features.people.forecast import Outlook
from tacit.gate import Review, unticked
from tacit.store import queries as shelf
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted, discard_typed_ahead
from tacit.surfaces.cli.review_page import (
    Answer,
    ask,
    ask_for_ticks,
    findings_of,
    grave_ones,
    inspected,
    place,
    show_candidate,
    show_findings,
)
from tacit.surfaces.cli.skills import edit_version
from tacit.surfaces.cli.views import others_told, show_diff, show_others, show_waiting, whole_text
from tacit.surfaces.cli.visibility import meant, tellable
from tacit.surfaces.exports import export

_WAITS = frozenset({Status.CANDIDATE, Status.QUARANTINED})
_OPEN = {Review.APPROVE: _WAITS, Review.RESTORE: frozenset({Status.RETIRED, Status.STALE})}
"""Decisions that let agents see a version, and where it stands before; anything else is refused by the rules themselves."""


@click.command()
@click.argument("reference", required=False, metavar="[ID]")
@click.option("--approve", is_flag=True, help="Let it be recalled, on trial.")
@click.option("--reject", is_flag=True, help="Turn it down.")
@click.option("--retire", is_flag=True, help="Take it out of use; it can be restored.")
@click.option("--restore", is_flag=True, help="Bring a retired one back, on trial.")
@click.option("--reopen", is_flag=True, help="Undo a decision: back to candidate.")
@click.option("--by", default="", help="Your name, kept with the decision.")
@click.option("--reason", default="", help="Why, kept with the decision.")
@click.option("--hash", "content_hash", default="", help="Decide only if the content still has this hash.")
@click.option(
    "--tick",
    "ticked",
    multiple=True,
    metavar="KEY",
    help="Something from outside that you have looked at, such as host:api.example.com (may be repeated).",
)
@click.option(
    "--despite-findings", "despite", is_flag=True, help="Approve it although something weighs high or more against it."
)
@command_options
def review(
    ctx: CommandContext,
    *,
    reference: str | None,
    by: str,
    reason: str,
    content_hash: str,
    ticked: tuple[str, ...],
    despite: bool,
    **decisions: bool,
) -> None:
    """Decide on what was learned. Without ID: one by one at a terminal, or the list. ID is a name or the beginning of an id.

    With an ID and no decision that one is opened; without a terminal its page is printed. What weighs high or more is asked
    for once more, and hosts, addresses, packages, commands, variables and paths that came from a tool's output, a file or the
    web one by one, before something is approved. A script gives --despite-findings and each --tick, and is refused with the
    lists otherwise.

    Reviewing belongs to a person: it is refused without a terminal and inside an agent's shell, unless TACIT_TOKEN holds
    the token from `tacit config token`.
    """
    decision = _decision(decisions)
    if decision is None:
        _look(ctx, reference, by=by)
        return
    if reference is None:
        raise Mistake(f"name what to {decision}", hint=f"tacit review ID --{decision}; `tacit review` shows what waits")
    if despite and decision not in _OPEN:
        raise Mistake("--despite-findings belongs to an approval", hint="leave it away")
    ctx.caller.require_person("review")
    stored = ctx.memory.version(_newest_waiting(ctx, reference))
    seen = content_hash in ("", stored.version.hash)  # what was not seen is refused below
    if seen and stored.status in _OPEN.get(decision, ()):
        ticked = _opened(ctx, stored, decision, ticked=ticked, despite=despite)
    person = ctx.person(by)
    if stored.status in _WAITS:
        with suppress(StoreOutage):  # earlier decisions that cannot be read stop no new one
            ctx.memory.people.show(stored, person, told=False)
    moved = ctx.memory.review(
        stored.version.id, decision, by=person, reason=reason, content_hash=content_hash, ticked=ticked
    )
    export(ctx.memory)
    others = shelf.namesakes(ctx.memory.store, stored) if reference == stored.version.name else []

    def show() -> None:
        ctx.console.print(f"[bold]{escape(clean(stored.version.name))}[/bold]: {moved.before} → {moved.after}")
        show_others(ctx.console, others)

    told = {"version_id": moved.version_id, "before": moved.before, "after": moved.after, "by": moved.by}
    ctx.answer(told | {"others": others_told(others)}, show)


def _look(ctx: CommandContext, reference: str | None, *, by: str) -> None:
    """Go through what waits, or through one of it; where nobody can be asked, tell it."""
    asks = ctx.caller.is_person and ctx.caller.at_terminal and not ctx.as_json
    if reference is None:
        waiting = tellable(ctx, ctx.memory.waiting())
        if asks and waiting:
            go_through(ctx, waiting, by=ctx.person(by))
            return
        document = {"waiting": [_document(ctx, stored) for stored in waiting]}
        ctx.answer(document, lambda: show_waiting(ctx, waiting))
        return
    stored = meant(ctx, _newest_waiting(ctx, reference))
    if asks and stored.status in _WAITS:
        go_through(ctx, [stored], by=ctx.person(by))
        return

    def show() -> None:
        show_candidate(ctx, stored)
        ctx.console.print(f"It is [bold]{stored.status}[/bold]. A person decides: tacit review ID, in a terminal.")

    ctx.answer(_document(ctx, stored), show)


def _opened(
    ctx: CommandContext, stored: Stored, decision: Review, *, ticked: tuple[str, ...], despite: bool
) -> tuple[str, ...]:
    """What was ticked, once all is confirmed that lets agents see a version: by a person, or in a script by its options."""
    if ctx.as_json or not ctx.caller.at_terminal:
        _require_despite(ctx, stored, ticked=ticked, despite=despite)
        return ticked
    show_candidate(ctx, stored)
    if decision is Review.RESTORE:  # what was ticked before need not be again
        known = {key for approval in ctx.memory.store.approvals(stored.version.id) for key in approval.ticked}
        asked = {literal.key for literal in ctx.memory.examine(stored.version.id).literals}
        ticked = (*ticked, *sorted((known & asked) - set(ticked)))
    said, given = confirmed(ctx, stored, ticked=ticked, despite=despite)
    if said is not Answer.YES:
        raise GateRefusal(
            f"`{stored.version.name}` was not approved",
            hint=f"edit it, or turn it down: tacit review {stored.version.id[:10]} --reject",
        )
    return given


def _require_despite(ctx: CommandContext, stored: Stored, *, ticked: Collection[str], despite: bool) -> None:
    """Refuse a script that does not say that it knows what was found, with all of it; then comes what must be ticked."""
    examination = ctx.memory.examine(stored.version.id)
    grave = grave_ones(ctx, stored, examination)
    if despite or not grave:
        return
    content = stored.version.content
    lines = [f"`{stored.version.name}` has {counted(len(grave), 'finding')} that a careful person would refuse:"]
    lines += [
        f"  {each.severity}: {each.message}" + (f" ({place(each, content)})" if each.field else "") for each in grave
    ]
    literals = unticked(examination, ticked)
    if literals:
        lines.append("and from outside, each to be ticked by itself:")
        lines += [f"  {literal.key}  in {literal.field}" for literal in literals]
    short = stored.version.id[:10]
    raise GateRefusal(
        "\n".join(lines),
        hint=f"read it (tacit review {short}) and turn it down; only who knows better gives --despite-findings",
    )


def _decision(flags: Mapping[str, bool]) -> Review | None:
    chosen = [Review(name) for name, given in flags.items() if given]
    if len(chosen) > 1:
        raise Mistake(f"one decision at a time, not {' and '.join(chosen)}", hint="give one of them")
    return chosen[0] if chosen else None


def _newest_waiting(ctx: CommandContext, reference: str) -> str:
    """A name means the version of it that waits, if one does; anything else is taken as it is."""
    waiting = [stored for stored in ctx.memory.waiting() if stored.version.name == reference]
    return shelf.meant_by(waiting).version.id if waiting else reference


def _document(ctx: CommandContext, stored: Stored) -> dict[str, object]:
    content = stored.version.content
    return {
        "version_id": stored.version.id,
        "skill_id": stored.skill.id,
        "name": content.name,
        "kind": content.kind,
        "description": content.description,
        "status": stored.status,
        "content_hash": stored.version.hash,
        "lowest_origin": stored.version.lowest_origin,
        "parents": stored.version.parents,
        "skill_md": application.render(content),
        "content": dataclasses.replace(content, files=()),
        "files": content.files,
        **inspected(ctx, stored),
    }


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
