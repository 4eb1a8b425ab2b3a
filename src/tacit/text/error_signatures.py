"""Error signatures: the most informative line of error output, with everything masked that differs between runs.

Two runs that fail for the same reason have the same signature, whatever their paths, numbers, ids, times and names. Empty
text has the empty signature. The name of a missing module or program is kept, since the error is about it; `without_name`
masks it too. The signature of a signature is itself, so stored ones can be updated by computing them again.
"""

from __future__ import annotations

import re

MAX_LENGTH = 200
MAX_TELLING = 10
"""How many lines of a failing output are looked at."""
_HEAD = 16_000  # compilers name the cause first …
_TAIL = 64_000  # … interpreters last; the middle of a huge log adds nothing
_MAX_LINE = 1_000
"""Characters of a line that are read; what is longer is data."""

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_WRAPPING = re.compile(
    r"</?(?:tool_use_error|error|stderr|stdout|output)>|^Exit code \d+$|^[ \t]*+(?:E {2,}|\d{1,4}[ \t]*+\|\s)",
    re.MULTILINE,
)
_EXCEPTION = re.compile(
    r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Timeout|Failure|Exit|DoesNotExist)\b(?::.*)?"
)
_WARNING = re.compile(r"[\w.]+Warning\b")
_TELLING = re.compile(
    r"\b(?:error|fatal|panic|critical)\b(?:\[\w+\])?\s*:|\bERR!|\berror TS\d+|command not found|not recognized as|"
    r"no such file or directory|permission denied|\bERROR\b|\bFAILED\b|^\s*(?:error|fatal)\b|cannot |could not |unable to |"
    r"sh: (?:\d+: )?\S+: not found$|\btimed out\b",
    re.IGNORECASE,
)
_SUMMARY = re.compile(
    r"could not compile|found \d+ errors?|^make(?:\[\d+\])?: \*\*\*|a complete log of this run|command failed with exit code|"
    r"aborting due to|^npm ERR!\s*$|process completed with exit code|lifecycle script|short test summary|"
    r"build failed with an exception|subprocess-exited-with-error|failed building wheel|failed to build installable wheels|"
    r"^error: command .{1,200} failed with exit",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"(?:<\w+>|[\W\d_]|\b(?:fail(?:ed|s|ure|ures|ing)?|pass(?:ed|es|ing)?|errors?|warnings?|skipped|pending|todo|total|xfailed|"
    r"tests?|suites?|test files?|files?|snapshots?|examples?|assertions?|and|in|of|with|out|m?s|min|seconds?|took|"
    r"command|process|exit(?:ed)?|code|status|build|fatal|critical|npm|err|finished|done|found|not ok|ran|deselected)\b)",
    re.IGNORECASE,
)
"""A line that only counts, or says that something failed, whatever the cause."""
_FAILED_AT = re.compile(
    r"(?:FAIL(?:ED)?\s+(?=\S*[./<])\S{1,300}?(?::|\s+[-–])|ERROR\s+(?=\S*[./<])\S{1,300}?\s+[-–])\s+(?=\S)"
)
_HEADING = re.compile(r"FAIL(?:ED)?\s+\S*[./<]\S*")

_TIMED_OUT = re.compile(r"\btimed out\b", re.IGNORECASE)
_SILENT = frozenset({"cd", "export", "set", "source", ".", "unset", "pushd", "popd", "env", "timeout", "time", "nohup"})
_NAME = r"(?P<name{}><value>|[A-Za-z_][\w.+-]{{0,79}})"
_NO_PROGRAM = re.compile(
    rf"(?:[^\s:]{{1,200}}: )?(?:(?:line )?(?:\d+|<n>): )?{_NAME.format(1)}: command not found"
    rf"|[^\s:]{{0,200}}(?:sh|<path>): (?:(?:line )?(?:\d+|<n>): )?{_NAME.format(2)}: not found"
    rf"|(?:\S{{1,200}}: )?command not found: {_NAME.format(3)}"
)
_SHOWN_FAILURE = re.compile(
    r"command not found|not recognized as|No module named|Cannot find module|unknown (?:command|option|flag)|\berror TS\d+|"
    r"^(?:error|fatal)(?:\[\w+\])?: |^FAIL\b|^npm (?:ERR!|error)|^Traceback \(most recent|ELIFECYCLE|panicked at|"
    r"exited with code [1-9]|^make(?:\[\d+\])?: \*\*\*|\b[1-9]\d* (?:failed|failing)\b|^[A-Z]\w*(?:Error|Exception):|"
    r"[Bb]uild failed|No such file or directory$|[Pp]ermission denied",
    re.MULTILINE,
)
_TRANSIENT = re.compile(
    r"timed? ?out|temporar|could not resolve host|connection (?:reset|refused)|network is unreachable|too many requests|"
    r"rate limit|\b50[234]\b|could not get lock|index\.lock",
    re.IGNORECASE,
)
_HERE = "\x00"  # keeps a name from being masked
_NO_MODULE = re.compile(
    r"(?:No module named|Cannot find module|there is no package called|cannot load such file --) "
    r"(?P<quoted>['\"‘“]?(?P<name>[A-Za-z_@](?:[\w./@-]{0,118}\w)?)['\"’”]?)"
)

_MASKED = re.compile(
    r"(?P<keep><(?:value|path|url|email|id|time|hex|n)>|\b[A-Z]{1,5}-?\d{3,5}\b|\b[a-z]+\d{1,3}\b(?![\w./:-])|"
    r"\b(?:HTTP|status|status code)[ :]{1,2}[1-5]\d\d\b)"
    r"|(?P<url>\b[a-z][a-z0-9+.-]{1,20}://[^\s'\"`<>)\]]+)"
    r"|(?P<email>\b[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+\b)"
    r"|(?P<id>\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b)"
    r"|(?P<time>\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b)"
    r"|(?P<value>(?<![\w'])'[^'\n]{1,200}'(?![\w'])|(?<![\w\"])\"[^\"\n]{1,200}\"|`[^`\s]{1,200}`|‘[^’\n]{1,200}’|“[^”\n]{1,200}”)"
    r"|(?P<path>(?:(?<![\w.>-])(?:[A-Za-z]:)?|\b[\w.@~+-]{1,80}|~|\.{1,2})(?:[/\\][\w.@~+%=-]{1,120})+[/\\]?(?::\d+){0,2})"
    r"|(?P<file>\b[\w-]{1,80}\.(?:py|js|ts|tsx|jsx|mjs|go|rs|java|rb|php|c|h|cpp|cs|sh|json|toml|yaml|yml|lock|txt|md|sql)\b(?::\d+){0,2})"
    r"|(?P<hex>\b0x[0-9a-fA-F]+\b|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b)"
    r"|(?P<n>[+-]?\d+(?:[.,]\d+)*)"
)  # fmt: skip


def error_signature(text: str, *, command: str = "") -> str:
    """Reduce error output to its most informative line, with its variable parts masked.

    A timeout does not show the cause, so there the program is named too, if `command` is given.
    """
    signature = _signature(_telling_line(text))
    if command and ran_out_of_time(signature):
        from tacit.text.shell import parse_command  # slow to load, and hooks seldom need it

        found = next((each for each in parse_command(command) if each.program not in _SILENT), None)
        program = f"{found.program} {found.subcommand}".strip() if found else ""
        return _signature(f"{program}: {signature}".removeprefix(": "))
    return signature


def output_lines(text: str) -> list[str]:
    """Return the lines of an output without escapes and wrapping, each with single blanks."""
    kept = text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    plain = _WRAPPING.sub("", _ESCAPE.sub("", kept.replace(_HERE, "")))
    return [clean for line in plain.splitlines() if (clean := _clean(line))]


def telling_lines(output: str) -> list[str]:
    """Choose the lines of a failing output that may tell the error: the first and last ones, and words of failure between."""
    lines = output_lines(output)
    if len(lines) <= MAX_TELLING:
        return lines
    marked = [line for line in lines if shows_failure(line)]
    chosen = dict.fromkeys((*marked[:4], *lines[:2], *lines[-4:]))
    return [line for line in dict.fromkeys(lines) if line in chosen][:MAX_TELLING]


def masked_line(line: str) -> str:
    """Return one line without what differs from run to run."""
    return _signature(_clean(line))


def may_pass(signature: str) -> bool:
    """Whether an error is of a kind that may pass by itself."""
    return _TRANSIENT.search(signature) is not None


def shows_failure(output: str) -> bool:
    """Whether an output shows beyond doubt that what ran before a pipe or `|| true` failed."""
    return _SHOWN_FAILURE.search(output) is not None


def tells(signature: str) -> bool:
    """Whether a signature says what is wrong, not only that something is."""
    return bool(_COUNTED.sub("", signature)) and not _SUMMARY.search(signature)


def without_place(line: str) -> str:
    """Return a line without the test or file in front of its message."""
    return line[found.end() :] if (found := _FAILED_AT.match(line)) else line


def ran_out_of_time(signature: str) -> bool:
    """Whether an error is only a timeout."""
    return _TIMED_OUT.search(signature) is not None


def missing_name(text: str) -> str:
    """Return the module or program that the error reports as missing; empty if there is none."""
    return _missing_in(_telling_line(text))


def without_name(signature: str) -> str:
    """Return the signature with the missing name masked; empty where nothing is missing."""
    name = _missing_in(signature)
    if not name:
        return ""
    if _NO_PROGRAM.fullmatch(signature):
        return "<value>: command not found"
    return _NO_MODULE.sub(lambda found: found.group().replace(found["quoted"], "<value>"), signature)[:MAX_LENGTH]


def _missing_in(line: str) -> str:
    program = _NO_PROGRAM.fullmatch(line)
    if program:
        name = next(name for name in program.groups() if name)
        return "" if name == "<value>" else name
    module = _NO_MODULE.search(line)
    return module["name"] if module else ""


def _signature(line: str) -> str:
    for _ in range(MAX_LENGTH):  # one mask can uncover another; each round masks at least one thing
        masked = without_place(line)
        name = _missing_in(masked)
        if name and _NO_PROGRAM.fullmatch(masked):
            masked = f"{name}: command not found"  # each shell words it differently
        else:
            masked = _NO_MODULE.sub(lambda found: found.group().replace(found["quoted"], _HERE), masked, count=1)
            masked = _clean(_clean(_MASKED.sub(_mask, masked)).replace(_HERE, name))
        if masked == line:
            break
        line = masked
    return line


def _telling_line(text: str) -> str:
    lines = output_lines(text)
    exceptions = [line for line in lines if _EXCEPTION.fullmatch(line)]
    if exceptions:
        return ([line for line in exceptions if not _WARNING.match(line)] or exceptions)[-1]
    telling = [line for line in lines if _TELLING.search(line)]
    cause = next(filter(_says_why, telling), "")
    if not cause:  # the message that a test runner prints below the failed file
        at = next((number for number, line in enumerate(lines) if _HEADING.fullmatch(line)), len(lines))
        cause = next(filter(_says_why, lines[at + 1 :]), "")
    return without_place(cause or (telling or lines or [""])[-1])


def _says_why(line: str) -> bool:
    return tells(_clean(_MASKED.sub(_mask, line)))


def _clean(line: str) -> str:
    """Return one line with single blanks and limited length."""
    line = " ".join(_WRAPPING.sub("", line[:_MAX_LINE]).split())
    return line[:MAX_LENGTH].rstrip()


def _mask(match: re.Match[str]) -> str:
    kind = match.lastgroup or "n"
    if kind == "keep":
        return match.group()
    return "<path>" if kind == "file" else f"<{kind}>"
