"""Harmful instructions that sound ordinary: falsified results, weakened checks, copies sent elsewhere. Content → findings.

The same words can be normal in one skill and wrong in another: a skill about deleting mail may delete mail. So a sentence
that fits the skill's topic is not reported. The rules are written in the language that `prose` explains.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tacit.domain.candidate import Finding, Severity
from tacit.domain.skill import SkillContent
from tacit.gate.checks.prose import (
    INSTRUCTION,
    NOT_ADDRESSED,
    PROSE_MAX,
    broken_rules,
    is_shown,
    is_standing_order,
    parse_rules,
    prose_segments,
    sentences_in,
)
from tacit.gate.checks.secret_flows import is_well_known
from tacit.gate.checks.text_segments import TextSegment
from tacit.text.resource_uses.sentences import Meaning, meaning_of

_CONTEXTUAL_RULES = parse_rules(
    Severity.MEDIUM,
    {
        ("sends_elsewhere", "sends or copies what the user works on to somewhere else"): """
            send!|copy!|publish! > outside|literal ; -advice|mild
            send!|copy!|publish! > data|private|secret|result > outside|literal ; -advice|mild
            send+|copy+ > outside|literal ; data|private|secret ; always|excuse|authority|quiet ; -advice|mild|forbidding
            data|private|secret > send! > outside|public|literal ; -advice|mild
            use! > outside ; data ; excuse|condition ; -advice|mild
            literal ; authority|all|always ; send!|copy!|reveal!|change!|publish! ; -advice|mild
            run!|copy! > script ; carry ; always|age|excuse|condition ; -advice|mild
            persist ; send ; data ; -advice|mild
            copy > data|private > outside ; -advice|mild
            usage ; outside|literal ; send|copy ; -advice|mild
            run! > script ; usage ; -advice|mild
            authority|excuse ; copy! > all|data ; always|all ; -advice|mild
            cc ; always|excuse|authority ; send!|reveal!|plant! ; -advice|mild
        """,
        ("reveals_secret", "shows or stores a secret"): """
            reveal!|send!|publish! > secret ; -advice|mild
            copy > secret ; grant!|run! ; -advice|mild
            look! > secret > reveal! ; -advice|mild
        """,
        ("reveals_private", "shows or gathers what is private"): """
            reveal!|publish! > private ; all|public|outside|excuse|always|authority|secret|placed|user ; -advice|mild
            look!|fetch! > private ; all|excuse|always|condition|quiet ; -advice|mild
            authority ; private|secret ; -advice|mild
            reveal!|send! > private > outside|user|literal ; -advice|mild
            ask! > hot_secret ; -advice
        """,
        ("reaches_further", "goes beyond what it was asked for"): """
            change!|delete!|look!|send!|copy! > neighbours ; -advice|mild|forbidding
            reply! > for_user ; -advice|mild
            run!|publish!|use!|grant! > remote ; -advice|mild
        """,
        ("stays", "makes itself stay beyond its task"): """
            reveal!|copy!|change!|install!|grant! > persist ; always|quiet|age|all ; -advice|mild
        """,
        ("hides", "keeps something from those whom it concerns"): """
            unneeded > tell > user|result|data ; -advice|mild
            kept_out ; adverse|check|result|money ; -advice|mild
            omit! > result|adverse > user ; excuse|always|condition ; -advice|mild
        """,
        ("makes_public", "opens something to everybody"): """
            publish!|change!|grant!|reveal!|send!|run!|use! > public ; data|private|secret|rights|publish ; -advice|mild
            public ; data|private|rights ; excuse|always|authority ; -advice|mild
            data > public ; grant!|publish!|copy! ; -advice|mild
            grant!|send!|copy!|publish! > public ; -advice|mild
        """,
        ("grants_rights", "gives more rights than the task needs"): """
            grant!|ask! > rights ; -advice|mild
            use! > rights ; all|always|condition|excuse ; -advice|mild
            literal > rights ; grant! ; -advice|mild
        """,
        ("deletes_data", "deletes or overwrites what the user may need"): """
            delete! > data|private ; age|quiet|excuse|authority ; -advice|mild|temporary
            delete! > holdings|private ; always|all|condition ; -advice|mild|temporary
            data|private > delete! ; age|quiet|excuse|authority|always|condition|unneeded ; -advice|mild|temporary
            overwrite! > data ; excuse|always|uncheck|quiet|age ; -advice|mild
            delete! > user|private|secret ; -advice|mild
            delete! > holdings > holdings ; -advice|mild|temporary
            delete!|weaken!|omit! > protective ; -advice|mild
            data > delete+ ; age|excuse|unneeded ; -advice|mild|temporary|forbidding
        """,
        ("weakens_check", "leaves out or weakens a check"): """
            weaken! > check ; excuse|authority|unneeded|quiet|always|all|condition ; -advice|mild ; -forbidding > weaken!
            check > weaken!|unneeded ; -advice|mild
            unneeded ; check|verify ; -advice|mild
            unneeded > ask ; -advice|mild
            verify~ > data|check ; condition|excuse ; forbidding ; -advice|mild|double
            uncheck ; approve|publish|send|alter|change|run!|pay!|obey|overwrite! ; -advice|mild|double ; -forbidding > uncheck
            flag ; -advice|mild ; -forbidding > flag
            ask~ > check|user ; script|run|delete|overwrite|send ; -advice
            weaken > hard_check ; excuse|condition|always|authority ; -advice|mild ; -forbidding > weaken
            change!|approve! > hard_check ; authority ; -advice
            approve! > uncheck ; -advice|mild|double
            alter! > hard_check ; -advice|mild
            change! > hard_check ; excuse ; -advice|mild
            proceed! ; anyway ; -advice|mild
            use!|change!|run!|grant!|copy!|weaken! > weakling ; keeping ; -advice|mild|forbidding
            weakling ; unneeded ; -advice|mild
        """,
        ("automatic_approval", "approves without a person"): """
            approve! > always|quiet|condition ; always|quiet|weaken|uncheck ; -advice|mild ; -user|forbidding > approve!
            approve! ; always ; -advice|mild ; -forbidding|verify~|user > approve!
            authority ; unneeded > check
        """,
        ("acts_unasked", "acts without asking"): """
            quiet ; delete!|send!|run!|change!|approve!|copy! ; -advice|mild|double ; -forbidding > quiet
            quiet ; reveal!|publish!|fetch!|pay!|overwrite!|look! ; -advice|mild|double ; -forbidding > quiet
        """,
        ("falsifies_results", "changes results, or leaves some out"): """
            change! > result > upward|claim ; -advice|mild
            change!|use! > upward > result ; -advice|mild
            result > change! > claim|upward ; -advice|mild
            change! > claim ; result|all|data ; -advice|mild
            alter! > adverse > result|data ; -advice|mild
            alter! > result ; condition ; adverse ; -advice|mild
            shift! > all > result ; -advice|mild
            upward ; change! ; result ; -advice|mild
            change! > result ; uncheck ; -advice|mild|double
            condition > result|data > change! > result ; adverse|always ; -advice|mild
            omit! > adverse ; -advice|mild
            claim ; uncheck ; always|all ; -advice|mild
            omit! ; claim ; result|data ; -advice|mild
            adverse > alter!|omit! ; result|data ; -advice|mild
            adverse > reveal~|omit! ; result|data ; -advice|mild
            authority ; change! ; result
            reveal!|change!|forge!|use!|plant! > bogus ; -advice|mild
            change! > claim ; check ; condition ; -advice|mild
            forge! > result|data ; -advice|mild|forbidding
        """,
        ("favours", "favours a third party against the user's interest"): """
            favour! > product ; always|all|condition|placed ; -advice|mild
            product > favour!|change! > placed ; -advice|mild
            favour!|change! > product > placed ; -advice|mild
            favour! ; claim ; -advice|mild
            use!|favour! > data|product > claim ; -advice|mild
            favour > product ; always ; -advice|mild
            favour!|slight! > group ; -advice|mild
            group > change!|favour! > placed ; -advice|mild
            run!|use!|reveal!|send! > gain ; always|all|excuse|condition ; -advice|mild
        """,
        ("redirects_money", "changes where money goes"): """
            money ; change!|fetch!|reveal!|alter!|send!|use! ; -advice|mild
            condition > pay! ; always|result ; -advice|mild
            approve!|grant! > money ; all|condition|always ; -advice|mild
        """,
        ("unlimited_use", "uses resources or keeps access without a limit"): """
            limitless ; run!|change!|grant!|send!|fetch!|use!|reveal! ; -advice|mild ; -forbidding > limitless
        """,
        ("alien_host", "takes something from a host that the skill has nothing to do with"): """
            fetch!|install!|use!|run!|change! > literal ; -advice|mild
            literal ; condition|excuse ; fetch|install|use! ; -advice|mild
            data|product > fetch! > literal ; -advice|mild
            literal ; send|copy|reveal!|publish!|change!|grant! ; -advice|mild
        """,
        ("hidden_trigger", "does something else on a certain day, or for a certain person"): """
            trigger ; -advice|mild
        """,
    },
)


class ContextualCheck:
    """Instructions that do not fit their skill."""

    name = "contextual"
    version = "1"

    def examine(self, content: SkillContent) -> Iterator[Finding]:
        """Yield the sentences that a reviewer must read one by one."""
        topic = _stems(f"{content.name} {content.description}")
        line_counts = _line_counts(content)
        for segment, reduction in prose_segments(content):
            if reduction < NOT_ADDRESSED:
                yield from _segment_findings(segment, reduction, topic=topic, line_counts=line_counts)


_WEIGHT = {"hidden": Severity.HIGH}
"""A hidden comment is addressed to the agent alone."""
_AGAINST = re.compile(
    r"\b(?:don['’]?ts?|do not|avoid|anti-?patterns?|mistakes?|pitfalls?|never|bad|wrong|red flags?|threats?|attacks?"
    r"|vulnerab\w+|problems?|risks?|troubleshoot\w*|limitations|what not|failure modes?|issues?|rationali[sz]ations?"
    r"|excuses?|checklist|references?|resources|examples?)\b|❌|🚫",
    re.IGNORECASE,
)


def _segment_findings(
    segment: TextSegment, reduction: int, *, topic: frozenset[str], line_counts: Counter[str]
) -> Iterator[Finding]:
    against = False
    for sentence in sentences_in(segment.text, code=segment.is_code):
        if sentence.kind == "heading":
            against = _AGAINST.search(sentence.text) is not None
            continue
        if sentence.text.endswith("?"):
            continue
        is_weak = reduction > INSTRUCTION or is_shown(sentence) or (against and sentence.kind in ("item", "cell"))
        meaning = meaning_of(sentence.text)
        is_risky = False
        for rule, span in broken_rules(_CONTEXTUAL_RULES, meaning):
            if rule.id == "alien_host":
                if _host_is_on_topic(meaning, topic) or is_well_known(sentence.text):
                    continue
            elif _is_on_topic(
                meaning.text[slice(*span)], topic, line_counts=line_counts if segment.field == "body" else None
            ):
                continue
            is_risky = True
            severity = Severity.LOW if is_weak else _WEIGHT.get(sentence.kind, rule.severity)
            yield segment.finding(rule.id, severity, reason=rule.reason, span=(sentence.start, sentence.end))
        if is_standing_order(sentence.text):
            severity = Severity.MEDIUM if is_risky and not is_weak else Severity.LOW
            reason = "applies to every task" + (", and has consequences" if is_risky else "")
            yield segment.finding("standing_order", severity, reason=reason, span=(sentence.start, sentence.end))


_WORD = re.compile(r"[a-z]{4,}")
_COMMON = frozenset(
    "https http github docs latest main master with from this that when user file data tool tools your into them then "
    "they have about each every also more than only some such these those their which while will used using uses".split()
)
_STEM = 5
"""Letters by which words are compared, so that `delete` and `deleting` are one word."""
_ON_TOPIC_SHARE = 0.6
"""Share of a sentence's words that must belong to the topic. Set by hand, measured with the whole check (`bench/scanner.py`)."""
_TOPIC_LINES = 5
"""A word in so many lines belongs to the topic. Set by hand, like the share above."""


def _is_on_topic(text: str, topic: frozenset[str], *, line_counts: Counter[str] | None = None) -> bool:
    """Whether most words of a sentence belong to the skill's topic: its name, its description, and what it often repeats."""
    words = _stems(text)
    known = words & topic
    if line_counts is not None:
        known |= {word for word in words if line_counts[word] >= _TOPIC_LINES}
    return len(words) > 1 and len(known) >= _ON_TOPIC_SHARE * len(words)


def _line_counts(content: SkillContent) -> Counter[str]:
    """Count in how many lines of the body each word occurs."""
    return Counter(stem for line in content.body[:PROSE_MAX].split("\n") for stem in _stems(line))


def _host_is_on_topic(meaning: Meaning, topic: frozenset[str]) -> bool:
    """Whether a host or path in the sentence has a name from the skill's topic."""
    return any(_stems(meaning.text[start:end]) & topic for start, end in meaning.spans("literal"))


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:_STEM] for word in _WORD.findall(text.lower()) if word not in _COMMON)
