"""Evidence on assumptions in a run: its calls and changed files, messages of the user, readings, checks and missing programs.

A message of the user counts only where it contradicts the assumption or chooses the same. A reading counts only where
the output has the field. Of commands only exit statuses and the standard messages of shells and loaders count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise

from tacit.domain.skill import Condition
from tacit.domain.trajectory import Role, Span, Step, StepResult, Trajectory
from tacit.evidence.workspace_changes import changes
from tacit.features.people.ledger_entries import Held
from tacit.text.canonical import canonical_command, canonical_path
from tacit.text.exit_status import masks_exit
from tacit.text.facts import TASK, Facts, facts, identifiers, satisfied
from tacit.text.opposition import opposed, sayings
from tacit.text.programs import FORMATTERS
from tacit.text.shell import Command, parse_command
from tacit.text.text_sources import names_tacit_folder
from tacit.text.tool_calls import (
    FILE_READERS,
    WEB_READERS,
    changes_nothing,
    command_of,
    is_internal,
    named_file,
    plain_name,
    reads_by_name,
)

COULD_NOT_RUN = frozenset({124, 126, 127, 130, 137, 143})
"""Exit statuses of a shell: time limit, not executable, not found, interrupted, killed."""
SAME_MOMENT = timedelta(seconds=10)
"""The largest difference between the clocks of a client and of its hooks."""
_SCRATCH = ("/tmp/", "/var/tmp/", "/private/tmp/", "/dev/")
_INSTALLING = re.compile(r"\b(?:install|add|remove|uninstall|update|upgrade|i|ci|sync|lock|tidy|get)\b")
_INSTALLERS = frozenset("npm pnpm yarn bun pip pip3 uv poetry pdm cargo go gem bundle composer".split())
_QUOTED_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumptionResult:
    """The result of an assumption, and what shows it."""

    held: Held
    reason: str
    instead: str = ""
    """What was true instead, where it was wrong; in words of our own and of the assumption."""
    quote: str = ""
    """The text of the output or of the user, word for word."""
    spans: tuple[Span, ...] = ()
    """The steps that show it."""


UNKNOWN = AssumptionResult(held=Held.UNKNOWN, reason="nothing in the run shows whether it holds")


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumptionCall:
    """One tool call of the run."""

    step: Step
    command: str = ""
    """The canonical shell text; empty for other tools."""
    commands: tuple[Command, ...] = ()
    files: tuple[str, ...] = ()
    """Files that it certainly changed, relative to the workspace."""
    vague: bool = False
    """Whether it may have changed further files."""

    @property
    def worked(self) -> bool | None:
        """Whether it succeeded; None where its status shows nothing."""
        step = self.step
        if step.result in (StepResult.DENIED, StepResult.INTERRUPTED) or step.exit_code in COULD_NOT_RUN:
            return None
        if step.exit_code not in (0, None) or step.failed:
            return False
        if step.exit_code is None and step.result is not StepResult.OK:
            return None
        return None if self.commands and masks_exit(command_of(step.tool, step.arguments)) else True

    @property
    def only_reads(self) -> bool:
        """Whether it changes nothing."""
        if self.commands:
            return all(map(changes_nothing, self.commands))
        name = plain_name(self.step.tool)
        return name in FILE_READERS | WEB_READERS or reads_by_name(name)

    @property
    def path(self) -> str:
        """The file that a plain tool names."""
        return "" if self.commands else named_file(self.step.arguments) or ""


@dataclass(frozen=True)
class AssumptionRun:
    """A run since an assumption was stated."""

    trajectory: Trajectory
    stated_at: datetime | None = None

    @cached_property
    def calls(self) -> tuple[AssumptionCall, ...]:
        """The calls since then, without Tacit's own and internal ones of the client."""
        since = (step for step in self.trajectory.steps if step.is_action and self._is_later(step))
        return tuple(self._call(step) for step in since if not _is_aside(step))

    @cached_property
    def user_messages(self) -> tuple[tuple[str, Span], ...]:
        """The messages of the user in order; last their reply to the result."""
        if self.trajectory.parent_session_id:
            return ()  # the messages to a subagent come from another agent
        spoken = [
            (step.text, self.span(step, "text"))
            for step in self.trajectory.steps
            if step.role is Role.USER and not step.is_action and step.text.strip()
        ]
        asked = Span(self.trajectory.id, -1, "text")
        first = (
            [] if any(text == self.trajectory.task.text for text, _ in spoken) else [(self.trajectory.task.text, asked)]
        )
        after = [(self.trajectory.reply, asked)] if self.trajectory.reply.strip() else []
        return (*first, *spoken, *after)

    @cached_property
    def changed(self) -> dict[str, Step]:
        """Files that were certainly changed, each with the first step that did."""
        found: dict[str, Step] = {}
        for call in self.calls:
            for file in call.files:
                found.setdefault(file, call.step)
        return found

    @property
    def vague(self) -> bool:
        """Whether unknown files may have been changed."""
        return any(call.vague for call in self.calls)

    def span(self, step: Step, part: str = "arguments") -> Span:
        """Return the span of a step."""
        return Span(self.trajectory.id, step.index, part)

    def seen(self, path: str) -> str:
        """Return a path relative to the workspace."""
        return canonical_path(path, workspace=self.trajectory.environment.workspace)

    def comparable(self, command: str, directory: str = "") -> str:
        """Return a canonical shell text."""
        return canonical_command(command, workspace=self.trajectory.environment.workspace, directory=directory)

    def _is_later(self, step: Step) -> bool:
        return self.stated_at is None or step.at is None or step.at + SAME_MOMENT >= self.stated_at

    def _call(self, step: Step) -> AssumptionCall:
        text = command_of(step.tool, step.arguments)
        commands = parse_command(text) if text else ()
        sure = [output for command in commands for output in command.outputs]
        made = [change.file for change in changes(step)]
        if not commands:
            sure = [file for file in made if file]
        kept = (self.seen(file) for file in sure if not names_tacit_folder(file))
        started = step.arguments.get("workdir", step.arguments.get("cwd", ""))
        return AssumptionCall(
            step=step,
            command=self.comparable(text, started if isinstance(started, str) else "") if text else "",
            commands=commands,
            files=_lasting(kept) if step.result is not StepResult.DENIED else (),
            vague=bool(set(made) - set(sure)) or any(map(_spreads, commands)),
        )


def _lasting(files: Iterable[str]) -> tuple[str, ...]:
    """Files relative to the workspace, each once, without temporary ones."""
    return tuple(dict.fromkeys(file for file in files if not file.startswith(_SCRATCH)))


def quoted(text: str) -> str:
    """Return the most informative line of an output, shortened."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"(?i)error|not found|no such|fail|denied|cannot|no rule", line)]
    return (telling or lines or [""])[0][:_QUOTED_MAX]


def _spreads(command: Command) -> bool:
    """Whether a command writes files that it does not name: formatters and package managers."""
    formats = command.program in FORMATTERS and not {"--check", "--diff", "-c"} & set(command.flags)
    return formats or (command.program in _INSTALLERS and bool(_INSTALLING.match(command.subcommand)))


def _is_aside(step: Step) -> bool:
    commands = parse_command(command_of(step.tool, step.arguments))
    return is_internal(step.tool, step.arguments) or any(command.program == "tacit" for command in commands)


_MESSAGE_MAX = 2_000
"""A longer message states a task or contains pasted text."""
_WANTS = re.compile(
    r"^\W*(?:the (?:person|user|customer|team|project)|they|he|she|we|i)\s+(?:wants? (?:me |us )?to|prefers?|likes?(?: to)?|"
    r"expects?|may|can|should|must)\s+|^\W*it(?:'s| is) (?:fine|ok(?:ay)?|allowed|all right) to\s+",
    re.IGNORECASE,
)
_HEARSAY = re.compile(
    r"\b(?:somebody|someone|they|he|she|docs?|documentation|readme) (?:told|said|says?|thinks?|wants?|wanted)\b",
    re.IGNORECASE,
)
"""A report of another person's words is not the user's own statement."""
_PREFERRING = re.compile(r"\b(?:prefer|like)", re.IGNORECASE)
_ERROR = re.compile(r"`([^`\n]{3,120})`|[“\"]([^“”\"\n]{3,120})[”\"]")


def by_people(run: AssumptionRun, text: str) -> AssumptionResult | None:
    """Messages of the user that clearly contradict or confirm the assumption; the last one counts."""
    found: AssumptionResult | None = None
    for statement, span in run.user_messages:
        if len(statement) > _MESSAGE_MAX or statement.rstrip().endswith("?") or _HEARSAY.search(statement):
            continue
        for rule in dict.fromkeys((text, _as_rule(text))):
            if opposed(rule, statement):
                description = " ".join(statement.split())[:200]
                found = AssumptionResult(
                    held=Held.WRONG,
                    reason="a person said otherwise",
                    instead=f"a person said: {description}",
                    quote=description,
                    spans=(span,),
                )
            elif _chooses_alike(rule, statement):
                found = AssumptionResult(held=Held.HELD, reason="a person said the same", spans=(span,))
    return found


def by_refusal(run: AssumptionRun, text: str) -> AssumptionResult | None:
    """A command that an assumption names and that was denied."""
    for named in re.findall(r"`([^`\n]{1,200})`", text):
        wanted = run.comparable(named) if parse_command(named) else ""
        for call in run.calls:
            if call.step.result is StepResult.DENIED and wanted and call.command == wanted:
                description = f"`{named}` was refused"
                reason = f"{description} (step {call.step.index})"
                return AssumptionResult(
                    held=Held.WRONG, reason=reason, instead=description, spans=(run.span(call.step),)
                )
    return None


def by_reading(run: AssumptionRun, condition: Condition | None) -> AssumptionResult | None:
    """The first output of a tool that has the field of the condition."""
    if condition is None or not condition.relation or condition.reading in ("", TASK):
        return None
    answers = [(call, facts(call.step.observation)) for call in run.calls if _is_reading(call.step.tool, condition)]
    telling = [(call, shown) for call, shown in answers if condition.key in shown]
    named = identifiers(run.trajectory.task.text)
    meant = [(call, shown) for call, shown in telling if _names_any(shown, call.step.arguments, named)]
    for call, shown in meant or telling:
        spans = (run.span(call.step), run.span(call.step, "observation"))
        what = ", ".join(shown[condition.key])[:120]
        where = f"`{condition.reading}` showed it (step {call.step.index})"
        if satisfied(condition.relation, shown, condition.key, condition.value):
            return AssumptionResult(held=Held.HELD, reason=where, spans=spans)
        instead = f"`{condition.reading}` shows another `{condition.key}`"
        reason = f"{instead} (step {call.step.index})"
        return AssumptionResult(
            held=Held.WRONG, reason=reason, instead=instead, quote=f"{condition.key}: {what}", spans=spans
        )
    return None


def by_error(run: AssumptionRun, text: str) -> AssumptionResult | None:
    """A feared error, named word for word, that a failing call printed."""
    for pair in _ERROR.findall(text):
        wanted = (pair[0] or pair[1]).casefold()
        for call in run.calls:
            if call.worked is not True and call.step.failed and wanted in call.step.observation.casefold():
                spans = (run.span(call.step), run.span(call.step, "observation"))
                reason = f"it came about (step {call.step.index})"
                return AssumptionResult(held=Held.HELD, reason=reason, quote=quoted(call.step.observation), spans=spans)
    return None


def _as_rule(text: str) -> str:
    """A wish of the user as the sentence in which they would state it."""
    match = _WANTS.match(text)
    if match is None:
        return text
    rest = text[match.end() :]
    return f"Prefer {rest}" if _PREFERRING.search(match.group()) else rest[:1].upper() + rest[1:]


def _chooses_alike(rule: str, statement: str) -> bool:
    """Whether both prefer the same over the same."""
    ours, theirs = sayings(rule), sayings(statement)
    return any(
        one.chosen and one.left and one.chosen & other.chosen and one.left & other.left
        for one in ours
        for other in theirs
    )


def _is_reading(tool: str, condition: Condition) -> bool:
    return tool == condition.reading or tool.endswith((f"__{condition.reading}", f".{condition.reading}"))


def _names_any(shown: Facts, arguments: object, named: list[str]) -> bool:
    description = f"{arguments} {shown}"
    return any(name in description for name in named)


_CODE = re.compile(r"`([^`\n]{1,200})`")
_SUFFIXES = (
    "py pyi ipynb js mjs cjs jsx ts tsx vue svelte go rs java kt rb php c h cc cpp hpp cs swift scala ex exs sh bash ps1 "
    "sql md rst txt toml yaml yml json json5 jsonl xml csv ini cfg conf env lock html css scss less proto gradle tf tfvars"
)
_PATH = re.compile(
    r"(?<![\w/.:-])(?:(?:[\w.@-]+/)+[\w.@-]*\.[A-Za-z]\w{0,9}|(?:[\w.@-]+/)+|[a-z_.@\d-][\w.@-]*\.(?:"
    + "|".join(_SUFFIXES.split()) + r")|(?:Make|Docker|Jenkins|Proc|Gem|Rake|Brew)file)(?![\w/-])"
)  # fmt: skip
_CODED_PATH = re.compile(r"`([\w.@-]+(?:/[\w.@-]+)+/?)`")
_ELSEWHERE = re.compile(
    r"\b(?:only|or|when|if|unless|until|twice|once|slow\w*|remote\w*|in (?:ci|production|the container|the image|staging)|"
    r"on (?:the|a|every) (?:server|runner|host|cluster)s?)\b",
    re.IGNORECASE,
)
"""A statement about another place, or under a condition, is not decided by this run."""
_NEGATED = re.compile(r"\b(?:not|no|never|cannot|without|missing|lacks?|fails?)\b|n['’]t\b", re.IGNORECASE)
_OPENING = r"^\W*(?:(?:i|we) (?:assume|expect|think|believe)(?: that)?\s+)?"
_SURELY = r"(?:\s+(?:will|should|can|still|already|just|also|now|simply|does|do|not|won['’]t|doesn['’]t|be))*"
_CLAIM = re.compile(
    _OPENING + r"(?:running |(?:the )?(?:command |target |script )?)?\0" + _SURELY
    + r"\s+(?:works?|pass(?:es)?|succeeds?|runs?|builds?|suffices?|fails?|(?:is )?(?:enough|green))"
    r"(?: (?:here|now|already|as it is|as is|fine|cleanly|at once|today|through|to [^,;.]{1,40}))*\W*$"
    r"|" + _OPENING + r"\w+ can (?:run|build|test|start|lint|check|install)\b[^,;.\0]{0,40} (?:with|by) \0\W*$",
    re.IGNORECASE,
)  # fmt: skip
"""A sentence that states only that one command (replaced by a NUL) works or fails."""
_THERE = re.compile(
    r"\b(?:installed|available|at hand|exists?|present|on the path|imported|importable|there (?:is|are)|is there|to be had)\b",
    re.IGNORECASE,
)
_PROGRAM = re.compile(
    r"`?([A-Za-z][\w.+-]*)`? (?:is|are) (?:not |already |n['’]t )?(?:installed|available|at hand|on the path)", re.I
)
_MODULE = re.compile(
    r"\b(?:module|package|library) `?([\w.@/-]+)`?|"
    r"`?\b(?!(?:the|a|an|this|that|our|no)\b)([\w.@/-]+)`? (?:python )?(?:module|package|library)\b",
    re.IGNORECASE,
)
_MORE = re.compile(r"\band\b|,", re.IGNORECASE)
_NO_FILE = re.compile(r"no such file|does not exist|not found|enoent|cannot find", re.IGNORECASE)


def paths_in(text: str) -> tuple[str, ...]:
    """Return the files and folders that a text names: with a known suffix or a final slash, or as code."""
    return tuple(dict.fromkeys((*_PATH.findall(text), *_CODED_PATH.findall(text))))


def by_check(run: AssumptionRun, check: str) -> AssumptionResult | None:
    """The result of the run's own check; None where it was not run, or its status shows nothing."""
    return _from_runs(run, check) if check.strip() else None


def by_claim(run: AssumptionRun, text: str) -> AssumptionResult | None:
    """An assumption that one named command works, or that it does not."""
    named = [each for each in _CODE.findall(text) if parse_command(each)]
    prose = _CODE.sub("\0", text)
    if len(named) != 1 or prose.count("\0") != 1 or not _CLAIM.search(prose):
        return None
    found = _from_runs(run, named[0])
    return _turned(found) if found is not None and _NEGATED.search(prose) else found


def by_presence(run: AssumptionRun, text: str) -> AssumptionResult | None:
    """An assumption that a program, a file or a module exists, or that it does not."""
    if not _THERE.search(text) or _ELSEWHERE.search(_CODE.sub(" ", text)):
        return None
    looks = [*(_program(run, name) for name in _programs(text)), *(_file(run, path) for path in paths_in(text))]
    looks += [_module(run, first or second) for first, second in _MODULE.findall(text)]
    found = [each for each in looks if each is not None]
    if not found:
        return None
    first = next((each for each in found if each.held is Held.WRONG), found[0])
    if _NEGATED.search(_CODE.sub(" ", text)):
        return _turned(first)
    more = first.held is Held.HELD and _MORE.search(_CODE.sub(" ", text))
    return None if more else first  # one part that holds does not confirm the whole


def _from_runs(run: AssumptionRun, command: str) -> AssumptionResult | None:
    wanted = run.comparable(command)
    results = [(call, result) for call in run.calls if (result := _result(run, call, wanted)) is not None]
    if not results:
        return None
    if _wavers(run, results):
        spans = tuple(run.span(call.step) for call, _ in results)
        return AssumptionResult(
            held=Held.UNKNOWN, reason="it ended now well and now badly with nothing done in between", spans=spans
        )
    first = results[0]
    untouched = all(call.only_reads or call.step.index >= first[0].step.index for call in run.calls)
    call, well = first if untouched else results[-1]
    when = "before anything was done" if untouched else "in the end"
    status = f" with exit status {call.step.exit_code}" if call.step.exit_code is not None else ""
    ended = f"ended well{status}" if well else f"failed{status}"
    spans = (run.span(call.step), run.span(call.step, "observation"))
    return AssumptionResult(
        held=Held.HELD if well else Held.WRONG,
        reason=f"`{command}` {ended} {when} (step {call.step.index})",
        instead="" if well else f"`{command}` {ended} {when}",
        quote="" if well else quoted(call.step.observation),
        spans=spans,
    )


def _result(run: AssumptionRun, call: AssumptionCall, wanted: str) -> bool | None:
    """The result of the wanted command in a call: of its whole line, or of one of several that all had to succeed."""
    if call.command == wanted or _same_words(call.commands, parse_command(wanted)):
        return call.worked
    parts = call.commands
    if len(parts) > 1 and call.worked and all(part.connector in ("&&", "") for part in parts):
        return True if any(run.comparable(part.text) == wanted for part in parts) else None
    return None


def _same_words(calls: Sequence[Command], wanted: Sequence[Command]) -> bool:
    """Whether both are one command that differs only in its runner: `python -m pytest -q`."""
    if len(calls) != 1 or len(wanted) != 1 or calls[0].directory or calls[0].assignments:
        return False
    one, other = calls[0], wanted[0]
    return one.program == other.program and one.words[1:] == other.words[1:] and len(other.words) > 1


def _wavers(run: AssumptionRun, results: Sequence[tuple[AssumptionCall, bool]]) -> bool:
    """Whether results differ although nothing was changed between them."""
    own = {call.step.index for call, _ in results}
    done = [call.step.index for call in run.calls if not call.only_reads and call.step.index not in own]
    return any(
        before[1] != after[1] and not any(before[0].step.index < index < after[0].step.index for index in done)
        for before, after in pairwise(results)
    )


def _programs(text: str) -> Iterable[str]:
    coded = [each for each in _CODE.findall(text) if re.fullmatch(r"[\w.+-]+", each) and not _PATH.fullmatch(each)]
    return dict.fromkeys(
        [*coded, *(found.casefold().removesuffix(".js") for found in _PROGRAM.findall(_MODULE.sub(" ", text)))]
    )


def _program(run: AssumptionRun, name: str) -> AssumptionResult | None:
    """Whether a program existed at its first call."""
    missing = re.compile(
        rf"(?:^|[\s:/]){re.escape(name)}: (?:command )?not found|not found: {re.escape(name)}\b", re.I | re.M
    )
    for call in run.calls:
        spans = (run.span(call.step), run.span(call.step, "observation"))
        if not any(command.program.casefold() == name.casefold() for command in call.commands):
            continue
        if missing.search(call.step.observation):
            return _absent(f"`{name}` was not found (step {call.step.index})", f"`{name}` is not there", call, spans)
        if call.worked or (call.worked is False and len(call.commands) == 1):  # a program that fails exists
            return AssumptionResult(held=Held.HELD, reason=f"`{name}` ran (step {call.step.index})", spans=spans)
    return None


def _file(run: AssumptionRun, path: str) -> AssumptionResult | None:
    """Whether a file existed at the first look, before the run itself created it."""
    wanted = run.seen(path.rstrip("/"))
    for call in run.calls:
        if any(_same_path(file, wanted) for file in call.files):
            return None
        named = (
            [run.seen(call.path)] if call.path else [run.seen(word) for one in call.commands for word in one.operands]
        )
        if not call.only_reads or not any(_same_path(each, wanted) for each in named):
            continue
        spans = (run.span(call.step), run.span(call.step, "observation"))
        if call.worked and (call.path or wanted in named):
            return AssumptionResult(
                held=Held.HELD, reason=f"`{path}` was looked at (step {call.step.index})", spans=spans
            )
        if call.worked is False and _NO_FILE.search(call.step.observation):
            return _absent(f"`{path}` was not found (step {call.step.index})", f"`{path}` is not there", call, spans)
    return None


def _module(run: AssumptionRun, name: str) -> AssumptionResult | None:
    """Whether a module could be imported."""
    missing = re.compile(rf"(?:No module named|Cannot find (?:module|package)) ['\"]?{re.escape(name)}(?![\w-])")
    loads = re.compile(rf"\b(?:import|from|require\(['\"])\s*{re.escape(name)}\b")
    for call in run.calls:
        spans = (run.span(call.step), run.span(call.step, "observation"))
        if missing.search(call.step.observation):
            return _absent(
                f"`{name}` could not be loaded (step {call.step.index})", f"`{name}` is not there", call, spans
            )
        if call.worked and any(loads.search(command.text) for command in call.commands):
            return AssumptionResult(held=Held.HELD, reason=f"`{name}` was loaded (step {call.step.index})", spans=spans)
    return None


def _same_path(seen: str, wanted: str) -> bool:
    return seen == wanted or seen.endswith(f"/{wanted}")


def _absent(reason: str, instead: str, call: AssumptionCall, spans: tuple[Span, ...]) -> AssumptionResult:
    return AssumptionResult(
        held=Held.WRONG, reason=reason, instead=instead, quote=quoted(call.step.observation), spans=spans
    )


def _turned(found: AssumptionResult) -> AssumptionResult:
    """The result for the opposite assumption."""
    if found.held is Held.HELD:
        description = found.reason.rpartition(" (step ")[0] or found.reason
        return AssumptionResult(held=Held.WRONG, reason=found.reason, instead=description, spans=found.spans)
    if found.held is Held.WRONG:
        return AssumptionResult(held=Held.HELD, reason=found.reason, spans=found.spans)
    return found
