"""Packages that a skill installs: from strange places, or under names that only resemble well-known ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tacit.domain.candidate import Finding, Severity
from tacit.gate.checks.hosts import Place, places
from tacit.gate.checks.needles import Guarded
from tacit.gate.checks.pieces import Piece
from tacit.gate.checks.rules import PER_RULE_MAX

_INSTALL = Guarded(
    r"\b(?:pip3?|pipx|uv(?: pip| tool)?|python3? -m pip|npm|pnpm|yarn|bun|npx|uvx|gem|cargo|go|brew) (?:install|i|add|get|exec|dlx|-y|--yes)\b([^\n;&|`\"']{1,240})"
)
_INDEX = re.compile(
    r"(?:--(?:extra-)?index[-]url|-i|--registry|--trusted-host|--find-links|-f)[= ]+(https?://\S{1,200}|[\w.:-]{3,80})"
)
_OWN_INDEXES = re.compile(
    r"pypi\.org|pythonhosted\.org|download\.pytorch\.org|registry\.npmjs\.org|pypi\.nvidia\.com|npm\.pkg\.github\.com|pypi\.ngc\.nvidia|storage\.googleapis\.com|google\.com|amazonaws\.com|codeartifact|npmmirror|tsinghua|aliyun|ustc|abetlen\.github\.io|wheels\.|whl\.|jax|data\.pyg\.org|dgl\.ai|developer\.download|rapids|anaconda|openmmlab|test\.pypi\.org"
)
_NAME = re.compile(r"^@?[a-z0-9][\w.-]{2,50}(?:/[\w.-]{1,50})?$", re.IGNORECASE)
_KNOWN = frozenset(
    """
    requests urllib3 numpy pandas scipy matplotlib django flask fastapi beautifulsoup4 selenium playwright tensorflow torch pytorch
    scikit-learn opencv-python pillow cryptography paramiko boto3 botocore openai anthropic langchain transformers pydantic sqlalchemy
    psycopg2 pymongo redis celery setuptools setup-tools colorama termcolor tqdm click rich pytest python-dateutil dateutil pyyaml
    jinja2 lxml httpx aiohttp discord.py python-telegram-bot web3 ethereum solana bitcoin pyautogui
    react react-dom lodash express axios chalk commander webpack typescript eslint prettier next vite electron mongoose moment
    dotenv cross-env node-fetch puppeteer jquery bootstrap ethers web3.js discord.js telegraf socket.io
    """.split()
)
_FALSE = frozenset(
    """
    reqeusts requets request5 requestss python-requests urlib3 urllib numpi nunpy pandsa panda tenserflow tensorfow pytorh
    python-sqlite openia opena1 anthropics-ai beautifulsoup crossenv cross-env.js electorn loadsh lodahs expres axois discordpy
    colourama colorsama python3-dateutil jeIlyfish djanga pyaml-safe bs4-py pilow cryptographyy parmiko boto botto3
    """.split()
)


def packages(pieces: Iterable[Piece]) -> Iterator[Finding]:
    """What of these texts installs from strange places or under false names."""
    for piece in pieces:
        if piece.is_block:
            continue
        for count, match in enumerate(_INSTALL.finditer(piece.text, piece.lowered)):
            if count == 8 * PER_RULE_MAX:
                break
            yield from _installed(piece, match)


def _installed(piece: Piece, match: re.Match[str]) -> Iterator[Finding]:
    arguments = match[1]
    index = _INDEX.search(arguments)
    if index and not _OWN_INDEXES.search(index[1]) and ("." in index[1] or "://" in index[1]):
        kinds = [place for place, _ in places(index[1])]
        if kinds != [Place.LOCAL]:
            weight = (
                Severity.HIGH
                if kinds and kinds[0] not in (Place.UNKNOWN, Place.CODE, Place.INSTALLER)
                else Severity.MEDIUM
            )
            reason = f"installs packages from a place of its own ({index[1][:60]})"
            yield piece.finding("strange_index", weight, reason=reason, span=match.span())
            return
    for place, address in places(arguments):
        if place not in (Place.UNKNOWN, Place.CODE, Place.INSTALLER, Place.LOCAL) or address[0].startswith("http:"):
            reason = f"installs a package from {place} ({address[1][:60]})"
            yield piece.finding("strange_package", Severity.HIGH, reason=reason, span=match.span())
            return
    for word in arguments.split():
        name = re.split(r"[=<>~!\[@]", word.lower(), maxsplit=1)[0]
        if name in _FALSE and _NAME.match(name):
            reason = f"installs `{name}`, which only resembles a well-known package"
            yield piece.finding("false_package", Severity.HIGH, reason=reason, span=match.span())
        elif _NAME.match(name) and name not in _KNOWN and (known := _resembled(name)):
            reason = f"installs `{name}`, which is one letter away from `{known}`"
            yield piece.finding("false_package", Severity.LOW, reason=reason, span=match.span())


def _resembled(name: str) -> str:
    """The well-known package that a name differs from by one letter, or by two that changed places."""
    if len(name) < 6:
        return ""
    for known in _KNOWN:
        if abs(len(known) - len(name)) <= 1 and len(known) >= 6 and _one_away(name, known):
            return known
    return ""


def _one_away(one: str, other: str) -> bool:
    if len(one) > len(other):
        one, other = other, one
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    if len(one) < len(other):
        return one[at:] == other[at + 1 :]
    if one[at + 1 :] == other[at + 1 :]:
        return at < len(one)
    return one[at : at + 2] == other[at : at + 2][::-1] and one[at + 2 :] == other[at + 2 :]
