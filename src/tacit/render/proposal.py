"""What somebody proposes, as plain values or as a SKILL.md → a content for the gate. Stores and decides nothing.

An agent gives names, sentences and calls; the content has the same form as a learned one. Every problem is listed at once,
so that it can be corrected in one go. Counts are not taken over: how often something was seen is for attempts to show, not
for its author to say.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tacit.domain.skill import Condition, Kind, Parameter, SkillContent, SkillStep
from tacit.render.conditions import read_case, read_condition, read_pitfall, read_place
from tacit.render.frontmatter import BYTES_MAX, Problem, invalid
from tacit.render.skill_md import examine, parse, render
from tacit.text.error_signatures import error_signature

KINDS = (Kind.PROCEDURE, Kind.LESSON, Kind.FACT, Kind.NORM, Kind.PREFERENCE)
CODE = "code"
"""A note on code: where something is, or how it hangs together. It is stored as a lesson of this category."""
_KNOWN_KINDS = f"{', '.join(KINDS)} and {CODE}"
_TEXTS = ("name", "description", "kind", "body", "check", "error", "category", "extends")
_LISTS = ("steps", "when", "needs", "parts", "after", "pitfalls", "tags", "examples", "parameters", "tools", "evidence")
FIELDS = _TEXTS + _LISTS
"""What a proposal may say: texts, and lists of texts or, for steps and parameters, of maps."""
_JSON_OPENS = ("{", "[", '"')
_JSON_KINDS: Mapping[type, str] = {list: "a list", str: "a text"}
_MAPS: Mapping[str, Mapping[str, type]] = {
    "steps": {"text": str, "tool": str, "arguments": dict, "optional": bool},
    "parameters": {"name": str, "description": str, "type": str, "example": str, "from": str},
}
"""Lists whose entries may be maps, and what those may hold."""


def read_proposal(text: str, *, source: str = "proposal") -> SkillContent:
    """Read a proposal written as a SKILL.md, or as one JSON map; raises `InvalidSkill` with every problem."""
    bare = text.lstrip("\ufeff").strip()
    if not bare.startswith(_JSON_OPENS) and not source.casefold().endswith(".json"):
        return _uncounted(_checked(parse(text, strict=True, source=source).content, source=source))
    if len(text.encode("utf-8", "surrogatepass")) > BYTES_MAX:
        message = f"it is larger than {BYTES_MAX >> 10} KiB"
        raise invalid(source, [Problem(rule="size", message=message, hint="propose one thing, in few words")])
    hint = "give one JSON map with name, description and steps, or a SKILL.md that begins with ---"
    try:
        found = json.loads(bare)
    except (ValueError, RecursionError) as error:
        raise invalid(source, [Problem(rule="json", message=f"it is no JSON: {error}", hint=hint)]) from error
    if not isinstance(found, dict):
        message = f"it is JSON, but {_JSON_KINDS.get(type(found), 'a single value')} and no map"
        raise invalid(source, [Problem(rule="json-not-a-map", message=message, hint=hint)])
    return proposed(found, source=source)


def proposed(fields: Mapping[str, Any], *, source: str = "proposal") -> SkillContent:
    """Make a content of plain values (see `FIELDS`); raises `InvalidSkill` with every problem."""
    fields = {name: value for name, value in fields.items() if value is not None}
    if problems := list(_form_faults(fields)):
        raise invalid(source, problems)
    named = _kind(fields.get("kind", ""))
    occasions = fields.get("when", ()) if named in (CODE, Kind.LESSON, Kind.FACT) else ()  # what a prompt finds them by
    content = SkillContent(
        kind=Kind.LESSON if named == CODE else Kind(named),
        name=fields.get("name", ""),
        description=fields.get("description", ""),
        category=fields.get("category") or (CODE if named == CODE else ""),
        tags=tuple(fields.get("tags", ())),
        example_queries=tuple(dict.fromkeys((*fields.get("examples", ()), *occasions))),
        steps=tuple(map(_step, fields.get("steps", ()))),
        parameters=tuple(map(_parameter, fields.get("parameters", ()))),
        preconditions=tuple(map(read_condition, fields.get("needs", ()))),
        postconditions=_check(fields.get("check", "")),
        signature=error_signature(fields.get("error", "")),
        cases=tuple(map(read_case, fields.get("when", ()))),
        pitfalls=tuple(map(read_pitfall, fields.get("pitfalls", ()))),
        after=tuple(fields.get("after", ())),
        sub_skills=tuple(fields.get("parts", ())),
        extends=fields.get("extends", "").strip(),
        allowed_tools=tuple(fields.get("tools", ())),
        body=fields.get("body", ""),
    )
    # Written and read once: then every rule of the format has had its say.
    parsed, problems = examine(render(content))
    if parsed is None or any(problem.severity == "error" for problem in problems):
        raise invalid(source, [_of_a_map(problem, fields) for problem in problems])
    return _uncounted(_checked(parsed.content, source=source))


def read_evidence(text: str) -> tuple[str | int, ...]:
    """Return what a proposal written as a JSON map gives as its evidence: quotes and numbers of steps."""
    bare = text.lstrip("\ufeff").strip()
    found = json.loads(bare) if bare.startswith("{") else {}
    return tuple(found.get("evidence") or ())


def _kind(name: str) -> str:
    """Return a kind by any of its names."""
    plain = name.strip().casefold().replace("_", " ").replace("-", " ")
    return CODE if plain in ("code note", "codenote") else plain or Kind.PROCEDURE


def _of_a_map(problem: Problem, fields: Mapping[str, Any]) -> Problem:
    """A problem of the file that was written, told to somebody who gave values and never saw its lines."""
    value = fields.get(problem.field, "")
    lacks = problem.field in _TEXTS and isinstance(value, str) and not value.strip()
    return replace(problem, line=None, hint=f"give it a {problem.field}" if lacks else problem.hint)


def _checked(content: SkillContent, *, source: str) -> SkillContent:
    if problems := list(_content_faults(content)):
        raise invalid(source, problems)
    return content


def _uncounted(content: SkillContent) -> SkillContent:
    """Without what only attempts can show: counts, and the weights of words."""
    cases = tuple(replace(case, support=0, against=0) for case in content.cases)
    pitfalls = tuple(replace(pitfall, count=1) for pitfall in content.pitfalls)
    return replace(content, cases=cases, pitfalls=pitfalls, cues=())


def _form_faults(fields: Mapping[str, Any]) -> Iterator[Problem]:
    for name, value in fields.items():
        if name not in FIELDS:
            yield _problem(name, f"{name!r} is not known", f"known are {', '.join(FIELDS)}")
        elif name in _TEXTS and not isinstance(value, str):
            yield _problem(name, f"{name} is not a text", "give one text")
        elif name in _LISTS and not isinstance(value, list | tuple):
            yield _problem(name, f"{name} is not a list", "give a list, one entry each")
        elif name in _LISTS:
            yield from _entry_faults(name, value, _MAPS.get(name))
    kind = fields.get("kind") or Kind.PROCEDURE
    if isinstance(kind, str) and _kind(kind) not in (*KINDS, CODE):
        yield _problem("kind", f"{kind!r} cannot be proposed", f"kinds are {_KNOWN_KINDS}")


def _entry_faults(name: str, entries: Sequence[Any], maps: Mapping[str, type] | None) -> Iterator[Problem]:
    for number, entry in enumerate(entries, 1):
        place = f"{name}, entry {number}"
        if name == "evidence" and isinstance(entry, int) and not isinstance(entry, bool) and entry > 0:
            continue
        if isinstance(entry, str):
            if not entry.strip():
                yield _problem(name, f"{place}: it is empty", "leave it out")
            continue
        if maps is None or not isinstance(entry, dict):
            what = "neither a text nor a map" if maps else "not a text"
            hint = "quote the session, or give the number of a step" if name == "evidence" else "give a sentence"
            yield _problem(name, f"{place}: it is {what}", hint)
            continue
        first = next(iter(maps))
        if not str(entry.get(first) or entry.get("tool") or "").strip():
            yield _problem(name, f"{place}: it has no {first}", f"give it a {first}")
        for key, value in entry.items():
            if key not in maps or not isinstance(value, maps[key]):
                known = ", ".join(f"{each} ({kind.__name__})" for each, kind in maps.items())
                yield _problem(name, f"{place}: {key!r} is not known or not of its type", f"known are {known}")


def _content_faults(content: SkillContent) -> Iterator[Problem]:
    """What a reader could do nothing with."""
    if content.kind not in KINDS:
        yield _problem("kind", f"{content.kind.value!r} cannot be proposed", f"kinds are {_KNOWN_KINDS}")
    does = content.steps or content.body.strip() or content.sub_skills
    if content.kind is Kind.PROCEDURE and not does:
        yield _problem("steps", "a procedure that does nothing", "give steps, parts or a body")
    if content.kind is Kind.LESSON and content.signature and not does:
        yield _problem("body", "a lesson without what to do about the error", "give steps or a body")
    named = {
        "the parts": content.sub_skills, "what it comes after": content.after, "what it extends": (content.extends,)
    }  # fmt: skip
    for what, names in named.items():
        if content.name in names:
            yield _problem("name", f"`{content.name}` stands among {what} itself", "name other skills there")


def _problem(field: str, message: str, hint: str) -> Problem:
    return Problem(rule=f"proposal-{field}", message=message, field=field, hint=hint)


def _step(entry: str | Mapping[str, Any]) -> SkillStep:
    if isinstance(entry, str):
        return SkillStep(text=entry)
    given = dict(entry)
    return SkillStep(**{**given, "text": given.get("text") or f"Call `{given['tool']}`"})


def _parameter(entry: str | Mapping[str, Any]) -> Parameter:
    if isinstance(entry, str):
        name, _, description = entry.partition(":")
        return Parameter(name=name.strip(" `{}"), description=description.strip())
    given = dict(entry)
    reading, key = read_place(given.pop("from", ""))
    return Parameter(**given, reading=reading, key=key)


def _check(text: str) -> tuple[Condition, ...]:
    """A sentence about what a tool shows is the condition itself; anything else is a command that shows it."""
    if not text.strip():
        return ()
    found = read_condition(text)
    return (found if found.relation else Condition(text="the check passes", check=text),)
