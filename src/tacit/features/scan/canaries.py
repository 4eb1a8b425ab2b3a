"""Canaries for a detonation: fake keys, tokens, a wallet and documents with random values, and their detection. Pure.

A script that sends, prints or copies one of the values has read what it had no reason to read.
"""

from __future__ import annotations

import base64
import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tacit.domain.sandbox import SandboxFile

_CORE_BYTES = 15
"""Random bytes of each value; thirty hexadecimal digits never occur by chance."""
_SPACES = re.compile(r"\s+|\\n")
_OWNERS = {
    "GITHUB_TOKEN": "github.com",
    "OPENAI_API_KEY": "openai.com",
    "the npm token": "npmjs.org",
    "AWS_SECRET_ACCESS_KEY": "amazonaws.com",
    "the AWS key": "amazonaws.com",
}


@dataclass(frozen=True, slots=True)
class Canary:
    """One fake value, and what it looks like."""

    what: str
    core: str
    """The random part of the value."""
    owner: str = ""
    """The domain that issued it: sending it there is its normal use."""

    def stands_in(self, text: str) -> bool:
        """Whether a text without spaces contains it, plain or in a usual encoding."""
        lower = text.lower()
        return any(form in text or form in lower for form in disguises(self.core))


@dataclass(frozen=True, slots=True, kw_only=True)
class CanarySet:
    """All fake files and variables of one run."""

    home: tuple[SandboxFile, ...]
    workspace: tuple[SandboxFile, ...]
    environment: dict[str, str]
    canaries: tuple[Canary, ...]
    guarded: dict[str, str]
    """Files of the home folder that no script needs to read → what they look like."""

    def met(self, *texts: str, brought_back: bool = False) -> tuple[str, ...]:
        """Return the canaries in these texts; with `brought_back`, not those sent to the domain that issued them."""
        dense = [_SPACES.sub("", text) for text in texts]
        return tuple(
            canary.what
            for canary in self.canaries
            if any(
                canary.stands_in(text)
                for text in dense
                if not (brought_back and canary.owner and _names(text, canary.owner))
            )
        )


def make_canaries(token: Callable[[int], str]) -> CanarySet:
    """Make the fake files and variables; `token(n)` returns the hexadecimal digits of n random bytes."""
    cores = {
        what: token(_CORE_BYTES)
        for what in (
            "the AWS key",
            "the SSH key",
            "the wallet",
            "the password of .netrc",
            "the npm token",
            "the Kubernetes token",
            "the saved passwords",
            "the .env file",
            "GITHUB_TOKEN",
            "OPENAI_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "DATABASE_URL",
        )
    }
    # Libraries read some files by themselves, such as .netrc: only their content counts, not that they were read.
    guarded = {
        ".aws/credentials": "the AWS key",
        ".ssh/id_ed25519": "the SSH key",
        ".config/solana/id.json": "the wallet",
        ".ethereum/keystore/UTC--2024": "the wallet",
        ".kube/config": "the Kubernetes token",
        ".config/google-chrome/Default/Login Data": "the saved passwords",
    }
    unguarded = {".netrc": "the password of .netrc", ".npmrc": "the npm token"}
    harmless = {
        ".bashrc": "# settings of the shell\nalias ll='ls -l'\n",
        ".profile": "# settings of the login\n",
        ".gitconfig": "[user]\n\tname = user\n\temail = user@box\n",
        ".ssh/authorized_keys": "",
        ".claude/settings.json": "{}\n",
        "Documents/report.txt": "Figures of the year, and what follows from them.\n" * 8,
        "Documents/letter.txt": "Dear all, here is what we agreed upon.\n" * 8,
        "Documents/budget.csv": "month,sum\n1,100\n2,200\n3,150\n",
    }
    home = {path: _secret_text(path, cores[what]) for path, what in (guarded | unguarded).items()} | harmless
    environment = {
        "GITHUB_TOKEN": f"ghp_{cores['GITHUB_TOKEN']}",
        "OPENAI_API_KEY": f"sk-proj-{cores['OPENAI_API_KEY']}",
        "AWS_SECRET_ACCESS_KEY": cores["AWS_SECRET_ACCESS_KEY"],
        "DATABASE_URL": f"postgres://user:{cores['DATABASE_URL']}@db.internal/main",
    }
    workspace = {
        ".env": f"APP_MODE=test\nAPI_SECRET={cores['the .env file']}\n",
        "notes.md": "# Notes\n\nWhat was said at the meeting.\n",
        "data.csv": "name,count\nalpha,1\nbeta,2\n",
        "data.json": '{"name": "alpha", "items": [1, 2, 3]}\n',
    }
    return CanarySet(
        home=tuple(SandboxFile(path=path, content=text.encode()) for path, text in home.items()),
        workspace=tuple(SandboxFile(path=path, content=text.encode()) for path, text in workspace.items()),
        environment=environment,
        canaries=tuple(Canary(what, core, _OWNERS.get(what, "")) for what, core in cores.items()),
        guarded=guarded,
    )


def disguises(core: str) -> Iterator[str]:
    """Return a value plain, reversed, in rot13, in hex, and in base64 and base32 at every offset."""
    yield from (core, core[::-1], codecs.encode(core, "rot13"), core.encode().hex())
    raw = core.encode()
    for offset in range(3):
        # The first and last characters depend on what surrounds the value.
        encoded = base64.b64encode(b"\0" * offset + raw).decode().rstrip("=")
        yield encoded[(offset * 8 + 5) // 6 : -1]
    for offset in range(5):
        encoded = base64.b32encode(b"\0" * offset + raw).decode().rstrip("=")
        yield encoded[(offset * 8 + 4) // 5 : -1]


def _names(text: str, domain: str) -> bool:
    """Whether a request or command line goes to a domain or one of its subdomains."""
    return re.search(rf"(?:^|CONNECT|//|[.@=]){re.escape(domain)}(?![\w.-]*\.\w)", text) is not None


def _secret_text(path: str, core: str) -> str:
    if path.endswith("credentials"):
        return f"[default]\naws_access_key_id = AKIAQ3EGUXAMPLE7TEST\naws_secret_access_key = {core}\n"
    if path.startswith(".ssh"):
        kind = "OPENSSH PRIVATE KEY"
        return f"-----BEGIN {kind}-----\n{core}\n-----END {kind}-----\n"
    if path.endswith(".netrc"):
        return f"machine git.internal login user password {core}\n"
    if path.endswith(".npmrc"):
        return f"//registry.npmjs.org/:_authToken=npm_{core}\n"
    if path.startswith(".kube"):
        return f"apiVersion: v1\nkind: Config\nusers:\n- name: admin\n  user:\n    token: {core}\n"
    return f'{{"crypto": {{"ciphertext": "{core}"}}}}\n'
