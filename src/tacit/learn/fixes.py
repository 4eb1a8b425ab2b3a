"""Finds what fixes an error by counting over all sessions: a failure, the next call for the same goal, and what lies between.

Possible fixes are another form of the call (behind a wrapper, with an option or a variable, in another folder, with another
file), and the commands and edits between. A fix needs several sessions, and it must make a difference: the call without the
other form mostly fails, or hardly ever works; the command or edit is not so frequent that it lay between by chance. One session
is enough where the error names the fix or says that a program is missing.

    session 1: `go test ./...` fails with "no required module provides package a/b", `go mod tidy`, `go test ./...` works
    session 2: the same with another package
      ->  where `go test` prints that line, run `go mod tidy` first; seen in 2 sessions
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import prod

from tacit.domain.outline import CallRecord
from tacit.learn.attempt_outlines import acts, edits_files, forms_of, line_digest
from tacit.text.command_forms import CommandForm, same_goal, wrapper_of
from tacit.text.error_signatures import masked_line, may_pass, missing_name, shows_failure, tells

MIN_SESSIONS = 2
"""Sessions that must have used a fix; one alone may be an accident of that day."""
MIN_SHARE = 0.5
"""Of the sessions that got past the error, the share that must have used the fix: below it, another way is the usual one."""
MAX_CHANCE = 0.01
"""How likely it may be that a command or an edit lay between failures and successes by chance, as often as it was done. Not
0.05: each of the many commands between is tested. `bench/traps.py` watches the wrong fixes."""
MIN_SIGNATURE = 8
"""Characters of a masked error line; a shorter one is printed by errors of every kind."""
MAX_TYPED = 160
"""Characters of a fix as typed; a longer one is a script of the moment, and no agent reads it in a warning."""
MAX_BETWEEN = 40
"""Calls within which the goal must be tried again; what is tried much later is another piece of work. Set by hand."""
_CHECKING = frozenset({"--check", "--diff", "--list", "-l"})
_INSTALLS = frozenset("install add i ci require sync get restore bootstrap".split())
CODE_FILE = re.compile(
    r"\.(?:py|pyi|go|rs|[cm]?[jt]sx?|java|kt|c|cc|cpp|h|hpp|cs|rb|php|swift|scala|ex|exs|lua|vue|svelte|astro|css|scss|html|sql)$"
)
_TEST_FILE = re.compile(r"(?:^|[/._-])(?:tests?|specs?)(?:[/._-]|$)", re.IGNORECASE)
_NAMED_FILE = re.compile(r"/|\.\w{1,8}$")
_CONFIGURES = re.compile(r"(?:^|/)(?:config|configs|settings|conf)[/.]|\.(?:config|conf)\.\w+$")
_EMPTY = re.compile(
    r"Traceback|Usage:|Stack ?trace|Caused by|at <|\[?<time>|> |\$ |INFO\b|Exit code|See <|A complete log|"
    r"(?:npm|yarn|pnpm) (?:run v|warn)",
    re.IGNORECASE,
)
"""Lines that any failure of the kind prints."""
_PASSING = re.compile(r"\n|/tmp/|/private/|AppData|[Ss]cratch|(?:^|[\s=])(?:/[a-z]/|/Users/|/home/|[A-Z]:\\)")
_OUTSIDE = re.compile(r"[/~$]|[A-Za-z]:|\.\.|.*[\n*{}]|tmp/")
_ELSEWHERE = re.compile(r"/(?!usr/|bin/|opt/)|[~$]|[A-Za-z]:")
"""A program of one machine or one moment."""
_BEFORE_PROGRAM = re.compile(r"^[\s({]*(?:\w+=\S*\s+)*")


class FixKind(StrEnum):
    """What a fix changes."""

    RUN_FIRST = "run_first"
    """Another command, then the same call."""
    PROGRAM = "program"
    """The same call by a program that is there, instead of one that is not."""
    WRAPPED = "wrapped"
    """The same call behind a wrapper, or without one."""
    OPTION = "option"
    SETTING = "setting"
    FOLDER = "folder"
    TARGET = "target"
    """The same call on another file."""
    EDIT = "edit"


@dataclass(frozen=True, slots=True)
class Fix:
    """One thing that may have fixed a failure, without what differs between sessions."""

    kind: FixKind
    what: str
    """The form of the command, the wrapper, the program, the option, the folder or the file."""
    instead_of: str = ""
    """The program or file that it replaces."""


@dataclass(frozen=True, slots=True)
class SourcedCall:
    """A call of a session, and the attempt that it belongs to."""

    trajectory_id: str
    record: CallRecord


@dataclass(frozen=True, slots=True)
class Tried:
    """A possible fix as it was typed, and the call that did it."""

    typed: str
    call: SourcedCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """One failure, what lay between it and the next call for the same goal, and whether that worked."""

    session: str
    calls_between: int
    goal: CommandForm
    failed: SourcedCall
    again: SourcedCall
    """The next call for the same goal."""
    fixes: Mapping[Fix, Tried]

    @property
    def worked(self) -> bool:
        """Whether the next call worked."""
        return bool(self.again.record.worked)

    @property
    def lines(self) -> tuple[str, ...]:
        """What the failed call printed."""
        return self.failed.record.lines


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedFix:
    """What fixes an error of a command, with its support."""

    goal: CommandForm
    fix: Fix
    typed: str
    """The fix as it was typed most often."""
    signature: str
    """The masked line that tells the error."""
    error: str
    """That line as it was."""
    retries: tuple[Retry, ...]
    sessions: int
    sessions_with_error: int
    """Sessions that met this error."""
    warn_before: bool
    """Whether the call mostly fails this way unless the fix comes first: worth saying before it runs."""


@dataclass(slots=True)
class _Evidence:
    """What all sessions say about one error of one goal."""

    met: set[str] = field(default_factory=set)
    past: set[str] = field(default_factory=set)
    fixed_by: dict[Fix, list[Retry]] = field(default_factory=lambda: defaultdict(list))
    useless: dict[Fix, set[str]] = field(default_factory=lambda: defaultdict(set))
    example: str = ""

    def contradicting(self, fixes: Collection[Fix], order: Sequence[str]) -> list[str]:
        """Return the sessions since one of these fixes last worked that tried it in vain or got past the error otherwise."""
        worked = {retry.session for fix in fixes for retry in self.fixed_by[fix]}
        last = max((at for at, session in enumerate(order) if session in worked), default=-1)
        against = self.past.union(*(self.useless[fix] for fix in fixes))
        return [session for session in order[last + 1 :] if session in against]


class FixCounter:
    """Counts failures and what fixed them over the calls of all sessions."""

    def __init__(self, sessions: Iterable[tuple[str, Sequence[SourcedCall]]]) -> None:
        self._errors: dict[tuple[str, str], _Evidence] = {}
        self._printed: dict[str, set[str]] = defaultdict(set)
        self._commands_printing: Counter[str] = Counter()
        self._done: Counter[Fix] = Counter()
        self._calls = 0
        self._outcomes: dict[str, list[tuple[str, CommandForm, bool]]] = defaultdict(list)
        self._found: dict[str, set[str]] = defaultdict(set)
        kept = [(session, list(calls)) for session, calls in sessions]
        self._order = [session for session, _ in kept]
        for session, calls in kept:
            self._count_outcomes(session, calls)
        for session, calls in kept:
            for retry in retries_of(session, calls):
                self._count(retry)

    def fixes(self) -> list[CountedFix]:
        """Return what fixes what, best supported first; without fixes of failures that a better supported one explains."""
        found: dict[tuple[str, Fix], CountedFix] = {}
        for (goal, signature), evidence in self._errors.items():
            for fix, fixed_by in evidence.fixed_by.items():
                counted = self._judge(goal, signature, evidence, fix, fixed_by)
                if counted is None:
                    continue
                known = found.get((goal, fix))
                if known is None or self._specific(counted) > self._specific(known):
                    found[goal, fix] = counted
        explained: set[tuple[str, str, int]] = set()
        kept: list[CountedFix] = []
        for counted in sorted(found.values(), key=_strength, reverse=True):
            keys = {(each.session, each.failed.trajectory_id, each.failed.record.step) for each in counted.retries}
            new = {session for session, *_ in keys - explained}
            if len(new) >= min(counted.sessions, MIN_SESSIONS):  # a stronger fix does not account for it
                kept.append(counted)
                explained |= keys
        return [counted for counted in kept if not _is_known_anyway(counted)]

    def contradicted(self, goal: str, signature: str, is_meant: Callable[[Fix], bool]) -> int:
        """Count the newest sessions that speak against a fix of an error, none that it helped coming after them."""
        evidence = self._errors.get((goal, signature))
        if evidence is None:
            return 0
        meant = [fix for fix in (*evidence.fixed_by, *evidence.useless) if is_meant(fix)]
        return len(evidence.contradicting(meant, self._order))

    def _specific(self, counted: CountedFix) -> tuple[int, tuple[bool, int, bool], int, str]:
        """Prefer the line that most sessions share, then one that few commands print, then one that tells most."""
        words = len(re.sub(r"<\w+>", "", counted.signature).split())
        commands = self._commands_printing[counted.signature]
        telling = tells(counted.signature), -commands, shows_failure(counted.error)
        return counted.sessions, telling, words, counted.signature

    def _count_outcomes(self, session: str, calls: Sequence[SourcedCall]) -> None:
        for sourced in calls:
            call = sourced.record
            self._calls += 1
            self._done.update({Fix(FixKind.EDIT, path) for path in call.edited})
            forms = forms_of(call)
            self._done.update({Fix(FixKind.RUN_FIRST, _run_key(form)) for form in forms})
            for form in forms:
                if call.worked is not None:
                    self._outcomes[form.goal].append((session, form, call.worked))
                if call.worked:
                    self._printed[form.goal].update(call.seen)
                    self._found[next(iter(_words_run(form)), "")].add(session)

    def _count(self, retry: Retry) -> None:
        """Count what lay between a failure and the next try; a missing program is one error, whatever was run with it."""
        if any(fix.kind is FixKind.PROGRAM for fix in retry.fixes):
            missing = missing_name("\n".join(retry.lines))
            retry = replace(retry, goal=retry.goal._replace(text=missing, goal=missing))
        goal = retry.goal.goal
        for line in retry.lines:
            if line_digest(line) in self._printed[goal]:
                continue  # printed when it works, too
            signature = masked_line(line)
            if len(signature) < MIN_SIGNATURE or _EMPTY.match(signature):
                continue
            if (goal, signature) not in self._errors:
                self._commands_printing[signature] += 1
            evidence = self._errors.setdefault((goal, signature), _Evidence(example=line))
            evidence.met.add(retry.session)
            if retry.worked:
                evidence.past.add(retry.session)
                for fix in retry.fixes:
                    evidence.fixed_by[fix].append(retry)
            else:
                for fix in retry.fixes:
                    evidence.useless[fix].add(retry.session)

    def _judge(
        self, goal: str, signature: str, evidence: _Evidence, fix: Fix, fixed_by: list[Retry]
    ) -> CountedFix | None:
        sessions = {retry.session for retry in fixed_by}
        if len(sessions) < MIN_SESSIONS and not any(_is_shown_at_once(retry, fix) for retry in fixed_by):
            return None
        if self._is_one_of_several_folders(evidence, fix):
            return None
        if any(
            len(retry.fixes[fix].typed) > MAX_TYPED or _PASSING.search(retry.fixes[fix].typed) for retry in fixed_by
        ):
            return None  # a script or a file of the day: content, not a way of calling something
        if len(sessions) < MIN_SHARE * len(evidence.past) or 2 * len(evidence.useless[fix]) > len(sessions):
            return None
        passes = fix.kind is not FixKind.PROGRAM and may_pass(signature)
        if passes or not self._makes_a_difference(fix, fixed_by):
            return None
        if fix.kind is FixKind.EDIT and not _is_standing_edit(fix.what, fixed_by, len(sessions)):
            return None
        typed = _common_typing(fix, [retry.fixes[fix].typed for retry in fixed_by])
        return CountedFix(
            goal=fixed_by[-1].goal,
            fix=fix,
            typed=typed,
            signature=signature,
            error=evidence.example,
            retries=tuple(fixed_by),
            sessions=len(sessions),
            sessions_with_error=len(evidence.met),
            warn_before=len(sessions) >= MIN_SESSIONS and self._mostly_fails(goal, fix),
        )

    @staticmethod
    def _is_one_of_several_folders(evidence: _Evidence, fix: Fix) -> bool:
        """Whether the same error was fixed in different folders: which one it is depends on what was meant."""
        folders = [other for other in evidence.fixed_by if other.kind is FixKind.FOLDER]
        return fix.kind is FixKind.FOLDER and len(folders) > 1

    def _makes_a_difference(self, fix: Fix, fixed_by: Sequence[Retry]) -> bool:
        """Whether the fix is done because of this error and not just often, or the call fails without it."""
        if fix.kind in (FixKind.RUN_FIRST, FixKind.EDIT):
            rate = max(0, self._done[fix] - len(fixed_by)) / max(1, self._calls)
            shortest: dict[str, int] = {}
            for retry in fixed_by:
                length = retry.calls_between + 1
                shortest[retry.session] = min(length, shortest.get(retry.session, length))
            return prod(1 - (1 - rate) ** length for length in shortest.values()) <= MAX_CHANCE
        if fix.kind is FixKind.PROGRAM:  # one that other sessions found was hidden by a setting of the moment
            found = self._found[fix.instead_of]
            return 2 * len(found) <= len({retry.session for retry in fixed_by})
        without = [worked for _, form, worked in self._outcomes[fixed_by[0].goal.goal] if not _has(form, fix)]
        worked = sum(without)
        return worked * 2 <= len(without) or worked <= len({m.session for m in fixed_by}) / 2

    def _mostly_fails(self, goal: str, fix: Fix) -> bool:
        """Whether the goal's first call in a session mostly fails where the fix did not come first."""
        first: dict[str, bool] = {}
        for session, form, worked in self._outcomes[goal]:
            if fix.kind in (FixKind.RUN_FIRST, FixKind.EDIT) or not _has(form, fix):
                first.setdefault(session, worked)
        failed = sum(not worked for worked in first.values())
        return failed >= MIN_SESSIONS and 2 * failed > len(first)


def retries_of(session: str, calls: Sequence[SourcedCall]) -> Iterator[Retry]:
    """Yield every failure with the next call for the same goal."""
    for at, failed in enumerate(calls):
        if failed.record.worked is not False:
            continue
        line = forms_of(failed.record)
        goal = _blamed(line, failed.record.lines)
        if goal is None or edits_files(goal):
            continue
        for later in range(at + 1, min(len(calls), at + 1 + MAX_BETWEEN)):
            call = calls[later].record
            again = next((form for form in forms_of(call) if same_goal(form, goal)), None)
            if again is None or call.worked is None:
                continue
            if not call.worked and not _same_error(failed.record, call):
                break  # another error: something helped, nobody knows what
            yield Retry(
                session=session,
                calls_between=later - at - 1,
                goal=goal,
                failed=failed,
                again=calls[later],
                fixes=_other_program(failed.record, goal, calls[later], again)
                or _between(calls[at + 1 : later], calls[later], again, goal, line),
            )
            break


def _blamed(line: Sequence[CommandForm], output: Sequence[str]) -> CommandForm | None:
    """Return the command that failed: the one of the line that the output names, or the only one that acts."""
    text = "\n".join(output)[:2000]
    named = [form for form in line if re.search(rf"(?<![\w/.-]){re.escape(form.program)}(?![\w/-])", text)]
    if len({form.goal for form in named}) == 1:
        return named[0]
    acting = [form for form in line if acts(form)]
    if len({form.goal for form in acting}) > 1:
        return None  # nobody knows which of them failed
    return acting[-1] if acting else line[-1] if line else None


def _same_error(one: CallRecord, other: CallRecord) -> bool:
    return not {masked_line(line) for line in one.lines}.isdisjoint(masked_line(line) for line in other.lines)


def _between(
    calls: Sequence[SourcedCall], last: SourcedCall, again: CommandForm, goal: CommandForm, line: Sequence[CommandForm]
) -> dict[Fix, Tried]:
    """Return everything that may have made the difference."""
    found = {fix: Tried(typed, last) for fix, typed in _differences(goal, again)}
    if not acts(goal):  # what only looks is helped by nothing but another place to look
        return {fix: tried for fix, tried in found.items() if fix.kind is FixKind.TARGET}
    tried = {form.goal for form in line}
    for call in (*calls, last):
        for path in call.record.edited if call is not last else ():
            if not _OUTSIDE.match(path):
                found.setdefault(Fix(FixKind.EDIT, path), Tried(path, call))
        forms = forms_of(call.record) if call.record.worked or call is last else ()
        for form in forms[: forms.index(again)] if call is last else forms:
            if acts(form) and not edits_files(form) and form.goal not in tried and not same_goal(form, goal):
                found.setdefault(Fix(FixKind.RUN_FIRST, _run_key(form)), Tried(form.typed, call))
    return found


def _other_program(failed: CallRecord, goal: CommandForm, last: SourcedCall, again: CommandForm) -> dict[Fix, Tried]:
    """Return what was called in place of a missing program: behind a wrapper, or by another name before the same words."""
    missing, *rest = _words_run(goal) or [""]
    instead = _words_run(again)
    if missing != missing_name("\n".join(failed.lines)) or instead[:1] == [missing]:
        return {}
    if goal.program == missing and acts(goal) and wrapper_of(again, goal):
        return {}  # a wrapped program is told as such
    if missing in instead[1:]:
        used = " ".join(instead[: instead.index(missing) + 1])
    elif instead[1:2] == rest[:1]:
        used = " ".join(instead[:1])
    elif instead[-len(rest) :] == rest:
        used = " ".join(instead[: -len(rest)])
    else:
        return {}
    return {} if _ELSEWHERE.match(used) else {Fix(FixKind.PROGRAM, used, missing): Tried(used, last)}


def _words_run(form: CommandForm) -> list[str]:
    """Return the words of a command as a shell sees them: `.venv/bin/python x.py`, where its normal form says `python x.py`."""
    return _BEFORE_PROGRAM.sub("", form.command.text).split()


def _run_key(form: CommandForm) -> str:
    """Return what makes a command that is run first the same in two sessions: installers also by what they install."""
    words = form.goal.split()
    modes = [word for word in words if word.startswith("-")]
    names = form.targets if words[-1] in _INSTALLS else ()
    return " ".join([form.text, *modes, *names])


def _differences(failed: CommandForm, worked: CommandForm) -> Iterator[tuple[Fix, str]]:
    """Yield how a call that worked differs from the same call that failed."""
    if around := wrapper_of(worked, failed):
        yield Fix(FixKind.WRAPPED, around), worked.typed
        return
    if wrapper_of(failed, worked):
        yield Fix(FixKind.WRAPPED, worked.text), worked.typed
        return
    if failed.text != worked.text:
        yield Fix(FixKind.WRAPPED, worked.text), worked.typed
    for option in sorted(worked.options - failed.options):
        yield Fix(FixKind.OPTION, option), worked.typed
    for setting in sorted(worked.settings - failed.settings):
        yield Fix(FixKind.SETTING, setting), worked.typed
    if worked.directory and worked.directory != failed.directory and not _OUTSIDE.match(worked.directory):
        yield Fix(FixKind.FOLDER, worked.directory), f"cd {worked.directory} && {worked.typed}"
    gone = [word for word in failed.tokens if word not in worked.tokens and _NAMED_FILE.search(word)]
    new = [word for word in worked.tokens if word not in failed.tokens and _NAMED_FILE.search(word)]
    if len(gone) == len(new) == 1 and failed.text == worked.text and not _OUTSIDE.match(new[0]):
        yield Fix(FixKind.TARGET, new[0], gone[0]), worked.typed


def _common_typing(fix: Fix, typed: Sequence[str]) -> str:
    """Return the fix as most sessions typed it; what all have in common where they differ."""
    best, count = Counter(typed).most_common(1)[0]
    if 2 * count > len(typed) or len(typed) == 1 or fix.kind is not FixKind.RUN_FIRST:
        return best
    common = [word for word in best.split() if all(word in other.split() for other in typed)]
    return " ".join(common) if len(common) >= len(fix.what.split()) else fix.what


def _is_standing_edit(path: str, fixed_by: Sequence[Retry], sessions: int) -> bool:
    """Whether an edit is more than the work itself: of a setting, or of a file that several errors elsewhere call for."""
    if not CODE_FILE.search(path) or _CONFIGURES.search(path):
        return True
    name = path.rsplit("/", 1)[-1]
    named = any(name in line for retry in fixed_by for line in retry.lines)
    return sessions > MIN_SESSIONS and not named and not _TEST_FILE.search(path)


def _has(form: CommandForm, fix: Fix) -> bool:
    """Whether a call was made in the way of the fix."""
    if fix.kind is FixKind.WRAPPED:
        return form.text == fix.what or form.text.startswith(f"{fix.what} ")
    if fix.kind is FixKind.OPTION:
        return fix.what in form.options
    if fix.kind is FixKind.SETTING:
        return fix.what in form.settings
    if fix.kind is FixKind.FOLDER:
        return form.directory == fix.what
    return fix.kind is FixKind.TARGET and fix.what in form.tokens


def _is_shown_at_once(retry: Retry, fix: Fix) -> bool:
    """Whether the error names the command to run first, or says that something is missing which the fix brings or wraps."""
    text = "\n".join(retry.lines)
    missing = missing_name(text)
    if fix.kind is FixKind.RUN_FIRST:
        words = " ".join(word for word in fix.what.split() if not word.startswith("-"))
        name = missing.split("/")[0].split(".")[0]
        installs = bool(name) and not _INSTALLS.isdisjoint(fix.what.split()) and name in retry.fixes[fix].typed
        return installs or (" " in words and words in text)
    if fix.kind is FixKind.PROGRAM:
        return True
    return fix.kind is FixKind.WRAPPED and len(retry.fixes) == 1 and missing == retry.goal.program


def _is_known_anyway(counted: CountedFix) -> bool:
    """Whether the error names the option itself, or the fix is the failed check without its `--check`: formatters format."""
    goal, fix = counted.goal, counted.fix
    own = goal.text.split()
    if fix.kind is FixKind.RUN_FIRST and goal.options & _CHECKING and fix.what.split()[: len(own)] == own:
        return True
    if counted.warn_before or fix.kind not in (FixKind.OPTION, FixKind.SETTING):
        return False
    return all(fix.what.partition("=")[0] in "\n".join(retry.lines) for retry in counted.retries)


_ORDER = list(FixKind)


def _strength(counted: CountedFix) -> tuple[int, float, int, str, str]:
    """Order fixes of one error: by sessions, then by how alone they stood, then by kind."""
    alone = sum(len(retry.fixes) == 1 for retry in counted.retries) / len(counted.retries)
    return counted.sessions, alone, -_ORDER.index(counted.fix.kind), counted.fix.instead_of, counted.fix.what
