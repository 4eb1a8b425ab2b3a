"""Instructions in prose that turn an agent against its user: SkillContent → findings.

Finds orders to ignore earlier instructions, to hide things from the user, to leak secrets, to run remote code, to destroy
data. Rules match classes of words in an order, not phrases, and skip what a skill advises against. A rule is written as
conditions with `;` between them: `send! > secret > outside` needs words of these classes in this order, each near the one
before; `quiet|always` needs any of these anywhere; `-advice` needs none; `-forbidding > send!` cancels the rule where
these follow each other. Behind an action, `!` means that it is ordered, `~` that it is negated, `+` that it is neither
negated nor an -ing form. The classes, such as `mild`, `double`, `hunt`, `carry` and `placed`, are word lists in
`text/resource_uses/word_classes.toml`.

Where a sentence occurs decides how severe it is: SKILL.md and its description instruct the agent; a reference is read on
demand; an example, a test, a comment in a script or a person's request instructs nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from tacit.domain.candidate import Finding, Severity
from tacit.domain.skill import SkillContent
from tacit.gate.checks.secret_flows import is_well_known
from tacit.gate.checks.text_segments import TextSegment, text_segments
from tacit.text.resource_uses.sentences import Meaning, Sentence, meaning_of, sentences

_MAX_GAP = 70
"""The largest distance between two words of a chain, in characters: about one clause. Set by hand, and measured only with
the rules as a whole (`bench/scanner.py`, docs/lab.md of 2026-11-15)."""


@dataclass(frozen=True, slots=True)
class ProseRule:
    """One way of ordering harm, its severity, and a sentence for the reviewer."""

    id: str
    severity: Severity
    reason: str
    chains: tuple[tuple[tuple[str, ...], ...], ...]
    wanted: tuple[tuple[str, ...], ...]
    unwanted: tuple[str, ...]
    cancelling: tuple[tuple[tuple[str, ...], ...], ...] = ()
    """Chains that cancel the rule, such as a prohibition before the word."""

    def span(self, meaning: Meaning) -> tuple[int, int] | None:
        """Return the characters that match; None if the rule is not broken."""
        found: tuple[int, int] | None = None
        for chain in self.chains:
            reached = _follow(chain, meaning)
            if reached is None:
                return None
            found = reached if found is None else (min(found[0], reached[0]), max(found[1], reached[1]))
        if not all(meaning.contains_any(*names) for names in self.wanted) or meaning.contains_any(*self.unwanted):
            return None
        if any(_follow(chain, meaning) for chain in self.cancelling):
            return None
        return found or (0, len(meaning.text))


ProseRules = tuple[ProseRule, ...]


def broken_rules(rules: ProseRules, meaning: Meaning) -> Iterator[tuple[ProseRule, tuple[int, int]]]:
    """Yield the rules that a sentence breaks, each name once, with the characters they match."""
    reported: set[str] = set()
    for rule in rules:
        if rule.id not in reported and (span := rule.span(meaning)) is not None:
            reported.add(rule.id)
            yield rule, span


def parse_rules(severity: Severity, table: dict[tuple[str, str], str]) -> ProseRules:
    """Parse a table of rules: (name, reason) → alternatives, one per line."""
    return tuple(
        _parse_rule(name, severity, reason, line)
        for (name, reason), lines in table.items()
        for line in filter(None, map(str.strip, lines.splitlines()))
    )


def _parse_rule(name: str, severity: Severity, reason: str, line: str) -> ProseRule:
    parts = [part.strip() for part in line.split(";") if part.strip()]
    against = [part[1:] for part in parts if part.startswith("-")]
    chains = tuple(_chain(part) for part in parts if ">" in part and not part.startswith("-"))
    unwanted = tuple(name for part in against if ">" not in part for name in _names(part))
    cancelling = tuple(_chain(part) for part in against if ">" in part)
    wanted = tuple(_names(part) for part in parts if ">" not in part and not part.startswith("-"))
    return ProseRule(name, severity, reason, chains, wanted, unwanted, cancelling)


def _chain(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(_names(link) for link in text.split(">"))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split("|"))


def _follow(chain: tuple[tuple[str, ...], ...], meaning: Meaning) -> tuple[int, int] | None:
    """Return the longest span in which words of these classes follow each other; None if there is none."""
    reached = [span for name in chain[0] for span in meaning.spans(name)]
    for link in chain[1:]:
        if not reached:
            return None
        reached = [
            (start, end)
            for name in link
            for at, end in meaning.spans(name)
            for start in [next((first for first, last in reached if -1 <= at - last <= _MAX_GAP), None)]
            if start is not None
        ]
    return max(reached, key=lambda span: (span[1] - span[0], -span[0]), default=None)


INSTRUCTION, REFERENCE_TEXT, NOT_ADDRESSED = 0, 1, 2
"""Severity reduction, in levels: of what the agent follows, of what it may read, and of what is not addressed to it."""
PROSE_MAX = 200_000
"""Characters of one text whose sentences are read."""
FILES_MAX = 600_000
"""Characters of all files together whose sentences are read."""

REQUESTS = frozenset({"example_queries", "cases", "cues", "tags"})
"""Fields with a person's request or circumstances: they say when a skill is used, not what to do."""
_OBSERVED = frozenset({"pitfalls", "parameters", "preconditions", "postconditions", "signature"})
"""Fields that describe what was observed."""
_LIGHTER = {Severity.CRITICAL: Severity.HIGH, Severity.HIGH: Severity.MEDIUM, Severity.MEDIUM: Severity.LOW}
_NOT_ADDRESSED_PATH = re.compile(
    r"(?:^|/)(?:readme|changelog|licen[cs]e|notice|contributing|authors|security|code_of_conduct|third_party)[\w-]*(?:\.\w+)?$"
    r"|(?:^|/)(?:tests?|fixtures?|examples?|expected\w*|samples?|evals?|evaluations?|data|assets|node_modules|dist)/"
    r"|(?:^|/)test_|[._-](?:test|spec|example)s?\.\w+$",
    re.IGNORECASE,
)
_PROSE = frozenset({"markdown", "text"})
_NOT_PROSE = (
    ".csv",
    ".tsv",
    ".json",
    ".jsonl",
    ".lock",
    ".log",
    ".css",
    ".sty",
    ".tex",
    ".bib",
    ".sql",
    ".xsd",
    ".dockerfile",
)
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
        list_of, _, number = segment.field.partition(".")
        made = list_of == "steps" and bool(content.steps[int(number)].tool)
        return NOT_ADDRESSED if made or list_of in REQUESTS else REFERENCE_TEXT if list_of in _OBSERVED else INSTRUCTION
    if (
        segment.language not in _PROSE
        or _NOT_ADDRESSED_PATH.search(segment.path)
        or segment.path.lower().endswith(_NOT_PROSE)
    ):
        return NOT_ADDRESSED
    return REFERENCE_TEXT


def is_shown(sentence: Sentence) -> bool:
    """Whether a sentence is only an example: a quotation, or a comment in a code block."""
    return sentence.kind == "comment" or is_quoted(sentence.text)


def is_quoted(text: str) -> bool:
    """Whether a sentence is a quotation as a whole, or the first of several in one quotation."""
    return text.startswith(_QUOTES) and (text.endswith(_CLOSING) or not any(mark in text[1:] for mark in '"”’'))


def prose_segments(content: SkillContent) -> Iterator[tuple[TextSegment, int]]:
    """Yield the segments of a content that are read as prose, each with its severity reduction."""
    characters_left = FILES_MAX
    for segment in text_segments(content):
        if segment.start or segment.encoding:  # a code block is read as part of its text
            continue
        if segment.path:
            characters_left -= min(len(segment.text), PROSE_MAX)
            if characters_left < 0:
                continue
        yield segment, severity_reduction(segment, content)


@lru_cache(maxsize=64)
def sentences_in(text: str, *, code: bool = False) -> tuple[Sentence, ...]:
    """Return the sentences of a text, cached for the next check."""
    return tuple(sentences(text[:PROSE_MAX], code=code))


def unread_segments(content: SkillContent) -> Iterable[TextSegment]:
    """Yield the segments that are too long to be read completely."""
    characters_left = FILES_MAX
    for segment in text_segments(content):
        if segment.start or segment.encoding:
            continue
        if segment.path:
            characters_left -= min(len(segment.text), PROSE_MAX)
        if len(segment.text) > PROSE_MAX or (segment.path and characters_left < 0):
            yield segment


_RULES_AGAINST_USERS = parse_rules(
    Severity.HIGH,
    {
        ("instruction_override", "tells the agent to ignore its instructions"): """
            disregard! > instructions ; -embedded
            instructions > void
            self > override ; instructions|user|obey
            override > instructions ; self
            instructions > override > self
            persona
            unheeding > instructions
        """,
        ("secrecy", "tells the agent to hide something from the user"): """
            tell~ > user ; -advice ; -tell~ > others
            hush ; -advice|double
            conceal! ; kept_out ; -advice
            conceal! > user|instructions ; -advice
            user > ask > tell! ; run
        """,
        ("exfiltration", "carries secrets or a person's data to somewhere else"): """
            send! > secret|private ; literal|outside|public ; -advice
            send!|copy! > literal ; secret|private|all ; -advice
            look!|reveal!|use! > secret ; literal ; send|copy|reveal!|look! ; -advice|mild
            use!|look! > secret > literal ; -advice|mild
            look! > secret|private ; send! ; -advice|mild
            look! > secret|private ; copy! > outside|literal|public ; -advice|mild
            run! > secret > literal
        """,
        ("remote_instructions", "has the agent do what a stranger's host says"): """
            obey ; literal ; fetch!|run!|use! ; -advice
            run!|fetch!|look! ; whatever ; -advice
            fetch!|run!|install! > literal > run!|script ; -advice
            fetch!|run!|install! > script > literal ; -advice
        """,
        ("destruction", "destroys a person's data"): """
            delete!|overwrite! > all > holdings|private|secret ; -advice|temporary|double|mild
            delete!|overwrite! > private ; -temporary ; -forbidding > delete!|overwrite!
            devastation ; -advice ; -forbidding > devastation
        """,
        ("disabled_safety", "switches a protection off"): """
            weaken! > hard_check ; -advice|mild
            approve!|verify! > all > hard_check|check ; uncheck|grant! ; -advice
        """,
        ("harmful_order", "orders something that only harms"): """
            reveal!|grant!|run!|change!|send!|look!|delete!|plant! > harm ; -advice
            plant!|change!|reveal!|alter! > flaw ; -hunt|forbidding
        """,
        ("extortion", "demands a ransom"): """
            lock!|overwrite!|delete! ; ransom ; -advice|mild
            threaten! > user|private ; -forbidding
        """,
        ("forgery", "forges data that others rely on"): """
            forge! > check|private|user ; -advice|mild|hunt|forbidding
        """,
        ("credential_phishing", "asks a person for secrets"): """
            ask! > secret ; copy!|send!|literal|reveal! ; -advice
            lure ; reveal!|send!|ask!|copy!|change!|plant! ; -hunt
        """,
        ("payment", "moves money"): """
            pay! > money|literal ; -advice|mild
            money ; literal ; change|pay|approve! ; -advice|mild
        """,
        ("persistence", "makes itself persist beyond its task"): """
            reveal!|send!|copy!|change!|install! > persist ; send|literal|self|obey|excuse|rights ; -advice|mild
            grant!|overwrite!|run! > persist ; send|literal|self|obey|excuse|rights ; -advice|mild
            persist ; literal ; -advice|mild
        """,
        ("remote_control", "gives others access to the machine"): """
            run!|publish!|use!|grant!|send!|change!|plant! > remote ; literal|quiet|secret|outside ; -advice|mild
        """,
    },
)
_TO_AN_AGENT = frozenset({"instruction_override", "secrecy"})
"""Rules that count in a person's request too: only an agent can be addressed."""
_COMMON_IN_REFERENCES = frozenset(
    {"destruction", "disabled_safety", "forgery", "harmful_order", "payment", "persistence", "remote_instructions"}
)
"""Rules whose words also occur in references and examples of benign skills."""
# Wider than the pattern in `content_checks`, which reports a line by itself: here a harmful sentence becomes more severe.
_STANDING_ORDER = re.compile(
    r"\b(?:always|never|regardless|every time|each time|whenever|in all cases|at all times|without exception|unconditionally"
    r"|no matter (?:what|how|which)|under (?:all|no) circumstances|from now on|in every case|must (?:always|never)|by default"
    r"|before (?:finali[sz]ing|finishing|answering|responding|you finish))\b",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
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


class ProseCheck:
    """Instructions against the user, in prose."""

    name = "prose"
    version = "1"

    def examine(self, content: SkillContent) -> Iterator[Finding]:
        """Yield the sentences that a careful person would refuse."""
        for segment, reduction in prose_segments(content):
            yield from _segment_findings(segment, reduction if segment.path else INSTRUCTION)
        for segment in unread_segments(content):
            reason = f"only the first {PROSE_MAX} characters were read as prose"
            yield segment.finding("prose_unread", Severity.LOW, reason=reason, span=(0, 0))


def _segment_findings(segment: TextSegment, reduction: int) -> Iterator[Finding]:
    request = segment.field.partition(".")[0] in REQUESTS
    for sentence in sentences_in(segment.text, code=segment.is_code):
        span = (sentence.start, sentence.end)
        if _ELSEWHERE.search(sentence.text):
            reason = "tells the agent to ignore its instructions, or to hide something from the user"
            yield segment.finding("instruction_override", Severity.HIGH, reason=reason, span=span)
        if sentence.kind == "heading":
            continue
        found = _broken_by_sentence(sentence.text)
        if request:
            found = {name: rule for name, rule in found.items() if name in _TO_AN_AGENT}
        from_position = max(reduction, int(is_shown(sentence)))
        for rule in found.values():
            total_reduction = (
                from_position + (from_position > 0 and rule.id in _COMMON_IN_REFERENCES) - (len(found) > 1)
            )
            yield segment.finding(rule.id, reduced(rule.severity, total_reduction), reason=rule.reason, span=span)


def _broken_by_sentence(text: str) -> dict[str, ProseRule]:
    """Return the rules that a sentence breaks, by name."""
    found = {rule.id: rule for rule, _ in broken_rules(_RULES_AGAINST_USERS, meaning_of(text))}
    if "remote_instructions" in found and is_well_known(text):
        del found["remote_instructions"]
    return found


def is_standing_order(sentence: str) -> bool:
    """Whether a sentence gives an order for every task."""
    return _STANDING_ORDER.search(sentence) is not None
