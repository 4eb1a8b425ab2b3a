"""Finds what a person said about the way of working: standing rules, and wishes that count once they are repeated.

Only the person's own words are read: no pasted or quoted text, no text of the client, no prompt that another agent wrote. A
statement is kept whole. Questions, guesses and requests about one thing at hand are left out; in doubt nothing is found,
because a wrong rule is shown every time.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from tacit.domain.outline import Wish
from tacit.domain.trajectory import Role, Step, StepResult, Trajectory
from tacit.learn.phrases import (
    ASIDE,
    DEICTIC,
    GOES_ON,
    GUESS,
    INTERJECTION,
    NAMED,
    OBJECTION,
    ONE_TIME,
    QUESTION,
    REFUSAL,
    REPORT,
    REQUEST_FIRST,
    STANDING,
    TURNS_DOWN,
    matches,
)
from tacit.text.tool_calls import Effect, ToolCall, ToolKind
from tacit.text.words import estimate_tokens, stem, terms

MAX_TOKENS = 75
"""Of a statement, about 300 characters; a longer one tells a story, and a part of it is not what was said. Set by hand."""
_MAX_MESSAGE = 1500  # longer messages state a task or paste a document
_MAX_SENTENCES = 12
_MAX_WISHES = 24
_MIN_CHARACTERS = 4
_MAX_WHOLE = 40
"""Tokens of a message that is one statement as a whole, where no word tells which sentences belong together."""
UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_RETYPED = 0.7
"""Share of equal characters from which a message is the one before, typed again. Smaller: a follow-up counts as a copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a person said in one message, with what the agent did before and after it."""

    message: Step
    text: str
    """The whole statement, in the person's words."""
    standing: bool
    """Whether it holds from now on; otherwise it is a wish that counts when it is repeated."""
    before: tuple[ToolCall, ...] = ()
    """What was done since the person's previous message."""
    after: tuple[ToolCall, ...] = ()
    """What was done until the person's next message."""


def _is_joint_work(actions: Sequence[ToolCall]) -> bool:
    """Whether the person works with the agent on files and commands; whoever is served by tools states no rules of work."""
    return not actions or any(action.kind is not ToolKind.FUNCTION for action in actions)


def statements_of(trajectory: Trajectory, actions: Sequence[ToolCall]) -> tuple[Statement, ...]:
    """Return what the person said about the way of working, in the order of the messages."""
    if trajectory.parent_session_id or not _is_joint_work(actions):
        return ()  # the messages are those of the agent that started this one, or of a customer
    found: list[Statement] = []
    messages = [step for step in trajectory.steps if step.role is Role.USER and not step.is_action]
    places = [action.index for action in actions]
    begins, ends = [-1, *(step.index for step in messages)], [*(step.index for step in messages[1:]), 1 << 60]
    seen: set[str] = set()
    others: list[tuple[int, str]] | None = None
    for begin, step, end in zip(begins, messages, ends, strict=False):
        if end == step.index + 1 and _is_retyped(step, messages):
            continue
        before = tuple(actions[bisect_right(places, begin) : bisect_left(places, step.index)])
        after = tuple(actions[bisect_right(places, step.index) : bisect_left(places, end)])
        for text, standing in _read(typed_words(step.text), refused=_refused(before)):
            key = " ".join(text.split())
            others = _others_texts(trajectory) if others is None else others
            if key in seen or any(index < step.index and key in theirs for index, theirs in others):
                continue  # said before, or only passed on
            seen.add(key)
            found.append(Statement(message=step, text=text, standing=standing, before=before, after=after))
    return tuple(found)


def wishes_of(statements: Sequence[Statement]) -> tuple[Wish, ...]:
    """Return what the person wished for, as a rule or not, for counting over sessions."""
    return tuple(Wish(step=each.message.index, text=each.text, at=each.message.at) for each in statements[:_MAX_WISHES])


def objections_of(
    trajectory: Trajectory, actions: Sequence[ToolCall], *, statements: Sequence[Statement] | None = None
) -> tuple[int, ...]:
    """Return the messages in which a person took exception to what was just done, whether or not they laid down a rule.

    Statements that are known need not be found again.
    """
    stated = statements_of(trajectory, actions) if statements is None else statements
    found = {each.message.index for each in stated if each.standing and each.before}
    done = asked = False
    acted = {action.index for action in actions if action.effect is not Effect.READ}
    for step in trajectory.steps:
        if step.index in acted:
            done = True
        if step.role is Role.AGENT and step.text.strip():
            asked = step.text.rstrip().endswith(("?", "？"))
        if step.role is not Role.USER or step.is_action:
            continue
        words = step.text.strip()[:_MAX_MESSAGE]
        if done and (OBJECTION.match(words) or (not asked and REFUSAL.match(words))):
            found.add(step.index)
        done = asked = False
    return tuple(sorted(found))


def _refused(before: Sequence[ToolCall]) -> ToolCall | None:
    """Return the call that the person refused or stopped right before they spoke."""
    last = before[-1] if before else None
    stopped = last is not None and last.step.result in (StepResult.DENIED, StepResult.INTERRUPTED)
    return last if stopped else None


def _is_retyped(message: Step, messages: Sequence[Step]) -> bool:
    """Whether the person sent the message again right away, with a mistake set right."""
    again = next(step for step in messages if step.index > message.index)
    return SequenceMatcher(a=message.text[:400], b=again.text[:400], autojunk=False).ratio() >= _RETYPED


def _others_texts(trajectory: Trajectory) -> list[tuple[int, str]]:
    """Return what tools, the agent and the host wrote, by step."""
    steps = (step for step in trajectory.steps if step.role is not Role.USER)
    return [(step.index, " ".join(f"{step.observation}\n{step.text}".split())) for step in steps]


# --- the person's own words -------------------------------------------------------------------------------------------

_CLIENT_NOTE = "Note: The user's next message may contain a correction or preference."
_REQUEST = "## My request for Codex:"
_NOT_OWN = re.compile(
    r"\s*(?:<[a-z]|/\w|The user wants to clarify these questions|PLEASE IMPLEMENT THIS PLAN|Base directory for this skill"
    r"|This session is being continued|\[Request interrupted|Caveat: )"
)
"""Openings of what a client writes in the person's place: blocks, commands with their arguments, plans, summaries."""
_DOCUMENT = re.compile(r"^#{1,6} |\*\*\S|^\|.*\|\s*$|^ {0,3}[-=]{3,}\s*$|^diff --git|^@@ ", re.MULTILINE)
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_PASTED_LINE = re.compile(r"[ \t]*(?:[>│❯$%⎿●]|\d+ [|│]|at \S+ \()|(?: {4,}|\t)\S")
_QUOTED = re.compile(r"[\"“„«「][^\"”“»」\n]{25,}[\"”“»」]")
_QUOTE = "“…”"
"""Stands for a quoted passage; a sentence that holds one is not the person's own alone."""


def typed_words(text: str) -> str:
    """Return the part of a message that the person wrote themselves; empty where that cannot be told."""
    text = text.partition(_CLIENT_NOTE)[0]
    text = text.partition(_REQUEST)[2] if _REQUEST in text else text
    if len(text) > _MAX_MESSAGE or _NOT_OWN.match(text) or _DOCUMENT.search(text):
        return ""
    text = _QUOTED.sub(_QUOTE, _FENCE.sub("\n\n", text))
    return "\n".join("" if _PASTED_LINE.match(line) else line for line in text.splitlines()).strip()


_BREAK = re.compile(r"(?<=[.!?…])[\"')\]]*\s+(?=\S)|(?<=[。！？])[」』）]*\s*(?=\S)")
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:e\.?g|i\.?e|etc|vs|cf|approx|ca|esp|incl|no|resp|bzw|z\. ?B|d\. ?h|u\. ?a|usw|p\. ?ej|aka|a\.k\.a)\.$",
    re.IGNORECASE,
)
_ITEM = re.compile(r"^\s*(?:[-*•・–]|\(?\d{1,2}[.)、]|[a-z][.)])\s*(?=\S)")
_WRAPPED = 60
"""A line at least this long, without a sign at its end, goes on in the next line."""


def sentences(text: str) -> list[str]:
    """Split a text into its sentences; abbreviations, brackets and code do not end one."""
    lines: list[str] = []
    for line in text.splitlines():
        item = _ITEM.sub("", line).strip()
        goes_on = lines and len(lines[-1]) >= _WRAPPED and not lines[-1].endswith((".", "!", "?", ":", ";"))
        if goes_on and item[:1].islower() and not _ITEM.match(line):
            lines[-1] += f" {item}"  # a line that an editor wrapped
        else:
            lines.append(item)
    found: list[str] = []
    for line in filter(None, lines):
        open_ = ""
        for piece in _BREAK.split(line):
            whole = f"{open_} {piece}".strip()
            open_ = whole if _ABBREVIATED.search(whole) or _is_open(whole) else ""
            if not open_:
                found.append(whole)
        found += [open_] if open_ else []
    return found


def _is_open(text: str) -> bool:
    return text.count("(") > text.count(")") or text.count("`") % 2 == 1 or text.count("“") > text.count("”")


# --- statements -------------------------------------------------------------------------------------------------------


def _read(text: str, *, refused: ToolCall | None) -> Iterator[tuple[str, bool]]:
    """Yield the statements of a message, each with whether it is standing."""
    found = sentences(text)[:_MAX_SENTENCES]
    plain = all(_is_whole(each) and not matches(each, QUESTION, DEICTIC) for each in found)
    if plain and UNSPACED.search(text) and estimate_tokens(text) <= _MAX_WHOLE and any(map(is_standing, found)):
        yield " ".join(found), True
        return
    at = 0
    while at < len(found):
        sentence = found[at]
        at += 1
        if not _is_whole(sentence):
            continue
        standing = is_standing(sentence) or _names_refused(sentence, refused)
        if standing:
            request, sentence = _split_request(sentence)
            if request:
                yield request, False
            while at < len(found) and _belongs(sentence, found[at]):
                sentence = f"{sentence} {found[at]}"
                at += 1
            yield sentence, True
        elif not matches(sentence, QUESTION):
            yield sentence, False


def _split_request(sentence: str) -> tuple[str, str]:
    """Return a request about something at hand, where one comes first, and the rule behind it without an aside."""
    request = REQUEST_FIRST.match(sentence)
    rule = sentence[request.end() :] if request else ""
    if request and is_standing(rule) and _is_whole(rule):
        return request[1], ASIDE.sub("", rule)
    return "", ASIDE.sub("", sentence)


def is_standing(sentence: str) -> bool:
    """Whether a sentence lays down how to work from now on."""
    if not _is_directive(sentence):
        return False
    return matches(sentence, *STANDING)


def _is_directive(sentence: str) -> bool:
    """Whether it is neither a question, a guess, a report nor about one thing at hand."""
    return not matches(sentence, QUESTION, ONE_TIME, GUESS, REPORT, DEICTIC)


def _is_whole(sentence: str) -> bool:
    if _QUOTE in sentence or sentence.endswith((":", "：", ",", "、")) or _is_open(sentence):
        return False
    return len(sentence) >= _MIN_CHARACTERS and len(terms(sentence)) >= 2 and estimate_tokens(sentence) <= MAX_TOKENS


def _belongs(sentence: str, following: str) -> bool:
    """Whether the next sentence is part of the statement: its reason, its exception or what to do instead."""
    if not _is_whole(following) or matches(following, QUESTION, ONE_TIME):
        return False
    if estimate_tokens(f"{sentence} {following}") > MAX_TOKENS:
        return False
    same = set(NAMED.findall(sentence)) & set(NAMED.findall(following))
    return bool(GOES_ON.match(following) or same or matches(following, *STANDING))


def _names_refused(sentence: str, refused: ToolCall | None) -> bool:
    """Whether the sentence bans, or wants something else for, the call that was just refused, naming a part of it."""
    if refused is None or not _is_directive(sentence) or not matches(sentence, TURNS_DOWN):
        return False
    called = {stem(term) for term in terms(f"{refused.label} {refused.command} {refused.step.tool}")}
    return not called.isdisjoint(stem(term) for term in terms(sentence))


_LONG_RULE = 120
"""Characters of a rule from which on its examples are left out."""
_EXAMPLE = re.compile(
    r"\s*\((?:e\.g\.|for example|for instance)[^()]*\)|\s+(?:--|—|–)\s+e\.g\..*?(?=\s+(?:--|—|–)\s|$)"
)
_HOME = re.compile(r"((?:/Users|/home|\\Users)[/\\])[^/\\\s`'\"]+")


def rule_of(statement: str) -> str:
    """Return a statement as a rule: without the "no," in front, without the person's name in paths, and with a full stop."""
    rule = INTERJECTION.sub("", " ".join(statement.split())).strip()
    rule = _EXAMPLE.sub("", _HOME.sub(r"\1name", rule)) if len(rule) > _LONG_RULE else _HOME.sub(r"\1name", rule)
    rule = re.sub(r"[.!]+$", "", rule)
    if not rule:
        return statement
    if not re.match(r"[A-Za-zÀ-ɏͰ-ӿ]+(?:[\s,'’]|$)", rule) or UNSPACED.search(rule):
        return rule  # a name, code, or a script without capitals
    return f"{rule[:1].upper()}{rule[1:]}" + ("" if rule.endswith((")", "…")) else ".")
