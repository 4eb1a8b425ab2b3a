"""Words for what is learned: the sentence of a step, and the name, description and tags of a procedure.

Sentences contain only what the call contains. Long texts are counted, not repeated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.text.file_edits import edits_of
from tacit.text.tool_calls import Effect, ToolCall, ToolKind, plain_name
from tacit.text.words import STOP_WORDS, stem

_MAX_INLINE = 160
_MAX_COMMAND = 400
"""Characters of a quoted text, and of a command or call, in the sentence of a step."""
_WHOLE_FILE = frozenset({"write", "write_file", "create", "create_file"})
_MAX_FILES = 3
"""Files that one step names; of more it says so."""
_EDITS = ("old_string", "new_string")


def step_text(action: ToolCall, arguments: Mapping[str, Any]) -> str:
    """Write the sentence of one step; `arguments` are those of the call, with parameters in place."""
    if action.kind is ToolKind.SHELL:
        return _shell_text(arguments, action)
    if action.kind is ToolKind.FILE:
        return _file_text(action, arguments)
    if action.delegates and isinstance(arguments.get("description"), str):
        return f"Let a subagent do this: {shorten(arguments['description'], _MAX_INLINE)}"
    return f"{tool_title(action.step.tool)}: {code(call_text(action.step.tool, arguments))}"


def shown_command(arguments: Mapping[str, Any]) -> str:
    """Return the shell text in arguments, with parameters in place."""
    for key in ("command", "cmd", "script", "code", "input"):
        value = arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value:
            return str(value[2]) if len(value) > 2 and str(value[1]).endswith("c") else " ".join(map(str, value))
    return ""


def call_text(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return a plain tool call as code: `cancel_order(order_id={order_id})`."""
    inner = ", ".join(f"{key}={_argument_text(value)}" for key, value in arguments.items())
    return shorten(f"{tool}({inner})", _MAX_COMMAND)


def tool_title(tool: str) -> str:
    """Return a tool's name as words: `get_order_details` and `getOrderDetails` → `Get order details`."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", tool)
    words = plain_name(parted).replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:]


def code(text: str) -> str:
    """Return text as inline code, with a fence that the text cannot close."""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    blank = " " if len(fence) > 1 else ""
    return f"{fence}{blank}{text}{blank}{fence}"


def shorten(text: str, limit: int) -> str:
    """Return one line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def local(text: str) -> str:
    """Return a path or command relative to the project's root."""
    return text.replace("cd {workspace} && ", "").replace("{workspace}/", "")


def _shell_text(arguments: Mapping[str, Any], action: ToolCall) -> str:
    command = local(shown_command(arguments))
    lines = command.count("\n") + 1
    shown = code(shorten(command, _MAX_COMMAND)) if lines <= 3 else f"{code(action.label)} (a script of {lines} lines)"
    purpose = arguments.get("description")
    if isinstance(purpose, str) and 0 < len(purpose) <= 100:
        return f"{purpose.strip().rstrip('.')}: {shown}"
    return f"{'Check with' if action.effect is Effect.CHECK else 'Run'} {shown}"


def _file_text(action: ToolCall, arguments: Mapping[str, Any]) -> str:
    path = next(
        (str(arguments[key]) for key in ("file_path", "path", "filePath", "absolute_path") if key in arguments), ""
    )
    place = code(local(path)) if path else ""
    if action.effect is Effect.READ:
        searched = arguments.get("pattern") or arguments.get("query") or arguments.get("url")
        target = code(shorten(str(searched), _MAX_INLINE)) if searched else place
        verb = {"read": "Read", "grep": "Search for", "glob": "Find files", "webfetch": "Fetch"}.get(
            plain_name(action.step.tool)
        )
        return f"{verb or tool_title(action.step.tool)} {target}".strip()
    old, new = (arguments.get(key) for key in _EDITS)
    if isinstance(old, str) and isinstance(new, str) and old:
        if len(old) + len(new) <= _MAX_INLINE and "\n" not in (old + new).strip():
            return f"In {place}, replace {code(old.strip())} with {code(new.strip())}"
        added = _added_line(old, new)
        return f"In {place}, {added}" if added else f"In {place}, replace {_line_count(old)} by {_line_count(new)}"
    content = arguments.get("content") or arguments.get("file_text")
    if isinstance(content, str):
        return f"Write {place} ({_line_count(content)})"
    if not place and (files := dict.fromkeys(code(edit.file) for edit in edits_of(arguments))):
        return f"Change {', '.join(list(files)[:_MAX_FILES])}{' and more files' if len(files) > _MAX_FILES else ''}"
    verb = "Write" if plain_name(action.step.tool) in _WHOLE_FILE else "Change"
    return f"{verb} {place}" if place else tool_title(action.step.tool)


def _added_line(old: str, new: str) -> str:
    """Return an edit as a short line added before or after a short unchanged text; empty if it is no such edit."""
    before, after = new.removesuffix(old).strip(), new.removeprefix(old).strip()
    stays = old.strip()
    for word, line in (("after", after), ("before", before)):
        if len(line) < len(new.strip()) and "\n" not in line + stays and len(line) + len(stays) <= _MAX_INLINE and line:
            return f"add {code(line)} {word} {code(stays)}"
    return ""


def _line_count(text: str) -> str:
    """Return the number of lines in words."""
    count = len(text.strip("\n").split("\n"))
    return "one line" if count == 1 else f"{count} lines"


def _argument_text(value: Any) -> str:
    if isinstance(value, str):
        return value if value.startswith("{") and value.endswith("}") else f'"{shorten(value, 80)}"'
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_argument_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_argument_text(item) for item in value) + "]"
    return str(value)


MAX_NAME = 64
MAX_DESCRIPTION = 1024
_NAME_WORDS = 5
_MAX_TASK = 600
"""The format's limits of name and description; words of a name, which people type; characters of a task in a description."""
_MAX_READ = 8_000  # a longer task contains a pasted document

_VERBS = frozenset(
    "add adjust allow apply archive automate backup bootstrap bring build bump cancel change check clean clear "
    "commit compare compile compute configure connect convert copy create cut debug delete deploy describe design "
    "diagnose disable document download drop edit enable ensure exchange expand export extend extract fetch "
    "filter find fix format generate give handle implement import improve include increase initialize insert "
    "inspect install integrate introduce investigate join launch lint list load log make measure merge migrate "
    "mock modify monitor move normalize open optimize order organize parse patch plot port prepare print produce "
    "profile publish push query read rebase rebuild record reduce refactor refresh regenerate register release "
    "reload remove rename render reorder repair replace report reproduce reset resize resolve restart restore "
    "retry return revert review rewrite roll rotate run save scaffold scan schedule seed send set setup ship show "
    "simplify sort speed split start stop store summarize support swap switch sync tag test tidy track train "
    "transfer transform translate trim turn unify uninstall unlock update upgrade upload use validate verify wire "
    "wrap write".split()
)
_OPENING = re.compile(
    r"^(?:(?:hi|hello|hey|ok|okay|so|now|then|next|also|great|thanks)\b[,.!]*\s*|please\s+|kindly\s+|let's\s+|"
    r"(?:can|could|would|will) you\s+(?:please\s+)?|(?:i|we)(?:'d| would)? (?:want|like|need|have)(?: you)? to\s+|"
    r"you (?:want|need|have) to\s+|help me(?: to)?\s+|(?:your|the) task is to\s+)+",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"\b(?:so that|because|since|in order to|such that|which|when|while|after|before|if)\b|[;(]|\s[-–—]\s",
    re.IGNORECASE,
)
_EMPTY_WORDS = frozenset(
    "new all any one two each every other same via also only then thing stuff some couple few sure get gets got hold holds "
    "carry want wants need needs everywhere several still back call down plain recent recently".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Title:
    """The name and description of a procedure."""

    name: str
    description: str


def title_of(task: str, actions: Sequence[ToolCall], *, parameters: Sequence[str] = ()) -> Title:
    """Name a procedure; `task` is the user's text with `parameters` in place."""
    clean = _plain_line(task[:_MAX_READ])
    sentence = imperative(clean)
    words = _name_words(sentence, clean) if sentence else _content_words(clean)[:_NAME_WORDS]
    name = slug(words) or slug(re.split(r"\W+", plain_name(actions[0].label))) or "procedure"
    return Title(name=name, description=_description(sentence or clean, clean, parameters=parameters))


def imperative(text: str) -> str:
    """Return the first sentence that asks for something, without polite phrases; empty if there is none."""
    for sentence in re.split(r"(?<=[.!?])\s+|\n+", text):
        order = _OPENING.sub("", sentence.strip())
        first = re.match(r"[A-Za-z]+", order)
        if first and first.group().lower() in _VERBS:
            return order
    return ""


def slug(words: Iterable[str]) -> str:
    """Return words as a valid skill name: lower case, hyphens, at most 64 characters."""
    name = ""
    for word in words:
        clean = re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")
        longer = f"{name}-{clean}".strip("-")
        if not clean or len(longer) > MAX_NAME:
            continue
        name = longer
    return name


def tags_of(actions: Sequence[ToolCall]) -> tuple[str, ...]:
    """Return the programs and tools that were used."""
    found: dict[str, None] = {}
    for action in actions:
        if action.kind is ToolKind.SHELL:
            found.update(dict.fromkeys(command.program for command in action.programs))
        elif action.kind is ToolKind.FUNCTION:
            found.setdefault(plain_name(action.step.tool))
    return tuple(tag for tag in found if len(tag) <= 40)[:8]


def _name_words(sentence: str, task: str) -> list[str]:
    """Return the verb and its object; a short sentence takes words from the rest of the task."""
    words = _content_words(_CLAUSE.split(sentence)[0])
    if len(words) < 3:
        words = _content_words(sentence)
    if len(words) < 3:
        words = _content_words(f"{sentence} {task}")
    return words[:_NAME_WORDS]


def _content_words(text: str) -> list[str]:
    """Return the meaningful words, without parameters, repeated stems and numbers."""
    found: dict[str, str] = {}
    for word in re.findall(r"[A-Za-z][A-Za-z']*", re.sub(r"\{\w+\}|`[^`]*`", " ", text)):
        lower = word.lower()
        if lower in STOP_WORDS or lower in _EMPTY_WORDS or len(lower) < 2 or "'" in lower:
            continue
        found.setdefault(stem(lower), lower)
    return list(found.values())


def _description(sentence: str, task: str, *, parameters: Sequence[str]) -> str:
    at = task.find(sentence[1:])
    # "Find them all" means nothing without the sentence before it.
    leans = re.match(r"\w+\s+(?:them|it|this|that|these|those)\b", sentence)
    text = task if leans or at < 0 else sentence + task[at + len(sentence) - 1 :]
    whole = shorten(text[:1].upper() + text[1:], _MAX_TASK)
    whole = whole if whole.endswith((".", "!", "?", "…")) else f"{whole}."
    names = [name.replace("_", " ") for name in dict.fromkeys(re.sub(r"_\d+$", "", name) for name in parameters)]
    return f"{whole} Use when a task asks for this{f' with any {_joined(names)}' if names else ' again'}."


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def _plain_line(text: str) -> str:
    """Return one line without mark-up that a description may not contain."""
    return " ".join(re.sub(r"</?[A-Za-z][^>\n]{0,80}>", " ", text).split())
