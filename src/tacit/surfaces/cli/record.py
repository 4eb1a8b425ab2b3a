"""`tacit record`: the outcome of a use, or feedback on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from tacit.config.checkout import workspace
from tacit.domain.care import BY_ITSELF
from tacit.domain.errors import Mistake, NotFound, NotPermitted
from tacit.domain.evidence import Evidence, Grade, Outcome
from tacit.domain.lifecycle import Status, Transition
from tacit.domain.ports import Verifier
from tacit.evidence.credit import BY_AGENT
from tacit.evidence.reliability import votes
from tacit.maintain import exports
from tacit.maintain.reason_text import stored_reason
from tacit.surfaces.cli.context import CommandContext, by_option, command_options
from tacit.surfaces.cli.report import safe
from tacit.text.exit_status import masks_exit
from tacit.text.shell import is_check

_NEW_STATUS = {
    Status.TRUSTED: "trusted",
    Status.TRIAL: "back on trial",
    Status.STALE: "suspended",
    Status.RETIRED: "retired",
}


class _RecordCommand(click.Command):
    """A command whose help ends with the installed verifiers; they are looked up only for that."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verifiers."""
        from tacit.evidence.verifiers.registry import described

        with formatter.section("Verifiers (--with NAME --verify ARG)"):
            formatter.write_dl(list(described().items()))


@click.command(cls=_RecordCommand)
@click.argument("use_id")
@click.option(
    "--outcome", type=click.Choice([o.value for o in Outcome if o is not Outcome.UNKNOWN]), help="How the run ended."
)
@click.option("--verify", "check", metavar="ARG", help="Run a check now; by default a command and its exit status.")
@click.option("--with", "verifier", metavar="NAME", help="The verifier for ARG (default: command).")
@click.option("--timeout", "timeout_s", type=click.IntRange(1, 86_400), default=600, help="Seconds for the check.")
@click.option("--followed", multiple=True, metavar="VERSION", help="A version that the run followed (repeatable).")
@click.option("--helpful/--not-helpful", default=None, help="Feedback: whether what was shown helped.")
@click.option("--note", default="", help="Why, with --helpful or --not-helpful.")
@by_option("Who reports it.")
@command_options
def record(
    ctx: CommandContext,
    *,
    use_id: str,
    outcome: str | None,
    check: str | None,
    helpful: bool | None,
    note: str,
    **options: Any,
) -> None:
    """Record the outcome of the use USE_ID (printed by `tacit recall`), or feedback on it.

    With --verify the check runs here and the outcome is machine-verified, unless the run changed what decides the check: then
    it is a self-report. A person at a terminal may choose any check that can fail; from anywhere else only the skill's own
    checks and whole test runs count. An --outcome is human-verified if a person gives it at a terminal; from anywhere else it
    is a self-report, which can lower a rank but never raise it.
    """
    named = options["verifier"]
    given = [outcome is not None, check is not None or named is not None, helpful is not None]
    if sum(given) != 1:
        hint = "--verify 'pytest -q' counts most"
        raise Mistake("give one of --outcome, --verify, and --helpful or --not-helpful", code="one_result", hint=hint)
    use = _use_id(ctx, use_id)
    by, grade = _reporter(ctx, options["by"]), Grade.HUMAN if ctx.caller.is_person else Grade.SELF
    if helpful is not None:
        _report(ctx, ctx.memory.feedback(use, helpful=helpful, note=note, by=by, grade=grade))
        return
    followed = [ctx.memory.version(reference).version.id for reference in options["followed"]]
    verifier = None
    if outcome is None:
        asked = named or "command", check or ""
        verifier = _verifier(ctx, use, asked, followed=followed, options=options | {"by": by})
    _report(
        ctx,
        ctx.memory.record(use, outcome=outcome, verifier=verifier, followed=followed or None, by=by, grade=grade),
    )


def _verifier(
    ctx: CommandContext, use_id: str, asked: tuple[str, str], *, followed: list[str], options: dict[str, Any]
) -> Verifier:
    """Return the verifier of a name and argument; an agent's check must be a skill's own, or a test, build or lint."""
    from tacit.evidence.repository import begun_with
    from tacit.evidence.verifiers.checks import is_own, own_checks
    from tacit.evidence.verifiers.registry import Context, verifier

    use = ctx.memory.archive.use(use_id)
    name, argument = asked
    context = Context(
        project=workspace(ctx.place.project),
        use=use,
        contents=[ctx.memory.version(version_id).version.content for version_id in followed or use.version_ids],
        person=ctx.caller.is_person,
        by=options["by"],
        timeout_s=options["timeout_s"],
        first=begun_with(use, ctx.memory.archive.uses()),
    )
    by_agent = ctx.environment.agent_markers and not context.person
    proves = is_own(argument, context.contents) or (is_check(argument) and not masks_exit(argument))
    if name in ("command", "tests") and by_agent and not proves:
        message = f"`{argument}` proves nothing about the work, and this shell belongs to an agent"
        own = ", ".join(sorted(own_checks(context.contents))) or "a test command"
        raise NotPermitted(message, code="check_proves_nothing", hint=f"use the skill's own check: {own}")
    return verifier(name, argument, context)


def _use_id(ctx: CommandContext, reference: str) -> str:
    found = ctx.memory.archive.resolve(reference, "u_")
    if len(found) > 1:
        message = f"{reference!r} is ambiguous: {', '.join(found[:5])}"
        raise Mistake(message, code="ambiguous_reference", hint="give more characters of the id")
    if not found:
        raise NotFound(f"no use {reference!r}", code="no_such_use", hint="`tacit recall` prints the use id")
    return found[0]


def _reporter(ctx: CommandContext, name: str) -> str:
    """Return who reports the outcome: the name given or known for a person, else the agent or the user."""
    if not ctx.caller.is_person:
        return BY_AGENT if ctx.environment.agent_markers else name or ctx.environment.user or "unknown"
    try:
        return ctx.person(name)
    except Mistake:  # a token without a name still belongs to a person
        return "unknown"


def _report(ctx: CommandContext, kept: list[Evidence]) -> None:
    """Report what was stored, which statuses changed, and which results do not count."""
    exports.export_after_results(ctx.memory.context, kept)
    verified = [item for item in kept if item.grade.verified]
    moves = [
        move
        for item in verified
        for move in ctx.memory.archive.transitions(item.version_id)
        if move.by == BY_ITSELF and move.at >= item.at
    ]
    # Verified results that do not count because another result of the same task does.
    counting = {vote.id for item in kept for vote in votes(ctx.memory.archive.evidence(item.version_id))}
    not_counted = [item for item in verified if item.id not in counting and _is_whole_use(item)]
    document = {"evidence": kept, "moves": moves, "not_counted": [item.id for item in not_counted]}
    ctx.report(document, lambda: _lines(ctx, kept, moves, not_counted))


def _is_whole_use(item: Evidence) -> bool:
    return not item.control and item.following is None


def _lines(
    ctx: CommandContext, kept: list[Evidence], moves: list[Transition], not_counted: list[Evidence]
) -> Iterator[str]:
    names = {item.version_id: safe(ctx.memory.version(item.version_id).version.name) for item in kept}
    for item in kept:
        known = ctx.memory.archive.reliability(item.version_id)
        interval = f"{known.low:.0%} to {known.high:.0%}" if known.known else "unknown"
        control = ", which was held back as a control" if item.control else ""
        name = f"[bold]{names[item.version_id]}[/bold]"
        yield f"{item.outcome} ({item.grade}) for {name}{control}; reliability now: {interval}"
    doubts = {item.note for item in kept if item.verifier not in ("", "feedback") and not item.grade.verified}
    for doubt in sorted(doubts):
        yield f"[yellow]not independent:[/yellow] {safe(doubt)}"
    shared = [names[item.version_id] for item in kept if item.weight < 1 and _is_whole_use(item)]
    if shared:
        yield (
            f"{len(shared)} skills were shown and share the credit, 1/{len(shared)} each ({', '.join(shared)}); "
            "name the one that the run followed with --followed NAME"
        )
    if any(item.by == BY_AGENT and item.following for item in kept):
        yield "An agent's own record earns no credit until its transcript shows what it followed."
    for item in not_counted:
        yield (
            f"{names[item.version_id]}: another result of the same task already counts; each task has one vote "
            "(a machine's check before a person's report, then the latest)"
        )
    for move in moves:
        status = _NEW_STATUS.get(move.after, move.after)
        yield f"[bold]now {status}:[/bold] {names[move.version_id]} ({safe(stored_reason(move.reason))})"
