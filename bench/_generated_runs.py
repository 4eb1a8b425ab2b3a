"""Made-up runs for measuring how a library grows: kinds of work, attempts at them in many wordings, and questions held apart.

A kind of work is a deed done to a thing of some domain (renew a harbour's licence, drain the payroll queue). Half of the things
are reached by tools, half by scripts in a shell. Kinds of work at one thing share some of their steps, kinds with one deed,
thing or domain some of their words.
An attempt has values of its own; a repeat has another wording, other values, its independent steps in another order, and
looks at things that it does not need. One attempt in twelve fails. Everything follows from one seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import tacit

DEEDS = {
    "renew": ("renew", "extend", "prolong"), "cancel": ("cancel", "call off", "revoke"),
    "archive": ("archive", "put away", "shelve"), "transfer": ("transfer", "hand over", "reassign"),
    "merge": ("merge", "combine", "consolidate"), "split": ("split", "divide", "break up"),
    "audit": ("audit", "inspect", "go through"), "restore": ("restore", "bring back", "recover"),
    "publish": ("publish", "release", "put out"), "freeze": ("freeze", "lock", "block"),
    "unfreeze": ("unfreeze", "unlock", "unblock"), "rename": ("rename", "retitle", "relabel"),
    "duplicate": ("duplicate", "copy", "clone"), "schedule": ("schedule", "plan in", "set a date for"),
    "postpone": ("postpone", "put off", "delay"), "escalate": ("escalate", "raise", "pass up"),
    "refund": ("refund", "reimburse", "pay back"), "price": ("price", "set the rate of", "put a price on"),
    "translate": ("translate", "localise", "put into another language"), "encrypt": ("encrypt", "seal", "cipher"),
    "compress": ("compress", "shrink", "pack"), "migrate": ("migrate", "move over", "port"),
    "drain": ("drain", "empty", "run dry"), "rotate": ("rotate", "swap out", "cycle"),
    "throttle": ("throttle", "slow down", "limit"), "replay": ("replay", "run again", "repeat"),
    "reconcile": ("reconcile", "balance", "square"), "approve": ("approve", "sign off", "clear"),
    "reject": ("reject", "turn down", "decline"), "annotate": ("annotate", "comment on", "mark up"),
    "tag": ("tag", "label", "categorise"), "anonymise": ("anonymise", "strip names from", "mask"),
    "benchmark": ("benchmark", "time", "measure the speed of"), "seed": ("seed", "fill", "populate"),
    "validate": ("validate", "check the form of", "verify"), "export": ("export", "write out", "dump"),
    "import": ("import", "read in", "load"), "subscribe": ("subscribe", "sign up", "enrol"),
    "expire": ("expire", "let lapse", "time out"), "forecast": ("forecast", "predict", "project"),
}  # fmt: skip
"""What is done → how people say it."""
THINGS = {
    "licence": ("licence", "permit"), "invoice": ("invoice", "bill"), "parcel": ("parcel", "package"),
    "voucher": ("voucher", "coupon"), "warranty": ("warranty", "guarantee"), "booking": ("booking", "reservation"),
    "ticket": ("ticket", "case"), "contract": ("contract", "agreement"), "payout": ("payout", "disbursement"),
    "membership": ("membership", "club card"), "shipment": ("shipment", "consignment"), "quote": ("quote", "offer"),
    "playlist": ("playlist", "queue of songs"), "lecture": ("lecture", "class"), "grant": ("grant", "bursary"),
    "policy": ("policy", "insurance"), "claim": ("claim", "demand"), "survey": ("survey", "questionnaire"),
    "badge": ("badge", "pass"), "locker": ("locker", "cabinet"), "recipe": ("recipe", "formula"),
    "greenhouse": ("greenhouse", "glasshouse"), "telescope": ("telescope", "observatory slot"),
    "ferry": ("ferry", "boat crossing"), "orchard": ("orchard", "fruit plot"), "kiln": ("kiln", "oven"),
    "turbine": ("turbine", "wind wheel"), "reservoir": ("reservoir", "water store"), "hangar": ("hangar", "aircraft shed"),
    "vineyard": ("vineyard", "vines"), "aquarium": ("aquarium", "fish tank"), "beehive": ("beehive", "bee colony"),
    "tram": ("tram", "streetcar"), "museum": ("exhibit", "museum piece"), "choir": ("choir", "singers"),
    "clinic": ("clinic", "practice"), "harbour": ("harbour", "berth"), "quarry": ("quarry", "stone pit"),
    "dairy": ("dairy", "milk plant"), "depot": ("depot", "yard"), "schema": ("schema", "table layout"),
    "index": ("index", "search index"), "cache": ("cache", "lookaside store"), "bucket": ("bucket", "blob store"),
    "certificate": ("certificate", "TLS cert"), "cronjob": ("cron job", "timer job"), "webhook": ("webhook", "callback"),
    "dashboard": ("dashboard", "board of graphs"), "cluster": ("cluster", "node pool"), "replica": ("replica", "standby"),
    "firewall": ("firewall", "packet filter"), "mailbox": ("mailbox", "inbox"), "pipeline": ("pipeline", "build chain"),
    "artifact": ("artifact", "build output"), "fixture": ("fixture", "test data"), "changelog": ("changelog", "release notes"),
    "gateway": ("gateway", "edge proxy"), "ledger": ("ledger", "journal of accounts"), "queue": ("queue", "backlog"),
    "sandbox": ("sandbox", "playground"), "secret": ("credential", "access key"), "manifest": ("manifest", "bill of materials"),
    "snapshot": ("snapshot", "disk image"), "topic": ("topic", "stream"), "tenant": ("tenant", "workspace account"),
    "theme": ("theme", "skin"), "tokenizer": ("tokenizer", "word splitter"), "embedding": ("embedding", "vector set"),
    "notebook": ("notebook", "worksheet"), "sitemap": ("sitemap", "page list"), "robot": ("robot", "crawler"),
    "registry": ("registry", "image store"), "lockfile": ("lockfile", "pinned versions"), "hook": ("hook", "trigger"),
    "quota": ("quota", "allowance"), "alert": ("alert", "alarm"), "route": ("route", "path rule"), "shard": ("shard", "partition"),
    "vault": ("vault", "safe"), "worker": ("worker", "runner"),
}  # fmt: skip
"""What it is done to → how people call it. The first half is reached by tools, the second by scripts."""
DOMAINS = (
    "airport", "bakery", "bank", "brewery", "cinema", "city", "courthouse", "embassy", "factory", "farm", "fleet",
    "foundry", "gallery", "garage", "hospital", "hotel", "insurer", "laboratory", "library", "lottery", "marina", "market",
    "mine", "newsroom", "opera", "payroll", "pharmacy", "plant", "port", "prison", "radio", "railway", "refinery",
    "school", "shelter", "stadium", "theatre", "union", "warehouse", "zoo",
)  # fmt: skip
ASPECTS = ("history", "owner", "limits", "state", "terms", "links", "notes", "costs")
LEARNED_FRAMES = (
    "Please {deed} the {domain} {thing} {value}.",
    "{deed} {thing} {value} of the {domain} for me",
    "Could you {deed} {domain} {thing} {value}? The customer is waiting.",
    "We need to {deed} the {thing} called {value} at the {domain} today.",
    "Task: {deed} {domain} {thing} {value}; tell me when it is done.",
)
ASKED_FRAMES = (
    "I'd like somebody to {deed} a {thing} of our {domain}, its number is {value}",
    "How do I {deed} the {domain}'s {thing} {value} here?",
    "{value} is a {thing} in the {domain} that I want to {deed}",
)
"""Never used in what is learned from."""
FAILED_SHARE = 1 / 12
MOST = 6_000
"""Kinds of work that there are."""


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of work."""

    deed: str
    thing: str
    domain: str
    aspects: tuple[str, ...]
    """What must be looked at before, in any order."""
    extra: tuple[str, ...]
    """What follows the deed."""

    @property
    def name(self) -> str:
        return f"{self.deed} {self.domain} {self.thing}"

    @property
    def in_shell(self) -> bool:
        return list(THINGS).index(self.thing) >= len(THINGS) // 2

    def changing(self) -> list[str]:
        """The calls that change something, in order: tools, or scripts by their path."""
        if self.in_shell:
            more = [f"./scripts/{more}-{self.domain}-{self.thing}-{self.deed}.sh" for more in self.extra]
            return [f"./scripts/{self.deed}-{self.domain}-{self.thing}.sh", *more]
        own = f"{self.domain}_{self.thing}"
        return [f"{self.deed}_{own}", *(f"{more}_{own}_{self.deed}" for more in self.extra)]


@dataclass(frozen=True, slots=True)
class Question:
    """A task in words that nothing was learned from, and the kind of work it asks for."""

    text: str
    family: str


def families(seed: int = 7) -> list[Family]:
    """All kinds of work, in the order in which they first come."""
    dice = random.Random(seed)
    every = [(deed, thing, domain) for deed in DEEDS for thing in THINGS for domain in DOMAINS]
    return [
        Family(
            deed=deed,
            thing=thing,
            domain=domain,
            aspects=tuple(dice.sample(ASPECTS, dice.choice((1, 2, 2, 3)))),
            extra=tuple(dice.sample(("notify", "record", "settle"), dice.choice((0, 1, 1, 2)))),
        )
        for deed, thing, domain in dice.sample(every, MOST)
    ]


def runs(count: int, *, repeats: float = 0.4, seed: int = 7) -> Iterator[tuple[tacit.Trajectory, Family]]:
    """So many attempts; the given share of them are at work that was done before."""
    dice = random.Random(seed + 1)
    fresh = iter(families(seed))
    known: list[Family] = []
    for number in range(count):
        if known and dice.random() < repeats:
            family, again = dice.choice(known), True
        else:
            family, again = next(fresh), False
            known.append(family)
        yield _attempt(family, number, dice, again=again), family


def questions(known: list[Family], *, seed: int = 7) -> list[Question]:
    """One question for each kind of work, in wordings of their own."""
    dice = random.Random(seed + 2)
    return [Question(_worded(family, dice.choice(ASKED_FRAMES), dice), family.name) for family in known]


def _worded(family: Family, frame: str, dice: random.Random) -> str:
    value = f"{dice.choice('ABCDEFGHKLMNPRST')}{dice.randrange(10_000, 99_999)}"
    deed, thing = dice.choice(DEEDS[family.deed]), dice.choice(THINGS[family.thing])
    return frame.format(deed=deed, thing=thing, domain=family.domain, value=value)


def _attempt(family: Family, number: int, dice: random.Random, *, again: bool) -> tacit.Trajectory:
    task = _worded(family, dice.choice(LEARNED_FRAMES), dice)
    value = next(
        word for word in task.replace(".", " ").replace(";", " ").replace("?", " ").split() if word[1:].isdigit()
    )
    aspects = list(family.aspects)
    if again:
        dice.shuffle(aspects)
    make = _shell_calls if family.in_shell else _tool_calls
    calls = make(family, value, aspects, dice)
    if again and dice.random() < 0.6:
        looks = (
            ("ls -la", "git status", "cat README.md")
            if family.in_shell
            else ("list_tools", "read_clock", "search_help")
        )
        look = dice.choice(looks)
        call = ("Bash", {"command": look}, "ok") if family.in_shell else (look, {}, '{"ok": true}')
        calls.insert(dice.randrange(len(calls)), call)
    failed = dice.random() < FAILED_SHARE
    return _trajectory(number, task, calls[:-1] if failed else calls, success=not failed)


_Call = tuple[str, dict[str, object], str]


def _tool_calls(family: Family, value: str, aspects: list[str], dice: random.Random) -> list[_Call]:
    thing, own = f"{family.domain}_{family.thing}", f"{family.thing[:2].upper()}-{dice.randrange(10**6):06}"
    answer = f'{{"id": "{own}", "number": "{value}"}}'
    calls: list[_Call] = [(f"find_{thing}", {"number": value}, answer)]
    calls += [(f"read_{thing}_{aspect}", {"id": own}, f'{{"{aspect}": "fine"}}') for aspect in aspects]
    return calls + [(tool, {"id": own}, '{"done": true}') for tool in family.changing()]


def _shell_calls(family: Family, value: str, aspects: list[str], dice: random.Random) -> list[_Call]:
    thing, host = f"{family.domain}-{family.thing}", f"box{dice.randrange(40)}"
    lines = [f"./scripts/{thing}-{aspect}.sh --host {host}" for aspect in aspects]
    lines += [f"{script} --name {value}" for script in family.changing()]
    return [("Bash", {"command": line}, "ok") for line in (*lines, "./scripts/selftest.sh")]


def _trajectory(number: int, task: str, calls: list[_Call], *, success: bool) -> tacit.Trajectory:
    steps = [tacit.Step(index=0, role=tacit.Role.USER, text=task)]
    for tool, arguments, answer in calls:
        done = tacit.StepResult.OK
        steps.append(
            tacit.Step(
                index=len(steps), role=tacit.Role.AGENT, tool=tool, arguments=arguments, observation=answer, result=done
            )
        )
    claim = tacit.Claim(result="success" if success else "failure", verified_by="the generator")
    return tacit.Trajectory(task=tacit.Task(text=task), steps=tuple(steps), claim=claim, session_id=f"s{number}")
