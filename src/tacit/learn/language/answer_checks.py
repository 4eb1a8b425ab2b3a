"""Checks a text that a model wrote against the material it was shown.

A model may be wrong or may have obeyed a text it should only read. Its wording may name nothing, ask for no effect and give
no order that the mined skill, the task or the agent's calls do not show, and at least half of its words must come from them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from tacit.learn.language.material import Material
from tacit.learn.values import HOST, VARIABLE, particular, quoted, run_specific
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


def name_fault(name: str, ground: AnswerCheck) -> str:
    """Return what is wrong with a skill's name."""
    if len(name) > 64 or not _NAME.fullmatch(name):
        return "is no name of two to eight lower-case words"
    return text_fault(name.replace("-", " "), ground, least=3, most=64)


def text_fault(text: str, ground: AnswerCheck, *, least: int, most: int) -> str:
    """Return what is wrong with a sentence; empty if nothing."""
    if not least <= len(text) <= most:
        return f"has {len(text)} characters, not {least} to {most}"
    if clean(text) != text or not text.isprintable():
        return "holds characters that people do not see"
    if redact(text).found:
        return "holds what looks like a secret"
    return (
        _unknown_things(text, ground)
        or _unknown_orders(text, ground)
        or _unknown_acts(text, ground)
        or _unknown_words(text, ground)
    )


def _unknown_things(text: str, ground: AnswerCheck) -> str:
    """Return tools, commands, files, addresses, options and values that no trusted text contains."""
    bare = _CODE.sub(" ", text)
    if found := _SHELL.search(bare):
        return f"holds {found.group()!r}, which is no plain sentence"
    named = (*_CODE.findall(text), *quoted(text), *particular(text), *_PLACEHOLDER.findall(text), *_FLAG.findall(text))
    matched = (match.group() for pattern in (HOST, VARIABLE, _NUMBERED) for match in pattern.finditer(text))
    programs = (word for word in _WORD.findall(text) if word.casefold() in _PROGRAMS)
    for thing in dict.fromkeys((*named, *matched, *programs)):
        if run_specific(thing):
            return f"names {thing!r}, a value of one run"
        if not _stands_in(thing.casefold(), ground.names):
            return f"names {thing!r}, which the skill does not"
    return ""


def _unknown_orders(text: str, ground: AnswerCheck) -> str:
    for match in _ORDERS.finditer(text):
        order = " ".join(match.group().casefold().split())
        if not _stands_in(order, ground.own):
            return f"says {order!r}, which nothing shows"
    return ""


def _unknown_acts(text: str, ground: AnswerCheck) -> str:
    """Return significant actions that the material does not mention, or not on that object."""
    words = [word.casefold() for word in _WORD.findall(text)]
    for at, word in enumerate(words):
        root = stem(word)
        if root in _EFFECTS and root not in ground.own_stems:
            return f"speaks of {word!r}, which nothing shows"
        if word in _ACTING and (thing := _object(words[at + 1 : at + 4])) and not _known(thing, ground.own_stems):
            return f"wants to {word} {thing!r}, which nothing shows"
    return ""


def _object(following: list[str]) -> str:
    """Return the object of an action: the next meaningful word; none if another clause comes first."""
    for word in following:
        if word in ("when", "if", "for", "to", "in", "whenever", "where", "as", "by", "after", "before", "and", "or"):
            return ""
        if word not in STOP_WORDS:
            return word
    return ""


def _unknown_words(text: str, ground: AnswerCheck) -> str:
    words = [word for word in terms(text) if word not in STOP_WORDS]
    known = [word for word in words if _known(word, ground.stems)]
    shared = [word for word in words if word in ground.stems]
    if words and (len(known) < MIN_KNOWN * len(words) or not shared):
        return f"shares {len(known)} of its {len(words)} words with what is known"
    return ""


def _known(word: str, stems: frozenset[str]) -> bool:
    return bool({word, stem(word)} & stems) or stem(word) in _NEUTRAL


def _stems(text: str) -> frozenset[str]:
    return frozenset(terms(text, keep_stop_words=True))


def _stands_in(piece: str, text: str) -> bool:
    """Whether a text contains a piece as a whole word."""
    piece = piece.strip(" .,:;!?")
    return bool(piece) and bool(re.search(rf"(?<!\w){re.escape(piece)}(?!\w)", text))
