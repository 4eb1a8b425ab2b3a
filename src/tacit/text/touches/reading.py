"""One text of a skill → what it touches: hosts, addresses, packages, commands, paths, variables, effects, with their places.

Code is what stands in fences, in back-ticks and in script files; prose is the rest. Only shell code is read as commands.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from tacit.domain.trust import Touch, Touched
from tacit.text.redaction.names import secret_name
from tacit.text.shell import Command, nested_script, parse_command
from tacit.text.touches.effects import effects_of, effects_said
from tacit.text.touches.shapes import (
    ADDRESS,
    HOST,
    INSTALLERS,
    OUTSIDE,
    PROGRAMS,
    SECRET_PLACE,
    URL,
    VARIABLE,
    WRITERS,
    host_of,
)

_FENCE = re.compile(r"^[ \t]{0,12}(?P<mark>```+|~~~+)[ \t]*(?P<language>[\w+#.-]*)[^\n]*$", re.MULTILINE)
_INLINE = re.compile(r"`([^`\n]{2,300})`")
_SHELLS = frozenset(
    {"bash", "sh", "shell", "zsh", "console", "terminal", "shell-session", "cmd", "powershell", "ps1", ""}
)
_SHELL_FILES = (".sh", ".bash", ".zsh")
_PROSE_FILES = (".md", ".txt", ".rst", ".markdown")
_ASSIGNED = re.compile(r"^[ \t]*(?:local[ \t]+)?([A-Z][A-Z0-9_]*)=", re.MULTILINE)
_NOWHERE = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/bin/bash", "/bin/sh", "/usr/bin/env"})
"""Named everywhere and nothing to be touched."""
_PROMPT = re.compile(r"^[ \t]*(?:\$|>|%)[ \t]+")
_MAX_LINE = 4_000


def touches_in(path: str, text: str, *, file: str = "") -> list[Touch]:
    """What one field's text touches, in the order of its characters; `file` is the path of a bundled file."""
    found: list[tuple[Touched, str, int, int]] = [*_names(text)]
    for start, code in _shell_code(text, file=file, step=path.startswith("steps.")):
        found.extend(_commands(code, start))
    said = effects_said(text, code=bool(file) and not file.endswith(_PROSE_FILES))
    found.extend((Touched.EFFECT, effect, start, end) for effect, start, end in said)
    written = {value for kind, value, _, _ in found if kind is Touched.WRITE}
    starts = _line_starts(text)
    return [
        Touch(kind=kind, value=value, field=path, line=_line(starts, start), start=start, end=end)
        for kind, value, start, end in sorted(set(found), key=lambda item: (item[2], item[3], item[0], item[1]))
        if not (kind is Touched.READ and value in written)
    ]


# --- names ----------------------------------------------------------------------------------------------------------


def _names(text: str) -> Iterator[tuple[Touched, str, int, int]]:
    covered: list[tuple[int, int]] = []
    for match in URL.finditer(text):
        url = match.group().rstrip(".,:;!?*_'\")")
        covered.append((match.start(), match.end()))
        yield Touched.URL, url, match.start(), match.start() + len(url)
        host = host_of(url)
        if host:
            yield Touched.HOST, host, match.start(), match.start() + len(url)
    for match in ADDRESS.finditer(text):
        covered.append((match.start(), match.end()))
        yield Touched.ADDRESS, match.group(), match.start(), match.end()
    inside = _Covered(covered)
    for match in HOST.finditer(text):
        if match.start() not in inside:
            yield Touched.HOST, match.group().lower(), match.start(), match.end()
    for match in OUTSIDE.finditer(text):
        value = match.group().rstrip(".,:;")
        if match.start() not in inside and value not in _NOWHERE:
            yield Touched.READ, value, match.start(), match.start() + len(value)
    for match in SECRET_PLACE.finditer(text):
        if match.start() not in inside:
            yield Touched.VARIABLE, match.group(), match.start(), match.end()
    own = set(_ASSIGNED.findall(text))
    for match in VARIABLE.finditer(text):
        name = next(group for group in match.groups() if group)
        if name in own and secret_name(name) is None:  # a script's own variable
            continue
        yield Touched.VARIABLE, name, match.start(), match.end()


class _Covered:
    """Spans that do not overlap, and whether a character stands in one."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self._places = {at for start, end in spans for at in range(start, end)}

    def __contains__(self, at: int) -> bool:
        return at in self._places


# --- commands -------------------------------------------------------------------------------------------------------


def _shell_code(text: str, *, file: str, step: bool) -> Iterator[tuple[int, str]]:
    """Pieces that a shell would be given, with where they start."""
    if file:
        if file.endswith(_SHELL_FILES) or re.match(r"#!\S*\b(?:ba|z)?sh\b", text[:80]):
            yield 0, text
            return
        if not file.endswith(_PROSE_FILES):
            return
    open_at, mark, language = -1, "", ""
    outside: list[tuple[int, int]] = []
    last = 0
    for match in _FENCE.finditer(text):
        if open_at < 0:
            outside.append((last, match.start()))
            open_at, mark, language = match.end(), match["mark"], match["language"].lower()
        elif match["mark"].startswith(mark) and not match["language"]:
            if language in _SHELLS:
                yield open_at, text[open_at : match.start()]
            open_at, last = -1, match.end()
    if open_at < 0:
        outside.append((last, len(text)))
    for start, end in outside:
        for match in _INLINE.finditer(text, start, end):
            yield match.start(1), match.group(1)
    if step:
        at = 0
        for line in text.split("\n"):
            yield at, line
            at += len(line) + 1


def _commands(code: str, start: int) -> Iterator[tuple[Touched, str, int, int]]:
    at = start
    for line in code.split("\n"):
        if line.strip() and len(line) <= _MAX_LINE:
            yield from _line_commands(_PROMPT.sub("", line), at, at + len(line))
        at += len(line) + 1


def _line_commands(line: str, start: int, end: int, depth: int = 0) -> Iterator[tuple[Touched, str, int, int]]:
    for command in parse_command(line):
        if command.program not in PROGRAMS and not _is_script(command):
            continue
        label = f"{command.program} {command.subcommand}".strip()
        yield Touched.COMMAND, label, start, end
        for package in _packages(command):
            yield Touched.PACKAGE, package, start, end
        for target in _written(command):
            yield Touched.WRITE, target, start, end
        for effect in effects_of(command):
            yield Touched.EFFECT, effect, start, end
        script = nested_script(command)
        if script and depth < 3:
            yield from _line_commands(script, start, end, depth + 1)


def _is_script(command: Command) -> bool:
    """Whether a path stands for a program here, not for a file that is spoken of."""
    return (
        command.typed.startswith(("./", "/", "~/"))
        and not command.typed.endswith("/")
        and (len(command.words) > 1 or command.typed.endswith(_SHELL_FILES))
    )


def _packages(command: Command) -> Iterator[str]:
    if command.runner in ("npx", "bunx", "uvx", "pipx run"):
        yield command.program
    verbs = INSTALLERS.get(command.program)
    if verbs is not None and command.subcommand.split(" ")[-1] in verbs:
        for operand in command.operands:
            if not operand.startswith(("-", ".", "/", "$", "<", "{")) and "://" not in operand:
                yield operand


def _written(command: Command) -> Iterator[str]:
    """Paths outside the workspace that a command writes."""
    targets = list(command.outputs)
    if command.program in WRITERS:
        targets.extend(
            command.operands[-1:]
            if command.program in ("cp", "mv", "ln", "install", "rsync", "scp")
            else command.operands
        )
    for target in targets:
        if OUTSIDE.fullmatch(target) and not target.startswith("/dev/"):
            yield target


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _line(starts: list[int], at: int) -> int:
    return bisect_right(starts, at)
