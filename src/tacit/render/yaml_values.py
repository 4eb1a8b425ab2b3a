"""Values of a YAML front matter: their type, and strings written so that every reader gives them back. Parses nothing.

Reading is `yaml_reading`, apart from this because loading a YAML parser costs more than all else here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Plain = str | list["Plain"] | dict[str, "Plain"]


@dataclass(frozen=True, slots=True)
class Field:
    """One value of the front matter, the line it starts on, and whether it was written as a block (``|`` or ``>``)."""

    data: Plain
    line: int
    block: bool = False


_LOOSE = re.compile(r"^(?P<indent> *)(?P<key>[^\s:#'\"\-\[{][^:]*):[ \t]+(?P<value>\S.*)$")

_FLOW = re.compile(r"\[.*\]|\{.*\}")


def quote_loose_values(front: str) -> str:
    """Quote the unquoted values of ``key: value`` lines, taking up indented lines that continue them."""
    lines = front.split("\n")
    done: list[str] = []
    at = 0
    while at < len(lines):
        match = _LOOSE.match(lines[at])
        start, at = at, at + 1
        if match is None:
            done.append(lines[start])
            continue
        while at < len(lines) and (lines[at].startswith(match["indent"] + " ") or not lines[at].strip()):
            at += 1
        if match["value"][0] in "\"'|>" or _FLOW.fullmatch(match["value"].strip()):
            done.extend(lines[start:at])
        else:
            whole = " ".join([match["value"].strip(), *(line.strip() for line in lines[start + 1 : at])]).rstrip()
            done.append(f"{match['indent']}{match['key']}: {scalar(whole)}")
    return "\n".join(done) + "\n"


_SURROGATE = re.compile("[\ud800-\udfff]")


def holds_surrogate(value: object) -> bool:
    """Whether a text, or one inside lists, tuples and maps, holds half a character, which has no UTF-8 form."""
    if isinstance(value, str):
        return _SURROGATE.search(value) is not None
    if isinstance(value, Mapping):
        return any(holds_surrogate(each) for pair in value.items() for each in pair)
    return isinstance(value, list | tuple) and any(map(holds_surrogate, value))


_BARE = re.compile(r"[A-Za-z][\w./@+-]*(?: [\w./@+,;()'\"-]+)*", re.ASCII)
_TYPED = frozenset("y n yes no on off true false null nan inf".split())
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def scalar(text: str) -> str:
    """Write a string so that every YAML reader gives that very string back: bare, else single, else double quotes."""
    if _BARE.fullmatch(text) and text.lower() not in _TYPED:
        return text
    if not _UNPRINTABLE.search(text):
        return "'" + text.replace("'", "''") + "'"
    return _UNPRINTABLE.sub(lambda m: f"\\u{ord(m.group()):04x}", json.dumps(text, ensure_ascii=False))


def write_mapping(pairs: Iterable[tuple[str, str]], *, indent: str = "") -> str:
    """Write string pairs as YAML lines."""
    return "".join(f"{_written_key(key, indent)}: {scalar(value)}\n" for key, value in pairs)


def _written_key(key: str, indent: str) -> str:
    written = scalar(key)
    # YAML ends an implicit key after 1024 characters.
    return f"{indent}{written}" if len(written) < 1000 else f"{indent}? {written}\n{indent}"
