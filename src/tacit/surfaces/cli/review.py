"""`tacit review` and `tacit undo`: a person decides on what was learned, bound to the exact content and what was seen of it.

At a terminal it shows one version after the other and asks. Enter never approves, and what was typed before a page appeared
decides nothing. What a page shows is in `review_page`; the rules are the gate's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from textwrap import indent

import click

from tacit.config.signers import unlocked_key
from tacit.domain.errors import GateRefusal, IllegalTransition, InvalidSkill, Mistake, NotPermitted, StoreOutage
from tacit.domain.evidence import Reliability
from tacit.domain.lifecycle import RECALLABLE, WAITING, Status, Transition
from tacit.domain.stored import StoredVersion
from tacit.gate.review_rules import PersonDecision, reasons_against_prefill, rests_on_agent_alone, unconfirmed_values
from tacit.gate.review_sources import by_support
from tacit.maintain.exports import export
from tacit.maintain.reason_text import stored_reason
from tacit.store import queries
from tacit.surfaces.cli.context import (
    CommandContext,
    by_option,
    clean,
    command_options,
    counted,
    discard_typed_ahead,
    progress_bar,
)
from tacit.surfaces.cli.report import ReportPart, fields, safe
from tacit.surfaces.cli.review_page import (
    Reply,
    ask,
    ask_for_confirmations,
    ask_for_tools,
    candidate_parts,
    field_name,
    finding_lines,
    findings_of,
    grave_ones,
    page_document,
    place,
    show_candidate,
)
from tacit.surfaces.cli.skills import edit_version
from tacit.surfaces.cli.tend import TITLES, applied_lines, can_be_applied, care_document, care_lines
from tacit.surfaces.cli.views import NAMESAKES, colored_difference, namesake_lines, skill_lines
from tacit.surfaces.hook.waiting import remove

_FOLDED_FROM = 5
"""So many waiting versions are listed one by one, however weak."""
REVIEW_SECONDS = 10.0
"""How long `tacit review` looks for suggestions; `tacit tend` takes the time it needs."""
GIVES_TO_AGENTS = {PersonDecision.APPROVE: WAITING, PersonDecision.RESTORE: frozenset({Status.RETIRED, Status.STALE})}
"""Decisions that let agents see a version, and its status before; the gate's rules refuse anything else."""
_QUESTION = "[a]pprove  [r]eject  [e]dit  [s]kip  [?]help  [q]uit"
_HELP = """\
a  approve: agents may get it, on trial; values from outside are confirmed one by one first (never by Enter)
r  reject: the same text is not learned again
e  edit it in your editor, then decide on the edited text
v  view the page again
s  skip: it keeps waiting
q  quit: this one and all that follow keep waiting"""
_CONFIRM_KEYS: Mapping[str, str] = {PersonDecision.APPROVE: "a", PersonDecision.REJECT: "Enter"}
_STATUS_TEXT = {Status.TRIAL: "approved (on trial)", Status.TRUSTED: "approved (trusted)"}


@click.command()
@click.argument("reference", required=False, metavar="[ID]")
@click.option("--approve", is_flag=True, help="Let agents get it, on trial.")
@click.option("--reject", is_flag=True, help="Reject it.")
@click.option("--retire", is_flag=True, help="Take it out of use; it can be restored.")
@click.option("--restore", is_flag=True, help="Bring a retired version back, on trial.")
@click.option("--reopen", is_flag=True, help="Undo a decision: it waits for review again.")
@click.option(
    "--invalidate", is_flag=True, help="Take all versions out of use because the skill is wrong (needs --reason)."
)
@click.option("--pin/--unpin", default=None, help="Exclude it from automatic maintenance, or include it again.")
@click.option("--off", is_flag=True, hidden=True, help="The same as --unpin.")
@click.option("--importance", type=float, metavar="0..1", help="How much it matters: 0.5 is usual, more comes first.")
@by_option()
@click.option("--reason", default="", help="Why, stored with the decision.")
@click.option("--hash", "content_hash", default="", help="Decide only if the content still has this hash.")
@click.option(
    "--tick",
    "ticked",
    multiple=True,
    metavar="KEY",
    help="Confirm a value from outside, e.g. host:a.com, or unlock a tool.",
)
@click.option("--despite-findings", "despite", is_flag=True, help="Approve it despite findings of high severity.")
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
    invalidate: bool,
    pin: bool | None,
    off: bool,
    importance: float | None,
    **decisions: bool,
) -> None:
    """Approve or reject what was learned. Without ID: one by one at a terminal, or the list. ID is a name or an id.

    With an ID and no decision that version is opened; without a terminal its page is printed. Before an approval, findings of
    high severity are asked about once more, and hosts, addresses, packages, commands, variables and paths that were first seen
    in tool output, a file or the web are confirmed one by one. A script passes --despite-findings and each --tick, and is
    refused with the lists otherwise.

    A decision asks for your passphrase, once and only at a terminal. The first time you choose it.
    """
    chosen = [PersonDecision(name) for name, given in decisions.items() if given]
    if len(chosen) > 1:
        raise Mistake(f"one decision at a time, not {' and '.join(chosen)}", code="one_decision", hint="pass one")
    decision = chosen[0] if chosen else None
    if invalidate or pin is not None or importance is not None:
        setting = None if invalidate else pin and not off if importance is None else importance
        _decide_on_skill(ctx, reference, decision, by=by, reason=reason, setting=setting)
        return
    if decision is None:
        _look(ctx, reference, by=by)
        return
    if reference is None:
        hint = f"tacit review ID --{decision}; `tacit review` shows what waits"
        raise Mistake(f"name what to {decision}", code="nothing_named", hint=hint)
    if despite and decision not in GIVES_TO_AGENTS:
        raise Mistake("--despite-findings is for approvals", code="only_for_approvals", hint="leave it out")
    stored = ctx.memory.version(_newest_waiting(ctx, reference))
    ctx.caller.refuse_agents("review")
    gives = stored.status in GIVES_TO_AGENTS.get(decision, ())
    if gives and content_hash in ("", stored.version.hash):  # an unseen content is refused below
        ticked = _confirm_approval(ctx, stored, decision, ticked=ticked, despite=despite)
    ctx.unlock(f"{decision} {clean(stored.version.name)}")
    moved = apply_decision(ctx, stored, decision, by=by, reason=reason, content_hash=content_hash, ticked=ticked)
    others = ctx.memory.archive.namesakes(stored) if reference == stored.version.name else []
    name, status = safe(stored.version.name), _STATUS_TEXT.get(moved.after, moved.after)
    ctx.report(
        fields(moved, "version_id", "before", "after", "by") | {"others": NAMESAKES.documents(others)},
        f"[bold]{name}[/bold]: {status} [dim](was {moved.before})[/dim]",
        lambda: namesake_lines(others),
    )


def apply_decision(
    ctx: CommandContext,
    stored: StoredVersion,
    decision: PersonDecision,
    *,
    by: str = "",
    reason: str = "",
    content_hash: str = "",
    ticked: Collection[str] = (),
) -> Transition:
    """Apply a decision that was confirmed, and bring exported skills up to date."""
    person = ctx.person(by)
    _expect(ctx, stored, person)
    moved = ctx.memory.review(
        stored.version.id, decision, by=person, reason=reason, content_hash=content_hash, ticked=ticked
    )
    remove(str(ctx.place.folder))
    export(ctx.memory.context)
    return moved


def _decide_on_skill(
    ctx: CommandContext,
    reference: str | None,
    decision: PersonDecision | None,
    *,
    by: str,
    reason: str,
    setting: bool | float | None,
) -> None:
    """Pin or unpin a whole skill (true or false), set its importance (a number), or take it out of use (None)."""
    if decision is not None:
        raise Mistake("one decision at a time", code="one_decision", hint="pass one")
    if reference is None:
        raise Mistake("name the skill", code="nothing_named", hint="tacit review NAME --pin")
    if setting is None and not reason:
        raise Mistake("--invalidate needs --reason", code="no_reason", hint="say what is wrong with it")
    ctx.caller.require_person("review")
    stored = ctx.memory.version(reference)
    name = stored.version.name
    if setting is None:
        moves = ctx.memory.reviews.invalidate(reference, by=ctx.person(by), reason=reason)
        others = ctx.memory.archive.namesakes(stored)
        document = {"name": name, "moves": moves, "others": NAMESAKES.documents(others)}
        ctx.report(document, *_move_lines(name, moves), lambda: namesake_lines(others))
    elif isinstance(setting, bool):
        remark = ctx.memory.reviews.pin(reference, by=ctx.person(by), reason=reason, off=not setting)
        state = "is pinned" if setting else "is no longer pinned"
        ctx.report({"name": name, "pinned": setting, "remark": remark}, f"[bold]{safe(name)}[/bold] {state}")
    else:
        remark = ctx.memory.reviews.set_importance(reference, setting, by=ctx.person(by))
        state = f"has the importance {setting:g} now"
        ctx.report({"name": name, "importance": setting, "remark": remark}, f"[bold]{safe(name)}[/bold] {state}")


def _expect(ctx: CommandContext, stored: StoredVersion, person: str) -> None:
    """Let extensions forecast the decision before it is made."""
    if stored.status in WAITING:
        with suppress(StoreOutage):  # unreadable earlier decisions stop no new one
            for extension in ctx.memory.context.extensions:
                extension.expect_review(stored, person, shown=False)


def _look(ctx: CommandContext, reference: str | None, *, by: str) -> None:
    """Review what waits, or one version; if nobody can be asked, print it."""
    if reference is None:
        waiting = ctx.memory.reviews.waiting()
        suggestions = ctx.memory.library.plan(seconds=REVIEW_SECONDS)
        if ctx.can_ask and (waiting or suggestions):
            remove(str(ctx.place.folder))  # the person has come: nobody needs to call them
            person = ctx.person(by)
            if _confirm_earlier(ctx, by=person):
                waiting = ctx.memory.reviews.waiting()
            if not waiting or review_all(ctx, waiting, by=person):
                ask_about_suggestions(ctx, by=person)
            return
        waiting = ctx.visible(waiting)
        document = {
            "waiting": [page_document(ctx, each) for each in waiting],
            "suggestions": [*map(care_document, suggestions)],
        }
        ctx.report(document, lambda: _waiting_lines(ctx, waiting, len(suggestions)))
        return
    stored = ctx.version(_newest_waiting(ctx, reference))
    if ctx.can_ask and stored.status in WAITING:
        review_all(ctx, [ctx.memory.version(stored.version.id)], by=ctx.person(by))
        return

    def parts() -> Iterator[ReportPart]:
        yield from candidate_parts(ctx, stored)
        name = safe(stored.version.name)
        if stored.status in WAITING:
            yield f"Waiting for review. Run `tacit review {name}` in a terminal."
        else:
            yield f"{name} is {stored.status}."

    ctx.report(page_document(ctx, stored), parts)


def _confirm_earlier(ctx: CommandContext, *, by: str) -> bool:
    """Offer to sign at once what was approved before, such as before there were signatures; whether any of it was."""
    earlier = ctx.visible(ctx.memory.reviews.approved_unsigned())
    if not earlier:
        return False
    ctx.console.print(f"{counted(len(earlier), 'skill')} approved earlier, without a signature that counts today:")
    for stored in earlier:
        approvals = ctx.memory.archive.approvals(stored.version.id)
        who = f"approved by {approvals[-1].by}, {approvals[-1].at:%Y-%m-%d}" if approvals else "accepted by the policy"
        line = f"{stored.version.name}  {stored.version.hash[7:19]}  {who}: {stored.version.content.description}"
        ctx.console.print(f"  {safe(line)}", soft_wrap=True)
        text = ctx.memory.reviews.text_to_sign(stored)
        ctx.console.print(f"[dim]{safe(indent(text, '      '))}[/dim]", soft_wrap=True)
    if ask(ctx, "Do you know all of them, and sign them? (no: they are reviewed one by one)") is not Reply.YES:
        return False
    ctx.unlock(counted(len(earlier), "earlier approval"))
    for stored in earlier:
        try:
            ctx.memory.reviews.confirm(stored.version.id, by=by)
        except GateRefusal as error:  # today's checks ask for more
            ctx.console.print(safe(error.message), soft_wrap=True)
    export(ctx.memory.context)
    return True


def _waiting_lines(ctx: CommandContext, waiting: Sequence[StoredVersion], suggestions: int) -> Iterator[str]:
    if suggestions:
        yield f"{counted(suggestions, 'suggestion')} for the library: [bold]tacit tend[/bold].\n"
    if not waiting:
        yield "Nothing waits for review."
        return
    strong, weak = by_support(ctx.memory.context, waiting)
    if len(waiting) <= _FOLDED_FROM:
        strong, weak = [*strong, *weak], []
    yield from skill_lines([(stored, Reliability()) for stored in strong], width=ctx.console.width)
    if weak:
        names = ", ".join(safe(stored.version.name) for stored in weak)
        yield f"\n[dim]{counted(len(weak), 'weaker one')}, seen once or doubtful: {names}[/dim]"
    yield "\nWaiting for review. Run [bold]tacit review NAME[/bold] in a terminal."


def _confirm_approval(
    ctx: CommandContext, stored: StoredVersion, decision: PersonDecision, *, ticked: tuple[str, ...], despite: bool
) -> tuple[str, ...]:
    """Return what was confirmed, once everything is that lets agents see a version: by a person, or by a script's options."""
    if (ctx.as_json or not ctx.caller.at_terminal) and unlocked_key() is None and not ctx.settings[0].policy.is_open:
        # A script cannot stand in for the passphrase, which is asked for after the page was shown.
        message = f"`{stored.version.name}` was not approved: only a person's passphrase approves"
        hint = f"run `tacit review {stored.version.id[:10]}` in a terminal of your own, without --json"
        raise NotPermitted(message, code="needs_passphrase", hint=hint)
    if ctx.as_json or not ctx.caller.at_terminal:
        require_despite(ctx, stored, ticked=ticked, despite=despite)
        return ticked
    show_candidate(ctx, stored)
    if decision is PersonDecision.RESTORE:  # what was confirmed before need not be again
        known = {key for approval in ctx.memory.archive.approvals(stored.version.id) for key in approval.ticked}
        needed = {each.key for each in ctx.memory.reviews.examine(stored.version.id).external_values}
        ticked = (*ticked, *sorted((known & needed) - set(ticked)))
    reply, given = confirmed(ctx, stored, ticked=ticked, despite=despite)
    if reply is Reply.YES:
        reply = ask(ctx, f"Let agents use {clean(stored.version.name)}, on trial?")
    if reply is not Reply.YES:
        hint = f"edit it, or reject it: tacit review {stored.version.id[:10]} --reject"
        raise GateRefusal(f"`{stored.version.name}` was not approved", code="not_approved", hint=hint)
    return given


def require_despite(ctx: CommandContext, stored: StoredVersion, *, ticked: Collection[str], despite: bool) -> None:
    """Refuse a script that does not say that it knows the findings, and list them; the gate refuses missing ticks."""
    examination = ctx.memory.reviews.examine(stored.version.id)
    grave = grave_ones(ctx, stored, examination)
    if despite or not grave:
        return
    content = stored.version.content
    lines = [f"`{stored.version.name}` has {counted(len(grave), 'finding')} that a careful person would refuse:"]
    lines += [
        f"  {each.severity}: {each.message}" + (f" ({place(each, content)})" if each.field else "") for each in grave
    ]
    if external_values := unconfirmed_values(examination, ticked):
        lines.append("and values from outside, each to be confirmed with --tick:")
        lines += [f"  {external.key}  in {field_name(external.field, content)}" for external in external_values]
    short = stored.version.id[:10]
    hint = f"read it (tacit review {short}) and reject it; pass --despite-findings only if you know better"
    raise GateRefusal("\n".join(lines), code="grave_findings", hint=hint)


def _newest_waiting(ctx: CommandContext, reference: str) -> str:
    """Return the version of a name that waits, if one does; anything else as it is."""
    waiting = [stored for stored in ctx.memory.reviews.waiting() if stored.version.name == reference]
    return queries.preferred_of_name(waiting).version.id if waiting else reference


# --- at a terminal --------------------------------------------------------------------------------------------------


def review_all(ctx: CommandContext, waiting: Sequence[StoredVersion], *, by: str) -> bool:
    """Show and ask about one version after the other; return False where the person quits before the end."""
    results: Counter[str] = Counter()
    try:  # best supported first, in the order of the extensions as far as earlier decisions can be read
        ordered: Sequence[StoredVersion] = [each for part in by_support(ctx.memory.context, waiting) for each in part]
        for extension in ctx.memory.context.extensions:
            ordered = extension.order_reviews(ordered, by)
    except StoreOutage as error:
        line = f"no forecast: earlier decisions cannot be read: {error.message}"
        ctx.console.print(f"[yellow]{safe(line)}[/yellow]", soft_wrap=True)
    for count, stored in enumerate(ordered, start=1):
        ctx.console.rule(f"{count} of {len(waiting)}")
        show_candidate(ctx, stored)
        done = _review_one(ctx, stored, by=by, suggested=_show_expectation(ctx, stored, by))
        if not done:
            break
        results[done] += 1
    else:
        done = "all"
    results["still waiting"] = len(waiting) - results["approved"] - results["rejected"]
    shown = (f"{results[each]} {each}" for each in ("approved", "rejected", "still waiting") if results[each])
    ctx.console.print("\n" + ", ".join(shown) + ".")
    if results["still waiting"]:
        ctx.console.print("Next: run [bold]tacit review[/bold] to continue.")
    elif results["approved"]:
        ctx.console.print(
            "Next: run [bold]tacit init[/bold] to connect your agents, or [bold]tacit recall TASK[/bold]."
        )
    return bool(done)


def ask_about_suggestions(ctx: CommandContext, *, by: str) -> None:
    """Show what maintenance suggests for the library, one after the other, and apply what the person says yes to."""
    with progress_bar(ctx, "looking") as advance:
        cares = ctx.memory.library.plan(progress=advance, seconds=REVIEW_SECONDS)
    applied = 0
    for count, care in enumerate(cares, start=1):
        ctx.console.rule(f"suggestion {count} of {len(cares)}: {TITLES[care.kind].lower()}")
        for line in care_lines(care):
            ctx.console.print(line, soft_wrap=True)
        if not can_be_applied(care):
            continue
        reply = ask(ctx, "Apply it?")
        if reply is Reply.QUIT:
            break
        if reply is Reply.YES:
            ctx.caller.require_person("tend --apply")
            done, settled = ctx.memory.library.apply([care], by=by)
            applied += done[0].applied
            for line in applied_lines(done, settled, listed=False):
                ctx.console.print(line, soft_wrap=True)
    if applied:
        export(ctx.memory.context)


def _show_expectation(ctx: CommandContext, stored: StoredVersion, by: str) -> str:
    """Print what the person will probably decide; return the decision that is pre-filled, or an empty text."""
    with suppress(StoreOutage):  # reported with the order; a version can be decided on all the same
        for extension in ctx.memory.context.extensions:
            expected = extension.expect_review(stored, by)
            if expected is not None:
                findings = findings_of(ctx, stored, ctx.memory.reviews.examine(stored.version.id))
                reasons = reasons_against_prefill(stored, findings)
                if rests_on_agent_alone(stored) and not expected.seen_before:
                    reasons.append("an agent wrote it, and you see it for the first time")
                against = "; ".join(reasons)
                prefilled = expected.decision != PersonDecision.APPROVE or not against
                how = (
                    f"{_CONFIRM_KEYS[expected.decision]} confirms" if prefilled else f"not pre-filled because {against}"
                )
                line = f"your earlier reviews suggest: {expected.text}; {how}"
                ctx.console.print(f"[dim]{safe(line)}[/dim]", soft_wrap=True)
                return expected.decision if prefilled else ""
    return ""


def _review_one(ctx: CommandContext, stored: StoredVersion, *, by: str, suggested: str) -> str:
    """Ask until something is decided or skipped, and return what became of it; nothing if the person quits."""
    while True:
        # Enter accepts a suggested rejection, and never an approval.
        known, enter = click.Choice(list("arevsq?")), "r" if suggested == "reject" else None
        discard_typed_ahead()
        choice = click.prompt(_QUESTION, type=known, show_choices=False, default=enter, show_default=False)
        suggested = ""  # only the first time
        if choice == "q":
            return ""
        if choice == "s":
            return "still waiting"
        if choice == "?":
            ctx.console.print(_HELP, markup=False)
        elif choice == "v":
            show_candidate(ctx, stored)
        elif choice == "r":
            reason = click.prompt("Why", default="", show_default=False)
            _decide(ctx, stored, PersonDecision.REJECT, by=by, reason=reason)
            return "rejected"
        else:
            reply = Reply.YES
            if choice == "e":
                stored, reply = _edit(ctx, stored, by=by)
            ticked: tuple[str, ...] = ()
            if reply is Reply.YES:
                reply, ticked = confirmed(ctx, stored)
            if reply is Reply.YES:
                try:
                    _decide(ctx, stored, PersonDecision.APPROVE, by=by, ticked=ticked)
                    return "approved"
                except IllegalTransition as error:  # the edited text is already in use
                    ctx.console.print(safe(error.message))
            if reply is Reply.QUIT:
                return ""


def _edit(ctx: CommandContext, stored: StoredVersion, *, by: str) -> tuple[StoredVersion, Reply]:
    """Return what waits after an edit, and whether the person approves it right away."""
    try:
        edited = edit_version(ctx, stored, by=by)
    except (InvalidSkill, GateRefusal, Mistake) as error:
        problems = error.problems if isinstance(error, InvalidSkill) else ()
        for line in problems or (error.message,):
            ctx.console.print(f"[red]not accepted:[/red] {safe(line)}", soft_wrap=True)
        return stored, Reply.NO
    if edited is None:
        ctx.console.print("You changed nothing.")
        return stored, Reply.NO
    content = edited.version.content
    ctx.console.print(colored_difference(stored.version.content, content))
    findings = ctx.memory.reviews.examine(edited.version.id).findings
    for line in finding_lines(findings, content, width=ctx.console.width):
        ctx.console.print(line, soft_wrap=True)
    reply = ask(ctx, "Approve your edit?")
    if reply is not Reply.YES:
        ctx.console.print("Your edit waits for review instead.")
    return edited, reply


def confirmed(
    ctx: CommandContext, stored: StoredVersion, *, ticked: Collection[str] = (), despite: bool = False
) -> tuple[Reply, tuple[str, ...]]:
    """Ask everything that an approval needs: about grave findings, then about each value that is not confirmed."""
    examination = ctx.memory.reviews.examine(stored.version.id)
    discard_typed_ahead()
    if grave_ones(ctx, stored, examination) and not despite:
        reply = ask(ctx, "Approve it despite these findings?")
        if reply is not Reply.YES:
            ctx.console.print("Nothing was approved.")
            return reply, ()
    reply, given = ask_for_confirmations(ctx, stored, examination.external_values, ticked=ticked)
    return ask_for_tools(ctx, stored, given) if reply is Reply.YES else (reply, given)


def _decide(
    ctx: CommandContext,
    stored: StoredVersion,
    decision: PersonDecision,
    *,
    by: str,
    reason: str = "",
    ticked: Collection[str] = (),
) -> None:
    version = stored.version
    ctx.unlock(f"{decision} {clean(version.name)}")
    moved = ctx.memory.review(version.id, decision, by=by, reason=reason, content_hash=version.hash, ticked=ticked)
    export(ctx.memory.context)
    ctx.console.print(f"[bold]{safe(version.name)}[/bold]: {_STATUS_TEXT.get(moved.after, moved.after)}")
    for extension in ctx.memory.context.extensions:
        if name := extension.taught_by_review(stored, by):
            line = f"Your reason is kept as a preference that waits for review. Run `tacit review {name}`."
            ctx.console.print(f"[dim]{safe(line)}[/dim]", soft_wrap=True)


@click.command()
@click.argument("reference", metavar="SKILL")
@click.option("--to", default="", metavar="VERSION", help="Make this earlier version current again.")
@click.option(
    "--rollback", is_flag=True, hidden=True, help="Make the version SKILL, or the one before it, current again."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@by_option()
@command_options
def undo(ctx: CommandContext, *, reference: str, to: str, rollback: bool, yes: bool, by: str) -> None:
    """Undo the last change to a skill: an approval, a rejection, a retirement, an edit or a rollback.

    `tacit skills show SKILL --history` shows what it was. With --to it goes back further, to any version that was in use: later
    versions are retired, not deleted.
    """
    if to or rollback:
        _roll_back(ctx, to or reference, by=by, yes=yes)
        return
    ctx.caller.require_person("undo")
    last = ctx.memory.reviews.undoable(reference)
    stored = ctx.memory.version(last[0].version_id)
    name = stored.version.name
    ctx.require_yes("Undo this?", *_move_lines(name, last), yes=yes)
    moves = ctx.memory.reviews.undo(reference, by=ctx.person(by))
    others = ctx.memory.archive.namesakes(stored)
    document = {"name": name, "moves": moves, "others": NAMESAKES.documents(others)}
    ctx.report(document, *_move_lines(name, moves), lambda: namesake_lines(others))


def _roll_back(ctx: CommandContext, reference: str, *, by: str, yes: bool) -> None:
    ctx.caller.require_person("rollback")
    stored = ctx.memory.version(reference)
    if not stored.version.id.startswith(reference):
        versions = ctx.memory.archive.versions(stored.skill.id)
        earlier = [s for s in versions if s.sequence < stored.sequence and _was_in_use(ctx, s)]
        if not earlier:
            message = f"`{stored.version.name}` has no earlier version that was in use"
            hint = "`tacit skills show NAME` lists its versions"
            raise Mistake(message, code="no_earlier_version", hint=hint)
        stored = earlier[-1]
    if not _was_in_use(ctx, stored):
        short = stored.version.id[:10]
        message = f"{short} was never approved, so it cannot become current by a rollback"
        raise GateRefusal(message, code="never_approved", hint=f"run `tacit review {short}`")
    name, short = safe(stored.version.name), stored.version.id[:10]
    line = f"[bold]{name}[/bold]: {short} becomes current, and later versions are retired"
    ctx.require_yes("Go back to it?", line, yes=yes)
    moves = ctx.memory.reviews.rollback(stored.version.id, by=ctx.person(by))
    ctx.report({"current": stored.version.id, "moves": moves}, f"[bold]{name}[/bold] is back at {short}")


def _was_in_use(ctx: CommandContext, stored: StoredVersion) -> bool:
    return stored.status in RECALLABLE or any(
        move.after in RECALLABLE for move in ctx.memory.archive.transitions(stored.version.id)
    )


def _move_lines(name: str, moves: Sequence[Transition]) -> Iterator[str]:
    for move in moves:
        line = f"[bold]{safe(name)}[/bold] {move.version_id[:10]}: {move.before} → {move.after}"
        yield f"{line}  [dim]{safe(stored_reason(move.reason))}[/dim]"
