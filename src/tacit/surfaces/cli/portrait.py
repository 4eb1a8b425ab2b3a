"""A skill as a person likes to read it: when, what, how to check, what goes wrong. Content → lines for a console.

Everything a content says is shown, for this is what people approve; what has no place of its own stands at the end. Lines
hang under their bullets in narrow terminals too. Decides nothing.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Mapping

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tacit.domain.identity import plain
from tacit.domain.skill import Case, Condition, Parameter, Pitfall, SkillContent, SkillStep
from tacit.render import conditions
from tacit.surfaces.cli.context import clean

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
