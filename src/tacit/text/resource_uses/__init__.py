"""What a skill uses outside its own text: hosts, addresses, packages, commands, paths, variables, effects.

Code is text in fences, in back-ticks and in script files; the rest is prose. Only shell code is parsed as commands. Paths
inside the workspace do not count. Deterministic and in linear time; it lists, and the checks and people judge.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from tacit.domain.skill import Capabilities, Condition, SkillContent
from tacit.domain.trust import ResourceKind, ResourceUse
from tacit.text.bundled_files import text_of
from tacit.text.redaction.patterns import secret_name
from tacit.text.resource_uses.addresses import (
    ADDRESS,
    HOST,
    OUTSIDE,
    SECRET_PLACE,
    SIXES,
    URL,
    VARIABLE,
    ends_as_file,
    host_of,
    is_six,
    plain_host,
)
from tacit.text.resource_uses.code_in_text import CodePiece, commands_in_prose, forms_of, lines_of, portions
from tacit.text.resource_uses.command_uses import stated_effects, uses_of_command
from tacit.text.shell import shell_text

_MAX_DEPTH = 24
_NAME = re.compile(r"[\w-]*")


def field_texts(content: SkillContent) -> Iterator[tuple[str, str]]:
    """Yield every text of a content with its field path, in a fixed order, without empty ones.

    A step's text includes its arguments and its tool's name on lines of their own, as an agent gets them.
    """
    for path, text in _all(content):
        if text:
            yield path, text


def _all(content: SkillContent) -> Iterator[tuple[str, str]]:
    yield "name", content.name
    yield "description", content.description
    yield "body", content.body
    for number, step in enumerate(content.steps):
        tool = f"tool: {step.tool}" if step.tool else ""
        yield f"steps.{number}", "\n".join(filter(None, (step.text, *_strings(step.arguments), tool)))
    for name, conditions in (("preconditions", content.preconditions), ("postconditions", content.postconditions)):
        for number, condition in enumerate(conditions):
            yield f"{name}.{number}", _of(condition)
    for number, case in enumerate(content.cases):
        yield f"cases.{number}", "\n".join(map(_of, case.conditions))
    for number, pitfall in enumerate(content.pitfalls):
        yield f"pitfalls.{number}", pitfall.text
    for number, parameter in enumerate(content.parameters):
        yield (
            f"parameters.{number}",
            "\n".join(filter(None, (parameter.name, parameter.description, parameter.example))),
        )
    for name in ("signature", "compatibility", "license", "category"):
        yield name, getattr(content, name)
    for name in ("example_queries", "tags", "after", "sub_skills", "surroundings", "allowed_tools"):
        for number, text_part in enumerate(getattr(content, name)):
            yield f"{name}.{number}", text_part
    yield "metadata", "\n".join(f"{key}: {value}" for key, value in sorted(content.metadata.items()))
    for number, file in enumerate(content.files):
        yield f"files.{number}", text_of(file) or ""


def _of(condition: Condition) -> str:
    return "\n".join(filter(None, (condition.text, condition.check, condition.value)))


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the strings of a JSON-like value: its leaves, and keys that are more than a name."""
    if isinstance(value, str):
        yield value
    elif depth < _MAX_DEPTH and isinstance(value, Mapping):
        for key, item in value.items():
            if not _NAME.fullmatch(str(key)):
                yield str(key)
            yield from _strings(item, depth + 1)
    elif depth < _MAX_DEPTH and isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item, depth + 1)


def line_of(text: str, at: int) -> int:
    """Return the line of a character, from 1."""
    return text.count("\n", 0, at) + 1


_SHELL_FILES = (".sh", ".bash", ".zsh", ".ksh", ".fish", ".command")
_PROSE_FILES = (".md", ".txt", ".rst", ".markdown")
_ASSIGNED = re.compile(r"^[ \t]*(?:local[ \t]+)?([A-Z][A-Z0-9_]*)=", re.MULTILINE)
_NOWHERE = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/bin/bash", "/bin/sh", "/usr/bin/env"})
"""Paths that occur everywhere and do not count."""
_PATH = re.compile(r"(?::\d{2,5})?/[\w~-]")
_BEHIND_A_LOGIN = re.compile(r":[\w~/.-]")
_JOINTS = re.compile(r"[|;&`]|\$\(")
COMMANDS_MAX = 20_000
"""Commands of one text that are parsed."""


def resource_uses_in(path: str, text: str, *, file: str = "") -> list[ResourceUse]:
    """Return what one field's text uses, in order; `file` is the path of a bundled file."""
    found: list[tuple[ResourceKind, str, int, int]] = [*_names(text)]
    run = list(_run(_shell_code(text, file=file, step=path.startswith("steps."))))
    text_part = stated_effects(text, code=bool(file) and not file.endswith(_PROSE_FILES))
    found += [*run, *((ResourceKind.EFFECT, effect, start, end) for effect, start, end in text_part)]
    starts = _line_starts(text)
    written = {value for kind, value, _, _ in found if kind is ResourceKind.WRITE}
    logins = {(value, _line(starts, start)) for kind, value, start, _ in run if kind is ResourceKind.HOST}
    return [
        ResourceUse(kind=kind, value=value, field=path, line=_line(starts, start), start=start, end=end)
        for kind, value, start, end in sorted(set(found), key=lambda item: (item[2], item[3], item[0], item[1]))
        if not (kind is ResourceKind.READ and value in written)
        and not (kind is ResourceKind.ADDRESS and (value.rpartition("@")[2].lower(), _line(starts, start)) in logins)
    ]


# --- names ----------------------------------------------------------------------------------------------------------


def _names(text: str) -> Iterator[tuple[ResourceKind, str, int, int]]:
    covered: list[tuple[int, int]] = []
    for match in URL.finditer(text):
        url = match.group().rstrip(".,:;!?*_'\")")
        covered.append((match.start(), match.end()))
        yield ResourceKind.URL, url, match.start(), match.start() + len(url)
        host = host_of(url)
        if host:
            yield ResourceKind.HOST, host, match.start(), match.start() + len(url)
    for match in ADDRESS.finditer(text):
        covered.append((match.start(), match.end()))
        login = _BEHIND_A_LOGIN.match(text, match.end())  # git@github.com:owner/name
        value = match.group().rpartition("@")[2].lower() if login else match.group()
        yield ResourceKind.HOST if login else ResourceKind.ADDRESS, value, match.start(), match.end()
    inside = _Covered(covered)
    for match in (*HOST.finditer(text), *(each for each in SIXES.finditer(text) if is_six(each.group()))):
        if match.start() not in inside and not _is_of_a_file(text, match):
            yield ResourceKind.HOST, plain_host(match.group()), match.start(), match.end()
    for match in OUTSIDE.finditer(text):
        value = match.group().rstrip(".,:;")
        if match.start() not in inside and value not in _NOWHERE:
            yield ResourceKind.READ, value, match.start(), match.start() + len(value)
    for match in SECRET_PLACE.finditer(text):
        if match.start() not in inside:
            yield ResourceKind.SECRET, match.group(), match.start(), match.end()
    own = set(_ASSIGNED.findall(text))
    for match in VARIABLE.finditer(text):
        name = next(group for group in match.groups() if group)
        if name in own and secret_name(name) is None:  # the script's own variable
            continue
        yield ResourceKind.VARIABLE, name, match.start(), match.end()


def _is_of_a_file(text: str, match: re.Match[str]) -> bool:
    """Whether this is a file, as in `main.rs:42` and `README.zh.md`: it has a file extension and no path after it."""
    return (
        ends_as_file(match.group())
        and not _PATH.match(text, match.end())
        and text[max(0, match.start() - 2) : match.start()] != "//"
    )


class _Covered:
    """Spans, and whether a character lies in one."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self._starts, self._ends, end = [], [], 0
        for start, stop in sorted(spans):
            end = max(end, stop)
            self._starts.append(start)
            self._ends.append(end)

    def __contains__(self, at: int) -> bool:
        place = bisect_right(self._starts, at) - 1
        return place >= 0 and at < self._ends[place]


# --- commands -------------------------------------------------------------------------------------------------------


def _shell_code(text: str, *, file: str, step: bool) -> Iterator[CodePiece]:
    """Yield the pieces of shell code in a text, with their start."""
    if file and (
        file.endswith(_SHELL_FILES) or re.match(r"#!\S*(?:\benv )?[^\n]{0,20}\b(?:ba|z|k|da|fi)?sh\b", text[:80])
    ):
        yield CodePiece(0, text)
        return
    if file and not file.endswith(_PROSE_FILES):
        yield from (CodePiece(start, text_part) for start, text_part in commands_in_prose(text, 0, len(text)))
        return
    forms = forms_of(text)
    yield from forms.shell
    begins = [start for start, _ in forms.inline]
    for start, end in forms.rest:
        for at, text_part in commands_in_prose(text, start, end):
            place = bisect_right(begins, at) - 1
            if place < 0 or at >= forms.inline[place][1]:
                yield CodePiece(at, text_part)
    if step:
        yield CodePiece(0, text)


def _run(pieces: Iterable[CodePiece]) -> Iterator[tuple[ResourceKind, str, int, int]]:
    """Yield what the commands of a text use, up to `COMMANDS_MAX`; a check reports longer texts."""
    room = COMMANDS_MAX
    for piece in pieces:
        for at, line in lines_of(piece.code):
            for start, part in portions(line):
                if part.strip():
                    room -= 1 + len(_JOINTS.findall(part))
                    if room < 0:
                        return
                    yield from _in_line(part, piece.start + at + start, prompted=piece.prompted)


def is_overfull(text: str) -> bool:
    """Whether a text may have more commands than are parsed; rows of a table have none."""
    if len(text) < COMMANDS_MAX:
        return False
    return sum(1 + len(_JOINTS.findall(line)) for line in text.split("\n") if line[:1] != "|") > COMMANDS_MAX


def _in_line(line: str, at: int, *, prompted: bool) -> Iterator[tuple[ResourceKind, str, int, int]]:
    found = [(kind, value, at, at + len(line)) for kind, value in uses_of_command(line, known=not prompted)]
    yield from found
    if all(
        kind is not ResourceKind.COMMAND for kind, *_ in found
    ):  # `RUN curl …` and `- run: curl …` have a command further on
        for start, text_part in commands_in_prose(line, 0, len(line)):
            yield from (
                (kind, value, at + start, at + start + len(text_part)) for kind, value in uses_of_command(text_part)
            )


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _line(starts: list[int], at: int) -> int:
    return bisect_right(starts, at)


def shell_touches(
    content: SkillContent, texts: dict[str, str], known_touches: Collection[tuple[str, ResourceKind, str]]
) -> Iterator[ResourceUse]:
    """Yield what steps and checks give a shell to run, except what is known already; there every program counts."""
    scripts = [(f"steps.{number}", shell_text(step.arguments)) for number, step in enumerate(content.steps)]
    scripts += [(f"postconditions.{number}", each.check) for number, each in enumerate(content.postconditions)]
    known = set(known_touches)
    for field, script in scripts:
        start = max(0, texts.get(field, "").find(script)) if script else 0
        line, end = line_of(texts.get(field, ""), start), start + len(script)
        for kind, value in uses_of_command(script, known=False) if script else ():
            if (field, kind, value) not in known:
                known.add((field, kind, value))
                yield ResourceUse(kind=kind, value=value, field=field, line=line, start=start, end=end)


__all__ = ["field_texts", "find_resource_uses", "is_overfull", "needs", "resource_uses_in"]

TEXT_MAX = 1 << 20
"""Characters of one field that are read."""
TOTAL_MAX = 8 << 20
"""Characters of all fields together."""


def find_resource_uses(content: SkillContent) -> tuple[ResourceUse, ...]:
    """Return everything that a content uses, field by field, in the order of the text, with repeats."""
    names = {f"files.{number}": file.path for number, file in enumerate(content.files)}
    found: list[ResourceUse] = []
    texts = dict(_within(field_texts(content)))
    for path, text in texts.items():
        found.extend(resource_uses_in(path, text, file=names.get(path, "")))
    known_touches = {(use.field, use.kind, use.value) for use in found}
    return (*found, *shell_touches(content, texts, known_touches))


def _within(texts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Cut texts to the limits; a check reports what was left out."""
    room = TOTAL_MAX
    for path, text in texts:
        if len(text) <= room:
            room -= len(text)
            yield path, text[:TEXT_MAX]


def needs(content: SkillContent, found: Iterable[ResourceUse] | None = None) -> Capabilities:
    """Return the same as capabilities, which a caller would have to allow; `found` are its touches if known."""
    found = find_resource_uses(content) if found is None else tuple(found)
    return Capabilities(
        hosts=_values(found, ResourceKind.HOST),
        reads=_values(found, ResourceKind.READ),
        writes=_values(found, ResourceKind.WRITE),
        commands=_values(found, ResourceKind.COMMAND),
        secrets=_values(found, ResourceKind.VARIABLE, ResourceKind.SECRET),
        effects=_values(found, ResourceKind.EFFECT),
    )


def _values(found: Iterable[ResourceUse], *kinds: ResourceKind) -> tuple[str, ...]:
    return tuple(sorted({use.value for use in found if use.kind in kinds}))
