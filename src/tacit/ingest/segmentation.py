"""A person's messages in one session → which of them begin a new task. Pure and fast; asks no model.

A new goal begins a task. A correction, an answer, "continue", thanks, a question about the work at hand or a wish that
follows from it does not. Each message is weighed by how it opens, whether it points back ("it", "again"), how much of
it was already spoken of, and how long the person was away. It reads words, not meaning, and knows the turns of English;
in other languages the words shared with the work, the length and the clock decide.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tacit.text.shell import parse_command
from tacit.text.text_sources import TACIT_TOOL_PREFIXES, is_tacit_skill, names_tacit_folder
from tacit.text.words import terms

_LONGEST_MESSAGE = 4_000
_LONGEST_NOTE = 1_500
_NOTES_KEPT = 24
_WORDS_KEPT = 4_000
_PAUSE_S = 45 * 60
_BREAK_S = 6 * 3600
_RESETTING = frozenset({"/clear", "/new", "/reset"})

_WEIGHTS = {
    "level": -0.9,
    "turns away": 3.0,
    "greets": 1.8,
    "states a goal": 2.0,
    "joins with now": 1.0,
    "follows on": -1.5,
    "points back": -1.8,
    "speaks of the agent": -1.0,
    "speaks of the work": -1.4,
    "was asked": -2.5,
    "answers": -1.0,
    "length": 1.4,
    "new words": 1.2,
    "new names": 0.5,
    "known names": -1.5,
    "pause": 1.0,
    "break": 1.5,
}
"""What each signal says for a new task, or against it. Rounded from a fit to the development half of made-up sessions
(`bench/segmentation.py`), save for what those hold too little of: turning away, known names and the clock."""


class Segmenter:
    """Says of each message of a person whether it begins a new task; remembers what the current one is about."""

    def __init__(self) -> None:
        self._words: dict[str, None] = {}
        self._notes: list[str] = []
        self._fresh = True
        self._last_at: datetime | None = None

    def is_new_task(self, text: str, at: datetime | None) -> bool:
        """Whether this message begins a new task. The first one does, and the one after the context was cleared."""
        message = text[:_LONGEST_MESSAGE].strip()
        if not message:
            return self._fresh
        clears = message.split(maxsplit=1)[0].casefold() in _RESETTING
        self._words.update(dict.fromkeys(terms("\n".join(self._notes))))
        for word in list(self._words)[: max(0, len(self._words) - _WORDS_KEPT)]:
            del self._words[word]
        words = terms(message)
        signals = self._signals(message, words, at)
        new = clears or self._fresh or sum(_WEIGHTS[name] * value for name, value in signals.items()) > 0
        self._fresh = clears
        if new:
            self._words.clear()
        self._words.update(dict.fromkeys(words))
        self._notes.clear()
        self._last_at = at or self._last_at
        return new

    def note(self, text: str) -> None:
        """Keep what the agent said, ran or touched since the last message; it is read when the person speaks again."""
        if not text:
            return
        if len(self._notes) >= _NOTES_KEPT:  # the first ones tell what the work is, the last whether the agent asked
            self._notes.pop(_NOTES_KEPT // 2)
        half = _LONGEST_NOTE // 2
        self._notes.append(text if len(text) <= _LONGEST_NOTE else f"{text[:half]} {text[-half:]}")

    def _signals(self, message: str, words: list[str], at: datetime | None) -> dict[str, float]:
        content = {term for term in words if term not in _EMPTY}
        names = {name.strip("'\"`").casefold() for name in _NAME.findall(message)}
        known = sum(1 for name in names if all(term in self._words for term in terms(name)))
        away_s = (at - self._last_at).total_seconds() if at and self._last_at else 0.0
        turns = _turns_of_phrase(message.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
        # whether the agent last asked for something, and not only what else there is to do
        last = self._notes[-1][-400:].casefold() if self._notes else ""
        asked = ("?" in last or bool(_REQUESTS.search(last))) and not _OFFERS_MORE.search(last)
        if not content and not turns["turns away"]:
            return {"level": 1.0}  # nothing but courtesy
        return {
            **turns,
            "level": 1.0,
            "was asked": float(asked),
            "answers": float(asked and not turns["states a goal"]),
            "length": min(math.log2(1 + len(content)), 6.0) - 3.0,
            "new words": 2.0 * sum(1 for term in content if term not in self._words) / max(len(content), 1) - 1.0,
            "new names": min(float(len(names) - known), 3.0),
            "known names": min(float(known), 2.0),
            "pause": float(away_s > _PAUSE_S),
            "break": float(away_s > _BREAK_S),
        }


def _turns_of_phrase(words: str) -> dict[str, float]:
    """What the wording alone shows."""
    plain = _COURTESY.sub("", words)
    joint = _JOINT.match(plain)
    wish = plain[joint.end() :] if joint else plain
    clause = _CLAUSE_END.split(wish, maxsplit=1)[0]  # further on, "it" mostly means something that was named on the way
    return {
        "turns away": float(bool(_TURNS_AWAY.search(words))),
        "greets": float(bool(_GREETING.search(words[:60]))),
        "states a goal": float(bool(_GOAL.match(wish))),
        "joins with now": float(bool(_NOW.match(plain))),
        "follows on": float(bool(_FOLLOWS_ON.match(wish))),
        "points back": min(float(len(_POINTS_BACK.findall(clause))), 2.0),
        "speaks of the agent": float(bool(_OF_THE_AGENT.search(words))),
        "speaks of the work": float(bool(_OF_THE_WORK.search(clause))),
    }


_COURTESY = re.compile(
    r"^(?:(?:(?:hi|hey|hello|good (?:morning|afternoon|evening)|(?:many )?thanks?(?: you)?(?: so much| a lot| again)?|thx|"
    r"ok(?:ay)?|alright|all right|please|kindly|so|well|oh|um)\b(?: there| again)?|"
    r"(?:great|perfect|nice|cool|awesome|excellent|good|lovely|wonderful)(?: job| work| one)?"
    r"(?=\s*(?:[,.!:;–—]|$)|\s+(?:thank|now\b|next\b)))(?:[\s,.!:;–—-]+|$))+"
)
_JOINT = re.compile(
    r"(?:and|then|now|next|also|plus|first(?:ly)?|second(?:ly)?|finally|lastly|additionally|one more (?:thing|task)|"
    r"another thing)\b(?:[\s,.!:;–—-]+(?:please|kindly|then|also|now)\b)*[\s,.!:;–—-]*"
)
_NOW = re.compile(r"(?:now|next|then)\b")
_GREETING = re.compile(r"\b(?:hi|hey|hello|good (?:morning|afternoon|evening)|dear)\b")
_TURNS_AWAY = re.compile(
    r"\b(?:(?:new|next|another|different|separate|more|other) (?:task|topic|request|issue|problem|project|subject|job)|"
    r"unrelated|switch(?:ing)? (?:to|gears|over)|mov(?:e|ing) on|change of (?:topic|subject)|"
    r"something (?:else|different)|drop (?:that|this) for now|put (?:that|this) aside)\b"
)
_FOLLOWS_ON = re.compile(
    r"(?:no|nope|nah|not|yes|yeah|yep|yup|sure|right|correct|exactly|wait|hold on|hmm+|oops|sorry|actually|still|again|"
    r"almost|nearly|but|because|since|or|instead|rather|too|why|that|that's|thats|this|it|its|it's|these|those|they|them|"
    r"much|looks|seems|works?|doesn't|doesnt|don't|didn't|isn't|stop|undo|revert|redo|retry|try|continue|go on|go ahead|"
    r"keep|carry on|proceed|resume|finish|done|lgtm|same|both|neither|either|all of|"
    r"the (?:first|second|third|last|other|same)|option|wrong|bad|\w+error|error|ah|maybe|probably|"
    r"i (?:meant|mean|said|never|already|tried|confirm)|whichever|only|just)\b"
)
_POINTS_BACK = re.compile(
    r"\b(?:it|its|that|this|these|those|them|they|same|again|instead|still|too|also|as well|above|earlier|previous|last|"
    r"other|rest|remaining|accordingly|so far|once more|rather than|anymore|no longer)\b"
)
_OF_THE_AGENT = re.compile(
    r"\byou (?:did|do|made|gave|wrote|forgot|missed|said|broke|just|already|left|put|chose|took|have|\w+ed)\b|"
    r"\byour (?:changes?|fix|answer|last|version|patch|edit|code|solution|suggestion)\b"
)
_OF_THE_WORK = re.compile(
    r"\b(?:explain|summari[sz]e|diff|commit|push|merge|docstrings?|lint|the tests?|run (?:it|the|this)|step|result|output|"
    r"double-check|show me|what (?:changed|happened|happens)|how (?:long|sure|many|much)|how come)\b"
)
_CLAUSE_END = re.compile(r"[.;!](?=\s|$)|\n|,? and |: ")
_VERBS = (
    "add adjust allow analyse analyze apply arrange audit backport backup benchmark book bring build bump calculate cancel "
    "change check clean clone close compare compile compute configure connect convert cool copy count create debug define "
    "delete deploy design detect determine disable display document download draft drop enable ensure estimate evaluate "
    "examine exchange execute expose extract fetch fill find fix format generate get give go handle heat help identify "
    "implement import improve increase inspect install integrate introduce investigate launch list load locate lock log "
    "look make measure merge migrate modify modernise modernize monitor move open optimise optimize order organise organize "
    "parse perform place plan plot port post prepare print produce profile provide publish purchase put read rebuild "
    "recover reduce refactor register release remove rename replace report reproduce research reserve resolve restore "
    "restructure return review rewrite rotate run save scan schedule search send set share ship show simplify solve sort "
    "speed split start store submit summarise summarize support swap sync take tell test trace track train transfer "
    "translate trim turn unify update upgrade upload use validate verify view visualise visualize wire wrap write"
)
_GOAL = re.compile(
    rf"(?:please\s+|kindly\s+)*(?:(?:{'|'.join(_VERBS.split())})\b|"
    r"(?:i|we)(?:'d| would|'m| am| are|'ve| have)?\s+(?:\w+\s+)?"
    r"(?:like|want|need|wish|hope|hoping|looking|trying|love|interested|having|got)\b|"
    r"(?:can|could|would|will) (?:you|we|i)\b|let's\b|let us\b|how (?:do|can|would|should) (?:i|we|you)\b|"
    r"there(?: is|'s) an?\b|my \w+|our \w+|you are\b|your task\b|you need\b|you will\b|when i\b|is it possible\b)"
)
_NAME = re.compile(
    r"`[^`\n]{2,80}`|'[^'\n]{2,60}'|\"[^\"\n]{2,60}\"|#\w{3,}|[\w./-]{1,120}\.[a-z]{1,5}\b|\b[\w-]{1,60}/[\w./-]{1,120}|"
    r"\b[^\W_]{1,60}_\w{1,60}\b|\b\d{4,}\b"
)
_REQUESTS = re.compile(
    r"\b(?:please (?:provide|confirm|specify|let me know which|tell|share|reply|choose)|could you|can you|which (?:one|of))\b"
)
_OFFERS_MORE = re.compile(
    r"anything else|let me know if|further (?:assist|help|question)|feel free|have a (?:great|nice|good|wonderful)|"
    r"else i can|more questions"
)
_EMPTY = frozenset(
    terms(
        "yes yeah yep yup ok okay sure thanks thank thx ty great perfect nice cool good awesome excellent fine right correct "
        "exactly hi hey hello please continue go ahead proceed carry keep going on lgtm done well sorry oh ah hmm no nope "
        "that's it's all much lot very really now then so again still wow lovely wonderful better agreed confirm confirmed "
        "resume next",
        keep_stop_words=True,
    )
)


ECHO = "<tacit-output/>"
"""Stands where something was that Tacit itself printed."""
MOST_KEYS = 20
_KEY = re.compile(r"\ba_[0-9a-f]{8,64}\b")
"""What an assumption is called; the one thing that a run must be able to say again of what it was told."""

_OPENING = re.compile(r"<(tacit-[a-z]+(?:-[0-9a-f]{4,64})?)(?:\s[^<>]{0,400})?>")
_SKILL = re.compile(r"[/\\]SKILL\.md\b")
_SILENT = frozenset({"cd", "export", "set", "source", "true"})
_NAMING = ("file_path", "path", "command", "cmd")


def without_echo(text: str) -> str:
    """Take out what Tacit's hooks have said."""
    if "<tacit-" not in text:
        return text
    kept: list[str] = []
    behind = 0
    unclosed: set[str] = set()
    for opening in _OPENING.finditer(text):
        tag = opening[1]
        if opening.start() < behind or tag in unclosed:
            continue
        close = text.find(f"</{tag}>", opening.end())
        if close < 0:
            unclosed.add(tag)
            continue
        kept += (text[behind : opening.start()], ECHO)
        behind = close + len(tag) + 3
    return "".join((*kept, text[behind:]))


def observed(tool: str, arguments: Mapping[str, Any], observation: str) -> str:
    """What a call brought back, unless Tacit itself said it."""
    if not observation:
        return observation
    if tool.casefold().startswith(TACIT_TOOL_PREFIXES):
        return _mark(observation)
    for key in _NAMING:
        named = arguments.get(key)
        named = " ".join(map(str, named)) if isinstance(named, list) else named
        if isinstance(named, str) and ("acit" in named or "SKILL" in named) and _is_own(named, observation):
            return _mark(observation)
    return without_echo(observation)


def _mark(observation: str) -> str:
    """The mark, with the keys of assumptions that were told, so that a run can be held against what it stated itself."""
    keys = list(dict.fromkeys(_KEY.findall(observation)))[:MOST_KEYS]
    return f'<tacit-output keys="{" ".join(keys)}"/>' if keys else ECHO


def _is_own(named: str, observation: str) -> bool:
    if names_tacit_folder(named):
        return True
    if _SKILL.search(named) and is_tacit_skill(observation):
        return True
    programs = [command.program for command in parse_command(named) if command.program not in _SILENT]
    return bool(programs) and all(program == "tacit" for program in programs)
