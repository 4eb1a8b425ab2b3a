"""`tacit review` and `tacit undo`: a person decides on what was learned, bound to the exact content and what was seen of it.

At a terminal it shows one page after the other and takes one key for each decision. Enter decides nothing, nor does what was
typed before a page appeared. What a page shows is in `review_page`; the rules are the gate's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress

import click
from rich.panel import Panel

from tacit.config.signers import unlocked_key
from tacit.domain.errors import GateRefusal, IllegalTransition, InvalidSkill, Mistake, NotPermitted, StoreOutage
from tacit.domain.evidence import Reliability
from tacit.domain.lifecycle import WAITING, CodedReason, Status, Transition, coded
from tacit.domain.stored import StoredVersion
from tacit.gate.findings import GateReason, reason_sentence
from tacit.gate.review_rules import PersonDecision, unconfirmed_values
from tacit.gate.review_sources import by_support, folded_away, group_alike, kind_rank
from tacit.maintain.archive import newest_skills
from tacit.maintain.exports import export
from tacit.store import queries
from tacit.surfaces.cli.context import (
    CommandContext,
    ask_key,
    by_option,
    clean,
    command_options,
    counted,
    one_line,
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
    grave_ones,
    heading_of,
    page_document,
    place,
    show_briefly,
    show_candidate,
)
from tacit.surfaces.cli.skills import edit_version
from tacit.surfaces.cli.tend import TITLES, applied_lines, can_be_applied, care_document, care_lines
from tacit.surfaces.cli.views import NAMESAKES, colored_difference, move_lines, namesake_lines, skill_lines, skill_page
from tacit.surfaces.hook.waiting import remove

_FOLDED_FROM = 5
"""So many waiting versions are listed one by one, however weak."""
REVIEW_SECONDS = 10.0
"""How long `tacit review` looks for suggestions; `tacit tend` takes the time it needs."""
GIVES_TO_AGENTS = {PersonDecision.APPROVE: WAITING, PersonDecision.RESTORE: frozenset({Status.RETIRED, Status.STALE})}
"""Decisions that let agents see a version, and its status before; the gate's rules refuse anything else."""
_MOST_FOLDED = 12
_SITTING = 200
"""So many versions are looked at in one review; where more wait, the newest of them."""
_QUESTION = "[a]pprove [r]eject [1]wrong [2]one-off [3]obvious [e]dit [v]iew [s]kip [u]ndo [?] [q]uit:"
_GROUP_QUESTION = "[a]pprove the first, reject the others  [r]eject all  [o]ne by one  [s]kip  [u]ndo  [q]uit:"
_FOLDED_QUESTION = "[x] reject all of them  [v]iew one by one  [s]kip  [u]ndo  [q]uit:"
_REASONS: Mapping[str, CodedReason] = {
    key: coded(GateReason.REJECTED_AS, why=why) for key, why in (("1", "wrong"), ("2", "one-off"), ("3", "obvious"))
}
_HELP = """\
a  approve: agents may get it, on trial; values from outside are confirmed one by one first (never by Enter)
r  reject: the same is not learned again; 1, 2, 3 also keep the reason: wrong, a one-off, obvious; R asks for your words
e  edit it in your editor, then decide on the edited text
v  view all of it: text, findings, sources
s  skip: it keeps waiting
u  undo your last decision
f  what your earlier reviews suggest
q  quit: this one and all that follow keep waiting"""
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
        ctx.report(document, *move_lines(name, moves), lambda: namesake_lines(others))
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
        waiting, count = newest_skills(ctx.memory.context, statuses=WAITING, limit=_SITTING)
        if count <= _SITTING or not ctx.can_ask:
            waiting = ctx.memory.reviews.waiting()
            count = len(waiting)
        if ctx.can_ask:
            remove(str(ctx.place.folder))  # the person has come: nobody needs to call them
            person = ctx.person(by)
            if _confirm_earlier(ctx, by=person, among=waiting if count > len(waiting) else None):
                waiting = ctx.memory.reviews.waiting()
                count = len(waiting)
            if not waiting:
                ctx.console.print("Nothing waits for review.")
            if count > len(waiting):
                ctx.console.print(f"{count:,} wait; these are the {len(waiting)} newest.")
            if not waiting or review_all(ctx, waiting, by=person, total=count):
                ask_about_suggestions(ctx, by=person)
            return
        suggestions = ctx.memory.library.plan(seconds=REVIEW_SECONDS)
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


def _confirm_earlier(ctx: CommandContext, *, by: str, among: Sequence[StoredVersion] | None) -> bool:
    """Offer to sign at once what was approved before, such as before there were signatures; whether any of it was."""
    earlier = ctx.visible(ctx.memory.reviews.approved_unsigned(among))
    if not earlier:
        return False
    ctx.console.print(f"{counted(len(earlier), 'skill')} approved earlier, without a signature that counts today:")
    for stored in earlier:
        approvals = ctx.memory.archive.approvals(stored.version.id, unsigned=True)
        who = f"approved by {approvals[-1].by}, {approvals[-1].at:%Y-%m-%d}" if approvals else "accepted by the policy"
        line = f"{stored.version.name}  {stored.version.hash[7:19]}  {who}: {stored.version.content.description}"
        ctx.console.print(f"  {safe(line)}", soft_wrap=True)
        ctx.console.print(Panel(skill_page(stored.version.content)))
        if confirmed := ctx.memory.reviews.confirmed_before(stored, unsigned=True):
            ctx.console.print(
                f"  [yellow]confirmed then:[/yellow] {safe(', '.join(sorted(confirmed)))}", soft_wrap=True
            )
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
    folds = folded_away(ctx.memory.context)
    strong, weak = _split(ctx, waiting, folds)
    yield from skill_lines([(stored, Reliability()) for stored in strong], width=ctx.console.width)
    unfolded = [safe(stored.version.name) for stored in weak if stored.version.id not in folds]
    if unfolded:
        yield f"\n[dim]{counted(len(unfolded), 'weaker one')}, seen once or doubtful: {', '.join(unfolded)}[/dim]"
    for stored in weak[len(unfolded) :]:
        why = safe(reason_sentence(folds[stored.version.id]))
        yield f"[dim]Folded away: {safe(stored.version.name)}: {why}. tacit undo {safe(stored.version.name)}[/dim]"
    yield "\nWaiting for review. Run [bold]tacit review NAME[/bold] in a terminal."


def _split(
    ctx: CommandContext, waiting: Sequence[StoredVersion], folds: Collection[str]
) -> tuple[list[StoredVersion], list[StoredVersion]]:
    """Return what is reviewed page by page, and what is folded: the weak ones of many, and last what was folded away."""
    strong, weak = by_support(ctx.memory.context, [each for each in waiting if each.version.id not in folds])
    away = [each for each in waiting if each.version.id in folds]
    return ([*strong, *weak], away) if len(waiting) <= _FOLDED_FROM else (strong, [*weak, *away])


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
        ticked = (*ticked, *sorted(ctx.memory.reviews.confirmed_before(stored) - set(ticked)))
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


def review_all(ctx: CommandContext, waiting: Sequence[StoredVersion], *, by: str, total: int = 0) -> bool:
    """Show and ask about what waits, page by page; return False where the person quits before the end.

    `total` is how many wait in the queue that these are of.
    """
    folds = folded_away(ctx.memory.context) if total else {}  # what a person names is shown
    return Sitting(ctx, waiting, by=by, total=total or len(waiting), folds=folds).run()


class Sitting:
    """A person's way through what waits: one page for each version, or for several that are alike, and the weak ones last."""

    def __init__(
        self,
        ctx: CommandContext,
        waiting: Sequence[StoredVersion],
        *,
        by: str,
        total: int,
        folds: Mapping[str, CodedReason],
    ) -> None:
        self._ctx, self._by, self._total, self._folds = ctx, by, total, folds
        strong, self._folded = _split(ctx, waiting, folds)
        self._pages = _pages(strong)
        self._at = 0
        self._decided: dict[str, PersonDecision] = {}
        self._undoable: list[tuple[int, list[str]]] = []
        """The page, and what was decided on it, oldest first."""
        self._forecast_shown: set[str] = set()

    def run(self) -> bool:
        """Ask until the end; return False where the person quits before it."""
        is_done, heading = True, ""
        while is_done and (self._at < len(self._pages) or self._folded):
            if self._at == len(self._pages):
                is_done = self._ask_folded()
                continue
            page = self._pages[self._at]
            self._ctx.console.rule(f"{self._at + 1} of {len(self._pages)}")
            if len(self._pages) > 1 and heading != (heading := heading_of(page[0])):
                self._ctx.console.print(f"[bold magenta]{heading}[/bold magenta]")
            is_done = self._ask_group(page) if len(page) > 1 else self._ask(page[0])
        self._print_end()
        return is_done

    def _print_end(self) -> None:
        counts = Counter(self._decided.values())
        left = self._total - counts.total()
        shown = {"approved": counts[PersonDecision.APPROVE], "rejected": counts[PersonDecision.REJECT]}
        ended = ", ".join(f"{count} {what}" for what, count in (shown | {"still waiting": left}).items() if count)
        console = self._ctx.console
        console.print(f"\n{ended}.")
        if left:
            console.print("Next: run [bold]tacit review[/bold] to continue.")
        elif shown["approved"]:
            console.print(
                "Next: run [bold]tacit init[/bold] to connect your agents, or [bold]tacit recall TASK[/bold]."
            )

    def _ask(self, stored: StoredVersion) -> bool:
        """Ask about one version; return False where the person quits."""
        ctx, is_seen = self._ctx, show_briefly(self._ctx, stored)
        while True:
            key = ask_key(_QUESTION, "arevsfu?q" + "".join(_REASONS) + "R")
            if key == "q":
                return False
            if key == "s":
                self._at += 1
                return True
            if key == "u":
                if self._undo():
                    return True
            elif key == "?":
                ctx.console.print(_HELP, markup=False)
            elif key == "v":
                show_candidate(ctx, stored)
                is_seen = True
            elif key == "f":
                self._show_forecast(stored)
            elif key in ("a", "e"):
                reply = self._approve(stored, is_seen=is_seen, edits=key == "e")
                if reply is not Reply.NO:
                    return reply is Reply.YES
            else:
                reason = _REASONS.get(key) or (
                    click.prompt("Why", default="", show_default=False) if key == "R" else ""
                )
                self._reject([stored], reason)
                return True

    def _ask_group(self, page: list[StoredVersion]) -> bool:
        """Ask about several that are alike: approve the best supported one and reject the rest, or open them one by one."""
        ctx, (best, *others) = self._ctx, page
        is_seen = show_briefly(ctx, best)
        for each in others:
            line = one_line(f"{each.version.name}: {each.version.content.description}", max(40, ctx.console.width - 8))
            ctx.console.print(f"  [dim]like it:[/dim] {safe(line)}", soft_wrap=True)
        key = ask_key(_GROUP_QUESTION, "arosuq")
        if key == "a":
            reply = self._approve(best, is_seen=is_seen, also_reject=others)
            if reply is not Reply.NO:
                return reply is Reply.YES
        elif key == "r":
            self._reject(page)
        elif key == "s":
            self._at += 1
        elif key == "o":
            self._pages[self._at : self._at + 1] = [[each] for each in page]
        elif key == "u":
            self._undo()
        return key != "q"

    def _ask_folded(self) -> bool:
        """Show the weak ones in a line each, and ask once about all of them; return False where the person quits."""
        ctx, weak = self._ctx, self._folded
        ctx.console.rule(f"{counted(len(weak), 'weaker one')}, seen once or doubtful")
        for stored in weak[:_MOST_FOLDED]:
            content = stored.version.content
            text = one_line(f"{content.kind}  {content.name}: {content.description}", max(40, ctx.console.width - 2))
            ctx.console.print(f"  {safe(text)}", soft_wrap=True)
            if reason := self._folds.get(stored.version.id):
                ctx.console.print(f"    [dim]folded away: {safe(reason_sentence(reason))}[/dim]", soft_wrap=True)
        if len(weak) > _MOST_FOLDED:
            ctx.console.print(f"  [dim]and {len(weak) - _MOST_FOLDED} more[/dim]")
        key = ask_key(_FOLDED_QUESTION, "xvsuq")
        if key == "u" and not self._undo():
            return True
        if key == "q":
            return False
        if key != "u":
            self._folded = []
        if key == "v":
            self._pages += _pages(weak)
        elif key == "x":
            self._pages.append(weak)
            self._reject(weak)
        return True

    def _approve(
        self, stored: StoredVersion, *, is_seen: bool, edits: bool = False, also_reject: Sequence[StoredVersion] = ()
    ) -> Reply:
        """Ask what an approval needs, and apply it; NO where nothing was decided."""
        ctx, reply = self._ctx, Reply.YES
        ticked: tuple[str, ...] = ()
        if edits:
            stored, reply = _edit(ctx, stored, by=self._by)
        elif not is_seen:
            show_candidate(ctx, stored)
            reply = ask(ctx, "Some of it is from outside and was not shown before. Approve all of this?")
        if reply is Reply.YES:
            reply, ticked = confirmed(ctx, stored)
        if reply is not Reply.YES:
            return reply
        try:
            self._decide(stored, PersonDecision.APPROVE, ticked=ticked)
        except IllegalTransition as error:  # the edited text is already in use
            ctx.console.print(safe(error.message))
            return Reply.NO
        for each in also_reject:
            self._decide(each, PersonDecision.REJECT, reason=coded(GateReason.REJECTED_AS, why="covered"))
        self._finish([stored, *also_reject])
        return Reply.YES

    def _reject(self, rejected: Sequence[StoredVersion], reason: str | CodedReason = "") -> None:
        for each in rejected:
            self._decide(each, PersonDecision.REJECT, reason=reason)
        self._finish(rejected)

    def _finish(self, decided: Sequence[StoredVersion]) -> None:
        """Go on to the next page; this one can be taken back."""
        self._undoable.append((self._at, [each.version.id for each in decided]))
        self._at += 1
        export(self._ctx.memory.context)

    def _undo(self) -> bool:
        """Take the last page's decisions back, and show it again; return False where there are none."""
        if not self._undoable:
            self._ctx.console.print("Nothing was decided yet.")
            return False
        self._at, undone = self._undoable.pop()
        reviews = self._ctx.memory.reviews
        for version_id in undone:
            reviews.undo(version_id, by=self._by)
            self._decided.pop(version_id)
        self._pages[self._at] = [self._ctx.memory.version(each) for each in undone]
        export(self._ctx.memory.context)
        return True

    def _decide(
        self,
        stored: StoredVersion,
        decision: PersonDecision,
        *,
        reason: str | CodedReason = "",
        ticked: Collection[str] = (),
    ) -> None:
        ctx, version = self._ctx, stored.version
        ctx.unlock(f"{decision} {clean(version.name)}")
        if version.id not in self._forecast_shown:
            _expect(ctx, stored, self._by)
        moved = ctx.memory.reviews.decide(
            version.id, decision, by=self._by, reason=reason, content_hash=version.hash, ticked=ticked
        )
        self._decided[version.id] = decision
        ctx.console.print(f"[bold]{safe(version.name)}[/bold]: {_STATUS_TEXT.get(moved.after, moved.after)}")
        for extension in ctx.memory.context.extensions:
            if name := extension.taught_by_review(stored, self._by):
                line = f"Your reason is kept as a preference that waits for review. Run `tacit review {name}`."
                ctx.console.print(f"[dim]{safe(line)}[/dim]", soft_wrap=True)

    def _show_forecast(self, stored: StoredVersion) -> None:
        """Print what the person's earlier reviews suggest, because they asked."""
        texts = []
        self._forecast_shown.add(stored.version.id)
        with suppress(StoreOutage):  # a version can be decided on all the same
            expected = [each.expect_review(stored, self._by) for each in self._ctx.memory.context.extensions]
            texts = [each.text for each in expected if each is not None]
        line = f"your earlier reviews suggest: {'; '.join(texts)}" if texts else "your earlier reviews suggest nothing"
        self._ctx.console.print(f"[dim]{safe(line)}[/dim]", soft_wrap=True)


def _pages(waiting: Sequence[StoredVersion]) -> list[list[StoredVersion]]:
    """Return pages of versions that are alike, by kind; within a kind the best supported come first."""
    return sorted(group_alike(waiting), key=lambda page: kind_rank(page[0]))


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
    if grave_ones(ctx, stored, examination) and not despite:
        reply = ask(ctx, "Approve it despite these findings?")
        if reply is not Reply.YES:
            ctx.console.print("Nothing was approved.")
            return reply, ()
    reply, given = ask_for_confirmations(ctx, stored, examination.external_values, ticked=ticked)
    return ask_for_tools(ctx, stored, given) if reply is Reply.YES else (reply, given)
