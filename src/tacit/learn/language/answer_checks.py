"""Checks a text that a model wrote against the material it was shown.

A model may be wrong or may have obeyed a text it should only read. Its wording may name nothing, ask for no effect and give
no order that the mined skill, the task or the agent's calls do not show, and at least half of its words must come from them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from tacit.domain.lifecycle import CodedReason, coded
from tacit.learn.language.material import Material
from tacit.learn.values import HOST, VARIABLE, is_run_specific, particular, quoted
from tacit.text.redaction import redact
from tacit.text.safe_markdown import clean
from tacit.text.words import STOP_WORDS, stem, terms

MIN_KNOWN = 0.5
"""The share of a text's words that must be known."""
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+){1,7}")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’]*")
_FLAG = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
_PLACEHOLDER = re.compile(r"\{[^{}\s]*\}")
_NUMBERED = re.compile(r"\w*\d\w*")
_CODE = re.compile(r"`([^`]*)`")
_SHELL = re.compile(r"[|$<>`\\^~\n\r\t]|&&|;(?!\s)|\b\w+\(|[\[\]]|(?<!\w)#|\*\*|https?:")
"""Characters that plain sentences do not need."""
_ORDERS = re.compile(
    r"\b(?:always|never|must|mandatory|ignor\w*|disregard\w*|overrid\w*|bypass\w*|circumvent\w*|regardless|do not|don['’]t|"
    r"without (?:asking|telling|checking|review\w*|confirm\w*|verif\w*|approv\w*)|instructions?|prompts?|system message|"
    r"assistant|jailbreak|secretly|silently|quietly|covertly|trust me|as an ai|language model|policy|policies|"
    r"no need to|need not|not necessary|unnecessary|first of all|urgent\w*|immediately|even (?:if|when|though)|whatever|"
    r"whether or not|no matter|optional\w*|le(?:ave|ft) out|also|in addition|all|every\w*|others?)\b",
    re.IGNORECASE,
)
"""Words that instruct the reader, extend or remove limits, or address a model."""
_PROGRAMS = frozenset(
    "curl wget ssh scp sftp rsync nc ncat netcat telnet ftp sudo su doas rm rmdir dd mkfs chmod chown bash zsh sh fish cmd "
    "powershell eval exec crontab systemctl launchctl pip pip3 pipx uv npm npx pnpm yarn cargo gem brew apt dnf yum docker "
    "podman kubectl helm terraform git python python3 node perl ruby php base64 openssl gpg aws gcloud az gh xargs tee".split()
)
_EFFECTS = frozenset(
    stem(word)
    for word in "delete remove erase drop wipe destroy purge truncate send email mail post upload publish share forward "
    "transfer pay refund charge bill buy sell grant approve authorize allow permit disable deactivate skip omit expose "
    "reveal leak disclose exfiltrate install uninstall download fetch execute restart reboot shutdown kill terminate revoke "
    "reset force overwrite replace rewrite commit push merge deploy release cancel exchange encrypt decrypt escalate "
    "impersonate login password token credential secret key admin root sudo backdoor payload webhook link click visit "
    "browse subscribe contact notify tell give log save copy print paste public attacker account".split()
)
"""Significant actions and their means: a text may mention them only where the material does."""
_ACTING = frozenset("run use call install execute import load add invoke start launch apply enable".split())
_NEUTRAL = frozenset(
    stem(word)
    for word in "skill procedure step task result value given needed required way new existing current correct right same "
    "relevant first next last before after ensure make sure check confirm see find look identify determine provide allow "
    "help handle change update show need want request ask case situation problem issue follow perform complete done work "
    "apply start begin end one another other all any each every both either several user person agent tool command file "
    "project system information detail data item list number name type kind state status off whether because still empty "
    "again later already report".split()
)


@dataclass(frozen=True)
class AnswerCheck:
    """The material that a model's words are checked against."""

    material: Material

    @cached_property
    def names(self) -> str:
        """Texts whose tools, commands and files may be named, in lower case."""
        return self.material.names.casefold()

    @cached_property
    def own(self) -> str:
        """Trusted texts, in lower case with single blanks."""
        return " ".join(self.material.own.casefold().split())

    @cached_property
    def own_stems(self) -> frozenset[str]:
        """The words of the trusted texts."""
        return _stems(self.material.own)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The words of everything quoted."""
        return _stems(self.material.all)


class AnswerFault(StrEnum):
    """Why a text of a model is refused or missing."""

    BAD_NAME = "bad_name"
    BAD_LENGTH = "bad_length"
    HIDDEN_CHARACTERS = "hidden_characters"
    SECRET = "secret"
    NOT_A_SENTENCE = "not_a_sentence"
    RUN_VALUE = "run_value"
    UNKNOWN_NAME = "unknown_name"
    UNKNOWN_ORDER = "unknown_order"
    UNKNOWN_ACTION = "unknown_action"
    UNKNOWN_WORDS = "unknown_words"
    BAD_FORM = "bad_form"
    UNKNOWN_RECORD = "unknown_record"
    NO_WORKING_CALL = "no_working_call"
    OVER_BUDGET = "over_budget"
    NO_ANSWER = "no_answer"
    MODEL_STOPPED = "model_stopped"


FAULT_TEXT = {
    AnswerFault.BAD_NAME: "was not used: it is not a name of two to eight lower-case words",
    AnswerFault.BAD_LENGTH: "was not used: it has {length} characters instead of {least} to {most}",
    AnswerFault.HIDDEN_CHARACTERS: "was not used: it contains invisible characters",
    AnswerFault.SECRET: "was not used: it contains a possible secret",
    AnswerFault.NOT_A_SENTENCE: "was not used: it contains {text!r}, so it is not a plain sentence",
    AnswerFault.RUN_VALUE: "was not used: it names {text!r}, a value of one run",
    AnswerFault.UNKNOWN_NAME: "was not used: it names {text!r}, which the skill does not",
    AnswerFault.UNKNOWN_ORDER: "was not used: it says {text!r}, which no attempt shows",
    AnswerFault.UNKNOWN_ACTION: "was not used: it mentions {text!r}, which no attempt shows",
    AnswerFault.UNKNOWN_WORDS: "was not used: only {known} of its {words} words occur in the attempts",
    AnswerFault.BAD_FORM: "was not used: it does not have the required form",
    AnswerFault.UNKNOWN_RECORD: "was not used: it cites records that were not shown",
    AnswerFault.NO_WORKING_CALL: "was not used: it cites no call of the agent that worked",
    AnswerFault.OVER_BUDGET: "was not requested: {message}",
    AnswerFault.NO_ANSWER: "did not arrive: {message}",
    AnswerFault.MODEL_STOPPED: "did not arrive: {message}; the model is not called again",
}


def name_fault(name: str, check: AnswerCheck) -> CodedReason | None:
    """Return what is wrong with a skill's name; nothing if it may be used."""
    if len(name) > 64 or not _NAME.fullmatch(name):
        return coded(AnswerFault.BAD_NAME)
    return text_fault(name.replace("-", " "), check, least=3, most=64)


def text_fault(text: str, check: AnswerCheck, *, least: int, most: int) -> CodedReason | None:
    """Return what is wrong with a sentence; nothing if it may be used."""
    if not least <= len(text) <= most:
        return coded(AnswerFault.BAD_LENGTH, length=len(text), least=least, most=most)
    if clean(text) != text or not text.isprintable():
        return coded(AnswerFault.HIDDEN_CHARACTERS)
    if redact(text).found:
        return coded(AnswerFault.SECRET)
    return (
        _unknown_name_fault(text, check)
        or _unknown_order_fault(text, check)
        or _unknown_action_fault(text, check)
        or _unknown_words_fault(text, check)
    )


def _unknown_name_fault(text: str, check: AnswerCheck) -> CodedReason | None:
    """Find tools, commands, files, addresses, options and values that no trusted text contains."""
    bare = _CODE.sub(" ", text)
    if found := _SHELL.search(bare):
        return coded(AnswerFault.NOT_A_SENTENCE, text=found.group())
    named = (*_CODE.findall(text), *quoted(text), *particular(text), *_PLACEHOLDER.findall(text), *_FLAG.findall(text))
    matched = (match.group() for pattern in (HOST, VARIABLE, _NUMBERED) for match in pattern.finditer(text))
    programs = (word for word in _WORD.findall(text) if word.casefold() in _PROGRAMS)
    for thing in dict.fromkeys((*named, *matched, *programs)):
        if is_run_specific(thing):
            return coded(AnswerFault.RUN_VALUE, text=thing)
        if not _contains_word(thing.casefold(), check.names):
            return coded(AnswerFault.UNKNOWN_NAME, text=thing)
    return None


def _unknown_order_fault(text: str, check: AnswerCheck) -> CodedReason | None:
    for match in _ORDERS.finditer(text):
        order = " ".join(match.group().casefold().split())
        if not _contains_word(order, check.own):
            return coded(AnswerFault.UNKNOWN_ORDER, text=order)
    return None


def _unknown_action_fault(text: str, check: AnswerCheck) -> CodedReason | None:
    """Find significant actions that the material does not mention, or not on that object."""
    words = [word.casefold() for word in _WORD.findall(text)]
    for at, word in enumerate(words):
        root = stem(word)
        if root in _EFFECTS and root not in check.own_stems:
            return coded(AnswerFault.UNKNOWN_ACTION, text=word)
        if word in _ACTING and (thing := _object(words[at + 1 : at + 4])) and not _is_known(thing, check.own_stems):
            return coded(AnswerFault.UNKNOWN_ACTION, text=f"{word} {thing}")
    return None


def _object(following: list[str]) -> str:
    """Return the object of an action: the next meaningful word; none if another clause comes first."""
    for word in following:
        if word in ("when", "if", "for", "to", "in", "whenever", "where", "as", "by", "after", "before", "and", "or"):
            return ""
        if word not in STOP_WORDS:
            return word
    return ""


def _unknown_words_fault(text: str, check: AnswerCheck) -> CodedReason | None:
    words = [word for word in terms(text) if word not in STOP_WORDS]
    known = [word for word in words if _is_known(word, check.stems)]
    shared = [word for word in words if word in check.stems]
    if words and (len(known) < MIN_KNOWN * len(words) or not shared):
        return coded(AnswerFault.UNKNOWN_WORDS, known=len(known), words=len(words))
    return None


def _is_known(word: str, stems: frozenset[str]) -> bool:
    return bool({word, stem(word)} & stems) or stem(word) in _NEUTRAL


def _stems(text: str) -> frozenset[str]:
    return frozenset(terms(text, keep_stop_words=True))


def _contains_word(piece: str, text: str) -> bool:
    """Whether a text contains a piece as a whole word."""
    piece = piece.strip(" .,:;!?")
    return bool(piece) and bool(re.search(rf"(?<!\w){re.escape(piece)}(?!\w)", text))
