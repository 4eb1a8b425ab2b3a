"""What a model proposes after reading a session, checked against the record of that session.

A proposal stays only where one of its quotes is in the record (others are ignored), where every file, host and number and
every word of a command occurs there, where its claims of success and failure agree with how commands ended, and, for a rule,
where the person said it. Its origin is the lowest of what it rests on, and external for a command whose words stand together
nowhere. The model's word is never evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from tacit.domain.lifecycle import CodedReason, coded
from tacit.domain.skill import RULE_KINDS, Kind
from tacit.domain.trajectory import Origin, Span, lowest
from tacit.learn.attempt_outlines import proven_end
from tacit.learn.origin_limits import typed_and_pasted
from tacit.learn.reading.digest import NumberedStep, SessionRecord
from tacit.learn.values import FieldOrigins
from tacit.text.opposition import clauses, opposite_clause
from tacit.text.redaction import redact
from tacit.text.safe_markdown import clean
from tacit.text.text_sources import directive_in
from tacit.text.tool_calls import ToolKind
from tacit.text.words import term_set

MAX_PROPOSALS = 20
MAX_TEXT = 700
MAX_FIELD = 400
MAX_EVIDENCE = 6
MIN_PART = 5
"""Characters of a word that counts also where it is found as a part of another one."""
MAX_BORROWED = 0.1
"""The share of a text's words that only texts from outside have. Larger: paraphrases of instructions pass as the agent's."""
MIN_QUOTE = 8
"""Characters of a quote that proves something."""


class ProposedKind(StrEnum):
    """What a proposal is."""

    LESSON = "lesson"
    FACT = "fact"
    NORM = "norm"
    PREFERENCE = "preference"
    PROCEDURE = "procedure"
    CODE = "code"


STORED_AS = {
    ProposedKind.LESSON: Kind.LESSON,
    ProposedKind.FACT: Kind.FACT,
    ProposedKind.NORM: Kind.NORM,
    ProposedKind.PREFERENCE: Kind.PREFERENCE,
    ProposedKind.PROCEDURE: Kind.LESSON,
    ProposedKind.CODE: Kind.LESSON,
}
"""A way of working that one session shows is a lesson; a procedure takes three."""


class ProposalRelation(StrEnum):
    """What a proposal is to a known item."""

    NEW = "new"
    CONFIRMS = "confirms"
    REVISES = "revises"
    CONTRADICTS = "contradicts"


class ProposalFault(StrEnum):
    """Why a proposal or a whole answer is not used."""

    BAD_FORM = "bad_form"
    NO_QUOTE = "no_quote"
    NOT_IN_RECORD = "not_in_record"
    NOT_REQUESTED = "not_requested"
    DISAGREES = "disagrees"
    HIDDEN_CHARACTERS = "hidden_characters"
    SECRET = "secret"
    ALREADY_WRITTEN = "already_written"
    UNKNOWN_ITEM = "unknown_item"


@dataclass(frozen=True, slots=True)
class Quote:
    """A step that shows something, and the words that do."""

    step: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One proposal as the model wrote it."""

    kind: ProposedKind
    title: str
    text: str
    when: str = ""
    why: str = ""
    check: str = ""
    fails: str = ""
    works: str = ""
    error: str = ""
    relation: ProposalRelation = ProposalRelation.NEW
    item: str = ""
    evidence: tuple[Quote, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer to one part of a digest."""

    summary: str
    proposals: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True)
class SupportedProposal:
    """A proposal that the record bears out, with the places it rests on."""

    proposal: Proposal
    session: str
    spans: tuple[Span, ...]
    origin: Origin


@dataclass(frozen=True, slots=True)
class RefusedProposal:
    """A proposal that is not used, and why."""

    title: str
    reason: CodedReason


def parse_answer(answer: Mapping[str, Any]) -> Answer | None:
    """Read an answer; nothing where it does not have the form that was asked for."""
    entries = answer.get("proposals")
    if not isinstance(entries, list):
        return None
    parsed = [_parsed(entry) for entry in entries[:MAX_PROPOSALS]]
    found = tuple(each for each in parsed if each is not None)
    if entries and not found:
        return None
    summary = answer.get("summary")
    return Answer(_text(summary) if isinstance(summary, str) else "", found)


def _parsed(entry: Any) -> Proposal | None:
    if not isinstance(entry, Mapping):
        return None
    fields = {name: _text(value) for name in _TEXT_FIELDS if isinstance(value := entry.get(name, ""), str)}
    quotes = entry.get("evidence")
    try:
        kind = ProposedKind(str(entry.get("kind", "")))
        relation = ProposalRelation(str(entry.get("relation") or ProposalRelation.NEW))
    except ValueError:
        return None
    if not fields.get("title") or not fields.get("text") or not isinstance(quotes, list):
        return None
    evidence = tuple(
        Quote(each["step"], _text(each["quote"]))
        for each in quotes[:MAX_EVIDENCE]
        if isinstance(each, Mapping) and isinstance(each.get("step"), int) and isinstance(each.get("quote"), str)
    )
    return Proposal(kind=kind, relation=relation, evidence=evidence, **fields)


_TEXT_FIELDS = ("title", "text", "when", "why", "check", "fails", "works", "error", "item")


def _text(value: str) -> str:
    return " ".join(value.replace("**", "").split())[:MAX_TEXT]


@dataclass(frozen=True, slots=True)
class Passage:
    """One text of a session from one author; what a person pasted is apart from what the person typed."""

    step: NumberedStep
    part: str
    raw: str
    text: str
    """The same to be compared."""
    origin: Origin

    @property
    def span(self) -> Span:
        """The place of the text."""
        return self.step.span(self.part)

    @property
    def is_persons(self) -> bool:
        """Whether the person typed it."""
        return self.origin is Origin.USER


def _passages(record: SessionRecord) -> Iterator[Passage]:
    origins = FieldOrigins(*record.attempts)
    for each in record.steps:
        for part, text in each.parts:
            persons = each.is_persons if part == "text" else part == "observation" and each.holds_answer_of_person
            if not persons:
                yield Passage(each, part, text, normalised(text), origins.origin_of(each.span(part)))
                continue
            typed, pasted = typed_and_pasted(text)
            yield Passage(each, part, typed, normalised(typed), Origin.USER)
            if pasted:
                yield Passage(each, part, pasted, normalised(pasted), Origin.EXTERNAL)


class RecordCheck:
    """Checks proposals against the record of the session that they were read from."""

    def __init__(self, record: SessionRecord) -> None:
        self._record = record
        self._passages = list(_passages(record))

    @cached_property
    def _all(self) -> str:
        return "\n".join(each.text for each in self._passages)

    @cached_property
    def _terms(self) -> frozenset[str]:
        return term_set(self._all)

    @cached_property
    def _trusted(self) -> str:
        """What the person typed and the agent wrote."""
        return "\n".join(each.raw for each in self._passages if each.origin is not Origin.EXTERNAL)

    @cached_property
    def _trusted_terms(self) -> frozenset[str]:
        return term_set(self._trusted)

    @cached_property
    def _denied(self) -> list[frozenset[str]]:
        """What the person or the agent said no to."""
        return [each.about for each in clauses(self._trusted) if each.is_negated]

    @cached_property
    def _trusted_words(self) -> str:
        return normalised(self._trusted)

    @cached_property
    def _foreign_terms(self) -> frozenset[str]:
        """The words of what neither the person nor the agent wrote."""
        return term_set("\n".join(each.raw for each in self._passages if each.origin is Origin.EXTERNAL))

    @cached_property
    def _was_instructed(self) -> bool:
        """Whether the session read a text that tells its reader what to do."""
        return any(directive_in(each.raw) for each in self._passages if each.origin is Origin.EXTERNAL)

    def check(self, proposal: Proposal) -> SupportedProposal | RefusedProposal:
        """Return the proposal with what it rests on, or why it is refused."""
        quoted = self._quoted_passages(proposal)
        from_person = any(each.is_persons for each in quoted)
        if proposal.kind is ProposedKind.NORM and not from_person and any(each.part == "arguments" for each in quoted):
            proposal = replace(proposal, kind=ProposedKind.FACT)  # nobody demanded it, but the calls show it
        failed_fix = self._failed_fix(proposal)
        proposal = self._without_wrong_claims(proposal)
        is_rule = STORED_AS[proposal.kind] in RULE_KINDS
        fault = (
            self._unsafe(" ".join(getattr(proposal, name) for name in _TEXT_FIELDS))
            or (coded(ProposalFault.NO_QUOTE) if not quoted else None)
            or self._unknown_name(f"{proposal.text} {proposal.title}")
            or failed_fix
            or (coded(ProposalFault.NOT_REQUESTED) if is_rule and not from_person else None)
            or self._opposite(proposal)
        )
        if fault:
            return RefusedProposal(proposal.title, fault)
        origin = lowest([self.origin_of_text(f"{proposal.title}. {proposal.text}"), *(each.origin for each in quoted)])
        spans = tuple(dict.fromkeys(each.span for each in quoted))
        return SupportedProposal(self._without_unknown_names(proposal), self._record.session, spans, origin)

    def bears_out(self, text: str) -> bool:
        """Whether a text beside the quoted ones is safe and names nothing that the record does not have."""
        return not self._unsafe(text) and not self._unknown_name(text)

    def _unsafe(self, written: str) -> CodedReason | None:
        if clean(written) != written or not written.isprintable():
            return coded(ProposalFault.HIDDEN_CHARACTERS)
        taken_out = any(mark not in self._all for mark in _REDACTED.findall(written))
        return coded(ProposalFault.SECRET) if taken_out or redact(written).found else None

    def _opposite(self, proposal: Proposal) -> CodedReason | None:
        """Find a note that says the opposite of what it quotes."""
        quoted = [line for each in proposal.evidence for line in self._quoted_lines(each)]
        says = opposite_clause(proposal.text, quoted)
        return coded(ProposalFault.DISAGREES, text=says[:80]) if says else None

    def _quoted_lines(self, quote: Quote) -> Iterator[str]:
        """Yield the whole lines that a quote stands in: it may leave out what turns their meaning round."""
        for piece in _pieces(quote):
            for found in self._passages_with(piece):
                yield from (line for line in found.raw.splitlines() if piece in normalised(line))

    def _without_unknown_names(self, proposal: Proposal) -> Proposal:
        """Empty what stands beside the sentence where the record lacks its names, or the person and the agent its words."""
        when = "" if self._unknown_name(proposal.when) else proposal.when
        why, check = (
            "" if self._unknown_name(text) or (bool(text) and self._is_borrowed(text)) else text
            for text in (proposal.why, proposal.check)
        )
        is_known = "`" in check or self._has(check)  # without the marks it is a command as it stands
        return replace(proposal, when=when, why=why, check=check if is_known else "")

    def _quoted_passages(self, proposal: Proposal) -> list[Passage]:
        """Return where the quotes are; a quote under a wrong number counts where it is found."""
        found: list[Passage] = []
        for quote in proposal.evidence:
            for piece in _pieces(quote):
                near = min(
                    self._passages_with(piece), key=lambda found: abs(found.step.number - quote.step), default=None
                )
                found += [near] if near is not None else []
        return found

    def _passages_with(self, piece: str) -> Iterator[Passage]:
        """Yield where a piece is found; a short one counts only as the whole of what a person said."""
        for each in self._passages:
            if (piece == each.text and each.is_persons) or (len(piece) >= MIN_QUOTE and piece in each.text):
                yield each

    def _unknown_name(self, written: str) -> CodedReason | None:
        """Find a command, file, option, host or number that the record does not have."""
        for code in _CODE.findall(written):
            if not self._has(code):
                return coded(ProposalFault.NOT_IN_RECORD, text=code[:80])
        bare = _CODE.sub(" ", written)
        for match in _NAMED_THING.finditer(bare):
            thing = normalised(match.group().rstrip(".,:;)"))
            if thing and thing not in self._all:
                return coded(ProposalFault.NOT_IN_RECORD, text=thing[:80])
        for compound in _COMPOUND.findall(bare):
            if not term_set(compound) & self._terms:
                return coded(ProposalFault.NOT_IN_RECORD, text=compound[:80])
        return None

    def _has(self, code: str) -> bool:
        text = normalised(_PLACEHOLDER.sub(" ", code))
        if not text or text in self._all or normalised(code) in self._all:
            return True
        parts = {word for word in _WORD.findall(text) if len(word) < MIN_PART or word not in self._all}
        return all(pattern.search(self._all) for pattern in _whole_words(" ".join(parts)))

    def _is_assembled(self, code: str) -> bool:
        """Whether the words of a command stand together in no text of the record."""
        words = _whole_words(normalised(_PLACEHOLDER.sub(" ", code)))
        return not any(all(word.search(each.text) for word in words) for each in self._passages)

    def _without_wrong_claims(self, proposal: Proposal) -> Proposal:
        """Clear what a proposal says of calls and errors where the record does not show it.

        A test run may end well and run no test, and one that fails may show what was looked for: then the text can hold, but no
        call is warned of, and no error brings it back.
        """
        is_failure = any(end is not True for end in self._endings(proposal.fails))
        error = proposal.error if all(normalised(each) in self._all for each in _GAP.split(proposal.error)) else ""
        works = "" if self._always_failed(proposal.works) and not _claims_fix(proposal) else proposal.works
        return replace(proposal, fails=proposal.fails if is_failure else "", works=works, error=error)

    def _failed_fix(self, proposal: Proposal) -> CodedReason | None:
        """Find a fix that failed whenever it ran."""
        if _claims_fix(proposal) and self._always_failed(proposal.works):
            return coded(ProposalFault.DISAGREES, text=proposal.works[:80])
        return None

    def _always_failed(self, command: str) -> bool:
        ends = list(self._endings(command))
        return bool(ends) and all(end is False for end in ends)

    def _endings(self, command: str) -> Iterator[bool | None]:
        """Yield how the calls ended that contain a command."""
        wanted = normalised(command)
        for each in self._record.steps if len(wanted) >= 3 else ():
            if each.step.is_action and each.call.kind is ToolKind.SHELL and wanted in normalised(each.call.command):
                yield proven_end(each.call)

    def origin_of_text(self, text: str) -> Origin:
        """Return external for what may be in the words of others, and for a command that nobody wrote as a whole."""
        if any(map(self._is_assembled, _CODE.findall(text))):
            return Origin.EXTERNAL
        named = (normalised(_PLACEHOLDER.sub(" ", code)) for code in _CODE.findall(text))
        is_foreign = any(word not in self._trusted_words for code in named for word in _WORD.findall(code))
        is_reversed = self._was_instructed and not self._denies(text)
        return Origin.EXTERNAL if is_foreign or is_reversed or self._is_borrowed(text) else Origin.AGENT

    def _is_borrowed(self, text: str) -> bool:
        """Whether words of a text that neither the person nor the agent used may come from others.

        After an instruction that was read any other word may be its paraphrase.
        """
        words = term_set(text) - _SAYS_NOTHING
        unknown = words - self._trusted_terms
        others = unknown if self._was_instructed else unknown & self._foreign_terms
        return not words or len(others) > MAX_BORROWED * len(words)

    def _denies(self, text: str) -> bool:
        """Whether the person or the agent said no to all that a text says no to."""
        denied = [each.about for each in clauses(text) if each.is_negated]
        return all(any(len(each & known) >= min(2, len(each)) for known in self._denied) for each in denied)


def _pieces(quote: Quote) -> list[str]:
    """Return the parts of a quote that must be found."""
    words = _FRAME.sub("", quote.text)
    pieces = [piece for piece in map(normalised, _GAP.split(words)) if len(piece) >= MIN_QUOTE]
    return pieces[:2] or [normalised(words)]


def _whole_words(text: str) -> list[re.Pattern[str]]:
    return [re.compile(rf"(?<!\w){re.escape(word)}(?!\w)") for word in _WORD.findall(text)]


def _claims_fix(proposal: Proposal) -> bool:
    return proposal.kind is ProposedKind.LESSON and bool(proposal.fails or proposal.error)


def normalised(text: str) -> str:
    """Return a text in lower case with single blanks and without quotation marks, to be compared."""
    return " ".join(_MARKS.sub("", text.casefold().replace("⏎", " ")).split())


_MARKS = re.compile(r"[`\"'“”‘’*_]|\u2026")
_GAP = re.compile(r"\[…\]|…|\.\.\.|\s\|\s|⏎")
_FRAME = re.compile(r"^\s*(?:\d+\s+)?(?:(?:PERSON|AGENT)(?: \w+)?:|[$|+-])\s*|\s*→.*$")
_SAYS_NOTHING = frozenset({"run", "eg", "g"})
"""Terms that any note may have: what is run is compared itself."""
_CODE = re.compile(r"`([^`]+)`")
_REDACTED = re.compile(r"<redacted:[\w-]+>")
_PLACEHOLDER = re.compile(r"<[^<>]{1,40}>|\{[^{}]{1,40}\}|\[[^\[\]]{1,30}\]|\.\.\.|…|\*+|(?<![\w-])[A-Z]{4,}(?![\w-])")
"""What stands for something else in a command: `<name>`, `{name}`, `*`, `NAME`."""
_WORD = re.compile(r"[^\W_][\w.+:@/-]*[^\W_]|[^\W_]")
_NAMED_THING = re.compile(
    r"https?://\S+|(?<![\w/-])--[a-z][\w-]+|(?<!\w)[\w.-]+(?:/[\w.-]+)+|(?<![\w.])\d[\d.,]*\d(?!\w)|"
    r"(?<![\w./@-])[A-Za-z][\w-]*(?:\.[\w-]+)*\.[\w-]{2,}|(?<![\w-])-[A-Za-z](?![\w-])|\b[A-Za-z]\w*(?:_\w+|\d\w*)|"
    r"\b(?:[a-z]+|[A-Z][a-z]+(?=[A-Z][a-z]))[A-Z]\w*"
)
"""An address, an option, a path, a number, a host or file, and a name with a capital, a digit or a line inside."""
_COMPOUND = re.compile(r"(?<![\w/.@-])(?![\w-]*(?:ed|en|ing)\b)[^\W\d_]{3,}(?:-[^\W\d_]{3,})+(?![\w/])")
"""What may be the name of a package; it is known where the record has any of its words."""
