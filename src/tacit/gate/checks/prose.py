"""Instructions in prose that turn an agent against its user: SkillContent → findings.

Finds orders to ignore earlier instructions, to hide things from the user, to leak secrets, to run remote code, to destroy
data. The rules are in `prose_rules`; they skip what a skill advises against.

Where a sentence occurs decides how severe it is: SKILL.md and its description instruct the agent; a reference is read on
demand; an example, a test, a comment in a script or a person's request instructs nobody.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from tacit.domain.candidate import Finding, Severity
from tacit.domain.skill import FieldRole, SkillContent, has_role
from tacit.gate.checks.pattern_rules import EVERY_TASK
from tacit.gate.checks.prose_rules import AGAINST_USERS, CONTEXTUAL, broken_rules
from tacit.gate.checks.secret_flows import HostKind, addresses_in, is_code_host
from tacit.gate.checks.text_segments import TextSegment, text_segments
from tacit.text.resource_uses.sentences import Sentence, meaning_of, sentences

INSTRUCTION, REFERENCE_TEXT, NOT_ADDRESSED = 0, 1, 2
"""Severity reduction, in levels: of what the agent follows, of what it may read, and of what is not addressed to it."""
PROSE_MAX = 200_000
"""Characters of one text whose sentences are read."""
FILES_MAX = 600_000
"""Characters of all files together whose sentences are read."""

_LIGHTER = {Severity.CRITICAL: Severity.HIGH, Severity.HIGH: Severity.MEDIUM, Severity.MEDIUM: Severity.LOW}
_NOT_ADDRESSED_PATH = re.compile(
    r"(?:^|/)(?:readme|changelog|licen[cs]e|notice|contributing|authors|security|code_of_conduct|third_party)[\w-]*(?:\.\w+)?$"
    r"|(?:^|/)(?:tests?|fixtures?|examples?|expected\w*|samples?|evals?|evaluations?|data|assets|node_modules|dist)/"
    r"|(?:^|/)test_|[._-](?:test|spec|example)s?\.\w+$",
    re.IGNORECASE,
)
_PROSE = frozenset({"markdown", "text"})
_NOT_PROSE = tuple(".csv .tsv .json .jsonl .lock .log .css .sty .tex .bib .sql .xsd .dockerfile".split())
_QUOTES = ('"', "“", "‘", '("', "(“")
_CLOSING = tuple(f"{mark}{end}" for mark in '"”’' for end in ("", ".", ",", ")", "!", ":", ";"))


def reduced(severity: Severity, reduction: int) -> Severity:
    """Reduce a severity by so many levels; low is the least."""
    for _ in range(reduction):
        severity = _LIGHTER.get(severity, severity)
    return severity


def severity_reduction(segment: TextSegment, content: SkillContent) -> int:
    """Return by how many levels the findings of a segment are reduced."""
    if not segment.path:
        name, _, number = segment.field.partition(".")
        is_call = name == "steps" and bool(content.steps[int(number)].tool)
        if is_call or has_role(name, FieldRole.REQUEST):
            return NOT_ADDRESSED
        return REFERENCE_TEXT if has_role(name, FieldRole.OBSERVED) else INSTRUCTION
    if (
        segment.language not in _PROSE
        or _NOT_ADDRESSED_PATH.search(segment.path)
        or segment.path.lower().endswith(_NOT_PROSE)
    ):
        return NOT_ADDRESSED
    return REFERENCE_TEXT


def is_shown(sentence: Sentence) -> bool:
    """Whether a sentence is only an example: a text or a comment in a code block, or a quotation.

    A quotation is one as a whole, or the first sentence of several in one quotation.
    """
    text = sentence.text
    is_quoted = text.startswith(_QUOTES) and (text.endswith(_CLOSING) or not any(mark in text[1:] for mark in '"”’'))
    return sentence.kind in ("comment", "block") or is_quoted


def prose_segments(content: SkillContent) -> tuple[list[tuple[TextSegment, int]], list[TextSegment]]:
    """Return the segments that are read as prose, each with its severity reduction, and those that are not read completely."""
    characters_left = FILES_MAX
    read: list[tuple[TextSegment, int]] = []
    too_long: list[TextSegment] = []
    for segment in text_segments(content):
        if segment.start or segment.encoding:  # a code block is read as part of its text
            continue
        if segment.path:
            characters_left -= min(len(segment.text), PROSE_MAX)
        fits = not segment.path or characters_left >= 0
        if fits:
            read.append((segment, severity_reduction(segment, content)))
        if not fits or len(segment.text) > PROSE_MAX:
            too_long.append(segment)
    return read, too_long


def warned_sentences(segment: TextSegment, marks: re.Pattern[str] | None = None) -> Iterator[tuple[Sentence, bool]]:
    """Yield the sentences of a segment, and whether a heading, a lead-in or a label before it says not to do so."""
    under_heading = led_in = False
    for sentence in sentences(segment.text[:PROSE_MAX], code=segment.is_code):
        listed = sentence.kind in ("item", "cell")
        if sentence.kind == "heading":
            silent = _SILENCE.search(sentence.text) is None
            under_heading = (marks or _WARNING).search(sentence.text) is not None and (silent or marks is not None)
            led_in = False
        elif not listed:
            led_in = sentence.text.endswith(":") and _LEAD_IN.search(sentence.text) is not None
        labelled = ":" in sentence.text[:60] and _LABEL.match(sentence.text) is not None
        yield sentence, labelled or (listed and (under_heading or led_in))


_TO_AN_AGENT = frozenset({"instruction_override", "secrecy"})
"""Rules that count in a person's request too: only an agent can be addressed."""
_COMMON_IN_REFERENCES = frozenset(
    {"destruction", "disabled_safety", "forgery", "harmful_order", "payment", "persistence", "remote_instructions"}
)
"""Rules whose words also occur in references and examples of benign skills."""
_NON_ENGLISH_OVERRIDES = re.compile(
    r"ignora (?:todas )?las instrucciones|ignore[zr]? (?:toutes )?les instructions"
    r"|ignorier\w* (?:alle |die )?(?:vorherigen |bisherigen )?anweisungen|ignore (?:todas )?as instru[çc][õo]es"
    r"|ignora (?:tutte )?le istruzioni|игнорируй\w* (?:все )?(?:предыдущие )?инструкции"
    r"|(?:忽略|无视|無視)(?:之前|以前|上述|以上|所有|先前)|(?:以前|これまで)の指示を(?:無視|忘れ)"
    r"|تجاهل (?:جميع )?التعليمات|पिछले (?:सभी )?निर्देशों को"
    r"|no (?:le )?digas al usuario|ne (?:le )?di(?:s|tes) pas à l'utilisateur"
    r"|sag\w* dem (?:nutzer|benutzer|anwender) nicht|não (?:diga|conte) ao usuário|non dire all'utente"
    r"|не говори пользователю|(?:不要|别)告诉用户|ユーザーに(?:言わ|伝え|知らせ)ない|لا تخبر المستخدم",
    re.IGNORECASE,
)
"""The most common orders to override instructions or to keep a secret, in other languages."""


_SEVERAL_OVERRIDES = 3
"""So many orders to override instructions in what a skill only shows are what it is for."""


class ProseCheck:
    """Instructions against the user, in prose."""

    name = "prose"
    version = "4"

    def examine(self, content: SkillContent) -> Iterator[Finding]:
        """Yield the sentences that order an agent to act against its user, and texts that were too long to read whole."""
        read, too_long = prose_segments(content)
        found = [finding for segment, reduction in read for finding in _against_user(segment, reduction)]
        shown = [each for each in found if each.rule == "instruction_override" and each.severity is Severity.MEDIUM]
        for each in found:
            several = each in shown and len(shown) >= _SEVERAL_OVERRIDES
            yield replace(each, severity=Severity.HIGH) if several else each
        for segment in too_long:
            reason = f"only the first {PROSE_MAX} characters were read as prose"
            yield segment.finding("prose_unread", Severity.LOW, reason=reason, span=(0, 0))


def _against_user(segment: TextSegment, reduction: int) -> Iterator[Finding]:
    """Yield the sentences of one segment that order an agent to act against its user."""
    is_request = has_role(segment.field, FieldRole.REQUEST)
    for sentence, warned in warned_sentences(segment):
        span = (sentence.start, sentence.end)
        if _NON_ENGLISH_OVERRIDES.search(sentence.text):
            reason = "tells the agent to ignore its instructions, or to hide something from the user"
            yield segment.finding("instruction_override", Severity.HIGH, reason=reason, span=span)
        if sentence.kind == "heading" or sentence.text.endswith("?"):
            continue
        found = [rule for rule, _ in broken_rules(AGAINST_USERS, meaning_of(sentence.text))]
        if any(rule.id == "remote_instructions" for rule in found) and is_code_host(sentence.text):
            found = [rule for rule in found if rule.id != "remote_instructions"]
        if is_request:
            found = [rule for rule in found if rule.id in _TO_AN_AGENT]
        from_position = reduction if segment.path else INSTRUCTION
        if is_shown(sentence):
            from_position = max(from_position, REFERENCE_TEXT)
        if warned:
            from_position = NOT_ADDRESSED
        for rule in found:
            levels = from_position
            if from_position > INSTRUCTION and rule.id in _COMMON_IN_REFERENCES:
                levels += 1
            if len(found) > 1:  # one rule confirms the other
                levels -= 1
            yield segment.finding(rule.id, reduced(rule.severity, levels), reason=rule.reason, span=span)


class ContextualCheck:
    """Instructions that do not fit their skill."""

    name = "contextual"
    version = "5"

    def examine(self, content: SkillContent) -> Iterator[Finding]:
        """Yield the sentences that a reviewer must read one by one."""
        topic = _stems(f"{content.name} {content.description}")
        # In how many lines of the body each word occurs.
        line_counts = Counter(stem for line in content.body[:PROSE_MAX].split("\n") for stem in _stems(line))
        for segment, reduction in prose_segments(content)[0]:
            if reduction < NOT_ADDRESSED:
                yield from _off_topic_findings(segment, reduction, topic=topic, line_counts=line_counts)


_SEVERITY_OF_KIND = {"hidden": Severity.HIGH}
"""A hidden comment is addressed to the agent alone."""
_WARNING = re.compile(
    r"\b(?:don['’]?ts?|do not|avoid|anti-?patterns?|mistakes?|pitfalls?|never|must not|bad|wrong|red flags?|what not"
    r"|rejected?|forbidden|prohibited|dangerous)\b|❌|🚫|⛔",
    re.IGNORECASE,
)
"""Marks what follows as what not to do."""
_AGAINST = re.compile(
    rf"{_WARNING.pattern}|\b(?:threats?|attacks?|vulnerab\w+|problems?|risks?|troubleshoot\w*|limitations|failure modes?"
    r"|issues?|rationali[sz]ations?|excuses?|checklist|references?|resources|examples?)\b",
    re.IGNORECASE,
)
_SILENCE = re.compile(r"\b(?:tell|mention|reveal|inform|show|skip|ask|users?)\b", re.IGNORECASE)
"""In a heading, what an order to keep something secret has, and a list of mistakes has not."""
_LABEL = re.compile(rf"[^:.]{{0,30}}(?:{_WARNING.pattern})[\W\d]{{0,4}}:", re.IGNORECASE)
_LEAD_IN = re.compile(
    rf"(?:{_WARNING.pattern})(?: (?:do|any|of|the|these|this|following|to|ever|things|examples?|patterns?)\b){{0,5}}\W{{0,4}}:$",
    re.IGNORECASE,
)


def _off_topic_findings(
    segment: TextSegment, reduction: int, *, topic: frozenset[str], line_counts: Counter[str]
) -> Iterator[Finding]:
    for sentence, against in warned_sentences(segment, _AGAINST):
        if sentence.kind == "heading" or sentence.text.endswith("?"):
            continue
        is_weak = reduction > INSTRUCTION or is_shown(sentence) or against
        meaning = meaning_of(sentence.text)
        is_risky = False
        for rule, span in broken_rules(CONTEXTUAL, meaning):
            severity = Severity.LOW if is_weak else _SEVERITY_OF_KIND.get(sentence.kind, rule.severity)
            # The author writes the name, the description and the body, so the topic excuses nothing grave.
            if not severity.at_least(Severity.HIGH):
                if rule.id == "alien_host":
                    if not any(_is_alien(meaning.text, at, topic, segment.whole) for at in meaning.spans("literal")):
                        continue
                elif _is_on_topic(
                    meaning.text[slice(*span)], topic, line_counts if segment.field == "body" else Counter()
                ) and not any(_is_alien(meaning.text, at, topic, segment.whole) for at in meaning.spans("literal")):
                    continue
            is_risky = True
            yield segment.finding(rule.id, severity, reason=rule.reason, span=(sentence.start, sentence.end))
        if EVERY_TASK.search(sentence.text):
            severity = Severity.MEDIUM if is_risky and not is_weak else Severity.LOW
            reason = "applies to every task" + (", and has consequences" if is_risky else "")
            yield segment.finding("standing_order", severity, reason=reason, span=(sentence.start, sentence.end))


_WORD = re.compile(r"[a-z]{4,}")
_COMMON = frozenset(
    "https http github docs latest main master with from this that when user file data tool tools your into them then "
    "they have make makes must should need needs sure always never before after other step steps first next name line lines "
    "note example following about each every also more than only some such these those their which while will used using uses".split()
)
_STEM = 5
"""Letters by which words are compared, so that `delete` and `deleting` are one word."""
_ON_TOPIC_SHARE = 0.34
"""Share of a sentence's words that must belong to the topic. Set by hand, measured with the whole check (`bench/scanner.py`)."""
_TOPIC_LINES = 2
"""A word in so many lines belongs to the topic. Set by hand, like the share above."""


def _is_on_topic(text: str, topic: frozenset[str], line_counts: Counter[str]) -> bool:
    """Whether most words of a sentence belong to the skill's topic: its name, its description, and what it often repeats."""
    words = _stems(text)
    on_topic = {word for word in words if word in topic or line_counts[word] >= _TOPIC_LINES}
    return len(words) > 1 and len(on_topic) >= _ON_TOPIC_SHARE * len(words)


_DOCUMENTATION = re.compile(
    r"(?:^|//)(?:docs?|learn|developers?|help|support|wiki|en)\.|/(?:docs?|guides?|wiki|licen[cs]es)\b|[{<]|owner/"
)


def _is_alien(text: str, at: tuple[int, int], topic: frozenset[str], whole: str) -> bool:
    """Whether an address belongs to nobody whom the skill names: neither its own service, a place of code, nor documentation."""
    address = text[slice(*at)]
    kinds = [kind for kind, _ in addresses_in(address)]
    if kinds and kinds[0] in (HostKind.INSTALLER, HostKind.CODE, HostKind.LOCAL):
        return False
    if text[max(0, at[0] - 2) : at[0]] == "](" or _DOCUMENTATION.search(address) or _stems(address) & topic:
        return False
    host = address.partition("://")[2] or address
    domain = ".".join(re.split(r"[/:?#]", host.rpartition("@")[2], maxsplit=1)[0].split(".")[-2:])
    return sum(domain in line for line in whole.split("\n")) < 2


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:_STEM] for word in _WORD.findall(text.lower()) if word not in _COMMON)
