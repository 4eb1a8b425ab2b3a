"""Counts what sessions show about a project: the commands that check, test, build, format and run it, and where.

A fact is a count, dated, and it ages: a command that recent sessions no longer use loses its place. The card names the
commands that a session is likely to need; it is approved once, and its values then follow the counts. What few sessions
need is kept on the card for whoever asks.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from tacit.domain.candidate import Candidate
from tacit.domain.outline import CallRecord, Fact, Topic
from tacit.domain.reach import CARD
from tacit.domain.scope import Scope
from tacit.domain.skill import Kind, Provenance, SkillContent
from tacit.domain.trajectory import Origin, Span
from tacit.learn.attempt_outlines import acts, edits_files, forms_of
from tacit.learn.fixes import SourcedCall
from tacit.render.context import ON_REQUEST, plain_line
from tacit.text.command_forms import CommandForm
from tacit.text.error_signatures import missing_name
from tacit.text.programs import CHECKERS, FOLDER_FLAGS, FORMATTERS
from tacit.text.words import estimate_tokens

MADE_BY = "tacit.facts/1"
MIN_USING = 2
"""Sessions that must have used a command of a known topic; one alone may have tried something."""
HALF_LIFE = 10
"""Sessions after which a use counts half. Set by hand: about a week or two of work in the twelve projects."""
MIN_CONVENTION = 3
MIN_CONVENTION_SHARE = 0.6
"""Sessions that must keep to a way for it to be the project's, and their share of those that had the choice."""
MAX_SOURCES = 5
MAX_FOLDERS = 3
MAX_OPTIONS = 40
MIN_LIKELIHOOD = 0.2
"""Chosen by leaving out each of twelve real projects in turn (docs/lab.md)."""
MAX_COMMANDS = 16
MAX_TOKENS = 110
"""Commands and tokens of the card: each session starts with it, whether it needs them or not (65 tokens on average)."""
MIN_SELDOM = 3
"""Sessions that must have used a command which most sessions do not need."""
MAX_SELDOM, MAX_SELDOM_TOKENS = 8, 80
MIN_WORTH = 0.03
"""The likelihood that each token of a command must carry before every session starts with it. Chosen like `MIN_LIKELIHOOD`."""
_NAMED = frozenset({Topic.BEFORE_COMMIT, Topic.BRANCH, Topic.MISSING})
_ON_REQUEST = frozenset({Topic.COMMIT, Topic.LOG})
"""What is needed at a moment of its own, and read in the history or the help then."""
_LINE_OF: dict[Topic | None, Topic] = {Topic.INSTALL: Topic.BUILD, Topic.DEPLOY: Topic.BUILD}
"""What installs, builds and deploys shares a line: the commands say which."""
_TOPIC_WORDS: tuple[tuple[Topic, frozenset[str]], ...] = (
    (Topic.FORMAT, frozenset("fmt format fix prettier lint-fix".split())),
    (Topic.TEST, frozenset("test tests e2e spec coverage unit integration smoke bench t".split())),
    (
        Topic.CHECK,
        frozenset(
            "lint check checks typecheck types tsc vet clippy verify validate audit analyze doctor ci pre-commit hk".split()
        ),
    ),
    (Topic.BUILD, frozenset("build compile generate codegen gen render bundle package".split())),
    (Topic.INSTALL, frozenset("install sync".split())),
    (Topic.DEPLOY, frozenset("migrate bump release deploy up".split())),
    (Topic.RUN, frozenset("dev start serve run watch preview".split())),
)
_CHECKING_TOPICS = (Topic.TEST, Topic.CHECK, Topic.FORMAT, Topic.BUILD)
"""What sessions do before a commit because it is the project's way."""
_COMMAND_TOPICS = (*_CHECKING_TOPICS, Topic.RUN, Topic.INSTALL, Topic.DEPLOY)
_SHOWN_TOPICS = (*_COMMAND_TOPICS, Topic.BEFORE_COMMIT)
FORGES = frozenset("gh glab gt jj hub tea az".split())
"""Programs that publish work."""
_NO_WORK = re.compile(r" (?:api|auth)\b")
_PUBLISHES = re.compile(r" (?:create|submit|merge|land|ship)$")
_NEED_A_TARGET = frozenset(
    {"go run", "cargo run", "uv run", "npm run", "pnpm run", "yarn run", "mise run", "python", "node"}
)
_SCRIPT_RUNNERS = frozenset("npm pnpm yarn bun npx bunx pnpx uvx make just task rake mise deno poetry hatch nx".split())
_SUBJECT = re.compile(r"\bgit commit\b[^\n]*?-a?m\s*[\"'](?:\$\(cat <<-?[\"']?\w+[\"']?\n\s*)?([^\n\"']{3,100})")
_STYLE = re.compile(r"([^\w\s(\[]{1,3} )?\w+(\([^)]*\))?!?: \S")
_NEW_BRANCH = re.compile(
    r"(?:checkout -[bB]|switch -[cC]|worktree add -[bB]|checkout --branch|switch --create) ([\w.-]+/)?"
)
_PLAIN_WORD = re.compile(r"--?[A-Za-z][\w.=,:-]*|--|\./\.\.\.|[A-Z][A-Z_0-9]*=[\w.-]*|(?!/)[\w./:-]{1,30}")
_PLACE = re.compile(r"^\./\.\.\.$|/[\w-]*/?$")
_CONTENT = frozenset("--body --body-file --title --message -m -b -t -F --head --repo -R".split())
"""Options whose values differ by what is done."""
_LOOKS = frozenset("which info show describe search".split())
"""Subcommands that only look, whatever they name."""
_FOLDER_OPTIONS: frozenset[str] = frozenset().union(*FOLDER_FLAGS.values())
_ANY = "*"
_COMMAND_WORD = re.compile(r"(?<![\w./$-])[A-Za-z][\w.-]*")
_SETTING = re.compile(r"[A-Z][A-Z_0-9]*=")
_NOT_OF_THE_PROJECT = frozenset(
    "ssh scp rsync brew apt apt-get dnf yum curl wget tmux screen kill pkill docker podman kubectl systemctl sudo "
    "mkdir rm cp mv touch chmod ln tar zip unzip open code claude codex tacit osascript xargs".split()
)
_ELSEWHERE = re.compile(r"(?:^|\s)(?:[/~$]|\.\.|[A-Za-z]:[\\/])")
_OUTSIDE = re.compile(r"[~$]|/(?!.*/(?:\.?venv|node_modules|s?bin)/)|[A-Za-z]:")
"""A program that is called by a path outside the project, unless it belongs to an environment."""
_BY_MODE = (
    (Topic.FORMAT, frozenset({"--fix", "--write"})),
    (Topic.CHECK, frozenset("--check --verify --diff --dry-run --list -l".split())),
)
_TESTERS = frozenset(
    "pytest jest vitest mocha ava rspec phpunit playwright ctest cypress unittest tox nox busted".split()
)


_Key = tuple[Topic | None, str]
"""What a command is for, and its form with options such as `--fix`."""


@dataclass(slots=True)
class _Uses:
    """What all sessions show of one command."""

    used: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    before: defaultdict[_Key, set[str]] = field(default_factory=lambda: defaultdict(set))
    """What sessions did before a commit."""
    places: list[int] = field(default_factory=list)
    """How many other commands came before it, for each session."""
    typed: dict[str, dict[tuple[str, ...], Counter[str]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(Counter))
    )
    """By folder the words of a call, with how often each session typed them."""
    last: datetime | None = None
    sources: list[Span] = field(default_factory=list)

    def add(self, session: str, at: datetime | None, folder: str, typed: tuple[str, ...], source: Span) -> None:
        """Count one use that was not seen to fail."""
        self.used.add(session)
        self.typed[folder][typed][session] += 1
        self.last = at
        self.sources = [*self.sources[-MAX_SOURCES:], source]


def project_facts(sessions: Sequence[tuple[str, datetime | None, Sequence[SourcedCall]]]) -> list[Fact]:
    """Count the project's commands and ways over sessions, oldest first; the likeliest to be needed come first."""
    counter = _FactCounter()
    for age, (session, at, calls) in zip(range(len(sessions) - 1, -1, -1), sessions, strict=True):
        counter.weights[session] = 0.5 ** (age / HALF_LIFE)
        counter.count(session, at, calls)
    found = [fact for key, uses in counter.uses.items() if counter.is_fact(*key, uses) for fact in counter.facts(*key)]
    found.sort(key=lambda fact: (-fact.likelihood, -fact.sessions, fact.command))
    logs = [fact for fact in found if fact.topic is Topic.LOG]
    return [fact for fact in found if fact not in logs[1:]]  # one way to read a log is enough


class _FactCounter:
    """The uses of each command over all sessions."""

    def __init__(self) -> None:
        self.uses: defaultdict[_Key, _Uses] = defaultdict(_Uses)
        self.weights: dict[str, float] = {}
        self._by_topic: defaultdict[Topic | None, set[str]] = defaultdict(set)
        self._by_form: defaultdict[str, set[str]] = defaultdict(set)
        self._found: defaultdict[str, set[str]] = defaultdict(set)

    def count(self, session: str, at: datetime | None, calls: Sequence[SourcedCall]) -> None:
        """Count what one session ran, what it ran before it committed, and what it did not find."""
        run: dict[_Key, None] = {}
        for sourced in calls:
            self._count_missing(session, at, sourced)
            for key, folder, typed in _shown_by(sourced.record):
                if sourced.record.worked is False:
                    self.uses[key].failed.add(session)
                    continue
                uses = self.uses[key]
                uses.add(session, at, folder, typed, Span(sourced.trajectory_id, sourced.record.step))
                self._by_topic[key[0]].add(session)
                self._by_form[_without_modes(key[1])].add(session)
                if key[0] is Topic.COMMIT:
                    for earlier in run:
                        uses.before[earlier].add(session)
                if key not in run:
                    run[key] = None
                    uses.places.append(len(run))

    def _count_missing(self, session: str, at: datetime | None, sourced: SourcedCall) -> None:
        record = sourced.record
        words = set(_COMMAND_WORD.findall(record.command))
        if record.worked:
            for word in words:
                self._found[word].add(session)
        for name in {missing_name(line) for line in record.lines} & words:
            self.uses[Topic.MISSING, name].add(session, at, "", (name,), Span(sourced.trajectory_id, record.step))

    def is_fact(self, topic: Topic | None, command: str, uses: _Uses) -> bool:
        """Whether enough sessions agree; a way of naming is one that most of them keep."""
        used = len(uses.used)
        if topic in (Topic.COMMIT, Topic.BRANCH):
            return (
                bool(command) and used >= MIN_CONVENTION and used >= MIN_CONVENTION_SHARE * len(self._by_topic[topic])
            )
        if topic is Topic.MISSING:
            return used >= MIN_USING and 2 * len(self._found[command]) <= used
        least = MIN_USING if topic in _COMMAND_TOPICS else MIN_CONVENTION
        if used < least or len(uses.failed - uses.used) > used:
            return False
        typed = _common_words(command, uses.typed.values())
        if not typed:
            return False
        if command in _NEED_A_TARGET:
            return "/" in typed
        return topic is not Topic.PUBLISH or typed != command or bool(_PUBLISHES.search(command))

    def facts(self, topic: Topic | None, command: str) -> Iterator[Fact]:
        """Yield what sessions agree on about a command, for each folder in which they call it differently."""
        uses = self.uses[topic, command]
        all_uses = self._by_form[_without_modes(command)]
        before = len(set().union(*(each.before[topic, command] for each in self._commits())))
        is_check = topic is None or topic in _CHECKING_TOPICS
        usual = (
            is_check and before >= MIN_CONVENTION and before >= MIN_CONVENTION_SHARE * len(self._by_topic[Topic.COMMIT])
        )
        meant = all_uses if all_uses and 3 * len(uses.used) >= len(all_uses) else uses.used  # `fmt` and `fmt --check`
        folders = _usual_folders(uses.typed)
        called: dict[str, list[str]] = defaultdict(list)
        for folder in folders:
            called[_common_words(command, [uses.typed[folder]])].append(folder)
        by_words = called or {_common_words(command, uses.typed.values()): list(folders)}
        for words, places in by_words.items():
            if not words:
                continue
            yield Fact(
                command=words,
                topic=Topic.BEFORE_COMMIT if usual else topic,
                folders=tuple(places) if not any(_is_option_value(place, words) for place in places) else (),
                sessions=len(uses.used),
                failed=len(uses.failed),
                likelihood=round(sum(map(self.weights.__getitem__, meant)) / sum(self.weights.values()), 4),
                last_used=uses.last,
                sources=tuple(uses.sources[-MAX_SOURCES:]),
                place=_mean(uses.places),
            )

    def _commits(self) -> list[_Uses]:
        return [uses for (topic, _), uses in self.uses.items() if topic is Topic.COMMIT]


def _extends(command: str, names: Collection[str]) -> bool:
    """Whether it is one of these commands with a target: `cargo test parser`."""
    words = command.split()
    return any(" ".join(words[:end]) in names and word[0] != "-" for end, word in enumerate(words) if end)


def _mean(places: Sequence[int]) -> float:
    return sum(places) / max(1, len(places))


def _is_option_value(folder: str, command: str) -> bool:
    """Whether a command names its folder itself: `mise --cd web run test`."""
    words = command.replace("=", " ").split()
    return any(word == folder and flag in _FOLDER_OPTIONS for flag, word in pairwise(words))


def _without_modes(command: str) -> str:
    return " ".join(word for word in command.split() if not word.startswith("-"))


def facts_card(facts: Sequence[Fact], *, min_likelihood: float = MIN_LIKELIHOOD) -> str:
    """Return the card; empty where nothing is likely enough to be needed. Lines that begin as `ON_REQUEST` are not shown."""
    likely = [fact for fact in facts if fact.topic not in _ON_REQUEST and _is_likely(fact, min_likelihood)][
        :MAX_COMMANDS
    ]
    while likely and estimate_tokens(text := _lines(likely)) > MAX_TOKENS:
        likely.pop()
    if not likely:
        return ""
    others = [fact for fact in facts if fact not in likely]
    names = {fact.command for fact in facts}
    used = [fact for fact in others if fact.topic in _SHOWN_TOPICS and fact.likelihood and fact.sessions >= MIN_SELDOM]
    agreed = [fact for fact in used if not _extends(fact.command, names)]
    seldom, commit, log = ON_REQUEST
    lines = [
        text,
        *_line(seldom, agreed),
        *_line(commit, [fact for fact in others if fact.topic is Topic.COMMIT]),
        *_line(log, [fact for fact in others if fact.topic is Topic.LOG]),
    ]
    return "\n".join(lines)


def _is_likely(fact: Fact, least: float) -> bool:
    """Whether a session is likely enough to need it; what is missing takes a word, spares a failure, and needs a quarter."""
    if fact.topic is Topic.MISSING:
        return fact.likelihood >= least / 4
    return fact.likelihood >= max(least, MIN_WORTH * estimate_tokens(_commands([fact])))


def _line(opening: str, facts: Sequence[Fact]) -> Iterator[str]:
    """Yield a line with as many facts as fit, if any."""
    fitting = list(facts)[:MAX_SELDOM]
    while fitting and estimate_tokens(_commands(fitting)) > MAX_SELDOM_TOKENS:
        fitting.pop()
    if fitting:
        yield f"{opening}{_commands(fitting)}"


def card_candidate(facts: Sequence[Fact], text: str, *, scope: Scope) -> Candidate | None:
    """Make the card of a project, to be approved once; nothing where there is nothing to say."""
    if not text:
        return None
    spans = tuple(dict.fromkeys(span for fact in facts for span in fact.sources[-1:]))
    content = SkillContent(
        kind=Kind.FACT,
        name=CARD,
        description="Commands and ways that sessions keep to here, by purpose; kept current by counting.",
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


def topic_of(form: str) -> Topic | None:
    """Return what a command is for, by its words; nothing where they do not show it."""
    words = form.casefold().split()
    named = words if "/" in words[0] else words[1:]  # a program's own name says little: `omp-test` is no test
    parts = [part for word in named for part in re.split(r"[:_./-]", word)]
    program = words[-1] if len(words) == 1 else ""
    for topic, modes in _BY_MODE:
        if not modes.isdisjoint(words):
            return topic
    if any(word in _TESTERS for word in words):
        return Topic.TEST
    if any(word in CHECKERS for word in words):
        return Topic.CHECK
    if any(word in FORMATTERS for word in words):
        return Topic.FORMAT
    for topic, known in _TOPIC_WORDS:
        if not known.isdisjoint(parts) or (topic is Topic.CHECK and any(part.endswith("lint") for part in parts)):
            return topic
    return Topic.BUILD if program in ("make", "just", "task", "rake") else None


def _shown_by(call: CallRecord) -> Iterator[tuple[_Key, str, tuple[str, ...]]]:
    """Yield what a call shows: topic and command, the folder, and the words as typed."""
    for form in forms_of(call) if call.command else ():
        if _OUTSIDE.match(form.command.typed) or edits_files(form):
            continue
        key = " ".join([form.text, *_modes(form)])
        if form.program in FORGES:
            log = next((option for option in ("--log-failed", "--log") if option in form.options), "")
            if log:
                job = ("--job", "JOB") if "--job" in form.options else ()
                yield (Topic.LOG, f"{form.text} {log}"), "", (*form.text.split(), *job, log)
            elif (
                acts(form)
                and (form.text.count(" ") > 1 or _PUBLISHES.search(form.text))
                and not _NO_WORK.search(form.text)
            ):
                yield (Topic.PUBLISH, form.text), "", form.tokens
        elif form.program == "git":
            yield from ((way, "", (way[1],)) for way in _ways(form, call.command))
        elif form.program not in _NOT_OF_THE_PROJECT and acts(form) and _LOOKS.isdisjoint(form.text.split()[1:]):
            topic = topic_of(key)
            if topic or form.text.split()[0] in _SCRIPT_RUNNERS:
                first, *rest = _with_dashes(form)
                # A script of the folder is no command without its `./`.
                here = "./" if form.command.typed == f"./{first}" and "/" not in first else ""
                yield (topic, here + key), form.directory, (*sorted(form.settings), here + first, *rest)


def _with_dashes(form: CommandForm) -> tuple[str, ...]:
    """Return the words of a command with the `--` between a wrapper and its program, which the normal form leaves out."""
    at = form.tokens.index(form.program) if form.program in form.tokens else 0
    if at and f" -- {form.program}" in f"{form.typed} ":
        return (*form.tokens[:at], "--", *form.tokens[at:]) if form.tokens[at - 1] != "--" else form.tokens
    return form.tokens


def _ways(form: CommandForm, line: str) -> Iterator[tuple[Topic, str]]:
    """Yield how a commit's subject is written and how a branch is named."""
    if form.goal == "git commit" and "--amend" not in form.options and (subject := _SUBJECT.search(line)):
        styled = _STYLE.match(subject[1])
        emoji, scope = (styled[1] and "emoji ", styled[2] and "(scope)") if styled else ("", "")
        yield Topic.COMMIT, f"{emoji or ''}type{scope or ''}: subject" if styled else ""
    if made := _NEW_BRANCH.search(form.typed):
        yield Topic.BRANCH, made[1] or ""


def _modes(form: CommandForm) -> list[str]:
    dashes = "-" if form.program in FORMATTERS else "--"  # elsewhere a letter says nothing
    return [word for word in form.goal.split() if word.startswith(dashes)]


def _common_words(command: str, by_folder: Iterable[Mapping[tuple[str, ...], Counter[str]]]) -> str:
    """Return the command with the variables, options and targets that most calls of most sessions give it."""
    typed: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for words, sessions in (item for folder in by_folder for item in folder.items()):
        typed[words] += sessions
    calls = sum(typed.values(), Counter[str]())
    used: defaultdict[tuple[str, str], float] = defaultdict(float)
    for words, sessions in typed.items():
        share = sum(count / calls[session] for session, count in sessions.items())
        pairs = zip(words, [*words[1:], ""], strict=True)
        for word, following in {(word, "" if after.startswith("-") else after) for word, after in pairs}:
            for key in {(word, ""), *([(word, following), (word, _ANY)] if following else [])}:
                used[key] += share
    least = MIN_CONVENTION_SHARE * len(calls)
    usual = {word for (word, value), share in used.items() if not value and share >= least}
    own = command.split()
    best = max(typed, key=lambda words: (len(usual.intersection(words)), len(typed[words]), -len(words), words))
    kept: list[str] = []
    with_value: set[str] = set()
    for before, word in zip(["", *best], best, strict=False):
        if word in own or word not in usual or not _PLAIN_WORD.fullmatch(word) or word in _CONTENT:
            continue
        is_steady = any(
            flag == word and value in usual and value not in own and _PLAIN_WORD.fullmatch(value)
            for flag, value in used
        )
        is_switch = 2 * used[word, _ANY] <= used[word, ""]
        is_value = before in kept and used[before, word] >= least
        is_place = word == best[-1] and _PLACE.search(word)
        if is_value or is_place or _SETTING.match(word) or (word.startswith("-") and (is_steady or is_switch)):
            kept.append(word)
            with_value |= {word} if is_steady and not is_switch else set()
    settings = [word for word in kept if _SETTING.match(word)]
    rest = [word for word in kept if word not in settings]
    while rest and (rest[-1] == "--" or rest[-1] in with_value or len(" ".join(rest)) > MAX_OPTIONS):
        rest.pop()
    in_order = _as_typed(own, rest, best)
    return " ".join([*settings, *in_order] if in_order else [])


def _as_typed(own: Sequence[str], rest: Sequence[str], typed: Sequence[str]) -> list[str]:
    """Return the words of a command and its usual options in the order in which they were typed.

    Of `mise exec -- go test ./...` the usual words `mise exec go test` give `mise exec -- go test`: a `--` before a word that
    is kept belongs to it. Where the words do not stand there in this order, the options come last. Empty: not to be told.
    """
    found: list[str] = []
    to_come, options = list(own), list(rest)
    dashes = False
    for word in typed:
        if to_come[:1] == [word]:
            found += ["--", to_come.pop(0)] if dashes and found else [to_come.pop(0)]
        elif word in options and word != "--":
            options.remove(word)
            found += ["--", word] if dashes else [word]
        elif dashes and (to_come or word == own[-1]):
            return []  # without the program after `--`, as in `mise x hk -- hk install`, it is another command
        else:
            dashes = dashes or word == "--"
            continue
        dashes = False
    return found if not to_come else [*own, *rest]


def _usual_folders(typed: Mapping[str, Mapping[tuple[str, ...], Counter[str]]]) -> tuple[str, ...]:
    """Return the folders that a good part of the sessions run it in; nothing where that is the root, or differs."""
    sessions = {folder: len(set().union(*calls.values())) for folder, calls in typed.items()}
    ordered = sorted(sessions, key=lambda folder: (-sessions[folder], folder))
    usual = [folder for folder in ordered if 2 * sessions[folder] >= max(2 * MIN_USING, sessions[ordered[0]])]
    inside = [folder for folder in usual if not _ELSEWHERE.match(folder)][:MAX_FOLDERS]
    return tuple(inside) if any(inside) else ()


def _lines(facts: Sequence[Fact]) -> str:
    """Return a line for each topic, and one for the rest; what comes before a commit in the order of the sessions."""
    lines: list[str] = []
    for topic in (*Topic, None):
        found = [fact for fact in facts if _LINE_OF.get(fact.topic, fact.topic) == topic]
        if topic is Topic.BEFORE_COMMIT:
            found.sort(key=lambda fact: fact.place)
        if found:
            lines.append(f"- {topic}: {_commands(found)}" if topic in _NAMED else f"- {_commands(found)}")
    return "\n".join(lines)


def _commands(facts: Sequence[Fact]) -> str:
    """Return commands, those that run in the same folders together."""
    placed: dict[tuple[str, ...], list[str]] = {}
    for fact in facts:
        placed.setdefault(fact.folders, []).append(_code(fact.command))
    return "; ".join(", ".join(commands) + _where(folders) for folders, commands in sorted(placed.items()))


def _code(text: str) -> str:
    return f"`{plain_line(text).replace('`', chr(39))}`"


def _where(folders: tuple[str, ...]) -> str:
    return f" in {' or '.join(plain_line(folder) or 'the root' for folder in folders)}" if folders else ""
