"""`tacit moments intake`: asks the open questions of a task with the expected answers, and learns from the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich.markup import escape

from tacit.domain.errors import Mistake
from tacit.features.people.forecast import Outlook, describe
from tacit.features.people.intake import Answered, Ask, Interview
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted, discard_typed_ahead


@click.command(hidden=True, short_help="Answer open questions before a task starts")
@click.argument("task")
@click.option("--question", "given", multiple=True, metavar="TEXT", help="Ask this too (may be repeated).")
@click.option(
    "--answer",
    "answers",
    multiple=True,
    metavar="KEY=TEXT",
    help="Answer a question without being asked (may be repeated).",
)
@click.option("--session", "session_id", default="", metavar="ID", help="The session that will do the task.")
@click.option("--by", default="", help="Your name, kept with the answers.")
@command_options
def intake(
    ctx: CommandContext, *, task: str, given: tuple[str, ...], answers: tuple[str, ...], session_id: str, by: str
) -> None:
    """Answer the open questions of TASK before work begins. The expected answer is offered; Enter confirms it.

    Questions are those that the task's words leave open (scope, approach, preferences, complexity), those that you were asked
    of tasks like it, and those given with --question. Your answers are kept as assumptions of the session, and the difference
    to what was expected is learned. Without a terminal, --answer gives them; what is not answered is listed with its forecast.

    Only a person may answer: it asks for the passphrase, and is refused inside an agent's shell.
    """
    ctx.caller.require_person("intake")
    ctx.may_create = True
    talk = Interview(ctx.memory, task=task, person=ctx.person(by), session_id=session_id)
    asked = talk.questions(given)
    answers_by_key = _parse_answers(answers, asked)
    asks = ctx.caller.at_terminal and not ctx.as_json
    answered = []
    for ask in asked:
        if ask.key in answers_by_key:
            talk.announce(ask, shown=False)
            answered.append(talk.answer(ask, answers_by_key[ask.key]))
        elif asks:
            answered.append(_asked(ctx, talk, ask))
        else:
            answered.append(Answered(ask=ask, outlook=talk.expect(ask)))
    document = {
        "task": talk.task,
        "person": talk.person,
        "session_id": session_id,
        "questions": list(map(_document, answered)),
    }
    ctx.report(document, lambda: _sum_up(ctx, answered, listed=not asks))


def _parse_answers(answers: Sequence[str], asked: Sequence[Ask]) -> dict[str, str]:
    """Return the answers by the key of their question; raise `Mistake` with all problems."""
    keys, parsed, problems = [ask.key for ask in asked], {}, []
    for each in answers:
        key, equals, text = each.partition("=")
        if not equals or not text.strip():
            problems.append(f"{each!r} is not KEY=TEXT")
        elif key not in keys:
            problems.append(f"no question is called {key!r}")
        else:
            parsed[key] = text
    if problems:
        raise Mistake("; ".join(problems), code="invalid_answer", hint=f"the questions are: {', '.join(keys)}")
    return parsed


def _asked(ctx: CommandContext, talk: Interview, ask: Ask) -> Answered:
    """Ask one question at the terminal; an empty answer without a forecast skips it."""
    known = talk.announce(ask)
    ctx.console.print(f"\n[bold]{escape(clean(ask.text))}[/bold]" + _choices(ask))
    if known.known:
        ctx.console.print(f"[dim]expected: {escape(clean(describe(known)))}; Enter confirms, - skips it[/dim]")
    discard_typed_ahead()
    if not known.known:
        ctx.console.print("[dim]Enter skips it[/dim]")
    answer_text = click.prompt("Answer", default=known.posterior, show_default=False)
    answer_text = "" if answer_text.strip() == "-" else answer_text
    overruled = (
        known.known and bool(answer_text.strip()) and answer_text.strip().casefold() != known.posterior.casefold()
    )
    reason = click.prompt("Why", default="", show_default=False) if overruled else ""
    done = talk.answer(ask, answer_text, reason=reason)
    taught = done.decided.verdict if done.decided else None
    if taught and taught.version_id:
        message = f"saved as your preference; it waits for review: tacit review {taught.name}"
        ctx.console.print(f"[dim]{escape(clean(message))}[/dim]", soft_wrap=True)
    return done


def _choices(ask: Ask) -> str:
    return f" [dim]{escape(' / '.join(ask.options))}[/dim]" if ask.options else ""


def _sum_up(ctx: CommandContext, answered: Sequence[Answered], *, listed: bool) -> None:
    done = [each for each in answered if each.answer]
    if listed:
        for each in answered:
            answer_text = each.answer or f"open; expected: {describe(each.outlook)}"
            ctx.console.print(
                f"[bold]{each.ask.key}[/bold]  {escape(clean(each.ask.text))}  {escape(clean(answer_text))}"
            )
    otherwise = sum(_surprised(each) for each in done)
    surprising = f", {counted(otherwise, 'surprise')}" if otherwise else ""
    ctx.console.print(f"\n{len(done)} of {counted(len(answered), 'question')} answered{surprising}.")


def _document(each: Answered) -> Mapping[str, Any]:
    return {
        "key": each.ask.key,
        "question": each.ask.text,
        "aspect": each.ask.aspect,
        "options": each.ask.options,
        "expected": _expected(each.outlook),
        "answer": each.answer,
        "surprise": _surprised(each),
        "assumptions": [{"key": one.key, "text": one.text, "held": one.held} for one in each.assumptions],
        "lesson": each.decided.verdict.version_id if each.decided and each.decided.verdict else "",
    }


def _surprised(each: Answered) -> bool:
    return bool(each.decided and each.decided.forecast and each.decided.forecast.surprise)


def _expected(known: Outlook) -> Mapping[str, Any]:
    return {"answer": known.posterior, "confidence": known.posterior_confidence, "not_known": known.why_not}
