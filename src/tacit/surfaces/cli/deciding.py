"""A person decides at a terminal: one page after another, every question asked, and what became of it told at the end.

Stored versions that wait → decisions of a person. What will probably be approved comes first, and where a forecast is sure its
answer is laid ready: Enter confirms it, and nothing but the person's own key decides. What is shown of a version is
`inspecting`'s; the rules are the gate's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from enum import StrEnum

import click
from rich.markup import escape

from tacit.domain.errors import GateRefusal, IllegalTransition, InvalidSkill, Mistake
from tacit.domain.ports import Stored
from tacit.forecast import SURE
from tacit.gate import Review
from tacit.people import Queued
from tacit.surfaces.cli.inspecting import Answer, ask, ask_for_ticks, grave_ones, show_candidate, show_findings
from tacit.surfaces.cli.people import in_words
from tacit.surfaces.cli.session import Session, clean
from tacit.surfaces.cli.show import show_diff, whole_text
from tacit.surfaces.cli.skills import edit_version
from tacit.surfaces.exports import export

_ASKED = "[a]pprove  [r]eject  [e]dit  [s]kip  [?]help  [q]uit"
_HELP = """\
a  approve: agents may be given it, on trial; what came from outside is asked for one by one first
r  reject: it is turned down, and the same text is not learned again
e  edit it in your editor, then decide on the edited text
v  view the page again
s  skip: it goes on waiting
q  quit: this one and all that follow go on waiting"""


class _Done(StrEnum):
    APPROVED = "approved"
    REJECTED = "rejected"
    SKIPPED = "still waiting"


def go_through(session: Session, waiting: Sequence[Stored], *, by: str) -> None:
    """Show and ask for one after the other, until the end or until the person has had enough."""
    told: Counter[_Done] = Counter()
    for count, queued in enumerate(session.loop.people.queue(waiting, by), start=1):
        session.console.rule(f"{count} of {len(waiting)}")
        show_candidate(session, queued.stored)
        done = _decide_on(session, queued.stored, by=by, ready=_laid_ready(session, queued, by=by))
        if done is None:
            break
        told[done] += 1
    told[_Done.SKIPPED] = len(waiting) - told[_Done.APPROVED] - told[_Done.REJECTED]
    _sum_up(session, told)


def _sum_up(session: Session, told: Counter[_Done]) -> None:
    session.console.print("\n" + ", ".join(f"{told[done]} {done}" for done in _Done if told[done]) + ".")
    if told[_Done.SKIPPED]:
        session.console.print("Next: [bold]tacit review[/bold] goes on with what waits.")
    elif told[_Done.APPROVED]:
        session.console.print(
            "Next: [bold]tacit init[/bold] connects your agents, [bold]tacit recall TASK[/bold] asks."
        )


def _laid_ready(session: Session, queued: Queued, *, by: str) -> str:
    """Tell what is expected, unless a lot says not to; the key that Enter stands for where the record bears that out, or none.

    Never an approval of what a careful person would refuse.
    """
    queued = session.loop.people.show(queued.stored, by)  # decisions since the queue was made count
    known = queued.outlook
    if not queued.shown:
        return ""
    key = "a" if known.posterior == Review.APPROVE else "r"
    grave = grave_ones(session, queued.stored, session.loop.examine(queued.stored.version.id))
    sure = known.posterior_confidence >= SURE and not (key == "a" and grave)
    enter = "; Enter confirms" if sure else ""
    session.console.print(f"[dim]expected of you: {escape(clean(in_words(known)))}{enter}[/dim]")
    return key if sure else ""


def _decide_on(session: Session, stored: Stored, *, by: str, ready: str = "") -> _Done | None:
    """Ask until something is decided, or the skill is passed over; nothing: the person stops here."""
    while True:
        known = click.Choice(list("arevsq?"))
        choice = click.prompt(_ASKED, type=known, show_choices=False, default=ready or None, show_default=False)
        ready = ""  # only the first time: after anything else was done the person says it
        if choice == "q":
            return None
        if choice == "s":
            return _Done.SKIPPED
        if choice == "?":
            session.console.print(_HELP, markup=False)
        elif choice == "v":
            show_candidate(session, stored)
        elif choice == "r":
            reason = click.prompt("Why", default="", show_default=False)
            _carry_out(session, stored, Review.REJECT, by=by, reason=reason)
            return _Done.REJECTED
        else:
            said = Answer.YES
            if choice == "e":
                stored, said = _edited(session, stored, by=by)
            if said is Answer.YES:
                said = _approved(session, stored, by=by)
            if said is Answer.YES:
                return _Done.APPROVED
            if said is Answer.QUIT:
                return None


def _edited(session: Session, stored: Stored, *, by: str) -> tuple[Stored, Answer]:
    """What waits after an edit, and whether the person approves it right away."""
    try:
        edited = edit_version(session, stored, by=by)
    except (InvalidSkill, GateRefusal, Mistake) as error:
        problems = error.problems if isinstance(error, InvalidSkill) else ()
        for line in problems or (error.message,):
            session.console.print(f"[red]not taken:[/red] {escape(clean(line))}", soft_wrap=True)
        return stored, Answer.NO
    if edited is None:
        session.console.print("You changed nothing.")
        return stored, Answer.NO
    show_diff(session.console, whole_text(stored.version.content), whole_text(edited.version.content))
    show_findings(session.console, session.loop.examine(edited.version.id).findings, edited.version.content)
    said = ask(session, "Approve your edit?")
    if said is not Answer.YES:
        session.console.print("Your edit waits in its place.")
    return edited, said


def _approved(session: Session, stored: Stored, *, by: str) -> Answer:
    said, ticked = confirmed(session, stored)
    if said is Answer.YES:
        try:
            _carry_out(session, stored, Review.APPROVE, by=by, ticked=ticked)
        except IllegalTransition as error:  # an edit that says what is in use already
            session.console.print(escape(clean(error.message)))
            return Answer.NO
    return said


def confirmed(
    session: Session, stored: Stored, *, ticked: Collection[str] = (), despite: bool = False
) -> tuple[Answer, tuple[str, ...]]:
    """Ask all that an approval needs: once more where something grave was found, then each tick that was not given."""
    examination = session.loop.examine(stored.version.id)
    if grave_ones(session, stored, examination) and not despite:
        said = ask(session, "Approve it in spite of what was found?")
        if said is not Answer.YES:
            session.console.print("Nothing is approved.")
            return said, ()
    return ask_for_ticks(session, stored, examination.literals, ticked=ticked)


def _carry_out(
    session: Session, stored: Stored, decision: Review, *, by: str, reason: str = "", ticked: Collection[str] = ()
) -> None:
    version = stored.version
    moved = session.loop.review(version.id, decision, by=by, reason=reason, content_hash=version.hash, ticked=ticked)
    export(session.loop)
    session.console.print(f"[bold]{escape(clean(version.name))}[/bold] is now {moved.after}")
