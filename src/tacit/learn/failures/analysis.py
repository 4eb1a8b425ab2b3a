"""A failed attempt alone → signs of what went wrong: refused and repeated calls, values from nowhere, wishes not met.

Signs are facts of the run; what they mean is weighed elsewhere. Reads no sibling.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from tacit.domain.trajectory import Role
from tacit.learn.actions import leaves
from tacit.learn.blame.effects import Deed, Deeds
from tacit.learn.blame.wants import said

_IDENTIFIER = re.compile(r"(?=[\w.@+-]*\d)\w[\w.@+-]{4,}\w")
_DECLINING = re.compile(
    r"\b(?:unable|cannot|can't|can not|sorry|unfortunately|not possible|apologi[sz]e)\b", re.IGNORECASE
)
VALUES = {"effects": 4, "turns": 4, "retried": 2, "repeated": 2, "invented": 2, "wanted": 2, "untouched": 2,
          "declined": 3, "handed over": 2}  # fmt: skip
"""Each feature with how many values it can have."""
_LIKELY = 0.5
_MOST_DEEDS = 64
"""Runs with more effects than this show their signs in the first ones."""


@dataclass(frozen=True, slots=True)
class Signs:
    """What is to be seen in a failed run."""

    retried: Deed | None
    """A call that failed and whose tool was called again."""
    repeated: Deed | None
    """The first call of a tool that was used before."""
    invented: Deed | None
    """A call with an identifier that neither the person nor an observation had given before."""
    wanted: tuple[str, ...]
    """Effects that the person's words speak for and that were not done."""
    untouched: bool
    """Something that the person named and the agent looked at was left as it was."""
    declined: tuple[int, ...]
    """Steps in which the agent said that it could not do something."""
    declined_first: bool
    """Whether it said so before it did anything."""
    handed_over: bool
    effects: int
    turns: int

    @property
    def features(self) -> Mapping[str, int]:
        """The signs as small numbers."""
        return {
            "effects": min(self.effects, 3),
            "turns": min(self.turns // 5, 3),
            "retried": int(self.retried is not None),
            "repeated": int(self.repeated is not None),
            "invented": int(self.invented is not None),
            "wanted": int(bool(self.wanted)),
            "untouched": int(self.untouched),
            "declined": 2 if self.declined_first else int(bool(self.declined)),
            "handed over": int(self.handed_over),
        }


def signs_of(run: Deeds, likely: Mapping[str, float]) -> Signs:
    """Read the signs of a run; `likely` says how likely its words call for each effect."""
    done = run.done[:_MOST_DEEDS]
    names = [deed.what for deed in done]
    last = {name: place for place, name in enumerate(names)}
    counts = Counter(names)
    spoken = (step for step in run.trajectory.steps if step.role is Role.AGENT)
    declined = tuple(step.index for step in spoken if _DECLINING.search(step.text))
    return Signs(
        retried=next((d for i, d in enumerate(done) if not d.worked and last[d.what] > i), None),
        repeated=next((d for i, d in enumerate(done) if counts[d.what] > 1 and d.what in names[:i]), None),
        invented=_invented(run),
        wanted=tuple(sorted(what for what, p in likely.items() if p > _LIKELY and what not in counts)),
        untouched=_untouched(run),
        declined=declined,
        declined_first=bool(declined and done) and declined[0] < done[0].index,
        handed_over=run.handed_over is not None,
        effects=len(done),
        turns=sum(step.role is Role.USER for step in run.trajectory.steps),
    )


def _invented(run: Deeds) -> Deed | None:
    """The first call with an identifier that nobody had mentioned."""
    waiting = list(run.done[:_MOST_DEEDS])
    known: list[str] = [run.trajectory.task.text.casefold()]
    for step in run.trajectory.steps:
        if waiting and waiting[0].index == step.index:
            deed = waiting.pop(0)
            before = "\n".join(known)
            known = [before]
            if any(value not in before for value in _identifiers(deed)):
                return deed
        if step.role is not Role.AGENT:
            known.append(step.text.casefold())
        if step.is_action:
            known.append(step.observation.casefold())
    return None


def _identifiers(deed: Deed) -> list[str]:
    values = (str(value).casefold() for _, value in leaves(deed.action.step.arguments) if isinstance(value, str))
    return [value for value in values if _IDENTIFIER.fullmatch(value.strip("#"))]


def _untouched(run: Deeds) -> bool:
    named = {word.casefold() for word in _IDENTIFIER.findall(said(run.trajectory))}
    touched = "\n".join(str(v).casefold() for d in run.done for _, v in leaves(d.action.step.arguments))
    left = sorted(word for word in named if word not in touched)
    if not left:
        return False
    seen = "\n".join(step.observation.casefold() for step in run.trajectory.steps if step.is_action)
    return any(word in seen for word in left)
