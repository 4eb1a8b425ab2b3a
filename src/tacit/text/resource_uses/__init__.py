"""What a skill uses outside its own text: hosts, addresses, packages, commands, paths, variables, effects.

Code is text in fences, in back-ticks and in script files; the rest is prose. Only shell code is parsed as commands. Paths
inside the workspace do not count. Deterministic and in linear time; it lists, and the checks and people judge.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from tacit.domain.skill import Capabilities, SkillContent
from tacit.domain.trust import ResourceKind, ResourceUse
from tacit.text.field_texts import field_texts
from tacit.text.redaction.patterns import secret_name
from tacit.text.resource_uses.addresses import (
    ADDRESS,
    DOT,
    FILE_DOMAINS,
    HOST,
    OUTSIDE,
    SECRET_PLACE,
    SIXES,
    URL,
    VARIABLE,
    host_of,
    is_six,
)
from tacit.text.resource_uses.code_in_text import CodePiece, commands_in_prose, forms_of, lines_of, portions
from tacit.text.resource_uses.command_uses import stated_effects, uses_of_command
from tacit.text.shell import shell_text

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
    effects = stated_effects(text, code=bool(file) and not file.endswith(_PROSE_FILES))
    found += [*run, *((ResourceKind.EFFECT, effect, start, end) for effect, start, end in effects)]
    breaks = [match.start() for match in re.finditer("\n", text)]

    def line_at(at: int) -> int:
        return bisect_left(breaks, at) + 1

    written = {value for kind, value, _, _ in found if kind is ResourceKind.WRITE}
    logins = {(value, line_at(start)) for kind, value, start, _ in run if kind is ResourceKind.HOST}
    return [
        ResourceUse(kind=kind, value=value, field=path, line=line_at(start), start=start, end=end)
        for kind, value, start, end in sorted(set(found), key=lambda item: (item[2], item[3], item[0], item[1]))
        if not (kind is ResourceKind.READ and value in written)
        and not (kind is ResourceKind.ADDRESS and (value.rpartition("@")[2].lower(), line_at(start)) in logins)
    ]


# --- names ----------------------------------------------------------------------------------------------------------


def _names(text: str) -> Iterator[tuple[ResourceKind, str, int, int]]:
    covered = bytearray(len(text) + 1)
    for match in URL.finditer(text):
        url = match.group().rstrip(".,:;!?*_'\")")
        covered[match.start() : match.end()] = b"\1" * len(match.group())
        yield ResourceKind.URL, url, match.start(), match.start() + len(url)
        host = host_of(url)
        if host:
            yield ResourceKind.HOST, host, match.start(), match.start() + len(url)
    for match in ADDRESS.finditer(text):
        covered[match.start() : match.end()] = b"\1" * len(match.group())
        login = _BEHIND_A_LOGIN.match(text, match.end())  # git@github.com:owner/name
        value = match.group().rpartition("@")[2].lower() if login else match.group()
        yield ResourceKind.HOST if login else ResourceKind.ADDRESS, value, match.start(), match.end()
    for match in (*HOST.finditer(text), *(each for each in SIXES.finditer(text) if is_six(each.group()))):
        # A file, as in `main.rs:42` and `README.zh.md`, has a file extension and no path after it.
        is_file = match.group().rpartition(".")[2].lower() in FILE_DOMAINS and not _PATH.match(text, match.end())
        if not covered[match.start()] and (not is_file or text[max(0, match.start() - 2) : match.start()] == "//"):
            yield ResourceKind.HOST, re.sub(DOT, ".", match.group()).lower(), match.start(), match.end()
    for match in OUTSIDE.finditer(text):
        value = match.group().rstrip(".,:;")
        if not covered[match.start()] and value not in _NOWHERE:
            yield ResourceKind.READ, value, match.start(), match.start() + len(value)
    for match in SECRET_PLACE.finditer(text):
        if not covered[match.start()]:
            yield ResourceKind.SECRET, match.group(), match.start(), match.end()
    own = set(_ASSIGNED.findall(text))
    for match in VARIABLE.finditer(text):
        name = next(group for group in match.groups() if group)
        if name in own and secret_name(name) is None:  # the script's own variable
            continue
        yield ResourceKind.VARIABLE, name, match.start(), match.end()


# --- commands -------------------------------------------------------------------------------------------------------


def _shell_code(text: str, *, file: str, step: bool) -> Iterator[CodePiece]:
    """Yield the pieces of shell code in a text, with their start."""
    if file and (
        file.endswith(_SHELL_FILES) or re.match(r"#!\S*(?:\benv )?[^\n]{0,20}\b(?:ba|z|k|da|fi)?sh\b", text[:80])
    ):
        yield CodePiece(0, text)
        return
    if file and not file.endswith(_PROSE_FILES):
        yield from (CodePiece(*found) for found in commands_in_prose(text, 0, len(text)))
        return
    forms = forms_of(text)
    yield from forms.shell
    for start, end in forms.rest:
        yield from (CodePiece(*found) for found in commands_in_prose(text, start, end) if not forms.inline[found[0]])
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
    if any(kind is ResourceKind.COMMAND for kind, *_ in found):
        return
    for start, part in commands_in_prose(line, 0, len(line)):  # further on, as in `RUN curl …` and `- run: curl …`
        yield from ((kind, value, at + start, at + start + len(part)) for kind, value in uses_of_command(part))


__all__ = ["find_resource_uses", "is_overfull", "needs", "resource_uses_in"]

TEXT_MAX = 1 << 20
"""Characters of one field that are read."""
TOTAL_MAX = 8 << 20
"""Characters of all fields together."""


def find_resource_uses(content: SkillContent) -> tuple[ResourceUse, ...]:
    """Return everything that a content uses, field by field, in the order of the text, with repeats."""
    names = {f"files.{number}": file.path for number, file in enumerate(content.files)}
    found: list[ResourceUse] = []
    texts: dict[str, str] = {}
    room = TOTAL_MAX
    for path, text in field_texts(content, labels=False):
        if len(text) <= room:  # a check reports what was left out
            room -= len(text)
            texts[path] = text[:TEXT_MAX]
            found += resource_uses_in(path, texts[path], file=names.get(path, ""))
    known = {(use.field, use.kind, use.value) for use in found}
    scripts = [(f"steps.{number}", shell_text(step.arguments)) for number, step in enumerate(content.steps)]
    scripts += [(f"postconditions.{number}", each.check) for number, each in enumerate(content.postconditions)]
    for field, script in scripts:  # what a shell is given to run, where every program counts
        text = texts.get(field, "")
        start = max(0, text.find(script))
        line, end = text.count("\n", 0, start) + 1, start + len(script)
        for kind, value in uses_of_command(script, known=False) if script else ():
            if (field, kind, value) not in known:
                known.add((field, kind, value))
                found.append(ResourceUse(kind=kind, value=value, field=field, line=line, start=start, end=end))
    return tuple(found)


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
