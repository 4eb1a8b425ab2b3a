"""How skills and selections are shown to people: text, tables and panels."""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from tacit import render as application
from tacit.domain.errors import NotFound
from tacit.domain.evidence import Evidence, Outcome, Reliability
from tacit.domain.identity import digest, plain
from tacit.domain.lifecycle import Transition
from tacit.domain.scope import Level
from tacit.domain.selection import Selection
from tacit.domain.skill import Case, Condition, Parameter, Pitfall, Provenance, SkillContent, SkillStep
from tacit.domain.stored import Episode, StoredVersion
from tacit.render import conditions
from tacit.surfaces.cli.context import CommandContext, clean, one_line
from tacit.surfaces.cli.report import Column, Columns

if TYPE_CHECKING:
    pass

STATUS_STYLE = {
    "candidate": "yellow",
    "quarantined": "red",
    "rejected": "dim",
    "trial": "cyan",
    "trusted": "green",
    "stale": "magenta",
    "retired": "dim",
    "static": "blue",
}
_OUTCOME_STYLE = {Outcome.SUCCESS: "green", Outcome.FAILURE: "red", Outcome.PARTIAL: "yellow", Outcome.UNKNOWN: "dim"}
_CUES_HEADING = "===== words of a task that count for it, or, if negative, against it ====="
_NO_SCOPES: Mapping[str, Sequence[str]] = {}
DECISION_TEXT = {
    "accept": "approved (on trial)",
    "hold": "waiting for review",
    "quarantine": "quarantined, waiting for review",
    "reject": "rejected",
}
"""What a decision of the gate means for the reader."""


def show_selection(console: Console, selection: Selection) -> None:
    """Print what recall selected, or why nothing; without a terminal only the text, ready to be pasted."""
    if selection.abstained:
        console.print(f"[bold]No skill fits:[/bold] {escape(clean(selection.reason))}")
        for left in [left for left in selection.left_out if left.reason not in selection.reason][:3]:
            console.print(f"  [dim]{escape(clean(left.name))}: {escape(clean(left.reason))}[/dim]")
        _show_norms(console, selection)
        return
    if not console.is_terminal:
        console.print(clean(selection.text), markup=False, soft_wrap=True)
    for item in selection.items if console.is_terminal else ():
        signals = ", ".join(f"{name} {value:.2f}" for name, value in item.signals.items())
        title = f"[bold]{escape(clean(item.name))}[/bold]  {item.score:.2f}"
        console.print(
            Panel(escape(clean(item.text)), title=title, title_align="left", subtitle=f"[dim]{signals}[/dim]")
        )
        tied = f"; ties with {', '.join(item.tied_with)}: choose one" if item.tied_with else ""
        console.print(f"  [dim]{escape(clean('; '.join(item.reasons) + tied))}[/dim]")
    if console.is_terminal:
        _show_norms(console, selection)
    if len(selection.plan.chosen) > 1:
        order = (each.name + (f" ×{each.times}" if each.times > 1 else "") for each in selection.plan.chosen)
        console.print(f"In this order: {escape(clean(' → '.join(order)))}", soft_wrap=True)
    for left in selection.left_out[:3]:
        console.print(f"  [dim]left out {escape(clean(left.name))}: {escape(clean(left.reason))}[/dim]")
    console.print(
        f"\n{selection.tokens} tokens. Afterwards: [bold]tacit record {selection.use_id[:12]} --verify 'COMMAND'[/bold]",
        soft_wrap=True,
    )


def _show_norms(console: Console, selection: Selection) -> None:
    """Print the norms that apply to every task here, and what could not be searched."""
    for norm in selection.standing:
        description = one_line(norm.version.content.description, 160)
        console.print(f"[bold]always:[/bold] {escape(clean(norm.name))}  [dim]{escape(description)}[/dim]")
    if selection.note:
        console.print(f"[yellow]{escape(clean(selection.note))}[/yellow]", soft_wrap=True)


def _outcome_cell(episode: Episode) -> str:
    outcome = episode.assessment.outcome
    return f"[{_OUTCOME_STYLE[outcome]}]{outcome}[/]"


def _file_names(files: Sequence[str]) -> str:
    return escape(clean(", ".join(path.rpartition("/")[2] for path in files[:3])))


def _day(episode: Episode) -> str:
    return f"{episode.started_at:%Y-%m-%d}" if episode.started_at else ""


EPISODES: Columns[Episode] = Columns(
    Column("id", lambda episode: episode.id),
    Column("started_at", lambda each: each.started_at, "when", _day),
    Column("task", lambda each: one_line(each.task, 400), "task", lambda each: escape(one_line(each.task, 90))),
    Column("outcome", lambda each: each.assessment.outcome, "outcome", _outcome_cell),
    Column("grade", lambda each: None if each.assessment.outcome is Outcome.UNKNOWN else each.assessment.grade),
    Column("why", lambda episode: episode.assessment.reason),
    Column("steps", lambda episode: episode.steps, "steps"),
    Column("files", lambda each: each.files, "files", lambda each: _file_names(each.files)),
    Column("client", lambda episode: episode.client),
    Column("project", lambda episode: episode.project),
    Column("session_id", lambda episode: episode.session_id),
)
"""Past attempts."""


def maker(provenance: Provenance) -> str:
    """Return who made it, and which model worded it."""
    worded = f", worded by {provenance.model} ({provenance.prompt_version})" if provenance.model else ""
    return (provenance.made_by or "unknown") + worded


def show_status(
    console: Console,
    stored: StoredVersion,
    known: Reliability,
    *,
    lives: Sequence[Transition],
    evidence: Sequence[Evidence],
    elsewhere: str = "",
) -> None:
    """Print a version's id, status, reliability, status changes and results."""
    console.print(f"[dim]{stored.version.id}  {stored.status}  {stored.skill.scope}  {stored.version.hash}[/dim]")
    console.print(f"[dim]made by {escape(clean(maker(stored.version.provenance)))}[/dim]", soft_wrap=True)
    console.print(reliability_text(known).capitalize())
    if elsewhere:
        console.print(f"[dim]promoted: {escape(clean(elsewhere))}[/dim]", soft_wrap=True)
    for move in lives:
        console.print(
            f"[dim]{move.at:%Y-%m-%d %H:%M}  {move.before or 'created'} → {move.after}  by {escape(clean(move.by))}[/dim]"
        )
    for item in evidence:
        source = " ".join(filter(None, (item.verifier, item.note)))
        console.print(
            f"[dim]{item.at:%Y-%m-%d %H:%M}  {item.outcome}, {item.grade}  {escape(one_line(source, 60))}  "
            f"by {escape(clean(item.by or 'unknown'))}[/dim]"
        )


NAMESAKES: Columns[StoredVersion] = Columns(
    Column("version_id", lambda stored: stored.version.id),
    Column("scope", lambda stored: str(stored.skill.scope)),
    Column("status", lambda stored: stored.status),
)
"""Other skills of the same name."""


def namesake_lines(others: Sequence[StoredVersion]) -> Iterator[str]:
    """Yield the other skills of the same name, and how to name them."""
    for stored in others:
        line = f"same name at {stored.skill.scope}: {stored.version.id[:10]}, {stored.status}"
        yield f"[dim]{escape(clean(line))}; use its id to name it[/dim]"


def show_waiting(ctx: CommandContext, waiting: Sequence[StoredVersion]) -> None:
    """Print what waits for review."""
    if not waiting:
        ctx.console.print("Nothing waits for review.")
        return
    show_skills(ctx.console, [(stored, Reliability()) for stored in waiting])
    ctx.console.print("\nWaiting for review. Run [bold]tacit review NAME[/bold] in a terminal.")


def show_skills(
    console: Console,
    rows: Sequence[tuple[StoredVersion, Reliability]],
    *,
    also: Mapping[str, Sequence[str]] = _NO_SCOPES,
) -> None:
    """Print skills, two lines each, so that names fit a narrow terminal; `also` is version → further scopes."""
    for stored, known in rows:
        content, style = stored.version.content, STATUS_STYLE[stored.status]
        level = stored.skill.scope.level
        whose = f" of {escape(clean(content.person))}" if content.person else ""
        where = "" if level is Level.PROJECT else f"  [magenta]{escape(clean(str(stored.skill.scope)))}[/magenta]"
        if further := also.get(stored.version.id):
            where += f"  [magenta]also at {escape(clean(', '.join(further)))}[/magenta]"
        console.print(
            f"{stored.version.id[:10]}  [bold]{escape(clean(content.name))}[/bold]  {content.kind}{whose}  "
            f"[{style}]{stored.status}[/{style}]{where}  [dim]{reliability_text(known)}[/dim]",
            soft_wrap=True,
        )
        console.print(f"            [dim]{escape(one_line(content.description, max(40, console.width - 14)))}[/dim]")


def reliability_text(known: Reliability) -> str:
    """Return a count and its interval as text; the interval differs from the mean because later results weigh more."""
    if not known.known:
        return "reliability unknown"
    return f"{known.worked:g} of {known.votes} verified uses worked; reliability {known.low:.0%} to {known.high:.0%}"


def show_diff(console: Console, before: str, after: str) -> None:
    """Print a unified diff in colour."""
    console.print(
        Syntax(clean(difference(before, after)) or "no difference", "diff", background_color="default", word_wrap=True)
    )


def whole_text(content: SkillContent) -> str:
    """Return everything that an approval covers: the SKILL.md, each cue on its own line, and every bundled file.

    One cue per line, so that a diff shows which word changed.
    """
    parts = [application.render(dataclasses.replace(content, cues=()))]
    if content.cues:
        cues = sorted(content.cues, key=lambda cue: (cue.term, cue.weight))
        parts.append("\n".join([_CUES_HEADING, *(f"{cue.term or '(without any)'}: {cue.weight:.4g}" for cue in cues)]))
    return "\n".join([*parts, *file_texts(content)])


def file_texts(content: SkillContent) -> Iterator[str]:
    """Yield every bundled file with its mode and text."""
    for file in content.files:
        mode = " (executable)" if file.executable else ""
        text = file.content if file.encoding == "utf-8" else f"binary, {digest(file.content)}"
        yield f"===== {file.path}{mode} =====\n{text}"


def known_parts(ctx: CommandContext, content: SkillContent) -> dict[str, SkillContent]:
    """Return the skills that a composite is made of, as far as the store has them."""
    found = {}
    for name in content.sub_skills:
        with suppress(NotFound):
            found[name] = ctx.memory.version(name).version.content
    return found


def difference(before: str, after: str) -> str:
    """Return a unified diff of two texts."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="")
    return "\n".join(lines)


_CODE = re.compile(r"`[^`\n]+`")
_Line = tuple[str, RenderableType]
"""A bullet or number, and its text."""
_SHOWN = frozenset(
    {
        "kind", "name", "description", "category", "example_queries", "steps", "parameters", "preconditions",
        "postconditions", "cases", "cues", "pitfalls", "after", "sub_skills", "body", "files", "person",
    }
)  # fmt: skip
_NO_PARTS: Mapping[str, SkillContent] = {}


def skill_text(content: SkillContent, *, parts: Mapping[str, SkillContent] = _NO_PARTS) -> RenderableType:
    """Return one skill as people read it. `parts` are the known skills that a composite is made of, by name."""
    title = Text.assemble((clean(content.name), "bold"), "  ", (content.kind.value, "dim"))
    if content.person:
        title.append(f" of {clean(content.person)}", "dim")
    if content.category:
        title.append(f", {clean(content.category)}", "dim")
    drawn: list[RenderableType] = [title, _prose(content.description)]
    for heading, lines in _sections(content, parts):
        listed = list(lines)
        if listed:
            drawn += [Text(""), Text(heading, "bold"), Padding(_listed(listed), (0, 0, 0, 2))]
    if content.body.strip():
        drawn += [Text(""), _prose(content.body)]
    return Group(*drawn)


def show_skill(console: Console, content: SkillContent, *, parts: Mapping[str, SkillContent] = _NO_PARTS) -> None:
    """Print one skill."""
    console.print(skill_text(content, parts=parts))


def _sections(content: SkillContent, parts: Mapping[str, SkillContent]) -> Iterator[tuple[str, Iterable[_Line]]]:
    known = _NO_PARTS if conditions.tells_parts(content) else parts
    yield "Made of", ((f"{i}.", _part(name, known.get(name))) for i, name in enumerate(content.sub_skills, 1))
    yield "When", (("•", _case(case)) for case in content.cases)
    yield "Comes after", (("•", _prose(name)) for name in content.after)
    yield "Parameters", (("•", _parameter(parameter)) for parameter in content.parameters)
    yield "Before you start", (("•", _condition(condition)) for condition in content.preconditions)
    yield "Steps", ((f"{i}.", _step(step)) for i, step in enumerate(content.steps, 1))
    yield "Check", (("•", _condition(condition)) for condition in content.postconditions)
    yield "Pitfalls", (("•", _pitfall(pitfall)) for pitfall in content.pitfalls)
    yield "Words of a task that count for (+) and against (−) it", _cues(content)
    yield "Example tasks", (("•", _prose(query)) for query in content.example_queries)
    yield "Also", _leftover(content)
    yield "Files", (("•", _file(file.path, executable=file.executable)) for file in content.files)


def _listed(lines: Iterable[_Line]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for mark, text in lines:
        table.add_row(mark, text)
    return table


def _prose(text: str) -> Text:
    """Return a stored text with code between backticks in colour; nothing in it acts on the terminal."""
    drawn = Text(clean(text), overflow="fold")
    drawn.highlight_regex(_CODE, "cyan")
    return drawn


def _with(text: Text, *asides: str) -> Text:
    notes = [clean(aside) for aside in asides if aside]
    return text.append(f" ({'; '.join(notes)})", "dim") if notes else text


def _case(case: Case) -> Text:
    text = Text(" and ", "dim").join([_condition(condition) for condition in case.conditions])
    return _with(text if case.conditions else Text("always"), conditions.times(case).strip(" ()"))


def _condition(condition: Condition) -> Text:
    return _with(_prose(conditions.tell_condition(condition)), f"check: {condition.check}" if condition.check else "")


def _parameter(parameter: Parameter) -> Text:
    text = Text.assemble((f"{{{clean(parameter.name)}}}", "cyan"))
    if parameter.description:
        text.append(" ").append_text(_prose(parameter.description))
    place = conditions.write_place(parameter)
    if place and not conditions.tells_place(parameter):
        text.append(", from ").append_text(_prose(place))
    kind = parameter.type if parameter.type != "string" else ""
    return _with(text, kind, f"e.g. {parameter.example}" if parameter.example else "")


def _step(step: SkillStep) -> RenderableType:
    text = _with(_prose(step.text), "optional" if step.optional else "")
    if not step.tool and not step.arguments:
        return text
    arguments = json.dumps(plain(step.arguments), ensure_ascii=False) if step.arguments else ""
    call = Text(clean(f"{step.tool} {arguments}".strip()), "cyan", overflow="fold")
    return Group(text, call)


def _pitfall(pitfall: Pitfall) -> Text:
    at = f"at step {pitfall.step + 1}" if pitfall.step is not None else ""
    kind = pitfall.kind.replace("mended", "fixed")  # a stored word
    return _with(_prose(pitfall.text), kind, at, f"seen {pitfall.count} times" if pitfall.count != 1 else "")


def _part(name: str, content: SkillContent | None) -> RenderableType:
    if content is None:
        return _prose(name)
    text = Text.assemble((clean(name), "bold"), ": ").append_text(_prose(content.description))
    cases = [Text("when ", "dim").append_text(_case(case)) for case in content.cases]
    return Group(text, *cases)


def _cues(content: SkillContent) -> Iterator[_Line]:
    """Yield the words for and against, the strongest first; the empty word applies without any."""
    for mark, cues in (
        ("+", [c for c in content.cues if c.weight > 0]),
        ("−", [c for c in content.cues if c.weight <= 0]),
    ):
        words = sorted(cues, key=lambda cue: (-abs(cue.weight), cue.term))
        listed = ", ".join(f"{clean(cue.term) or '(without any)'} {abs(cue.weight):.2f}" for cue in words)
        if words:
            yield mark, Text(listed, overflow="fold")


def _leftover(content: SkillContent) -> Iterator[_Line]:
    """Yield the fields without a section: tags, signature, tools, capabilities, licence, foreign metadata."""
    fields = plain(content)
    for field in dataclasses.fields(content):
        if field.name not in _SHOWN and field.name in fields:
            value = fields[field.name]
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield "•", _prose(f"{field.name.replace('_', ' ')}: {text}")


def _file(path: str, *, executable: bool) -> Text:
    return _with(_prose(path), "executable" if executable else "")
