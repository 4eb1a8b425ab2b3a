"""Settings: `tacit.toml` and options → one frozen `Config`, with the source of each value.

Flag beats environment beats file beats default. Unknown keys and wrong types are errors that name the key, the file and a
right value. Defaults work without any file.
"""

from __future__ import annotations

import dataclasses
import json
import operator
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from tacit.config.files import write_atomically
from tacit.config.signers import trusted_signers
from tacit.domain.errors import ConfigError
from tacit.domain.holdout import CHANCE_MOST
from tacit.domain.identity import digest

FILE_NAME = "tacit.toml"
_LARGEST = 1_000_000
"""Larger than any sensible number of days, megabytes, tokens or steps."""


class Strictness(StrEnum):
    """How strict the gate is."""

    OPEN = "open"
    STANDARD = "standard"
    STRICT = "strict"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """How long experience is kept and how much space it may use."""

    keep_days: int = 365
    """Steps of learned trajectories older than this are dropped; their summary and hash stay."""
    cap_mb: int = 1024
    """Space for trajectories; the oldest learned ones are dropped first."""
    exclude: tuple[str, ...] = ()
    """Glob patterns of workspace paths that are never captured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSettings:
    """How much recall gives, and when it abstains."""

    k: int = 3
    budget_tokens: int = 1500
    min_relevance: float = 0.18
    """Below this relevance, 0 to 1, recall abstains. The scale is calibrated so (docs/lab.md, how words, examples and meaning
    are weighed)."""
    embedder: str = "auto"
    """The embedder for search by meaning: auto (an installed model, if there is one), none, or a folder with a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What may become a skill, and what needs a person."""

    strictness: Strictness = Strictness.STANDARD
    """open: candidates with several independent, machine-verified successes and no findings go on trial by themselves, and
    approvals need no signature; it counts only where a person has signed it (`tacit config --policy open`);
    standard: a person decides on everything, and procedures of one-time tasks are refused;
    strict: candidates with external text are quarantined, too."""
    independent_successes: int = 2
    """How many sessions must have shown each part before `open` accepts it without a person."""
    min_steps: int = 3
    """A procedure of fewer steps is stored only where it is known when to use it."""
    duplicate_similarity: float = 0.72
    """From this similarity on, a candidate is the same skill as a known one. Set by hand between the pairs of
    `tests/unit/gate/test_duplicates.py`: the same steps in other words are one skill, other steps for the same are not."""
    hold_out: float = 0.0
    """The share of fitting runs, 0 to 0.5, that are control runs without a skill whose effect is unknown, so that its lift
    can be measured; fewer once it is known better, none for skills that a run must not miss. 0: no control runs."""

    @property
    def is_open(self) -> bool:
        """Whether approvals need no signature."""
        return self.strictness is Strictness.OPEN

    def hash(self) -> str:
        """Return the hash that approvals and verdicts are bound to: everything that decides on skills, so not `hold_out`."""
        return digest(dataclasses.replace(self, hold_out=0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnSettings:
    """What a learning pass proposes."""

    procedure_runs: int = 3
    """How many like runs, in different sessions, a new procedure of shell and file work needs; at least 1. They must share
    steps, too. Set by hand: on real sessions no procedure of one run was worth approving."""
    read_in_background: bool = False
    """Whether the learner that hooks start may ask the language model; off: only your own `tacit learn` asks it."""
    ask_at_end: bool = False
    """Whether a session of Claude Code with some work in it is asked once, when its agent stops, what is worth keeping."""
    revalidate_days: int = 0
    """How often the learner that hooks start tries procedures again, in the sandbox; 0: never. Set by `tacit tend --every`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The language model that may read what agents did, and its limits."""

    name: str = ""
    """`claude-code` or `codex` (the installed client, with your login), or such as `openai:gpt-5-mini`; empty: none."""
    base_url: str = ""
    """A server with OpenAI's protocol, instead of the provider's own."""
    max_calls: int = 40
    """For one run, as are `max_tokens` and `max_usd`."""
    max_tokens: int = 200_000
    max_usd: float = 1.0
    max_tokens_per_day: int = 500_000
    """For all runs of a day (UTC) together, whichever project they learn for."""
    other_vendors: bool = False
    """Whether a session may be sent to another vendor than the one it ran with."""
    timeout_s: int = 120
    price_in: float | None = None
    """US dollars per million input tokens; built in for the models of the large providers."""
    price_out: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchSettings:
    """Where papers are looked up: the two services, or mirrors of them."""

    arxiv_url: str = "https://export.arxiv.org"
    scholar_url: str = "https://api.semanticscholar.org"


class Size(StrEnum):
    """The size of an adapter, and how long it is trained."""

    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationSettings:
    """The base model that is trained on verified experience, and the size of the adapter."""

    base: str = ""
    """A folder with a model, a GGUF file, or the hub's id of one; empty: name it with --base."""
    size: Size = Size.MEDIUM


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All settings."""

    store: StoreSettings = StoreSettings()
    recall: RecallSettings = RecallSettings()
    policy: Policy = Policy()
    learn: LearnSettings = LearnSettings()
    model: ModelSettings = ModelSettings()
    research: ResearchSettings = ResearchSettings()
    consolidation: ConsolidationSettings = ConsolidationSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One value with its key and its source."""

    key: str
    value: Any
    source: str


def load_config(
    folders: tuple[Path, ...] = (), *, file: str = "", home: Path | None = None
) -> tuple[Config, tuple[Setting, ...]]:
    """Read the person's file in `home`, and over it the named file or the first `tacit.toml` found in the folders.

    A stranger or an agent may have written a project's file, so it may tighten the policy but never loosen it, keep data longer
    but never shorter, and neither choose where data is sent nor spend more.
    """
    known: dict[str, Setting] = {}
    sections = {field.name: getattr(Config(), field.name) for field in dataclasses.fields(Config)}
    for section, defaults in sections.items():
        for item in dataclasses.fields(defaults):
            key = f"{section}.{item.name}"
            known[key] = Setting(key=key, value=getattr(defaults, item.name), source="default")
    near = _find(folders, file=file)
    own = _find((home,) if home else (), file="")
    for path in dict.fromkeys((own, near)):
        for key, value in _values(path) if path else ():
            tighter = path == own or key not in _TIGHTENS or _TIGHTENS[key](value, known[key].value)
            if tighter:
                known[key] = Setting(key=key, value=value, source=str(path))
            else:
                source = f"{known[key].source} ({path} may not loosen it)"
                known[key] = dataclasses.replace(known[key], source=source)
    strictness = known["policy.strictness"]
    if strictness.value is Strictness.OPEN and not (home and trusted_signers(home).allows_open):
        source = f"default ({strictness.source} says open, which nobody has signed: tacit config --policy open)"
        known["policy.strictness"] = dataclasses.replace(strictness, value=Strictness.STANDARD, source=source)
    chosen = {
        section: dataclasses.replace(
            defaults, **{item.name: known[f"{section}.{item.name}"].value for item in dataclasses.fields(defaults)}
        )
        for section, defaults in sections.items()
    }
    return Config(**chosen), tuple(known.values())


def save_settings(folder: Path, values: Mapping[str, Any]) -> Path:
    """Write values into the file of settings in a folder, which may not exist yet; return the file."""
    file = folder / FILE_NAME
    after = with_settings(file.read_text(encoding="utf-8") if file.exists() else "", values)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(file, after)
    return file


def with_settings(text: str, values: Mapping[str, Any]) -> str:
    """Return the text of a file of settings with these values; everything else stays, comments too."""
    wanted = tomllib.loads(text)
    for key, value in values.items():
        section, _, name = key.partition(".")
        line = f"{name} = {json.dumps(value)}"
        header = re.search(rf"^\[{section}\][ \t]*(?:#.*)?$\n?", text, re.MULTILINE)
        if header is None:
            text += f"{chr(10) if text and not text.endswith(chr(10)) else ''}[{section}]\n{line}\n"
        elif name in wanted[section]:
            before, after = text[: header.end()], text[header.end() :]
            now = re.search(rf"^{name}[ \t]*=.*$", after, re.MULTILINE)
            text = before + (after[: now.start()] + line + after[now.end() :] if now else after)
        else:
            text = f"{text[: header.end()]}{line}\n{text[header.end() :]}"
        wanted.setdefault(section, {})[name] = value
    try:
        is_right = tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        hint = "write it yourself: " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in values.items())
        raise ConfigError(
            "the file of settings is written in a way that is not changed safely", code="not_editable", hint=hint
        )
    return text


_TIGHTENS: dict[str, Callable[[Any, Any], bool]] = {
    "policy.strictness": lambda new, old: list(Strictness).index(new) >= list(Strictness).index(old),
    "recall.embedder": lambda new, old: new == "none",  # a stranger's weights are not loaded
    "model.name": lambda new, old: not new,  # data is sent only to a model that the person chose
    "learn.revalidate_days": lambda new, old: not new or 0 < old <= new,  # a stranger's project runs nothing
    "consolidation.size": lambda new, old: list(Size).index(new) <= list(Size).index(old),
    **dict.fromkeys(("policy.independent_successes", "policy.min_steps", "learn.procedure_runs"), operator.ge),
    **dict.fromkeys(("store.keep_days", "store.cap_mb"), operator.ge),  # dropped data cannot be restored
    **dict.fromkeys(
        (
            "learn.read_in_background", "policy.hold_out", "model.max_calls", "model.max_tokens", "model.max_usd",
            "model.max_tokens_per_day", "model.other_vendors",
        ),
        operator.le,  # only the person spends, and turns control runs on
    ),
    **dict.fromkeys(
        (
            "model.base_url", "model.price_in", "model.price_out", "research.arxiv_url", "research.scholar_url",
            "consolidation.base",
        ),
        operator.eq,  # only the person chooses services, and weights to load
    ),
}  # fmt: skip
"""Settings that a project's file may only change in one direction, with the test for it."""
_MOST = {"policy.hold_out": CHANCE_MOST}
"""Shares that may not be larger than this; all others may be 1."""
_LEAST = {"learn.procedure_runs": 1}
"""Whole numbers that may not be smaller than this; all others may be 0."""
_DOLLARS = frozenset({"model.max_usd", "model.price_in", "model.price_out"})


def _values(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield every setting of a file, as key and value of the right type."""
    table = _read(path)
    names = [field.name for field in dataclasses.fields(Config)]
    for name in table:
        if name not in names:
            raise _unknown_key(name, path, names)
        if not isinstance(table[name], Mapping):
            raise ConfigError(
                f"{path}: `{name}` must be a table", code="wrong_setting", hint=f"write [{name}] and its keys below"
            )
        defaults = getattr(Config(), name)
        fields = [field.name for field in dataclasses.fields(defaults)]
        for key, value in table[name].items():
            if key not in fields:
                raise _unknown_key(f"{name}.{key}", path, [f"{name}.{known}" for known in fields])
            yield f"{name}.{key}", _value(getattr(defaults, key), value, key=f"{name}.{key}", path=path)


def _find(folders: tuple[Path, ...], *, file: str) -> Path | None:
    if file:
        path = Path(file).expanduser()
        if not path.is_file():
            hint = "correct or unset TACIT_CONFIG"
            raise ConfigError(f"TACIT_CONFIG names {file}, which is not a file", code="no_config_file", hint=hint)
        return path
    return next((folder / FILE_NAME for folder in folders if (folder / FILE_NAME).is_file()), None)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}", hint="fix the file; it must be TOML in UTF-8") from error
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}", hint="check the file's permissions") from error


def _value(default: Any, value: Any, *, key: str, path: Path | None) -> Any:
    """The value as the type of its default."""
    problem, hint = "", f"default: {default}"
    if isinstance(default, StrEnum):
        kinds = type(default)
        if isinstance(value, str) and value in set(kinds):
            return kinds(value)
        problem, hint = f"= {value!r} is not known", f"use one of: {', '.join(kinds)}"
    elif isinstance(default, bool):
        if isinstance(value, bool):
            return value
        problem, hint = f"must be true or false, not {value!r}", f"default: {str(default).lower()}"
    elif isinstance(default, tuple):
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        problem, hint = "must be a list of strings", f'for example {key} = ["**/private/**"]'
    elif isinstance(default, str):
        if isinstance(value, str):
            return value.strip()
        problem, hint = f"must be a string, not {value!r}", f'default: "{default}"'
    else:
        is_whole = isinstance(default, int) and key not in _DOLLARS
        least, most = _LEAST.get(key, 0), (_LARGEST if is_whole or key in _DOLLARS else _MOST.get(key, 1))
        wanted = "dollars" if key in _DOLLARS else "a whole number" if is_whole else "a number"
        is_number = isinstance(value, int if is_whole else int | float) and not isinstance(value, bool)
        if is_number and least <= value <= most:
            return value if is_whole else float(value)
        problem = f"must be {wanted} from {least} to {most}, not {value!r}"
    raise ConfigError(f"{path}: {key} {problem}", code="wrong_setting", hint=hint)


def _unknown_key(key: str, path: Path | None, known: list[str]) -> ConfigError:
    return ConfigError(f"{path}: unknown setting `{key}`", code="unknown_setting", hint=f"known: {', '.join(known)}")
