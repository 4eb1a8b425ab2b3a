"""Counts what sessions show about a project: the commands that check, test, build, format and run it, and where.

A fact is a count, dated, and it ages: a command that recent sessions no longer use loses its place. The card names the
commands that a session is likely to need; it is approved once, and its values then follow the counts.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from tacit.domain.candidate import Candidate
from tacit.domain.fact import Fact, Purpose
from tacit.domain.outline import CallRecord
from tacit.domain.scope import Scope
from tacit.domain.skill import Kind, Provenance, SkillContent
from tacit.domain.trajectory import Origin, Span
from tacit.learn.call_records import acts, edits_files
from tacit.learn.fixes import SourcedCall, forms_of
from tacit.text.command_forms import CommandForm
from tacit.text.programs import CHECKERS, FORMATTERS

MADE_BY = "tacit.facts/1"
CARD = "project-commands"
MIN_SESSIONS = 2
HALF_LIFE = 10
"""Sessions after which a use counts half."""
MAX_SOURCES = 5
_PURPOSES: tuple[tuple[Purpose, frozenset[str]], ...] = (
    (Purpose.FORMAT, frozenset("fmt format fix prettier lint-fix".split())),
    (Purpose.TEST, frozenset("test tests e2e spec coverage unit integration smoke bench t".split())),
    (
        Purpose.CHECK,
        frozenset(
            "lint check checks typecheck types tsc vet clippy verify validate audit analyze doctor ci pre-commit hk".split()
        ),
    ),
    (
        Purpose.BUILD,
        frozenset(
            "build compile generate codegen gen render bundle package install sync migrate bump release deploy up".split()
        ),
    ),
    (Purpose.RUN, frozenset("dev start serve run watch preview".split())),
)
_NOT_OF_THE_PROJECT = frozenset(
    "git gh glab ssh scp rsync brew apt apt-get dnf yum curl wget tmux screen kill pkill docker podman kubectl systemctl sudo "
    "mkdir rm cp mv touch chmod ln tar zip unzip open code claude codex tacit osascript xargs".split()
)
_OUTSIDE = re.compile(r"[~$]|/(?!.*/(?:\.?venv|node_modules|s?bin)/)|[A-Za-z]:")
"""A program that is called by a path outside the project, unless it belongs to an environment."""
_TESTERS = frozenset(
    "pytest jest vitest mocha ava rspec phpunit playwright ctest cypress unittest tox nox busted".split()
)


def project_facts(sessions: Sequence[tuple[str, datetime | None, Sequence[SourcedCall]]]) -> list[Fact]:
    """Count the project's commands over sessions, oldest first; the likeliest to be needed come first."""
    weight: defaultdict[str, float] = defaultdict(float)
    used: defaultdict[str, set[str]] = defaultdict(set)
    failed: defaultdict[str, set[str]] = defaultdict(set)
    folders: defaultdict[str, Counter[str]] = defaultdict(Counter)
    typed: defaultdict[str, Counter[str]] = defaultdict(Counter)
    last: dict[str, datetime | None] = {}
    sources: defaultdict[str, list[Span]] = defaultdict(list)
    total = 0.0
    for age, (session, at, calls) in zip(range(len(sessions) - 1, -1, -1), sessions, strict=True):
        share = 0.5 ** (age / HALF_LIFE)
        total += share
        for sourced in calls:
            for form in _own_commands(sourced.record):
                key = form.text
                if sourced.record.worked is False:
                    failed[key].add(session)
                    continue
                if session not in used[key]:
                    used[key].add(session)
                    weight[key] += share
                folders[key][form.directory] += 1
                typed[key][_typing(form)] += 1
                last[key] = at
                sources[key] = [*sources[key][-MAX_SOURCES:], Span(sourced.trajectory_id, sourced.record.step)]
    found = [
        Fact(
            command=_common(typed[key], key),
            purpose=purpose_of(key),
            folder=_folder(folders[key]),
            sessions=len(used[key]),
            failed=len(failed[key]),
            likelihood=round(weight[key] / total, 4),
            last_used=last[key],
            sources=tuple(sources[key][-MAX_SOURCES:]),
        )
        for key in used
        if len(used[key]) >= MIN_SESSIONS and len(failed[key] - used[key]) <= len(used[key])
    ]
    return sorted(found, key=lambda fact: (-fact.likelihood, fact.command))


def card_candidate(facts: Sequence[Fact], text: str, *, scope: Scope) -> Candidate | None:
    """Make the card of a project, to be approved once; nothing where there is nothing to say."""
    if not text:
        return None
    spans = tuple(dict.fromkeys(span for fact in facts for span in fact.sources[-1:]))
    content = SkillContent(
        kind=Kind.FACT,
        name=CARD,
        description="Commands that sessions use here to check, test, build, format and run; kept current by counting.",
        category="project",
        tags=("fact:command",),
        body=text,
    )
    fields = ("name", "description", "category", "tags", "body")
    return Candidate(
        content=content,
        scope=scope,
        origins=dict.fromkeys(fields, Origin.AGENT),
        provenance=Provenance(
            trajectory_ids=tuple(dict.fromkeys(span.trajectory_id for span in spans)),
            grounding=dict.fromkeys(fields, spans),
            made_by=MADE_BY,
        ),
    )


def purpose_of(form: str) -> Purpose | None:
    """Return what a command is for, by its words; nothing where they do not show it."""
    words = form.casefold().split()
    named = words if "/" in words[0] else words[1:]  # a program's own name says little: `omp-test` is no test
    parts = [part for word in named for part in re.split(r"[:_./-]", word)]
    program = words[-1] if len(words) == 1 else ""
    if any(word in _TESTERS for word in words):
        return Purpose.TEST
    if any(word in CHECKERS for word in words):
        return Purpose.CHECK
    if any(word in FORMATTERS for word in words):
        return Purpose.FORMAT
    for purpose, known in _PURPOSES:
        if not known.isdisjoint(parts):
            return purpose
    return Purpose.BUILD if program in ("make", "just", "task", "rake") else None


def _own_commands(call: CallRecord) -> Iterable[CommandForm]:
    for form in forms_of(call) if call.command else ():
        program = form.program
        outside = bool(_OUTSIDE.match(form.command.typed))
        of_project = program not in _NOT_OF_THE_PROJECT and not outside and purpose_of(form.text)
        if of_project and acts(form) and not edits_files(form):
            yield form


def _typing(form: CommandForm) -> str:
    """Return the command with the target that stands for everything (`./...`, `.`), without others."""
    whole = [target for target in form.targets if target == "./..."]
    return " ".join([form.text, *whole])


def _common(typed: Counter[str], key: str) -> str:
    best, count = typed.most_common(1)[0]
    return best if 2 * count > typed.total() else key


def _folder(folders: Counter[str]) -> str:
    best, count = folders.most_common(1)[0]
    return best if 2 * count > folders.total() and not best.startswith(("/", "~", "$", "..")) else ""
