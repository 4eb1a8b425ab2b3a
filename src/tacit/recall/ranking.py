"""Rank candidates, cut them to a number and a token budget, and say by code why each one or everything is left out.

Both recalls use it: `selection` for the API and `hook_recall` for hooks. Works on plain rows and loads nothing heavy.
"""

from __future__ import annotations

from tacit.domain.reach import breadth, is_anothers, reaches
from tacit.domain.reason_code import ReasonCode
from tacit.recall.signals import best_of, is_relevant, sort_key
from tacit.text.words import BYTES_PER_TOKEN, estimate_tokens

TYPE_CHECKING = False  # type checkers take it as true; importing it from `typing` would slow down every hook
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from typing import Any, TypeVar

    T = TypeVar("T")
    Write = Callable[["Row", int], str]
    """Writes a row as the agent sees it in at most so many tokens; empty where that is too little."""

ScopedName = tuple[str, str, str, int]
"""Kind, name, scope as text, and the version's number in the store."""
BUDGET_SHARES = {"norm": 0.25, "preference": 0.25, "reference": 0.4}
"""The part of the budget that a kind may take before others had theirs; procedures and lessons may take all of it."""
RESERVED_SHARES = {"norm": 0.25, "preference": 0.125, "reference": 0.2}
"""The part that is kept for a kind, as far as it has something to say; what it does not need goes to the others."""
RULE_KINDS = frozenset({"norm", "preference"})
"""Kinds that say what somebody wants: of two that cannot both be followed the narrower holds."""
LAST_KINDS = frozenset({"reference"})
"""Kinds that come after all others."""
VISIBLE_RELEVANCE_MIN = 0.005
"""A lower relevance is written as 0.00, so nothing is called near because of it."""


class Row:
    """One candidate. `source` is whatever the caller builds its answer from; `text` and `tokens` are set when it is given."""

    __slots__ = ("kind", "name", "priority", "relevant", "signals", "source", "text", "tokens", "version_id")

    def __init__(self, source: Any, *, version_id: str, name: str, kind: str, signals: dict[str, float]) -> None:
        self.source = source
        self.version_id = version_id
        self.name = name
        self.kind = kind
        self.signals = signals
        self.relevant: bool | None = None
        """Whether it may be given; `sort_rows` decides by the signals where the caller has not decided."""
        self.priority = 0
        """Rows with a lower priority number come first, whatever their signals."""
        self.text = ""
        self.tokens = 0

    @property
    def relevance(self) -> float:
        """How well it fits, 0 to 1."""
        return self.signals["relevance"]


class Rejected:
    """A row that is not given, why, and the values that the English for it needs."""

    __slots__ = ("code", "row", "values")

    def __init__(self, row: Row, code: ReasonCode, **values: object) -> None:
        self.row = row
        self.code = code
        self.values = values


class TokenBudget:
    """Tokens that remain, in all and for each kind, for texts that are written one below the other."""

    __slots__ = ("_refused", "_remaining_by_kind", "_reserved", "_taken", "_texts", "_tokens", "remaining")

    def __init__(self, tokens: int) -> None:
        self.remaining = self._tokens = tokens
        self._texts = 0
        self._remaining_by_kind = {kind: int(share * tokens) for kind, share in BUDGET_SHARES.items()}
        self._reserved: dict[str, int] = {}
        self._taken: dict[str, list[int]] = {}
        self._refused: dict[str, set[str]] = {}

    def available(self, kind: str, *, beyond_share: bool = False) -> int:
        """Return how many tokens an item of this kind may take, of its share or also of what others left."""
        line_ends = (self._texts + 2) // BYTES_PER_TOKEN  # between texts; the frame around them has counted one
        kept = sum(max(0, tokens) for other, tokens in self._reserved.items() if other != kind)
        remaining = self.remaining - line_ends - kept
        return remaining if beyond_share else min(remaining, self._remaining_by_kind.get(kind, remaining))

    def reserve(self, rows: Sequence[Row], write: Write) -> None:
        """Keep from other kinds what these rows need, each kind up to its share."""
        for kind, share in RESERVED_SHARES.items():
            own, alone = [row for row in rows if row.kind == kind], TokenBudget(self._tokens)
            take_within_budget(own, len(own), alone, write)
            if needed := self._tokens - alone.remaining:
                self._reserved[kind] = min(int(share * self._tokens), needed + len(own) // BYTES_PER_TOKEN + 1)

    def spend(self, kind: str, tokens: int, *, identity: str = "") -> None:
        """Take tokens for an item of this kind."""
        self._refused.get(kind, set()).discard(identity)
        self.remaining -= tokens
        self._texts += 1
        self._taken.setdefault(kind, []).append(tokens)
        for left in (self._remaining_by_kind, self._reserved):
            if kind in left:
                left[kind] -= tokens

    def refuse(self, kind: str, identity: str) -> None:
        """Count an item of this kind that did not fit."""
        self._refused.setdefault(kind, set()).add(identity)

    def account(self, kind: str) -> tuple[float, int, int, int, int]:
        """Return a kind's share, the share in tokens, the tokens it took, for how many items, and how many did not fit."""
        share, taken = BUDGET_SHARES.get(kind, 1.0), self._taken.get(kind, [])
        return share, max(0, int(share * self._tokens)), sum(taken), len(taken), len(self._refused.get(kind, ()))


class RecallDecision:
    """What is given, in order; what is left out and why; and why nothing is given, if so."""

    __slots__ = ("code", "given", "rejected")

    def __init__(self, given: list[Row], rejected: list[Rejected], code: ReasonCode | None) -> None:
        self.given = given
        self.rejected = rejected
        self.code = code


def filter_code(
    kind: str, scope: str, person: str, *, asked_scope: str, kinds: Collection[str] | None, asked_person: str
) -> ReasonCode | None:
    """Return why a skill may not be considered at all: by its scope, its kind, or the person whose preference it is."""
    if not reaches(scope, asked_scope):
        return ReasonCode.OTHER_SCOPE
    if kinds is not None and kind not in kinds:
        return ReasonCode.OTHER_KIND
    if kind == "preference" and is_anothers(person, asked_person):
        return ReasonCode.OTHER_PERSON
    return None


def narrowest_scopes(
    some: Iterable[T], key: Callable[[T], ScopedName], rule: Callable[[T], str]
) -> tuple[list[T], list[tuple[T, ScopedName]]]:
    """Of skills with one kind and name keep those of the narrowest scope, and of norms and preferences also none that says
    the opposite of a narrower one; `rule` is its sentence. Return also the others, each with what hides it.

    Within one scope nothing hides anything.
    """
    narrowest: dict[tuple[str, str], ScopedName] = {}
    kept: list[T] = []
    rules: list[tuple[ScopedName, str]] = []
    hidden: list[tuple[T, ScopedName]] = []
    keyed = [(key(each), each) for each in some]
    for own, each in sorted(keyed, key=lambda item: (breadth(item[0][2]), -item[0][3])):
        winner = narrowest.setdefault(own[:2], own)
        if winner[2] == own[2] and own[0] in RULE_KINDS:
            text = rule(each)
            winner = next((other for other, wording in rules if _hides(other, own) and _opposed(wording, text)), own)
            rules += [(own, text)] if winner is own else []
        if winner[2] == own[2]:
            kept.append(each)
        else:
            hidden.append((each, winner))
    return kept, hidden


def _hides(narrower: ScopedName, broader: ScopedName) -> bool:
    return narrower[0] == broader[0] and breadth(narrower[2]) < breadth(broader[2])


def _opposed(one: str, other: str) -> bool:
    from tacit.text.opposition import opposed  # imported late: only rules of two scopes are compared

    return bool(opposed(one, other))


def sort_rows(rows: Iterable[Row], min_relevance: float) -> list[Row]:
    """Mark which rows are relevant and return all of them in order."""
    ranked = list(rows)
    best = best_of(row.signals for row in ranked)
    for row in ranked:
        if row.relevant is None:
            row.relevant = is_relevant(row.kind, row.signals, min_relevance, best=best)
    ranked.sort(key=lambda row: (row.priority, sort_key(row.signals, row.version_id)))
    return ranked


def take_within_budget(
    rows: Iterable[Row],
    k: int,
    budget: TokenBudget,
    write: Write,
    *,
    shown: Collection[str] = (),
    repeats: Callable[[Row, Row], bool] | None = None,
    beyond_shares: bool = True,
) -> tuple[list[Row], list[Rejected]]:
    """Take the first `k` rows that are new and fit the budget; return them with their texts, and why the others are left.

    `shown` are versions that the agent has already; `repeats` returns whether a row has the same content as one before it.
    With `beyond_shares`, what did not fit into the share of its kind gets what the other kinds left.
    """
    ordered = sorted(rows, key=lambda row: row.kind in LAST_KINDS)
    given: list[Row] = []
    rejected = _take(ordered, given, k, budget, write, shown=shown, repeats=repeats)
    over = [each.row for each in rejected if each.code is ReasonCode.OVER_BUDGET]
    if beyond_shares and len(given) < k and any(row.kind in BUDGET_SHARES for row in over):
        rejected = [each for each in rejected if each.row not in over]
        rejected += _take(over, given, k, budget, write, repeats=repeats, beyond_share=True)
        position = {row.version_id: at for at, row in enumerate(ordered)}
        given.sort(key=lambda row: position[row.version_id])
        rejected.sort(key=lambda each: position[each.row.version_id])
    return given, rejected


def _take(
    rows: Sequence[Row],
    given: list[Row],
    k: int,
    budget: TokenBudget,
    write: Write,
    *,
    shown: Collection[str] = (),
    repeats: Callable[[Row, Row], bool] | None = None,
    beyond_share: bool = False,
) -> list[Rejected]:
    """Add to `given` what fits, up to `k` in all; return the others."""
    rejected: list[Rejected] = []
    for row in rows:
        if row.version_id in shown:
            rejected.append(Rejected(row, ReasonCode.ALREADY_SHOWN))
            continue
        if len(given) >= k:
            rejected.append(Rejected(row, ReasonCode.OVER_LIMIT, k=k))
            continue
        same = next((other.name for other in given if repeats(row, other)), "") if repeats else ""
        if same:
            rejected.append(Rejected(row, ReasonCode.SAME_CONTENT, other=same))
            continue
        available = budget.available(row.kind, beyond_share=beyond_share)
        text = write(row, available)
        tokens = estimate_tokens(text)
        if not text or tokens > available:
            budget.refuse(row.kind, row.version_id)
            rejected.append(Rejected(row, ReasonCode.OVER_BUDGET, tokens=max(0, available)))
            continue
        budget.spend(row.kind, tokens, identity=row.version_id)
        row.text, row.tokens = text, tokens
        given.append(row)
    return rejected


def replaces_parts(copied: Sequence[T], ranked_after: Sequence[T]) -> bool:
    """Return whether a composite is shown in place of the parts that it copied, given what ranks after the composite.

    A single part that ranks before the composite is kept: the task asks for it and not for the rest.
    """
    return len(copied) > 1 or any(part in ranked_after for part in copied)


def why_nothing(ranked: Sequence[Row], rejected: Sequence[Rejected], *, k: int) -> ReasonCode:
    """Return why nothing is given, from all rows in order and what cutting left out."""
    if rejected:
        return ReasonCode.NONE_REQUESTED if k <= 0 else rejected[0].code
    if any(row.relevance >= VISIBLE_RELEVANCE_MIN for row in ranked):
        return ReasonCode.BELOW_THRESHOLD
    return ReasonCode.ONLY_COMMON_WORDS if ranked else ReasonCode.NO_SHARED_WORDS


def decide(
    rows: Iterable[Row], *, k: int, min_relevance: float, budget: TokenBudget, write: Write, shown: Collection[str] = ()
) -> RecallDecision:
    """Rank, cut, and explain in one call, for callers with nothing to add between the steps."""
    ranked = sort_rows(rows, min_relevance)
    relevant = [row for row in ranked if row.relevant]
    budget.reserve([row for row in relevant if row.version_id not in shown][:k], write)
    given, rejected = take_within_budget(relevant, k, budget, write, shown=shown)
    code = None if given else why_nothing(ranked, rejected, k=k)
    below = [Rejected(row, ReasonCode.BELOW_THRESHOLD) for row in ranked if not row.relevant]
    return RecallDecision(given, rejected + below, code)
