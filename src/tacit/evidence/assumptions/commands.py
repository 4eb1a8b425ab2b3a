"""What a run's own commands show: a named check, a command that is said to work, a program, file or module said to be there.

Only exit statuses and the plain words of shells and loaders count. Where a command ran before anything was done, that tells how
things stood; where work came first, its last run tells what came of it; where it goes now this way and now that, nothing does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from tacit.domain.moment import Held
from tacit.domain.trajectory import Span
from tacit.evidence.assumptions.run import Call, Run, Settled, quoted
from tacit.text.shell import Command, parse_command

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
"""What is said of another place, or under a condition, this run need not show."""
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
"""A sentence that says of one command, standing for which there is a nought, that it works or fails, and nothing else."""
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
    """Files and folders that a text names: with a known ending or a slash at the end, or set as code."""
    return tuple(dict.fromkeys((*_PATH.findall(text), *_CODED_PATH.findall(text))))


def by_check(run: Run, check: str) -> Settled | None:
    """What the run's own use of a check shows; nothing where it never ran it, or the status tells nothing."""
    return _from_runs(run, check) if check.strip() else None


def by_claim(run: Run, text: str) -> Settled | None:
    """An assumption that names one command and says that it works, or that it does not."""
    named = [each for each in _CODE.findall(text) if parse_command(each)]
    prose = _CODE.sub("\0", text)
    if len(named) != 1 or prose.count("\0") != 1 or not _CLAIM.search(prose):
        return None
    found = _from_runs(run, named[0])
    return _turned(found) if found is not None and _NEGATED.search(prose) else found


def by_presence(run: Run, text: str) -> Settled | None:
    """An assumption that a program, a file or a module is there, or that it is not."""
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
    return None if more else first  # that one part of it holds does not bear out the whole


def _from_runs(run: Run, command: str) -> Settled | None:
    wanted = run.comparable(command)
    told = [(call, result) for call in run.calls if (result := _result(run, call, wanted)) is not None]
    if not told:
        return None
    if _wavers(run, told):
        spans = tuple(run.span(call.step) for call, _ in told)
        return Settled(
            held=Held.UNKNOWN, reason="it ended now well and now badly with nothing done in between", spans=spans
        )
    first = told[0]
    untouched = all(call.only_looks or call.step.index >= first[0].step.index for call in run.calls)
    call, well = first if untouched else told[-1]
    when = "before anything was done" if untouched else "in the end"
    status = f" with exit status {call.step.exit_code}" if call.step.exit_code is not None else ""
    ended = f"ended well{status}" if well else f"failed{status}"
    spans = (run.span(call.step), run.span(call.step, "observation"))
    return Settled(
        held=Held.HELD if well else Held.WRONG,
        reason=f"`{command}` {ended} {when} (step {call.step.index})",
        instead="" if well else f"`{command}` {ended} {when}",
        quote="" if well else quoted(call.step.observation),
        spans=spans,
    )


def _result(run: Run, call: Call, wanted: str) -> bool | None:
    """How one call ended as far as the wanted command goes: its whole line, or one of several that all had to end well."""
    if call.command == wanted or _same_words(call.commands, parse_command(wanted)):
        return call.worked
    parts = call.commands
    if len(parts) > 1 and call.worked and all(part.connector in ("&&", "") for part in parts):
        return True if any(run.comparable(part.text) == wanted for part in parts) else None
    return None


def _same_words(calls: Sequence[Command], wanted: Sequence[Command]) -> bool:
    """Whether both are one command that differs only in what it is started by: `python -m pytest -q`."""
    if len(calls) != 1 or len(wanted) != 1 or calls[0].directory or calls[0].assignments:
        return False
    one, other = calls[0], wanted[0]
    return one.program == other.program and one.words[1:] == other.words[1:] and len(other.words) > 1


def _wavers(run: Run, told: Sequence[tuple[Call, bool]]) -> bool:
    """Whether results differ though nothing was done between them."""
    own = {call.step.index for call, _ in told}
    done = [call.step.index for call in run.calls if not call.only_looks and call.step.index not in own]
    return any(
        before[1] != after[1] and not any(before[0].step.index < index < after[0].step.index for index in done)
        for before, after in pairwise(told)
    )


def _programs(text: str) -> Iterable[str]:
    coded = [each for each in _CODE.findall(text) if re.fullmatch(r"[\w.+-]+", each) and not _PATH.fullmatch(each)]
    return dict.fromkeys(
        [*coded, *(found.casefold().removesuffix(".js") for found in _PROGRAM.findall(_MODULE.sub(" ", text)))]
    )


def _program(run: Run, name: str) -> Settled | None:
    """Whether a program could be called, the first time that somebody tried."""
    missing = re.compile(
        rf"(?:^|[\s:/]){re.escape(name)}: (?:command )?not found|not found: {re.escape(name)}\b", re.I | re.M
    )
    for call in run.calls:
        spans = (run.span(call.step), run.span(call.step, "observation"))
        if not any(command.program.casefold() == name.casefold() for command in call.commands):
            continue
        if missing.search(call.step.observation):
            return _absent(f"`{name}` was not found (step {call.step.index})", f"`{name}` is not there", call, spans)
        if call.worked or (call.worked is False and len(call.commands) == 1):  # it was there to fail
            return Settled(held=Held.HELD, reason=f"`{name}` ran (step {call.step.index})", spans=spans)
    return None


def _file(run: Run, path: str) -> Settled | None:
    """Whether a file was there, the first time that somebody looked and before the run itself made it."""
    wanted = run.seen(path.rstrip("/"))
    for call in run.calls:
        if any(_same_path(file, wanted) for file in call.files):
            return None
        named = (
            [run.seen(call.path)] if call.path else [run.seen(word) for one in call.commands for word in one.operands]
        )
        if not call.only_looks or not any(_same_path(each, wanted) for each in named):
            continue
        spans = (run.span(call.step), run.span(call.step, "observation"))
        if call.worked and (call.path or wanted in named):
            return Settled(held=Held.HELD, reason=f"`{path}` was looked at (step {call.step.index})", spans=spans)
        if call.worked is False and _NO_FILE.search(call.step.observation):
            return _absent(f"`{path}` was not found (step {call.step.index})", f"`{path}` is not there", call, spans)
    return None


def _module(run: Run, name: str) -> Settled | None:
    """Whether a module could be loaded."""
    missing = re.compile(rf"(?:No module named|Cannot find (?:module|package)) ['\"]?{re.escape(name)}(?![\w-])")
    loads = re.compile(rf"\b(?:import|from|require\(['\"])\s*{re.escape(name)}\b")
    for call in run.calls:
        spans = (run.span(call.step), run.span(call.step, "observation"))
        if missing.search(call.step.observation):
            return _absent(
                f"`{name}` could not be loaded (step {call.step.index})", f"`{name}` is not there", call, spans
            )
        if call.worked and any(loads.search(command.text) for command in call.commands):
            return Settled(held=Held.HELD, reason=f"`{name}` was loaded (step {call.step.index})", spans=spans)
    return None


def _same_path(seen: str, wanted: str) -> bool:
    return seen == wanted or seen.endswith(f"/{wanted}")


def _absent(reason: str, instead: str, call: Call, spans: tuple[Span, ...]) -> Settled:
    return Settled(held=Held.WRONG, reason=reason, instead=instead, quote=quoted(call.step.observation), spans=spans)


def _turned(found: Settled) -> Settled:
    """The answer to an assumption that says the opposite."""
    if found.held is Held.HELD:
        told = found.reason.rpartition(" (step ")[0] or found.reason
        return Settled(held=Held.WRONG, reason=found.reason, instead=told, spans=found.spans)
    if found.held is Held.WRONG:
        return Settled(held=Held.HELD, reason=found.reason, spans=found.spans)
    return found
