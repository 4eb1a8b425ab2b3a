"""Prose that turns an agent against the people it works for: SkillContent → findings.

Orders in plain words to ignore what was said before, to keep things from the user, to carry secrets out, to run what a
stranger's host gives, to destroy. It reads classes of words and their order, not phrases, and leaves alone what a skill
advises against. What only looks odd for its skill is the task of `contextual`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tacit.domain.candidate import Finding, Severity
from tacit.domain.skill import SkillContent
from tacit.gate.checks.hosts import is_well_known
from tacit.gate.checks.orders import Order, broken, orders
from tacit.gate.checks.pieces import Piece
from tacit.gate.checks.standing import INSTRUCTION, PROSE_MAX, REQUESTS, is_shown, lighter, said, spoken, unread
from tacit.text.touches.meaning import meaning_of
from tacit.text.touches.sentences import Sentence, sentences

__all__ = ["ProseCheck", "is_standing_order", "standing_orders"]

_ORDERS = orders(
    Severity.HIGH,
    {
        ("instruction_override", "tells the agent to set aside what it was told"): """
            disregard! > instructions ; -embedded
            instructions > void
            self > override ; instructions|user|obey
            override > instructions ; self
            instructions > override > self
            persona
            unheeding > instructions
        """,
        ("secrecy", "tells the agent to keep something from the user"): """
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
        ("extortion", "holds something back for money"): """
            lock!|overwrite!|delete! ; ransom ; -advice|mild
            threaten! > user|private ; -forbidding
        """,
        ("forgery", "forges what others rely on"): """
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
        ("persistence", "makes itself stay beyond its task"): """
            reveal!|send!|copy!|change!|install! > persist ; send|literal|self|obey|excuse|rights ; -advice|mild
            grant!|overwrite!|run! > persist ; send|literal|self|obey|excuse|rights ; -advice|mild
            persist ; literal ; -advice|mild
        """,
        ("remote_control", "lets somebody else onto the machine"): """
            run!|publish!|use!|grant!|send!|change!|plant! > remote ; literal|quiet|secret|outside ; -advice|mild
        """,
    },
)
_TO_AN_AGENT = frozenset({"instruction_override", "secrecy"})
"""What nobody asks a shop for: only an agent can be meant."""
_AT_HOME_ANYWHERE = frozenset(
    {"destruction", "disabled_safety", "forgery", "harmful_order", "payment", "persistence", "remote_instructions"}
)
"""What references and examples of honest skills speak of too."""
_STANDING = re.compile(
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
"""The plainest of these orders in other languages."""


class ProseCheck:
    """Instructions against the user, in words."""

    name = "prose"
    version = "1"

    def examine(self, content: SkillContent) -> Iterator[Finding]:
        """List the sentences that a careful person would refuse."""
        for piece, levels in spoken(content):
            yield from _of_piece(piece, levels if piece.path else INSTRUCTION)
        for piece in unread(content):
            reason = f"too long to be read as words beyond {PROSE_MAX} characters"
            yield piece.finding("prose_unread", Severity.LOW, reason=reason, span=(0, 0))


def _of_piece(piece: Piece, levels: int) -> Iterator[Finding]:
    request = piece.field.partition(".")[0] in REQUESTS
    for sentence in said(piece.text, code=piece.is_code):
        span = (sentence.start, sentence.end)
        if _ELSEWHERE.search(sentence.text):
            reason = "tells the agent to set aside what it was told, or to keep something from the user"
            yield piece.finding("instruction_override", Severity.HIGH, reason=reason, span=span)
        if sentence.kind == "heading":
            continue
        told = _told(sentence.text)
        if request:
            told = {name: rule for name, rule in told.items() if name in _TO_AN_AGENT}
        off = max(levels, int(is_shown(sentence)))
        for rule in told.values():
            taken = off + (off > 0 and rule.id in _AT_HOME_ANYWHERE) - (len(told) > 1)
            yield piece.finding(rule.id, lighter(rule.severity, taken), reason=rule.reason, span=span)


def _told(text: str) -> dict[str, Order]:
    """The rules that a sentence breaks, by their names."""
    told = {rule.id: rule for rule, _ in broken(_ORDERS, meaning_of(text))}
    if "remote_instructions" in told and is_well_known(text):
        del told["remote_instructions"]
    return told


def is_standing_order(sentence: str) -> bool:
    """Whether a sentence orders something for every time."""
    return _STANDING.search(sentence) is not None


def standing_orders(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text that order something for every time: "always", "never", "regardless", "before finalising"."""
    return tuple(said for said in sentences(text) if said.kind != "heading" and is_standing_order(said.text))
