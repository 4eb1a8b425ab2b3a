"""Portability: does a skill make sense outside its project? Content → findings, and a suggested rewrite.

A portable skill has placeholders for what is local: absolute paths, private hosts, names of the repository, its files and
people, ticket keys, accounts, secrets. What is the same everywhere (`/var/log`, `~/.ssh`, `localhost:8080`) is not local.

A `SourceProject` is the project that a skill comes from: its name, its identity, and the names that tie a text to it. It is
read from the checkout's `.git` files; nothing is run. Two clones of one repository are one project.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from tacit.config.location import DATABASE, FOLDER, MEMORY, StoreLocation
from tacit.config.signers import Signers
from tacit.domain.candidate import Finding, Severity
from tacit.domain.identity import digest, plain
from tacit.domain.skill import FieldRole, SkillContent, SkillFile, fields_with, filled_fields, has_role
from tacit.store import Store, open_store
from tacit.text.field_texts import leaf_texts
from tacit.text.redaction import redact

MOST_PER_FIELD = 8
"""Findings reported for one field."""
SECRET = "secret"
_SHOWN = 80
_SHORTEST_NAME = 3
_LOCAL_ROOTS = "home|Users|root|srv|opt|var|mnt|data|work|workspace"
_SAME_EVERYWHERE = re.compile(
    r"/(?:home|Users)/(?:user|username|you|yourname|your[-_]?name|me|runner|ubuntu|node|linuxbrew)\b"
    r"|/opt/(?:homebrew|local|hostedtoolcache|venv|conda)\b|/(?:root)/\.[\w-]+"
    r"|/var/(?:log|run|lib|tmp|cache|www|spool|folders|task|lock|mail|backups)\b|/mnt/(?:c|d|data|skills|user-data)\b|/data/db\b"
    r"|[A-Za-z]:\\(?:Windows|Program ?Files|ProgramData)\b",
    re.IGNORECASE,
)
_PRIVATE_NET = r"\b(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))(?:\.\d{1,3}){2}(?:/\d{1,2})?(?::\d{2,5})?\b"
_PRIVATE_NAME = (
    r"\b(?!(?:threading|settings|config|env|application|appsettings)\.)(?:[\w-]{1,63}\.){1,8}(?:internal|local|corp|lan|intranet)(?!\.(?:json|md|ya?ml|py|js|ts|sh|toml)|[.\w]*\()\b"
    r"(?::\d{2,5})?"
)
_STAGED_HOST = (
    r"\b(?:[\w-]{1,63}\.){0,8}(?:staging|stage|preprod|uat|prod|production|qa)(?:-[\w-]+)?\.(?:[\w-]{1,63}\.){1,8}[a-z]{2,}\b(?<!example\.com)"
    r"(?<!example\.org)(?<!example\.net)(?::\d{2,5})?"
)
_CLOUD_HOST = (
    r"\b(?:[\w-]{1,63}\.){1,8}(?:rds|elb|cache|es|redshift|dkr\.ecr)\.[\w.-]{0,63}amazonaws\.com\b"
    r"|\b\d{12}\.dkr\.ecr\.[\w.-]+"
)
_USUAL_PORTS = (
    "22|80|443|1234|3000|3001|3306|4000|4200|4317|4318|5000|5001|5173|5432|6006|6379|8000|8001|8080|8081|8443|8501|8787|8888|"
    "9000|9090|9200|9222|11434|27017"
)
_OWN_PORT = rf"\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0):(?!(?:{_USUAL_PORTS})\b)\d{{4,5}}\b"
_STANDARDS = (
    "UTF|ISO|SHA|RFC|PEP|AES|RSA|MD|CVE|CWE|COVID|HTTP|EIP|ERC|BIP|JSR|RTX|GTX|GPT|ES|TLS|WCAG|EN|IEC|IEEE|ANSI|NIST|FIPS|"
    "SOC|PCI|HS|RS|PS|CRC|BLAKE|ECMA|BCP|CP|KB|GH|GMT|UTC|LATIN|LLM|OWASP|ASVS|ICD|CPT|NCT|GSE|PMC|DO|MIL|STD|ASTM|DIN|CIS|AC|"
    "AA|AAA|ASI|MITRE|TA|CA|GB|KEGG|SQL|MP|USD|EUR|FY"
)
_ACCOUNT = (
    r"\barn:aws[\w-]*:[\w-]*:[\w-]*:\d{12}:[^\s\"'`)]+"
    r"|\b(?:i|vpc|subnet|sg|ami|vol|eni|rtb|igw|snap)-0?[0-9a-f]{8,17}\b"
    r"|(?<=--context[ =])[A-Za-z][\w.:/@-]+|(?<=--kube-context[ =])[A-Za-z][\w.:/@-]+"
    r"|\b(?!0{8}|1234)[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b"
)
_BRANCH = (
    r"(?<![\w/.-])(?:feature|feat|bugfix|hotfix|fix|users?|wip)/[A-Za-z0-9][\w.-]*(?:/[\w.-]+)*"
    r"(?<![./-])(?![\w/.-])"
)
_PERSON = (
    r"(?<![\w.+/:-])(?!git@|user(?:name)?@|your|you@|me@|name@|someone@|noreply@|no-reply@|first\.last@|john|jane|alice|bob|test)"
    r"[A-Za-z][\w.+-]{0,63}@(?!(?:[\w-]{1,63}\.){0,8}(?:example|domain|company|email|test|acme|yourdomain)\.)(?:[\w-]{1,63}\.){1,8}[a-z]{2,}\b"
)
_DATE = r"(?<![\w.-])(?<!version[ =:])(?<!version: )20[12]\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?![\w-])"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFacts:
    """What is known about the project that a skill comes from; it makes text local."""

    project: str = ""
    workspace: str = ""
    """The folder of the checkout."""
    remotes: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    has_file: Callable[[str], bool] | None = None
    """Whether a relative path is a file of the checkout; None if there is no checkout to look at."""


NO_PROJECT_FACTS = ProjectFacts()
"""Nothing is known about the project."""


@dataclass(frozen=True, slots=True)
class _Rule:
    name: str
    pattern: re.Pattern[str]
    placeholder: str
    """The placeholder; `{}` in it is the matched text."""
    applies: Callable[[str], bool] | None = None
    """A further test of the matched text."""
    keep: Callable[[str], str] | None = None
    """The part of the matched text that stays after the placeholder."""
    steps_only: bool = False
    """Whether it applies only to fields that are executed, not to descriptions."""

    def replacement_for(self, text: str) -> str:
        """Return the placeholder for a matched text."""
        return self.placeholder.replace("{}", text)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield its matches in a text; of a pattern with a group `it` only that group."""
        part = "it" if "it" in self.pattern.groupindex else 0
        for match in self.pattern.finditer(text):
            if self.applies is None or self.applies(match.group(part)):
                yield match.span(part)


def portability(content: SkillContent, facts: ProjectFacts = NO_PROJECT_FACTS) -> Iterator[Finding]:
    """Yield what ties a skill to one project, person or machine."""
    rules = _rules(facts, frozenset(file.path for file in content.files))
    for field, value in filled_fields(content).items():
        if not has_role(field, FieldRole.LOCAL):
            continue
        seen: dict[tuple[str, str], _Rule] = {}
        secrets: dict[str, None] = {}
        for text in _texts(value):
            secrets |= dict.fromkeys(redact(text).found)
            seen |= {
                (rule.name, text[a:b]): rule
                for a, b, rule in _matches(text, rules, has_role(field, FieldRole.EXECUTED))
            }
        for kind in secrets:
            message = f"{field} holds a secret ({kind}); write <TOKEN> to make it portable"
            yield Finding(rule=SECRET, message=message, severity=Severity.CRITICAL, field=field)
        for (name, match), rule in list(seen.items())[:MOST_PER_FIELD]:
            shown = match[:_SHOWN]
            message = f"{field} mentions `{shown}`; write {rule.replacement_for(shown)} to make it portable"
            yield Finding(rule=name, message=message, severity=Severity.LOW, field=field, excerpt=shown)


def suggest(content: SkillContent, facts: ProjectFacts = NO_PROJECT_FACTS) -> SkillContent:
    """Return the content with a placeholder for everything local."""
    rules = _rules(facts, frozenset(file.path for file in content.files))
    changed: dict[str, Any] = {}
    for name in fields_with(FieldRole.LOCAL):
        value, executed = getattr(content, name), has_role(name, FieldRole.EXECUTED)
        new = _mapped(value, partial(_rewritten, rules=rules, executed=executed))
        if name == "name" and new != value:  # a name cannot contain brackets
            new = re.sub(r"[^a-z0-9]+", "-", new.lower()).strip("-")
        if new != value:
            changed[name] = new
    return dataclasses.replace(content, **changed) if changed else content


def _texts(value: Any) -> list[str]:
    """Return every text in a value; of bundled files only those that are text."""
    if isinstance(value, SkillFile) and value.encoding != "utf-8":
        return [value.path]
    return [text for _, text in leaf_texts(plain(value), keys=False)]


def _mapped(value: Any, rewrite: Callable[[str], str]) -> Any:
    """Return the value with every text rewritten."""
    if isinstance(value, str):
        return rewrite(value)
    if isinstance(value, SkillFile) and value.encoding != "utf-8":
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        new = {each.name: _mapped(getattr(value, each.name), rewrite) for each in dataclasses.fields(value)}
        return dataclasses.replace(value, **new)
    if isinstance(value, Mapping):
        return {key: _mapped(item, rewrite) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_mapped(item, rewrite) for item in value)
    return value


def _matches(text: str, rules: Sequence[_Rule], executed: bool) -> list[tuple[int, int, _Rule]]:
    """Return the spans of local text, each once; earlier rules win."""
    found: list[tuple[int, int, _Rule]] = []
    taken = bytearray(len(text))
    for rule in rules:
        if rule.steps_only and not executed:
            continue
        for start, end in rule.spans(text):
            if end > start and not any(taken[start:end]) and not _SAME_EVERYWHERE.match(text, start):
                found.append((start, end, rule))
                taken[start:end] = b"\x01" * (end - start)
    return sorted(found, key=lambda place: place[:2])


def _rewritten(text: str, rules: Sequence[_Rule], executed: bool) -> str:
    """Return a text with placeholders. Secrets are replaced first, so that no part of one matches another rule."""
    clean = redact(text)
    if clean.found:
        text = re.sub(r"<redacted:[a-z0-9-]+>", "<TOKEN>", clean.text)
    parts, rest = [], 0
    for start, end, rule in _matches(text, rules, executed):
        kept = rule.keep(text[start:end]) if rule.keep else ""
        parts += [text[rest:start], rule.replacement_for(text[start:end]), kept]
        rest = end
    return "".join([*parts, text[rest:]])


def _last_part(path: str) -> str:
    return "/" + re.split(r"[/\\]", path.rstrip("/\\"))[-1] if re.search(r"[/\\]\S", path[1:]) else ""


def _below_home(path: str) -> str:
    return "/" + "/".join(path.split("/")[3:]) if path.count("/") > 2 else ""


_GENERAL = (
    _Rule(
        "absolute_path", re.compile(r"(?<![\w.~/:])/(?:home|Users)/[\w.-]+(?:/[\w.\-/]+)?"), "<home>", keep=_below_home
    ),
    _Rule(
        "absolute_path", re.compile(rf"(?<![\w.~/:>}}])/(?:{_LOCAL_ROOTS})/[\w.\-/]+"), "<repo-root>", keep=_last_part
    ),
    _Rule("windows_path", re.compile(r"\b[A-Za-z]:\\(?!n\b|t\b)[\w\\.\-]+"), "<repo-root>", keep=_last_part),
    _Rule(
        "home_path",
        re.compile(r"(?<![\w>])~/(?!\.|[A-Z_]+\b|(?:bin|go|Library|Downloads|Desktop|Documents|path)\b)[\w.\-/]+"),
        "<home>",
        keep=lambda path: path[1:],
    ),
    _Rule("account", re.compile(_ACCOUNT), "<ENV>"),
    _Rule("private_host", re.compile(f"{_PRIVATE_NAME}|{_PRIVATE_NET}|{_CLOUD_HOST}"), "<SERVICE>"),
    _Rule("environment_host", re.compile(f"{_STAGED_HOST}|{_OWN_PORT}"), "<SERVICE>"),
    _Rule("person", re.compile(_PERSON), "<USER>"),
    _Rule("branch", re.compile(_BRANCH), "<BRANCH>", steps_only=True),
    _Rule(
        "ticket_key",
        re.compile(rf"(?<![\w/-])(?!(?:{_STANDARDS})-)[A-Z]{{2,10}}-\d{{2,6}}\b(?![-.]\d)"),
        "<PROJECT_KEY>",
    ),
    _Rule("date", re.compile(_DATE), "<DATE>", steps_only=True),
)


@lru_cache(maxsize=64)
def _rules(facts: ProjectFacts, bundled: frozenset[str]) -> tuple[_Rule, ...]:
    """Return the rules for a project whose skill has these files: its own names first, since they are certain."""
    own: list[_Rule] = []
    if len(facts.workspace) > 1:
        inside = re.compile(rf"{re.escape(facts.workspace)}(?=/|\b)(?!-)")
        own.append(_Rule("absolute_path", inside, "<repo-root>"))
    for remote in filter(None, facts.remotes):
        slug = re.escape(remote)
        pattern = re.compile(
            rf"(?:https?://|ssh://)?(?:[\w.-]{{1,63}}@)?(?:[\w-]{{1,63}}\.){{1,8}}[a-z]+[:/]{slug}(?:\.git)?\b|\b{slug}\b"
        )
        own.append(_Rule("repository", pattern, "<REPOSITORY>"))
    if facts.project:
        own.append(_Rule("repository", _name(facts.project), "<REPOSITORY>"))
    for branch in facts.branches:
        if branch not in _USUAL_BRANCHES and len(branch) > 3:
            exactly = re.compile(rf"(?<![\w/.-]){re.escape(branch)}(?![\w/.-])")
            own.append(_Rule("branch", exactly, "<BRANCH>", steps_only=True))
    for user in facts.users:
        if user not in _USUAL_USERS and len(user) > 3:
            own.append(_Rule("person", re.compile(rf"\b{re.escape(user)}\b"), "<USER>"))
    if has_file := facts.has_file:

        def is_of_project(path: str) -> bool:
            plain = path.removeprefix("./").rstrip(".")
            return plain.lower() not in _USUAL_FILES and not bundled & {path, plain} and has_file(plain)

        own.append(_Rule("project_file", _RELATIVE, "<{}>", applies=is_of_project))
    return (*own, *_GENERAL)


_RELATIVE = re.compile(
    r"(?<![\w/\\.:{<>~$@-])(?:\./)?(?:[\w.@+-]{1,64}/){0,12}(?:[\w.@+-]{0,64}\.[A-Za-z]\w{0,15}|(?<=/)[\w-]{1,64})(?![\w/>-])"
)
"""A path below the checkout: with a slash or a file extension."""
_USUAL_FILES = frozenset(
    {
        "package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", "tsconfig.json", "pyproject.toml", "setup.py",
        "setup.cfg", "requirements.txt", "uv.lock", "poetry.lock", "tox.ini", "pytest.ini", "cargo.toml", "cargo.lock",
        "go.mod", "go.sum", "pom.xml", "build.gradle", "composer.json", "compose.yml", "compose.yaml", "docker-compose.yml",
        "docker-compose.yaml", "readme.md", "changelog.md", "contributing.md", "license.md", "agents.md", "claude.md", ".env",
        ".gitignore", ".gitattributes", ".editorconfig", ".dockerignore", ".pre-commit-config.yaml", ".git/config", ".git/head",
        "cmakelists.txt",
    }
)  # fmt: skip
"""Files that mean the same in every project."""
_USUAL_BRANCHES = frozenset({"main", "master", "develop", "trunk", "next", "dev", "HEAD"})
_USUAL_USERS = frozenset({"root", "user", "admin", "ubuntu", "runner", "node", "agent", "vscode", "home", "nobody"})
_USUAL_NAMES = frozenset(
    "api app application backend build client cli code core data demo docs example examples frontend infra lib library main "
    "package plugin product program project repo repository sandbox script server service site source src system team test "
    "tests tool tools ui web website work workspace".split()
)


def _name(project: str) -> re.Pattern[str]:
    """Match a project's name. An ordinary word counts only in a path, as a possessive, or after "the"."""
    escaped = re.escape(project)
    if len(project) > 4 and re.search(r"[-_\d]|[a-z][A-Z]", project):
        return re.compile(rf"(?<![\w.]){escaped}(?![\w-])")
    in_path = rf"(?<![\w.-]){escaped}(?=/)"
    if project.lower() in _USUAL_NAMES or len(project) < _SHORTEST_NAME:
        return re.compile(in_path)
    spoken_of = r"(?:\b(?i:the|our|this)\s{1,3}(?:`|\"|')?|`)"
    # part of a longer name is another name
    return re.compile(
        rf"(?:{spoken_of}|\b(?=(?i:{escaped})'s\b)|(?=(?<![\w.-]){escaped}/))(?P<it>(?i:{escaped}))(?![\w-]|\.\w)"
    )


_REMOTE = re.compile(r"^\s*url\s*=\s*(?:\S*[:/])?([\w.-]+/[\w.-]+?)(?:\.git)?/?\s*$", re.MULTILINE)
_MOST_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProject:
    """A project, as far as promotion needs to know it."""

    project: str = ""
    identity: str = ""
    """Unique per project: the repository's remote, or else the name with a digest of the folder."""
    local: ProjectFacts = NO_PROJECT_FACTS


def _has_file(folder: Path, path: str) -> bool:
    """Whether a relative path is a file below a folder."""
    try:
        return ".." not in path.split("/") and (folder / path).is_file()
    except (OSError, ValueError):
        return False


def source_project(place: StoreLocation | None) -> SourceProject:
    """Return what is known of the project that a store belongs to."""
    if place is None:
        return SourceProject()
    folder = place.project
    remotes = tuple(dict.fromkeys(_REMOTE.findall(_read(folder / ".git" / "config"))))
    _, _, branch = _read(folder / ".git" / "HEAD").strip().partition("refs/heads/")
    user = place.home.parent.name if place.home and place.home.name == FOLDER else ""
    identity = remotes[0].lower() if remotes else f"{place.project_name}@{digest(str(folder))[-12:]}"
    local = ProjectFacts(
        project=place.project_name,
        workspace=str(folder),
        remotes=remotes,
        branches=(branch,) if branch else (),
        users=(user,) if user else (),
        has_file=partial(_has_file, folder),
    )
    return SourceProject(project=place.project_name, identity=identity, local=local)


def home_database(place: StoreLocation | None) -> Path | None:
    """Return the path of the person's own store, which keeps what is broader than a project; None if it is this one."""
    if place is None or place.home is None:
        return None
    database = place.home / DATABASE
    if place.database != MEMORY and Path(place.database).resolve() == database.resolve():
        return None
    return database


@contextmanager
def home_store(place: StoreLocation | None, *, signers: Signers | None, create: bool = False) -> Iterator[Store | None]:
    """Open the person's own store for a while; None where there is none, unless `create` is set."""
    database = home_database(place)
    if database is None or place is None or not (create or database.exists()):
        yield None
        return
    if create:
        database.parent.mkdir(parents=True, exist_ok=True)
    store = open_store(database, home=place.home)
    store.require_signatures(signers)
    try:
        yield store
    finally:
        store.close()


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
