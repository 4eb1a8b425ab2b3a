"""`tacit record` and `tacit feedback`: what came of a use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from rich.markup import escape

from tacit.config.checkout import workspace
from tacit.domain.errors import Mistake, NotFound, NotPermitted
from tacit.domain.evidence import Evidence, Grade, Outcome
from tacit.domain.lifecycle import Status, Transition
from tacit.domain.skill import SkillContent
from tacit.domain.verification import Verifier
from tacit.evidence.credit import BY_AGENT
from tacit.evidence.reliability import votes
from tacit.maintain.library_view import BY
from tacit.surfaces import exports
from tacit.surfaces.cli.context import CommandContext, clean, command_options
from tacit.text.exit_status import masks_exit
from tacit.text.shell import is_check

_NOW = {
    Status.TRUSTED: "trusted",
    Status.TRIAL: "back on trial",
    Status.STALE: "suspended",
    Status.RETIRED: "retired",
}


class _Recording(click.Command):
    """A command whose help ends with the verifiers that there are; they are looked up only for that."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List them."""
        from tacit.evidence.verifiers.offered import described

        with formatter.section("Verifiers (--with NAME --verify ARG)"):
            formatter.write_dl(list(described().items()))


@click.command(cls=_Recording)
@click.argument("use_id")
@click.option(
    "--outcome",
    type=click.Choice([o.value for o in Outcome if o is not Outcome.UNKNOWN]),
    help="How it ended, on your word.",
)
@click.option("--verify", "check", metavar="ARG", help="Run a check now; by default a command and its exit status.")
@click.option("--with", "verifier", metavar="NAME", help="Which verifier takes ARG (default: command).")
@click.option(
    "--timeout", "timeout_s", type=click.IntRange(1, 86_400), default=600, help="Limit for the check, seconds."
)
@click.option(
    "--followed", multiple=True, metavar="VERSION", help="A version the run really followed (may be repeated)."
)
@click.option("--by", default="", help="Who says so.")
@command_options
def record(ctx: CommandContext, *, use_id: str, outcome: str | None, check: str | None, **options: Any) -> None:
    """Say what came of the use USE_ID (printed by `tacit recall`).

    With --verify the check is run here and the outcome is machine-verified, unless the run changed what decides the check:
    then it is a self-report. A person at a terminal may choose any check that can fail; from anywhere else only the skill's
    own checks and whole test runs count. On a person's word at a terminal an outcome is human-verified; from anywhere else it
    is a self-report, which can lower a rank but never raise it.
    """
    named = options["verifier"]
    if (outcome is None) == (check is None and named is None):
        raise Mistake("give either --outcome or --verify", hint="--verify 'pytest -q' counts more than anybody's word")
    use = _use(ctx, use_id)
    followed = [ctx.memory.version(reference).version.id for reference in options["followed"]]
    by = _by(ctx, options["by"])
    verifier = None
    if outcome is None:
        verifier = _verifier(
            ctx, use, (named or "command", check or ""), followed=followed, options=options | {"by": by}
        )
    kept = ctx.memory.record(
        use, outcome=outcome, verifier=verifier, followed=followed or None, by=by, grade=_grade(ctx)
    )
    _answer(ctx, kept)


def _verifier(
    ctx: CommandContext, use_id: str, asked: tuple[str, str], *, followed: list[str], options: dict[str, Any]
) -> Verifier:
    """Make the verifier that is asked for by name and argument."""
    from tacit.evidence.independence.beginning import begun_with
    from tacit.evidence.verifiers.offered import Context, verifier

    store = ctx.memory.store
    use = store.use(use_id)
    name, argument = asked
    context = Context(
        project=workspace(ctx.place.project),
        use=use,
        contents=[store.version(version_id).version.content for version_id in followed or use.version_ids],
        person=ctx.caller.is_person,
        by=options["by"],
        timeout_s=options["timeout_s"],
        first=begun_with(use, store.uses()),
    )
    if name in ("command", "tests") and ctx.environment.agent_markers and not context.person:
        _require_real_check(context.contents, argument)
    return verifier(name, argument, context)


@click.command()
@click.argument("use_id")
@click.option("--helpful/--not-helpful", required=True, help="Whether what was shown helped.")
@click.option("--note", default="", help="Why.")
@click.option("--by", default="", help="Who says so.")
@command_options
def feedback(ctx: CommandContext, *, use_id: str, helpful: bool, note: str, by: str) -> None:
    """Say whether what was shown in the use USE_ID helped."""
    who, grade = _by(ctx, by), _grade(ctx)
    _answer(ctx, ctx.memory.feedback(_use(ctx, use_id), helpful=helpful, note=note, by=who, grade=grade))


def _use(ctx: CommandContext, reference: str) -> str:
    found = [identity for identity in ctx.memory.store.resolve(reference) if identity.startswith("u_")]
    if len(found) > 1:
        raise Mistake(f"{reference!r} is ambiguous: {', '.join(found[:5])}", hint="give more characters of the id")
    if not found:
        raise NotFound(f"no use {reference!r}", hint="`tacit recall` prints the use id of what it gave")
    return found[0]


def _require_real_check(contents: Sequence[SkillContent], check: str) -> None:
    """An agent may not choose a check that proves nothing: it must be a skill's own postcondition, or a test, build or lint."""
    from tacit.evidence.verifiers.skill_checks import is_own, own_checks

    if not is_own(check, contents) and (not is_check(check) or masks_exit(check)):
        raise NotPermitted(
            f"`{check}` proves nothing about the work, and this shell belongs to an agent",
            hint=f"use the skill's own check: {', '.join(sorted(own_checks(contents))) or 'a test command'}",
        )


def _grade(ctx: CommandContext) -> Grade:
    return Grade.HUMAN if ctx.caller.is_person else Grade.SELF


def _by(ctx: CommandContext, name: str) -> str:
    """Who says so: the name given, and of a person what is known of them, as for their decisions."""
    if not ctx.caller.is_person:
        return BY_AGENT if ctx.environment.agent_markers else name or ctx.environment.user or "unknown"
    try:
        return ctx.person(name)
    except Mistake:  # a token without a name is still a person's word
        return "unknown"


def _answer(ctx: CommandContext, kept: list[Evidence]) -> None:
    """Tell what was kept, what moved by it, and what of it does not count."""
    exports.follow(ctx.memory, kept)
    moves, silent = _moves(ctx, kept), _not_counted(ctx, kept)
    document = {"evidence": kept, "moves": moves, "not_counted": [item.id for item in silent]}
    ctx.answer(document, lambda: _show(ctx, kept, moves, silent))


def _moves(ctx: CommandContext, kept: list[Evidence]) -> list[Transition]:
    """What the new results moved."""
    store = ctx.memory.store
    return [
        move
        for item in kept
        for move in store.transitions(item.version_id)
        if move.by == BY and move.at >= item.at and item.grade.verified
    ]


def _not_counted(ctx: CommandContext, kept: list[Evidence]) -> list[Evidence]:
    """Verified results that another one of the same task stands before."""
    counting = {
        vote.id
        for rows in ctx.memory.store.evidence([item.version_id for item in kept]).values()
        for vote in votes(rows)
    }
    return [item for item in kept if item.grade.verified and item.id not in counting and _is_told_of(item)]


def _is_told_of(item: Evidence) -> bool:
    return not item.control and item.following is None


def _show(ctx: CommandContext, kept: list[Evidence], moves: list[Transition], silent: list[Evidence]) -> None:
    names = {item.version_id: _name(ctx, item.version_id) for item in kept}
    for item in kept:
        known = ctx.memory.reliability(item.version_id)
        told = f"{known.low:.0%} to {known.high:.0%}" if known.known else "not known yet"
        control = ", which was held back as a control" if item.control else ""
        ctx.console.print(
            f"{item.outcome} ({item.grade}) for [bold]{names[item.version_id]}[/bold]{control}; reliability now: {told}"
        )
    doubts = {item.note for item in kept if item.verifier not in ("", "feedback") and not item.grade.verified}
    for doubt in sorted(doubts):
        ctx.console.print(f"[yellow]not independent:[/yellow] {escape(clean(doubt))}")
    shared = [names[item.version_id] for item in kept if item.weight < 1 and _is_told_of(item)]
    if shared:
        ctx.console.print(
            f"{len(shared)} skills were shown and share the credit, 1/{len(shared)} each ({', '.join(shared)}); "
            "say which one the run followed with --followed NAME"
        )
    if any(item.by == BY_AGENT and item.following for item in kept):
        ctx.console.print(
            "An agent's own record earns no credit: that comes once its transcript shows what it followed."
        )
    for item in silent:
        ctx.console.print(
            f"{names[item.version_id]}: another result of the same task counts already, and one task has one vote "
            "(a machine's check before a person's word, then the latest)"
        )
    for move in moves:
        ctx.console.print(
            f"[bold]now {_NOW.get(move.after, move.after)}:[/bold] {names[move.version_id]} ({escape(clean(move.reason))})"
        )


def _name(ctx: CommandContext, version_id: str) -> str:
    return str(escape(clean(ctx.memory.store.version(version_id).version.name)))
