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
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from tacit.domain.candidate import Finding, Severity
from tacit.domain.skill import SkillContent
from tacit.domain.skill_fields import FieldRole, has_role
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
        _parse_rule(name, severity, reason, [part.strip() for part in line.split(";") if part.strip()])
        for (name, reason), lines in table.items()
        for line in lines.strip().splitlines()
    )


def _parse_rule(name: str, severity: Severity, reason: str, parts: list[str]) -> ProseRule:
    def chains(texts: Iterable[str]) -> tuple[tuple[tuple[str, ...], ...], ...]:
        return tuple(
            tuple(tuple(word.strip() for word in link.split("|")) for link in text.split(">")) for text in texts
        )

    against = [part[1:] for part in parts if part.startswith("-")]
    required = [part for part in parts if not part.startswith("-")]
    return ProseRule(
        name,
        severity,
        reason,
        chains=chains(part for part in required if ">" in part),
        wanted=tuple(link for (link,) in chains(part for part in required if ">" not in part)),
        unwanted=tuple(word for (link,) in chains(part for part in against if ">" not in part) for word in link),
        cancelling=chains(part for part in against if ">" in part),
    )


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
    """Whether a sentence is only an example: a comment in a code block, or a quotation.

    A quotation is one as a whole, or the first sentence of several in one quotation.
    """
    text = sentence.text
    is_quoted = text.startswith(_QUOTES) and (text.endswith(_CLOSING) or not any(mark in text[1:] for mark in '"”’'))
    return sentence.kind == "comment" or is_quoted


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


@lru_cache(maxsize=64)
def sentences_in(text: str, *, code: bool = False) -> tuple[Sentence, ...]:
    """Return the sentences of a text, cached for the next check."""
    return tuple(sentences(text[:PROSE_MAX], code=code))


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
# Words of a sentence that make a risky one more severe; without a risk it is only noted. `content_checks` has a pattern of
# its own (`_EVERY_TASK`) for lines that are reported by their origin. Neither includes the other.
_BROAD_ORDER = re.compile(
    r"\b(?:always|never|regardless|every time|each time|whenever|in all cases|at all times|without exception|unconditionally"
    r"|no matter (?:what|how|which)|under (?:all|no) circumstances|from now on|in every case|must (?:always|never)|by default"
    r"|before (?:finali[sz]ing|finishing|answering|responding|you finish))\b",
    re.IGNORECASE,
)
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


class ProseCheck:
    """Instructions against the user, in prose."""

    name = "prose"
    version = "2"

    def examine(self, content: SkillContent) -> Iterator[Finding]:
        """Yield the sentences that order an agent to act against its user, and texts that were too long to read whole."""
        read, too_long = prose_segments(content)
        for segment, reduction in read:
            is_request = has_role(segment.field, FieldRole.REQUEST)
            for sentence in sentences_in(segment.text, code=segment.is_code):
                span = (sentence.start, sentence.end)
                if _NON_ENGLISH_OVERRIDES.search(sentence.text):
                    reason = "tells the agent to ignore its instructions, or to hide something from the user"
                    yield segment.finding("instruction_override", Severity.HIGH, reason=reason, span=span)
                if sentence.kind == "heading":
                    continue
                found = [rule for rule, _ in broken_rules(_RULES_AGAINST_USERS, meaning_of(sentence.text))]
                if any(rule.id == "remote_instructions" for rule in found) and is_well_known(sentence.text):
                    found = [rule for rule in found if rule.id != "remote_instructions"]
                if is_request:
                    found = [rule for rule in found if rule.id in _TO_AN_AGENT]
                from_position = reduction if segment.path else INSTRUCTION
                if is_shown(sentence):
                    from_position = max(from_position, REFERENCE_TEXT)
                for rule in found:
                    levels = from_position
                    if from_position > INSTRUCTION and rule.id in _COMMON_IN_REFERENCES:
                        levels += 1
                    if len(found) > 1:  # one rule confirms the other
                        levels -= 1
                    yield segment.finding(rule.id, reduced(rule.severity, levels), reason=rule.reason, span=span)
        for segment in too_long:
            reason = f"only the first {PROSE_MAX} characters were read as prose"
            yield segment.finding("prose_unread", Severity.LOW, reason=reason, span=(0, 0))


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
    version = "3"

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
_AGAINST = re.compile(
    r"\b(?:don['’]?ts?|do not|avoid|anti-?patterns?|mistakes?|pitfalls?|never|bad|wrong|red flags?|threats?|attacks?"
    r"|vulnerab\w+|problems?|risks?|troubleshoot\w*|limitations|what not|failure modes?|issues?|rationali[sz]ations?"
    r"|excuses?|checklist|references?|resources|examples?)\b|❌|🚫",
    re.IGNORECASE,
)


def _off_topic_findings(
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
            severity = Severity.LOW if is_weak else _SEVERITY_OF_KIND.get(sentence.kind, rule.severity)
            # The author writes the name, the description and the body, so the topic excuses nothing grave.
            if not severity.at_least(Severity.HIGH):
                if rule.id == "alien_host":
                    hosts = (meaning.text[start:end] for start, end in meaning.spans("literal"))
                    if any(_stems(host) & topic for host in hosts) or is_well_known(sentence.text):
                        continue
                elif _is_on_topic(
                    meaning.text[slice(*span)], topic, line_counts if segment.field == "body" else Counter()
                ):
                    continue
            is_risky = True
            yield segment.finding(rule.id, severity, reason=rule.reason, span=(sentence.start, sentence.end))
        if _BROAD_ORDER.search(sentence.text):
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


def _is_on_topic(text: str, topic: frozenset[str], line_counts: Counter[str]) -> bool:
    """Whether most words of a sentence belong to the skill's topic: its name, its description, and what it often repeats."""
    words = _stems(text)
    on_topic = {word for word in words if word in topic or line_counts[word] >= _TOPIC_LINES}
    return len(words) > 1 and len(on_topic) >= _ON_TOPIC_SHARE * len(words)


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:_STEM] for word in _WORD.findall(text.lower()) if word not in _COMMON)
