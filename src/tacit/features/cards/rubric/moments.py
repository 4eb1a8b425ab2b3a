"""Passing state: a card's texts → the words that tell of one moment, if that moment is what the card is about.

“Currently” or a date alone is no such thing: good cards say “the client currently ignores the timeout”, and name dates as
evidence. What counts is a state that ends by itself (a build that fails now, a review that waits, a process by its number), as
the title, or as most of what is to be done.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.features.cards.rubric.saying import own_words

_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_NOW = (
    r"(?:right now|at the moment|as of (?:today|now|this \w+)|today|tonight|"
    r"this (?:morning|afternoon|evening|week|month|sprint)|tomorrow|yesterday(?!'s|’s)|last night|currently|presently|for now|"
    rf"until (?:{_WEEKDAY}|tomorrow|next \w+))"
)
_STATE = (
    r"(?:fail(?:s|ed|ing)?|broken|down|red|green|blocked|stuck|waiting|waits?|on leave|on holiday|on vacation|away|running|"
    r"started|outage|offline|unavailable|try again|retry|discussed|meeting|on branch|ignore|deployed|paused|release[ds]?|"
    r"number|is at|are at|expires?)"
)
_WE = r"i am|i'm|i’m|we are|we're|we’re"
_DID = r"(?:released|deployed|fixed|finished|merged|pushed|updated|shipped|changed|started)"
_DAY = (
    r"\b(?:\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}"
    r"|\d{1,2}\.? (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*(?: \d{4})?)\b"
)
_BRANCHES = r"(?:fix|feat|feature|bugfix|hotfix|wip)/[\w./-]+"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_NOW}\b[^.;]{{0,60}}\b{_STATE}\b",
        rf"\b{_STATE}\b[^.;]{{0,60}}\b{_NOW}\b",
        r"\b(?:today|this (?:morning|week|sprint))[’']s\b",
        r"\b(?:PR|MR|pull request|merge request|issue|ticket)\s?#?!?\d{1,6}\b",
        r"\b(?:build|run|job|pipeline|session)(?: number| id| run)?\s#?(?:is )?(?=[0-9a-f]*\d)[0-9a-f]{3,}\b",
        r"\bbuild number\b[^.;]{0,20}\d{2,}",
        r"\b(?:pid|process(?: id)?)[ :=]+\d{2,7}\b|\bkill(?: -\w+)? \d{3,7}\b",
        r"\b(?:commit|revert|container|cherry-pick|docker (?:exec|logs|stop|rm)(?: -\w+)*)\s+(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b",
        r"/tmp/tmp[\w.-]{4,}|/tmp/[\w-]*\d{6,}[\w-]*",
        rf"\b(?:i am|i'm|we are|currently|now)\b[^.;]{{0,20}}\bon (?:the )?branch\b|\bon branch {_BRANCHES}",
        rf"\buntil {_WEEKDAY}\b",
        rf"\b(?:{_WE}|my|our)\b[^.;]{{0,60}}\b{_NOW}\b|\b{_NOW}\b[^.;]{{0,20}}\b(?:{_WE})\b",
        rf"\b(?:{_WE}) (?:in the middle of|working on|debugging|waiting|blocked|stuck)\b",
        rf"\b(?:i|we) {_DID}\b[^;]{{0,80}}(?:\b(?:yesterday|today|last \w+)\b|{_DAY})",
        r"\b(?:is|are) (?:now |still )?(?:in review|under review|in progress|blocked|not merged|pending)\b",
        r"\b(?:my|our) (?:branch|worktree|checkout|stash) (?:is|stands)\b",
        r"\b(?:i am|i'm|i’m|i was) at (?:commit|line|step|file)\b",
        r"\b(?:continue|go on|carry on|resume|pick up)\b[^.;]{0,20}\b(?:line|file|step|item|chunk|page|row) #?\d+\b",
        r"\b(?:is|are) still (?:running|failing|broken|waiting|open)\b",
    )
)
_DATE = re.compile(_DAY, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class State:
    """Words that tell of a moment, and the field they stand in."""

    field: str
    words: str


def passing_state(title: str, problem: str, instructions: Sequence[str]) -> State | None:
    """The state of one moment that a card is about; nothing where it is about something lasting."""
    passing = [words for words in map(_momentary, instructions) if words]
    said = [text for text in instructions if text.strip()]
    in_title = _momentary(title)
    if passing and (in_title or 2 * len(passing) >= len(said)):
        return State("solution_steps", passing[0])
    if in_title and not any(own_words(text) > 3 for text in said):
        return State("title", in_title)
    in_problem = _momentary(problem)
    if in_problem and in_title:
        return State("problem", in_problem)
    return None


def _momentary(text: str) -> str:
    for pattern in _PATTERNS:
        if match := pattern.search(text):
            return match.group().strip()
    dates = _DATE.findall(text)
    if dates and own_words(_DATE.sub(" ", text)) < 1:
        return str(dates[0])
    return ""
