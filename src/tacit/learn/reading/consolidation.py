"""Brings the proposals of many sessions together: what says the same becomes one item with a count, what is weak is dropped.

Proposals in nearly the same words are joined by comparison. A second reading by the model, of the proposals alone, joins what
only means the same, names contradictions, and says what is obvious or of one day. Its sentences are used only where the joined
proposals have all their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tacit.domain.candidate import Candidate
from tacit.domain.reach import CARD
from tacit.domain.scope import Scope
from tacit.domain.skill import CALL_TAG, MADE_BY_READING, RULE_KINDS, Kind, Provenance, SkillContent, SkillVersion
from tacit.domain.trajectory import Origin, lowest
from tacit.learn.reading.proposals import STORED_AS, Proposal, ProposedKind, SupportedProposal, normalised
from tacit.learn.wording import slug
from tacit.text.command_forms import command_forms
from tacit.text.error_signatures import masked_line, tells
from tacit.text.redaction import redact
from tacit.text.similarity import jaccard, overlap
from tacit.text.words import STOP_WORDS, term_set

MADE_BY = f"{MADE_BY_READING}/1"
ALIKE = 0.6
"""Share of common words from which two proposals say the same; with a larger value more of them stay apart."""
CHUNK = 60
"""Proposals in one list for the model."""
MAX_DESCRIPTION = 480
MAX_NEW_WORDS = 0.2
"""Share of the words of a joined sentence that none of its proposals has."""
MAX_SPANS = 12
CONTRADICTED = "contradicted"
"""Why a note is dropped beside a newer one that it cannot hold with."""
DROP_REASONS = frozenset({"obvious", "one_time", "minor", "unclear", "wrong"})
"""Why the second reading may drop a proposal, as `merge-1.json` says; other reasons are passed over."""
_CODE = re.compile(r"`([^`]+)`")
_CONTRADICTS = "**Contradicts.** {}"


@dataclass(slots=True)
class ProposalGroup:
    """Proposals that say the same, the best one first."""

    members: list[SupportedProposal]
    text: str = ""
    """A sentence for all of them; empty: that of the first."""
    title: str = ""
    dropped: str = ""
    contradicts: list[ProposalGroup] = field(default_factory=list)
    """Older groups that cannot hold beside this one; its text names them to the reviewer."""

    @property
    def best(self) -> Proposal:
        """The proposal that stands for all."""
        return self.members[0].proposal

    @property
    def sessions(self) -> list[str]:
        """The sessions that it was read from, in order."""
        return list(dict.fromkeys(each.session for each in self.members))

    @property
    def shown(self) -> str:
        """Its sentence."""
        return self.text or self.best.text

    @property
    def is_rule(self) -> bool:
        """Whether it is what the person wants."""
        return STORED_AS[self.best.kind] in RULE_KINDS

    @property
    def terms(self) -> frozenset[str]:
        """The words that it is compared by."""
        return term_set(f"{self.best.title} {self.shown}") - STOP_WORDS

    def join(self, other: ProposalGroup) -> None:
        """Take in what says the same."""
        self.members += other.members


def group_alike(supported: Sequence[SupportedProposal]) -> list[ProposalGroup]:
    """Join proposals of nearly the same words, in the order in which they came."""
    groups: list[ProposalGroup] = []
    for each in supported:
        single = ProposalGroup([each])
        same = next((group for group in groups if _is_alike(group, single)), None)
        if same is None:
            groups.append(single)
        else:
            same.join(single)
    return groups


def _is_alike(left: ProposalGroup, right: ProposalGroup) -> bool:
    if STORED_AS[left.best.kind] is not STORED_AS[right.best.kind]:
        return False
    commands = set(map(normalised, _CODE.findall(left.shown))), set(map(normalised, _CODE.findall(right.shown)))
    if all(commands) and not overlap(*commands):
        return False
    return jaccard(left.terms, right.terms) >= ALIKE


def chunks(groups: Sequence[ProposalGroup]) -> Iterator[list[ProposalGroup]]:
    """Yield groups in lists for the model, each next to the one it is most alike to."""
    left = list(groups)
    ordered: list[ProposalGroup] = []
    while left:
        last = ordered[-1].terms if ordered else frozenset[str]()
        ordered.append(left.pop(max(range(len(left)), key=lambda at: (jaccard(left[at].terms, last), -at))))
    lists = max(1, -(-len(ordered) // CHUNK))
    size = -(-len(ordered) // lists) if ordered else 1
    yield from (ordered[at : at + size] for at in range(0, len(ordered), size))


def notes_text(groups: Sequence[ProposalGroup], order: Mapping[str, int]) -> str:
    """Return a list of notes for the model; `order` numbers the sessions."""
    lines = []
    for number, group in enumerate(groups, start=1):
        sessions = ", ".join(str(order[session]) for session in group.sessions)
        lines.append(f"{number} ({group.best.kind}; session {sessions}; {group.best.title}) {group.shown}")
    return "\n".join(lines)


def apply_merge(
    groups: Sequence[ProposalGroup], answer: Mapping[str, Any], order: Mapping[str, int]
) -> list[ProposalGroup]:
    """Apply the model's grouping; numbers and reasons of another form, unknown, or given twice are passed over.

    `order` numbers the sessions. Of two notes that cannot both hold the one of the later session stays.
    """
    numbered = dict(enumerate(groups, start=1))
    owner = dict(numbered)
    gone: set[int] = set()
    for entry in _mappings(answer.get("drop")):
        number, reason = _number(entry.get("note")), entry.get("reason")
        if number in numbered and number not in gone and isinstance(reason, str) and reason in DROP_REASONS:
            numbered[number].dropped = reason
            gone.add(number)
    for entry in _mappings(answer.get("groups")):
        keep, same = _number(entry.get("keep")), entry.get("same")
        if keep not in numbered or keep in gone or not isinstance(same, list):
            continue
        kept = numbered[keep]
        joined = [number for number in map(_number, same) if number in numbered and number not in {*gone, keep}]
        for number in dict.fromkeys(joined):
            kept.join(numbered[number])
            owner[number] = kept
            gone.add(number)
        if joined:
            _reword(kept, entry.get("text"), entry.get("title"))
    for entry in _mappings(answer.get("contradictions")):
        older, newer = (owner.get(_number(entry.get(name))) for name in ("older", "newer"))
        if older and newer and older is not newer and not older.dropped and not newer.dropped:
            _set_against(older, newer, order)
    return [group for number, group in numbered.items() if number not in gone or group.dropped]


def _set_against(older: ProposalGroup, newer: ProposalGroup, order: Mapping[str, int]) -> None:
    """Note that a newer group contradicts an older one, and drop that, except what a person said beside what nobody did."""
    if max(order[each] for each in newer.sessions) <= max(order[each] for each in older.sessions):
        return
    newer.contradicts.append(older)
    if newer.is_rule or not older.is_rule:
        older.dropped = CONTRADICTED


def _number(value: Any) -> int:
    """Return the number of a note; 0, which no note has, where it is none."""
    return value if isinstance(value, int) else 0


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _reword(group: ProposalGroup, text: Any, title: Any) -> None:
    """Use the model's sentence where the joined proposals have its names and nearly all its words."""
    text, title = (" ".join(each.split()) if isinstance(each, str) else "" for each in (text, title))
    known = " ".join(normalised(f"{m.proposal.text} {m.proposal.title} {m.proposal.check}") for m in group.members)
    named = [*_CODE.findall(text), *re.findall(r"(?<![\w-])--?\w[\w-]*|\S+/\S+|\d\d+", text)]
    if re.fullmatch(r"[\w' .:/-]{6,80}", title):
        group.title = title
    words = term_set(text) - STOP_WORDS
    is_known = len(words - term_set(known)) <= MAX_NEW_WORDS * len(words)
    if not text or len(text) > MAX_DESCRIPTION or not is_known or redact(text).found:
        return
    if all(normalised(name).strip(" .,;:()") in known for name in named):
        group.text = text


def candidate_of(group: ProposalGroup, *, scope: Scope, model: str, prompt_version: str) -> Candidate:
    """Make the candidate of a group, with all the places it rests on."""
    best = group.best
    kind = STORED_AS[best.kind]
    spans = tuple(dict.fromkeys(span for each in group.members for span in each.spans))[:MAX_SPANS]
    content = SkillContent(
        kind=kind,
        name=_name(group),
        description=group.shown[:MAX_DESCRIPTION],
        category=_CATEGORIES[best.kind],
        tags=_tags(best),
        example_queries=tuple(dict.fromkeys(e.proposal.when for e in group.members if e.proposal.when))[:3],
        signature=_signature(best) if kind is Kind.LESSON else "",
        body=_body(group),
    )
    origin = lowest(each.origin for each in group.members)
    body_origin = lowest([origin, *(each.origin for other in group.contradicts for each in other.members)])
    filled = ("name", "description", "category", "tags", "example_queries", "signature", "body")
    fields = [name for name in filled if getattr(content, name)]
    attempts = dict.fromkeys(span.trajectory_id for each in group.members for span in each.spans)
    return Candidate(
        content=content,
        scope=scope,
        origins=dict.fromkeys(fields, origin) | {"category": Origin.AGENT, "body": body_origin},
        provenance=Provenance(
            trajectory_ids=tuple(attempts),
            grounding=dict.fromkeys(fields, spans),
            made_by=MADE_BY,
            model=model,
            prompt_version=prompt_version,
        ),
    )


def _name(group: ProposalGroup) -> str:
    """Return the name of a note; the name of the project's card is taken."""
    name = slug((group.title or group.best.title).split()) or "note"
    return f"{name}-note" if name == CARD else name


_CATEGORIES = {
    ProposedKind.LESSON: "debugging",
    ProposedKind.FACT: "project",
    ProposedKind.NORM: "",
    ProposedKind.PREFERENCE: "",
    ProposedKind.PROCEDURE: "procedure",
    ProposedKind.CODE: "code",
}


def _tags(proposal: Proposal) -> tuple[str, ...]:
    """Return which call a lesson is about."""
    forms = command_forms(proposal.fails) if proposal.fails else ()
    return (f"{CALL_TAG}{forms[-1].goal}",) if len(forms) == 1 else ()


def _signature(proposal: Proposal) -> str:
    line = masked_line(proposal.error) if proposal.error else ""
    return line if line and tells(line) else ""


def _body(group: ProposalGroup) -> str:
    best = group.best
    titled = (("Why", best.why), ("When", best.when), ("Check", best.check))
    parts = [f"**{title}.** {text}" for title, text in titled if text]
    parts += [_CONTRADICTS.format(other.shown) for other in group.contradicts]
    count = len(group.sessions)
    return "\n\n".join([*parts, f"**Seen.** In {count} session{'s' if count > 1 else ''}."])


def revised(candidate: Candidate, *, skill_id: str, parent: str) -> Candidate:
    """Return a candidate as the next version of a known skill."""
    return replace(candidate, revises=skill_id, parents=(parent,))


def set_against(candidate: Candidate, known: SkillVersion) -> Candidate:
    """Return a candidate that tells its reviewer which known skill it contradicts."""
    warning = _CONTRADICTS.format(" ".join(known.content.description.split()))
    body = replace(candidate.content, body=f"{candidate.content.body}\n\n{warning}")
    origin = lowest([candidate.origins["body"], *known.origins.values()])
    return replace(candidate, content=body, origins={**candidate.origins, "body": origin})
