"""Conditions, cases, pitfalls and places of values ↔ the sentences that people and agents read. Pure text.

A condition that a tool's answer shows is one sentence, such as "`check_status` shows `Mode: ON`". The same grammar
reads it back, so that a person may change the value, or write such a sentence, and it is structure again. What fits no
sentence is prose, kept word for word. Whether a condition holds is decided elsewhere (see `text.facts`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tacit.domain.skill import Case, Condition, Parameter, Pitfall, SkillContent
from tacit.text.facts import SAYS, TASK

_THE_TASK = "the task"
_CODE = "`([^`\n]*)`"
_WHO = rf"(?:{_CODE}|(?P<task>the task))"
_SENTENCES = {
    "is": re.compile(rf"{_WHO} shows `(?:(?P<key>[^`\n]+?): )?(?P<value>[^`\n]*)`", re.IGNORECASE),
    "is not": re.compile(rf"{_WHO} does not show `(?:(?P<key>[^`\n]+?): )?(?P<value>[^`\n]*)`", re.IGNORECASE),
    "has": re.compile(rf"{_WHO} mentions `(?P<value>[^`\n]*)`(?: in `(?P<key>[^`\n]+)`)?", re.IGNORECASE),
    "lacks": re.compile(rf"{_WHO} does not mention `(?P<value>[^`\n]*)`(?: in `(?P<key>[^`\n]+)`)?", re.IGNORECASE),
    "says": re.compile(rf"{_WHO} says `(?P<value>[^`\n]*)`(?P<key>)", re.IGNORECASE),
    "says not": re.compile(rf"{_WHO} does not say `(?P<value>[^`\n]*)`(?P<key>)", re.IGNORECASE),
    "over": re.compile(rf"{_WHO} shows (?:`(?P<key>[^`\n]+)` )?over `(?P<value>[^`\n]*)`", re.IGNORECASE),
    "under": re.compile(rf"{_WHO} shows (?:`(?P<key>[^`\n]+)` )?under `(?P<value>[^`\n]*)`", re.IGNORECASE),
}
"""Relation → how it is said. What an answer says in plain sentences has a verb of its own."""
_SPOKEN = {"says": "has", "says not": "lacks"}
_AND = re.compile(r",? and ", re.IGNORECASE)
_IF = re.compile(r"(?:if|when)[ \t]+", re.IGNORECASE)
_TIMES = re.compile(r"[ \t]*\((?P<support>-?\d+) of (?P<all>-?\d+) times?\)$")
_ASIDE = re.compile(r"(?P<text>.*) \[(?P<aside>[^\[\]]*)\]", re.DOTALL)
_FOR = re.compile(r" \(for tasks with `(?P<word>[^`\n]+)`\)$")
_CHECK = re.compile(r"(?P<text>.*) \[check: (?P<check>.*)\]", re.DOTALL)
_PLACE = re.compile(rf"{_WHO}(?:(?:,)? (?:at|as) `(?P<key>[^`\n]*)`)?", re.IGNORECASE)
_AT = re.compile(r"[ \t]*\((?:at step (?P<step>\d+))?(?:, )?(?:seen (?P<count>\d+) times?)?\)$")
ALWAYS = "Always"


def sentence(condition: Condition) -> str:
    """Say what a tool's answer must show; empty for a condition that is prose only."""
    reading, key, value, relation = condition.reading, condition.key, condition.value, condition.relation
    if not reading:
        return ""
    who = _THE_TASK if reading == TASK else f"`{reading}`"
    verb, negated = ("mention", relation == "lacks") if relation in ("has", "lacks") else ("show", relation == "is not")
    if verb == "mention" and key == SAYS:
        verb, key = "say", ""
    stated = f"{who} does not {verb}" if negated else f"{who} {verb}s"
    if relation in ("over", "under"):
        return f"{stated} `{key}` {relation} `{value}`" if key else f"{stated} {relation} `{value}`"
    if relation in ("is", "is not"):
        return f"{stated} `{key}: {value}`" if key else f"{stated} `{value}`"
    return (f"{stated} `{value}`" + (f" in `{key}`" if key else "")) if relation in ("has", "lacks") else ""


def read_sentence(text: str) -> Condition | None:
    """Read a sentence back; nothing for prose."""
    for relation, pattern in _SENTENCES.items():
        if match := pattern.fullmatch(text):
            reading = TASK if match["task"] else match[1]
            key = SAYS if relation in _SPOKEN else match["key"] or ""
            meant = _SPOKEN.get(relation, relation)
            return Condition(text=text, reading=reading, key=key, relation=meant, value=match["value"])
    return None


def write_condition(condition: Condition) -> str:
    """A condition on one line: its own words, and what shows it where the words do not say that."""
    reading = sentence(condition)
    text = (
        f"{condition.text} [{reading}]"
        if reading and condition.text and not _means(condition)
        else condition.text or reading
    )
    return text + (f" (for tasks with `{condition.when}`)" if condition.when else "")


def tell_condition(condition: Condition) -> str:
    """The same for those who only read: words that say no more than the sentence are told as the sentence."""
    return write_condition(replace(condition, text=sentence(condition)) if _means(condition) else condition)


def _means(condition: Condition) -> bool:
    """Whether the words of a condition are a sentence that means this very condition."""
    found = read_sentence(condition.text)
    return found is not None and replace(found, check=condition.check, when=condition.when) == condition


def read_condition(text: str, *, check: str = "") -> Condition:
    """Read what `write_condition` wrote, or what a person made of it."""
    only = _FOR.search(text)
    text = text[: only.start()] if only else text
    return replace(_read_plain(text), check=check, when=only["word"] if only else "")


def _read_plain(text: str) -> Condition:
    if found := read_sentence(text):
        return found
    aside = _ASIDE.fullmatch(text)
    shown = read_sentence(aside["aside"]) if aside else None
    return replace(shown, text=aside["text"]) if aside and shown else Condition(text=text)


def write_case(case: Case) -> str:
    """One situation as a sentence, with how often it was seen."""
    sentences = [_with_check(condition) for condition in case.conditions]
    return (f"If {', and '.join(sentences)}" if sentences else ALWAYS) + times(case)


def times(case: Case) -> str:
    """How often attempts in this situation went this way; empty where nothing was counted."""
    if not case.support and not case.against:
        return ""
    together = case.support + case.against
    return f" ({case.support} of {together} time{'' if together == 1 else 's'})"


def read_case(text: str) -> Case:
    """Read a situation: ``If …, and … (4 of 4 times)``. Words that fit no sentence stay as they are."""
    counts = _TIMES.search(text)
    words = text[: counts.start()] if counts else text
    support = int(counts["support"]) if counts else 0
    against = int(counts["all"]) - support if counts else 0
    if words.strip().casefold() == ALWAYS.casefold():
        return Case(conditions=(), support=support, against=against)
    opening = _IF.match(words)
    pieces = _split(words[opening.end() :] if opening else words)
    return Case(conditions=tuple(map(_read_piece, pieces)), support=support, against=against)


def _with_check(condition: Condition) -> str:
    return write_condition(condition) + (f" [check: {condition.check}]" if condition.check else "")


def _read_piece(text: str) -> Condition:
    checked = _CHECK.fullmatch(text)
    return read_condition(checked["text"], check=checked["check"]) if checked else read_condition(text)


def _split(words: str) -> Iterator[str]:
    """Cut at ``and`` between conditions: where the words on both sides are sentences, or at ``, and``."""
    start = 0
    for joint in _AND.finditer(words):
        inside = words[start : joint.start()].count("`") % 2
        before, after = words[start : joint.start()], words[joint.end() :]
        comma = joint.group().startswith(",")
        if inside or not (comma or (read_sentence(before) and after.startswith(("`", _THE_TASK)))):
            continue
        yield before
        start = joint.end()
    yield words[start:]


def write_place(parameter: Parameter) -> str:
    """Where a value comes from, in words; empty where that is not known."""
    if not parameter.reading:
        return ""
    if parameter.reading == TASK:
        return f"{_THE_TASK}, as `{parameter.key}`" if parameter.key else _THE_TASK
    return f"`{parameter.reading}`" + (f" at `{parameter.key}`" if parameter.key else "")


def tells_place(parameter: Parameter) -> bool:
    """Whether the description already says where the value comes from."""
    return parameter.reading in parameter.description and parameter.key in parameter.description


def tells_parts(content: SkillContent) -> bool:
    """Whether the steps of a composite already name each of its parts."""
    step_texts = " ".join(step.text for step in content.steps)
    return all(name in step_texts for name in content.sub_skills)


def read_place(text: str) -> tuple[str, str]:
    """Read a place back as reading and key; other words are taken for the reading's name rather than lost."""
    match = _PLACE.fullmatch(text)
    if match is None:
        return text, ""
    return (TASK if match["task"] else match[1]), match["key"] or ""


def write_pitfall(pitfall: Pitfall) -> str:
    """What goes wrong, where, and how often; steps are counted from one for people."""
    at = [f"at step {pitfall.step + 1}"] if pitfall.step is not None else []
    seen = [f"seen {pitfall.count} times"] if pitfall.count != 1 else []
    return pitfall.text + (f" ({', '.join(at + seen)})" if at or seen else "")


def read_pitfall(text: str, *, kind: str = "") -> Pitfall:
    """Read what `write_pitfall` wrote, or what a person made of it."""
    match = _AT.search(text)
    if match is None or not (match["step"] or match["count"]):
        return Pitfall(text=text, kind=kind)
    step = int(match["step"]) - 1 if match["step"] else None
    count = int(match["count"]) if match["count"] else 1
    return Pitfall(text=text[: match.start()], kind=kind, step=step, count=count)


def readings(cases: Iterable[Case]) -> tuple[str, ...]:
    """The tools whose answers decide, in the order they are asked for."""
    found = (condition.reading for case in cases for condition in case.conditions if condition.reading)
    return tuple(dict.fromkeys(reading for reading in found if reading != TASK))
