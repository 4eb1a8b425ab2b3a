"""What an agent did before a correction and what it did after → the pair that shows what the person meant.

`npm install` before and `pnpm install` after "use pnpm here": the corrected action and the one that took its place. Only a
pair of which the person's words name a side counts. It finds; what follows from it is for the correction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from tacit.learn.actions import Action, Effect, Family, reads
from tacit.learn.wording import code, shorten
from tacit.text.shell import Command
from tacit.text.words import STOP_WORDS, stem

_MAX_BEFORE, _MAX_AFTER = 12, 6
_MAX_SHOWN = 120
_TELLING = 4  # letters of a word in a long flag that say something
_IDENTIFIER = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_POINTED = re.compile(
    r"`([^`\n]{1,80})`|\b(\w[\w.]*)\(\)|\b(?:us(?:e|es|ing)|prefer|avoid|of|than|not|never|no|over|with|import(?:ing)?|call(?:ing)?)"
    r"\s+(?:the\s+|a\s+|our\s+)?([^\W\d][\w.]*\w)",
    re.IGNORECASE,
)
"""What a sentence points at by name: set as code, or after "use", "instead of", "not" and the like."""
_TOKEN = re.compile(r"(?<!\w)--?[a-z][\w-]*|[^\W_](?:[\w./-]*\w)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """The corrected action, what was done in its place, and the words for both."""

    before: Action
    after: Action
    old: str
    new: str
    """Both as a person would be shown them."""
    words: tuple[str, ...]
    """What is wanted and what is not, the same however it was said: `use pnpm not npm`."""

    @property
    def subjects(self) -> tuple[str, ...]:
        """What it is about: the words without those that join them."""
        return tuple(word for word in self.words if word not in ("use", "not", "with", "without"))

    def text(self) -> str:
        """The pair in a sentence."""
        return f"Instead of {code(shorten(self.old, _MAX_SHOWN))}: {code(shorten(self.new, _MAX_SHOWN))}."


def swap_of(sentence: str, before: Sequence[Action], after: Sequence[Action]) -> Swap | None:
    """The first thing done after the correction that stands for something done before it, the last of those first."""
    said = _Said(sentence)
    later = islice((action for action in after if action.worked and action.effect is not Effect.READ), _MAX_AFTER)
    earlier = [action for action in before if action.effect is not Effect.READ][-_MAX_BEFORE:][::-1]
    return next((found for action in later for found in _swaps(action, earlier, said)), None)


def _swaps(action: Action, earlier: Sequence[Action], said: _Said) -> Iterator[Swap]:
    if action.family is Family.SHELL:
        for other in earlier:
            if other.family is Family.SHELL:
                yield from _commands(other, action, said)
    for edit in action.edits:
        hunks = ((hunk.old, hunk.new) for hunk in edit.hunks if hunk.old and hunk.new)
        written = next((other for other in earlier if any(mine.file == edit.file for mine in other.edits)), None)
        if written is not None:
            yield from (swap for old, new in hunks if (swap := _texts((written, action), old, new, said)))


def _commands(earlier: Action, later: Action, said: _Said) -> Iterator[Swap]:
    for old in earlier.programs:
        for new in later.programs:
            if reads(old) or reads(new):
                continue
            words = _words(old, new, said, checks=earlier.effect is later.effect is Effect.CHECK)
            if words:
                yield Swap(before=earlier, after=later, old=old.text, new=new.text, words=words)


def _words(old: Command, new: Command, said: _Said, *, checks: bool) -> tuple[str, ...]:
    """What is wanted of the new command, if the person named it; nothing if the two are not about the same."""
    if old.program == new.program:
        if old.subcommand != new.subcommand:
            return ()
        gained, lost = (said.flags(set(a.flags) - set(b.flags)) for a, b in ((new, old), (old, new)))
        flags = ("with", *gained) if gained else ("without", *lost)
        return (new.program, *new.subcommand.split(), *flags) if gained or lost else ()
    about = (old.subcommand and old.subcommand == new.subcommand) or set(old.operands) & set(new.operands)
    if (about or checks) and said.programs([new.program, *new.runner.split(), old.program]):
        return ("use", *new.runner.split(), new.program, "not", old.program)
    return ()


def _texts(actions: tuple[Action, Action], old: str, new: str, said: _Said) -> Swap | None:
    """An edit that took out one name and put in another, of which the person named one."""
    before, after = (dict.fromkeys(_IDENTIFIER.findall(text)) for text in (old, new))
    lost, gained = [name for name in before if name not in after], [name for name in after if name not in before]
    meant, unmeant = said.names(gained), said.names(lost)
    wanted, unwanted = meant or gained[: len(gained) == 1], unmeant or lost[: len(lost) == 1]
    if not (meant or unmeant) or not wanted:
        return None
    words = ("use", wanted[0], *(("not", unwanted[0]) if unwanted else ()))
    shown = (_line(old, unwanted), _line(new, wanted))
    return Swap(before=actions[0], after=actions[1], old=shown[0], new=shown[1], words=words)


def _line(text: str, names: Sequence[str]) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if any(name in line for name in names)), lines[0] if lines else "")


class _Said:
    """The words of a sentence, and those that point at something by its name."""

    def __init__(self, sentence: str) -> None:
        words = {word.lower() for word in _TOKEN.findall(sentence)}
        self._words = frozenset(words | {stem(word) for word in words})
        pointed = (word for found in _POINTED.findall(sentence) for part in found for word in _IDENTIFIER.findall(part))
        self._pointed = frozenset(word for word in pointed if word.lower() not in STOP_WORDS)

    def programs(self, programs: Sequence[str]) -> list[str]:
        """The programs that are named."""
        return [program for program in programs if program.lower() in self._words]

    def flags(self, flags: Iterable[str]) -> list[str]:
        """The flags that are named, as they are or by a word of theirs."""
        return sorted(flag for flag in flags if flag in self._words or self._by_word(flag))

    def names(self, names: Sequence[str]) -> list[str]:
        """The names in a program text that the sentence points at."""
        return [name for name in names if name in self._pointed]

    def _by_word(self, flag: str) -> bool:
        words = flag.strip("-").partition("=")[0].split("-") if flag.startswith("--") else []
        return any(len(word) >= _TELLING and stem(word) in self._words for word in words)
