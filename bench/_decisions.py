"""Three made-up people and the stream of their decisions: drawn by lot, with changes of mind, circumstances that matter, and slips.

Knows nothing of how forecasts are made. Each person decides by a list of rules over a few of the circumstances ("where the origin is
external and the client is ci: reject"), with a usual answer where none fits. At the planted changes one rule, or the usual answer,
is turned round. Now and then a person slips and answers something else. Which circumstances matter, what the rules say and when they
change is drawn anew for every seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from tacit.features.people.ledger_entries import Choice, ChoiceSort

START = datetime(2026, 1, 1, tzinfo=UTC)
_FILLING = "the of a run check file module page change line list value small large old new part first last open".split()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What kind of decisions one person makes."""

    person: str
    sort: ChoiceSort
    answers: tuple[str, ...]
    features: dict[str, tuple[str, ...]]
    traits: dict[str, tuple[str, ...]]
    asked: str


SHEETS = (
    Sheet(
        person="ann",
        sort=ChoiceSort.REVIEW,
        answers=("approve", "reject"),
        features={"scope": ("project", "session"), "source": ("distilled", "proposed", "imported")},
        traits={
            "kind": ("procedure", "lesson", "norm", "reference"),
            "origin": ("agent", "external", "user"),
            "size": ("short", "long"),
        },
        asked="shall agents be given this?",
    ),
    Sheet(
        person="bob",
        sort=ChoiceSort.PERMISSION,
        answers=("allow", "deny"),
        features={"client": ("terminal", "ci", "editor"), "tool": ("shell", "edit", "web", "git")},
        traits={
            "place": ("workspace", "home", "system"),
            "effect": ("reads", "writes", "deletes", "sends"),
            "hour": ("day", "night"),
        },
        asked="may it do this?",
    ),
    Sheet(
        person="cem",
        sort=ChoiceSort.ANSWER,
        answers=("now", "later", "never"),
        features={"aspect": ("scope", "approach", "preferences", "complexity"), "team": ("core", "web", "data")},
        traits={
            "topic": ("tests", "docs", "speed", "types"),
            "urgency": ("low", "high"),
            "owner": ("self", "other"),
        },
        asked="when do you want this done?",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardness:
    """How unkind a stream is."""

    slips: tuple[float, ...] = (0.05, 0.08, 0.06)
    """Of each person: the chance that a decision is something else than they would usually decide."""
    rules: int = 3
    depth: int = 2
    """Circumstances that one rule asks for, at most."""
    rarity: int = 0
    """Further values of every circumstance, ever rarer."""


EASY = Hardness()
HARD = Hardness(slips=(0.2, 0.2, 0.2), rules=5, depth=3, rarity=6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """One decision, and what only the stream knows of it."""

    choice: Choice
    slipped: bool
    changed: bool
    """Whether the change of mind before it is why it was decided so: the rules before would have said something else."""
    since_change: int
    """Decisions of this person since the last change of mind, from 0; -1 before the first."""


@dataclass(slots=True)
class _Person:
    sheet: Sheet
    dice: random.Random
    hardness: Hardness
    slips: float
    usual: str = ""
    rules: list[tuple[dict[str, str], str]] = field(default_factory=list)
    before: tuple[list[tuple[dict[str, str], str]], str] | None = None

    def draw_rules(self) -> None:
        sheet, dice = self.sheet, self.dice
        self.usual = dice.choice(sheet.answers)
        names = list(sheet.features | sheet.traits)
        matter = dice.sample(names, 3 if self.hardness.depth < 3 else 4)
        for _ in range(self.hardness.rules):
            asked = dice.sample(matter, dice.randint(1, min(self.hardness.depth, len(matter))))
            case = {name: dice.choice((sheet.features | sheet.traits)[name]) for name in asked}
            self.rules.append((case, dice.choice([one for one in sheet.answers if one != self.usual])))

    def draw_case(self) -> tuple[dict[str, str], dict[str, str]]:
        def one(values: tuple[str, ...]) -> str:
            rare = [f"{values[0]}-{number}" for number in range(self.hardness.rarity)]
            weights = [1.0] * len(values) + [0.25 / (number + 1) for number in range(len(rare))]
            return self.dice.choices([*values, *rare], weights)[0]

        sheet = self.sheet
        return ({n: one(v) for n, v in sheet.features.items()}, {n: one(v) for n, v in sheet.traits.items()})

    def change_mind(self) -> None:
        """One rule is given up, or turned round, or the usual answer is another one."""
        self.before = (list(self.rules), self.usual)
        sheet, dice = self.sheet, self.dice
        at = dice.randrange(len(self.rules) + 1)
        if at == len(self.rules):
            self.usual = dice.choice([one for one in sheet.answers if one != self.usual])
            self.rules = [(case, dice.choice([a for a in sheet.answers if a != self.usual])) for case, _ in self.rules]
            return
        case, answer = self.rules[at]
        self.rules[at] = (case, dice.choice([one for one in sheet.answers if one != answer]))

    def meant(self, case: dict[str, str]) -> str:
        return _by_rules(self.rules, self.usual, case)

    def meant_before(self, case: dict[str, str]) -> str:
        return _by_rules(*self.before, case) if self.before else self.meant(case)


def _by_rules(rules: list[tuple[dict[str, str], str]], usual: str, case: dict[str, str]) -> str:
    for asked, answer in rules:
        if all(case[name] == value for name, value in asked.items()):
            return answer
    return usual


def stream(seed: int, *, length: int = 500, hardness: Hardness = EASY) -> list[Decided]:
    """The decisions of all three, in the order in which they came."""
    dice = random.Random(f"decisions {seed}")
    people = [
        _Person(sheet, random.Random(f"{sheet.person} {seed}"), hardness, slips)
        for sheet, slips in zip(SHEETS, hardness.slips, strict=True)
    ]
    for person in people:
        person.draw_rules()
    order = [people[at % len(people)] for at in range(length)]
    dice.shuffle(order)
    each = length // len(people)
    changes = {person.sheet.person: _changes(person.dice, each) for person in people}
    return list(_decisions(order, changes))


def _changes(dice: random.Random, each: int) -> tuple[int, int]:
    return (dice.randint(int(0.35 * each), int(0.45 * each)), dice.randint(int(0.65 * each), int(0.75 * each)))


def _decisions(order: list[_Person], changes: dict[str, tuple[int, int]]) -> Iterator[Decided]:
    counts: dict[str, int] = dict.fromkeys(changes, 0)
    last: dict[str, int] = dict.fromkeys(changes, -1)
    for number, person in enumerate(order):
        name, sheet = person.sheet.person, person.sheet
        if counts[name] in changes[name]:
            person.change_mind()
            last[name] = counts[name]
        features, traits = person.draw_case()
        case = features | traits
        meant, response = person.meant(case), person.meant(case)
        slipped = person.dice.random() < person.slips
        if slipped:
            response = person.dice.choice([one for one in sheet.answers if one != meant])
        since = counts[name] - last[name] if last[name] >= 0 else -1
        counts[name] += 1
        told = " ".join([*traits.values(), *person.dice.sample(_FILLING, 6)])
        choice = Choice(
            key=f"{name} {number}",
            at=START + timedelta(minutes=number),
            by=name,
            person=name,
            sort=sheet.sort,
            response=response,
            situation=" ".join(features.values()),
            artifact=told,
            stimulus=sheet.asked,
            features=features,
            traits=traits,
        )
        yield Decided(
            choice=choice,
            slipped=slipped,
            changed=since >= 0 and meant != person.meant_before(case),
            since_change=since,
        )
