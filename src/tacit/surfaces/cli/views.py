"""Pictures for people: tables and panels of the loop's answers. Prints; decides nothing."""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from tacit import render as application
from tacit.domain.candidate import Severity, Verdict
from tacit.domain.errors import InvalidTrajectory
from tacit.domain.evidence import Evidence, Outcome, Reliability
from tacit.domain.identity import digest, plain
from tacit.domain.lifecycle import Transition
from tacit.domain.ports import Episode, Stored
from tacit.domain.scope import Level
from tacit.domain.selection import Selection
from tacit.domain.skill import Case, Condition, Parameter, Pitfall, Provenance, SkillContent, SkillStep
from tacit.evidence.capture import Captured
from tacit.learn.report import Helped, Learned
from tacit.render import conditions
from tacit.store import queries as shelf
from tacit.surfaces.cli.context import CommandContext, clean, counted, one_line

if TYPE_CHECKING:
    from tacit.learn import Note

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
_CUES_HEADING = "===== words of a task that speak for it, or, below nought, against it ====="
_NOWHERE: Mapping[str, Sequence[str]] = {}
SHOWN_NOTES = 6
SHOWN_SKILLS = 12
STANDING = {
    "accept": "on trial",
    "hold": "waits for review",
    "quarantine": "quarantined, waits for review",
    "reject": "rejected",
}
"""What a decision of the gate means for the reader."""


def show_learned(
    console: Console, captured: Captured, learned: Learned, *, problems: Sequence[InvalidTrajectory] = ()
) -> None:
    """Tell what a pass of learning brought: skills that wait, things seen, and why the rest was held."""
    secrets = sum(captured.redacted.values())
    console.print(
        f"Read {counted(len(captured.added), 'new trajectory', plural='new trajectories')}"
        + (f", {captured.known} already known" if captured.known else "")
        + (f" ({captured.vouched} vouched for only now, and learned from again)" if captured.vouched else "")
        + (f", {captured.excluded} excluded" if captured.excluded else "")
        + (f", {captured.purged} purged before" if captured.purged else "")
        + (f"; [yellow]{secrets} secrets[/yellow] taken out before storing" if secrets else "")
        + "."
    )
    hints = set[str]()
    for problem in problems[:SHOWN_NOTES]:
        console.print(f"[red]not read[/red] {escape(clean(problem.message))}", soft_wrap=True)
        if problem.hint not in hints:
            console.print(f"         {escape(clean(problem.hint))}", soft_wrap=True)
        hints.add(problem.hint)
    if len(problems) > SHOWN_NOTES:
        console.print(f"         and {len(problems) - SHOWN_NOTES} more (--json lists all)")
    _show_verdicts(console, learned)
    if learned.model:
        _show_model(console, learned.model)
    _show_notes(console, learned)
    if learned.held or learned.quarantined:
        console.print("\nNext: [bold]tacit review[/bold] to decide on what was learned.")


def show_projects(console: Console, projects: Sequence[dict[str, Any]], *, without_project: int) -> None:
    """Tell what was learned in each project."""
    if not projects:
        console.print("No sessions of a project that is still there lie on this machine.")
    table = Table("project", "sessions", "new attempts", "learned", "waiting", box=None, pad_edge=False)
    for found in projects:
        name, sessions = escape(clean(found["project"])), str(found["sessions"])
        if "error" in found:
            table.add_row(name, sessions, f"[red]{escape(clean(found['error']['message']))}[/red]", "", "")
            continue
        waiting = len(found["held"]) + len(found["quarantined"])
        learned = str(len(found["accepted"]) + waiting)
        table.add_row(name, sessions, str(found["captured"]["added"]), learned, f"[yellow]{waiting}[/yellow]")
    if projects:
        console.print(table)
    asked = [found["model"] for found in projects if found.get("model")]
    if asked:
        calls, tokens = (sum(part[key] for part in asked) for key in ("calls", "tokens"))
        worded, news = (sum(part[key] for part in asked) for key in ("worded", "news"))
        console.print(f"\nThe model worded {worded} of {news}; {counted(calls, 'call')}, {tokens:,} tokens.")
    if any(found.get("held") or found.get("quarantined") for found in projects):
        console.print("\nNext: [bold]tacit review[/bold] inside a project.")
    if without_project:
        console.print(
            f"[dim]{counted(without_project, 'session')} in folders that are gone (tacit learn PATH reads them)[/dim]"
        )


def _show_verdicts(console: Console, learned: Learned) -> None:
    kept = {verdict.skill_id: verdict for verdict in (*learned.accepted, *learned.held, *learned.quarantined)}
    if kept:
        console.print("\n[bold]Learned[/bold]")
    for verdict in list(kept.values())[:SHOWN_SKILLS]:
        style = {"accept": "cyan", "hold": "yellow", "quarantine": "red"}[verdict.decision]
        console.print(
            f"  [bold]{escape(clean(verdict.name))}[/bold]  [{style}]{STANDING[verdict.decision]}[/{style}]",
            soft_wrap=True,
        )
        console.print(f"    [dim]{_why(verdict)}[/dim]")
    if len(kept) > SHOWN_SKILLS:
        console.print(f"  and {len(kept) - SHOWN_SKILLS} more (tacit review, or --json)")
    if learned.reinforced:
        names = Counter(clean(verdict.name) for verdict in learned.reinforced)
        told = ", ".join(f"{escape(name)} ×{count}" for name, count in names.most_common(5))
        console.print(f"Seen again: {told}" + (" …" if len(names) > 5 else ""))
    if learned.rejected:
        reasons = Counter(verdict.reasons[0] if verdict.reasons else "unknown" for verdict in learned.rejected)
        told = ", ".join(f"{escape(reason)} ×{count}" for reason, count in reasons.most_common(6))
        console.print(f"Not made into procedures: {told}")


def _show_model(console: Console, model: Helped) -> None:
    """Tell what the language model did, what it took, and what of it was not taken."""
    left = model.news - model.worded
    told = f"worded {model.worded} of {model.news}" + (f", {left} kept as mined" if left else "")
    if not model.news:
        told = "was not needed: nothing new to word"
    if model.proposed:
        told += f", and proposed {counted(model.proposed, 'lesson')}"
    told += f"; {counted(model.spent.calls, 'call')}, {model.spent.tokens:,} tokens"
    money = f", {model.spent.usd:.4f} US dollars" if model.spent.usd else ""
    console.print(f"The model {escape(clean(model.name))} {told}{money}.", soft_wrap=True)
    for remark in model.remarks[:SHOWN_NOTES]:
        console.print(f"  [dim]{escape(one_line(remark.text, 3 * console.width))}[/dim]")
    if len(model.remarks) > SHOWN_NOTES:
        console.print(f"  [dim]and {len(model.remarks) - SHOWN_NOTES} more (--json lists all)[/dim]")


def _why(verdict: Verdict) -> str:
    told = [f for f in verdict.findings if not (f.line and f.severity is Severity.LOW)]  # of one line: shown in review
    weighty = [f for f in told if f.severity is not Severity.INFO] or told
    return escape("; ".join(dict.fromkeys(clean(finding.message) for finding in weighty[:2])) or "nothing against it")


def _show_notes(console: Console, learned: Learned) -> None:
    titles = {
        "recovered_error": "Recovered errors",
        "working_command": "Commands that work here",
        "correction": "Corrections",
        "held": "Why the rest was not made into procedures",
    }
    width = max(60, console.width - 8)
    for kind, title in titles.items():
        notes = [note for note in learned.notes if note.kind == kind]
        texts = _command_counts(notes) if kind == "working_command" else Counter(clean(note.text) for note in notes)
        if not texts:
            continue
        console.print(f"\n[bold]{title}[/bold]")
        shown = texts.most_common(SHOWN_NOTES)
        for text, count in shown:
            times = f" [dim]×{count}[/dim]" if count > 1 and kind != "working_command" else ""
            console.print(f"  • {escape(one_line(text, 3 * width))}{times}")
        if len(texts) > SHOWN_NOTES:
            console.print(f"  [dim]and {len(texts) - SHOWN_NOTES} more[/dim]")


def _command_counts(notes: Sequence[Note]) -> Counter[str]:
    """Add up each command over all trajectories; the most used first."""
    worked: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for note in notes:
        worked[note.detail["command"]] += int(note.detail["ok"])
        failed[note.detail["command"]] += int(note.detail["failed"])
    told: Counter[str] = Counter()
    for command, times in worked.items():
        tail = f", failed {failed[command]}×" if failed[command] else ""
        told[f"`{clean(command)}` worked {times}×{tail}"] = times
    return told


def show_selection(console: Console, selection: Selection) -> None:
    """Show what recall gives, or why it says nothing; without a terminal just the text, ready to be pasted."""
    if selection.abstained:
        console.print(f"[bold]Nothing given:[/bold] {escape(clean(selection.reason))}")
        for left in [left for left in selection.left_out if left.reason not in selection.reason][:3]:
            console.print(f"  [dim]{escape(clean(left.name))}: {escape(clean(left.reason))}[/dim]")
        _show_standing(console, selection)
        return
    if not console.is_terminal:
        console.print(clean(selection.text), markup=False, soft_wrap=True)
    for item in selection.items if console.is_terminal else ():
        signals = ", ".join(f"{name} {value:.2f}" for name, value in item.signals.items())
        title = f"[bold]{escape(clean(item.name))}[/bold]  {item.score:.2f}"
        console.print(
            Panel(escape(clean(item.text)), title=title, title_align="left", subtitle=f"[dim]{signals}[/dim]")
        )
        tied = f"; fits as well as {', '.join(item.tied_with)}: decide which" if item.tied_with else ""
        console.print(f"  [dim]{escape(clean('; '.join(item.reasons) + tied))}[/dim]")
    if console.is_terminal:
        _show_standing(console, selection)
    if len(selection.plan.chosen) > 1:
        order = (each.name + (f" ×{each.times}" if each.times > 1 else "") for each in selection.plan.chosen)
        console.print(f"In this order: {escape(clean(' → '.join(order)))}", soft_wrap=True)
    for left in selection.left_out[:3]:
        console.print(f"  [dim]left out {escape(clean(left.name))}: {escape(clean(left.reason))}[/dim]")
    console.print(
        f"\n{selection.tokens} tokens. Afterwards: [bold]tacit record {selection.use_id[:12]} --verify 'COMMAND'[/bold]",
        soft_wrap=True,
    )


def _show_standing(console: Console, selection: Selection) -> None:
    """Show the norms that hold for whatever is done here, and what could not be asked."""
    for norm in selection.standing:
        told = one_line(norm.version.content.description, 160)
        console.print(f"[bold]always:[/bold] {escape(clean(norm.name))}  [dim]{escape(told)}[/dim]")
    if selection.note:
        console.print(f"[yellow]{escape(clean(selection.note))}[/yellow]", soft_wrap=True)


def show_episodes(console: Console, episodes: Sequence[Episode]) -> None:
    """Show past attempts."""
    if not episodes:
        console.print("No past attempt shares a word with this task.")
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("when", "task", "outcome", "steps", "files"):
        table.add_column(column, overflow="fold")
    for episode in episodes:
        when = f"{episode.started_at:%Y-%m-%d}" if episode.started_at else ""
        outcome = episode.assessment.outcome
        told = f"[{_OUTCOME_STYLE[outcome]}]{outcome}[/]"
        files = ", ".join(path.rpartition("/")[2] for path in episode.files[:3])
        table.add_row(when, escape(one_line(episode.task, 90)), told, str(episode.steps), escape(clean(files)))
    console.print(table)


def maker(provenance: Provenance) -> str:
    """Who made it, and whose words it has."""
    worded = f", worded by {provenance.model} ({provenance.prompt_version})" if provenance.model else ""
    return (provenance.made_by or "unknown") + worded


def show_standing(
    console: Console,
    stored: Stored,
    known: Reliability,
    *,
    lives: Sequence[Transition],
    evidence: Sequence[Evidence],
    elsewhere: str = "",
) -> None:
    """Tell where a version stands: its id and status, how reliable it is, its life and what came of its uses."""
    console.print(f"[dim]{stored.version.id}  {stored.status}  {stored.skill.scope}  {stored.version.hash}[/dim]")
    console.print(f"[dim]made by {escape(clean(maker(stored.version.provenance)))}[/dim]", soft_wrap=True)
    console.print(f"Reliability: {told_reliability(known)}")
    if elsewhere:
        console.print(f"[dim]promoted: {escape(clean(elsewhere))}[/dim]", soft_wrap=True)
    for move in lives:
        console.print(
            f"[dim]{move.at:%Y-%m-%d %H:%M}  {move.before or 'born'} → {move.after}  by {escape(clean(move.by))}[/dim]"
        )
    for item in evidence:
        told = " ".join(filter(None, (item.verifier, item.note)))
        console.print(
            f"[dim]{item.at:%Y-%m-%d %H:%M}  {item.outcome}, {item.grade}  {escape(one_line(told, 60))}  "
            f"by {escape(clean(item.by or 'unknown'))}[/dim]"
        )


def others_told(others: Sequence[Stored]) -> list[dict[str, Any]]:
    """Skills that bear the same name, for a program."""
    return [{"version_id": held.version.id, "scope": str(held.skill.scope), "status": held.status} for held in others]


def show_others(console: Console, others: Sequence[Stored]) -> None:
    """Tell of skills that bear the same name, and how to speak of them."""
    for held in others:
        told = f"of the same name at {held.skill.scope}: {held.version.id[:10]}, {held.status}"
        console.print(f"[dim]{escape(clean(told))}; name it by its id[/dim]", soft_wrap=True)


def show_waiting(ctx: CommandContext, waiting: Sequence[Stored]) -> None:
    """List what waits for a person."""
    if not waiting:
        ctx.console.print("Nothing waits for review.")
        return
    show_skills(ctx.console, [(stored, Reliability()) for stored in waiting])
    ctx.console.print("\nA person decides: [bold]tacit review ID --approve --by NAME[/bold] in a terminal.")


def show_skills(
    console: Console, rows: Sequence[tuple[Stored, Reliability]], *, also: Mapping[str, Sequence[str]] = _NOWHERE
) -> None:
    """List skills, two lines each, so that names stay whole in a narrow terminal; `also` is version → further scopes."""
    for stored, known in rows:
        content, style = stored.version.content, STATUS_STYLE[stored.status]
        level = stored.skill.scope.level
        whose = f" of {escape(clean(content.person))}" if content.person else ""
        where = "" if level is Level.PROJECT else f"  [magenta]{escape(clean(str(stored.skill.scope)))}[/magenta]"
        if further := also.get(stored.version.id):
            where += f"  [magenta]also at {escape(clean(', '.join(further)))}[/magenta]"
        console.print(
            f"{stored.version.id[:10]}  [bold]{escape(clean(content.name))}[/bold]  {content.kind}{whose}  "
            f"[{style}]{stored.status}[/{style}]{where}  [dim]{told_reliability(known)}[/dim]",
            soft_wrap=True,
        )
        console.print(f"            [dim]{escape(one_line(content.description, max(40, console.width - 14)))}[/dim]")


def told_reliability(known: Reliability) -> str:
    """A count and its interval in words; the interval is no mean of the count, for later results weigh more."""
    if not known.known:
        return "not known yet"
    return f"{known.worked:g} of {known.votes} verified, later ones weighing more: {known.low:.0%} to {known.high:.0%}"


def show_diff(console: Console, before: str, after: str) -> None:
    """Print a unified diff in colour."""
    console.print(
        Syntax(clean(difference(before, after)) or "no difference", "diff", background_color="default", word_wrap=True)
    )


def whole_text(content: SkillContent) -> str:
    """All that approving a skill lets in: its SKILL.md, its cues a line each, and every bundled file.

    A line each, so that a comparison shows which word changed rather than one long line of numbers.
    """
    parts = [application.render(dataclasses.replace(content, cues=()))]
    if content.cues:
        cues = sorted(content.cues, key=lambda cue: (cue.term, cue.weight))
        parts.append("\n".join([_CUES_HEADING, *(f"{cue.term or '(without any)'}: {cue.weight:.4g}" for cue in cues)]))
    return "\n".join([*parts, *file_texts(content)])


def file_texts(content: SkillContent) -> Iterator[str]:
    """Every bundled file with its mode and text."""
    for file in content.files:
        mode = " (executable)" if file.executable else ""
        text = file.content if file.encoding == "utf-8" else f"binary, {digest(file.content)}"
        yield f"===== {file.path}{mode} =====\n{text}"


def known_parts(ctx: CommandContext, content: SkillContent) -> dict[str, SkillContent]:
    """The skills that a composite is made of, as far as the store has them."""
    found = {}
    for name in content.sub_skills:
        named = ctx.memory.store.catalogue(name=name)
        if named:
            found[name] = shelf.meant_by(named).version.content
    return found


def difference(before: str, after: str) -> str:
    """A unified diff of two texts."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="")
    return "\n".join(lines)


_CODE = re.compile(r"`[^`\n]+`")
_Line = tuple[str, RenderableType]
"""A bullet or number, and what stands beside it."""
_SHOWN = frozenset(
    {
        "kind", "name", "description", "category", "example_queries", "steps", "parameters", "preconditions",
        "postconditions", "cases", "cues", "pitfalls", "after", "sub_skills", "body", "files", "person",
    }
)  # fmt: skip
_NO_PARTS: Mapping[str, SkillContent] = {}


def portrait(content: SkillContent, *, parts: Mapping[str, SkillContent] = _NO_PARTS) -> RenderableType:
    """Draw one skill. `parts` are the skills that a composite is made of, by name, as far as they are known."""
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


def show_portrait(console: Console, content: SkillContent, *, parts: Mapping[str, SkillContent] = _NO_PARTS) -> None:
    """Print one skill."""
    console.print(portrait(content, parts=parts))


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
    yield "Words of a task for (+) and against (−) it", _cues(content)
    yield "Tasks that call for it", (("•", _prose(query)) for query in content.example_queries)
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
    """A stored text, with what stands between backticks in colour; nothing in it acts on the terminal."""
    drawn = Text(clean(text), overflow="fold")
    drawn.highlight_regex(_CODE, "cyan")
    return drawn


def _with(text: Text, *asides: str) -> Text:
    told = [clean(aside) for aside in asides if aside]
    return text.append(f" ({'; '.join(told)})", "dim") if told else text


def _case(case: Case) -> Text:
    said = Text(" and ", "dim").join([_condition(condition) for condition in case.conditions])
    return _with(said if case.conditions else Text("always"), conditions.times(case).strip(" ()"))


def _condition(condition: Condition) -> Text:
    return _with(_prose(conditions.tell_condition(condition)), f"check: {condition.check}" if condition.check else "")


def _parameter(parameter: Parameter) -> Text:
    said = Text.assemble((f"{{{clean(parameter.name)}}}", "cyan"))
    if parameter.description:
        said.append(" ").append_text(_prose(parameter.description))
    place = conditions.write_place(parameter)
    if place and not conditions.tells_place(parameter):
        said.append(", from ").append_text(_prose(place))
    kind = parameter.type if parameter.type != "string" else ""
    return _with(said, kind, f"e.g. {parameter.example}" if parameter.example else "")


def _step(step: SkillStep) -> RenderableType:
    said = _with(_prose(step.text), "optional" if step.optional else "")
    if not step.tool and not step.arguments:
        return said
    arguments = json.dumps(plain(step.arguments), ensure_ascii=False) if step.arguments else ""
    call = Text(clean(f"{step.tool} {arguments}".strip()), "cyan", overflow="fold")
    return Group(said, call)


def _pitfall(pitfall: Pitfall) -> Text:
    at = f"at step {pitfall.step + 1}" if pitfall.step is not None else ""
    return _with(_prose(pitfall.text), pitfall.kind, at, f"seen {pitfall.count} times" if pitfall.count != 1 else "")


def _part(name: str, content: SkillContent | None) -> RenderableType:
    if content is None:
        return _prose(name)
    said = Text.assemble((clean(name), "bold"), ": ").append_text(_prose(content.description))
    cases = [Text("when ", "dim").append_text(_case(case)) for case in content.cases]
    return Group(said, *cases)


def _cues(content: SkillContent) -> Iterator[_Line]:
    """For and against, the strongest first; the empty word is what holds without any."""
    for mark, told in (
        ("+", [c for c in content.cues if c.weight > 0]),
        ("−", [c for c in content.cues if c.weight <= 0]),
    ):
        words = sorted(told, key=lambda cue: (-abs(cue.weight), cue.term))
        listed = ", ".join(f"{clean(cue.term) or '(without any)'} {abs(cue.weight):.2f}" for cue in words)
        if words:
            yield mark, Text(listed, overflow="fold")


def _leftover(content: SkillContent) -> Iterator[_Line]:
    """What has no place of its own: tags, signature, tools, capabilities, licence, foreign metadata."""
    said = plain(content)
    for field in dataclasses.fields(content):
        if field.name not in _SHOWN and field.name in said:
            value = said[field.name]
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield "•", _prose(f"{field.name.replace('_', ' ')}: {text}")


def _file(path: str, *, executable: bool) -> Text:
    return _with(_prose(path), "executable" if executable else "")
