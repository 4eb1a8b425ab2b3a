"""Bait for a detonation: fake keys, tokens, a wallet and documents with random values, and the eye that knows them again. Pure.

Nothing here opens anything: whoever sends, shows or copies one of the values has read what was not its business.
"""

from __future__ import annotations

import base64
import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tacit.domain.sandbox import BoxFile

_CORE_BYTES = 15
"""Random bytes of each value; thirty hexadecimal digits are met nowhere by chance."""
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
    """One value that must not be met again, and what it seems to be."""

    what: str
    core: str
    """The random part; it stands in the bait as it is."""
    owner: str = ""
    """The domain that gave it out: who brings it back there uses it as it is meant."""

    def stands_in(self, text: str) -> bool:
        """Whether it is there, plain or in one of the usual disguises; the text comes without spaces."""
        lower = text.lower()
        return any(form in text or form in lower for form in disguises(self.core))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bait:
    """All that is laid out."""

    home: tuple[BoxFile, ...]
    workspace: tuple[BoxFile, ...]
    environment: dict[str, str]
    canaries: tuple[Canary, ...]
    guarded: dict[str, str]
    """Files of the home that no script of a skill has to read → what they seem to be."""

    def met(self, *texts: str, brought_back: bool = False) -> tuple[str, ...]:
        """What of the bait stands in these texts; with `brought_back`, not where a text names the domain that gave it out."""
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


def lay_bait(token: Callable[[int], str]) -> Bait:
    """Make a bait; `token(n)` gives the hexadecimal digits of n random bytes."""
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
    # What libraries read unasked, such as .netrc, is no sign when it is read; only when its content turns up.
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
    return Bait(
        home=tuple(BoxFile(path=path, content=text.encode()) for path, text in home.items()),
        workspace=tuple(BoxFile(path=path, content=text.encode()) for path, text in workspace.items()),
        environment=environment,
        canaries=tuple(Canary(what, core, _OWNERS.get(what, "")) for what, core in cores.items()),
        guarded=guarded,
    )


def disguises(core: str) -> Iterator[str]:
    """A value as it stands, reversed, turned by 13, in hexadecimal digits, and in base 64 and 32 at every offset."""
    yield from (core, core[::-1], codecs.encode(core, "rot13"), core.encode().hex())
    raw = core.encode()
    for offset in range(3):
        # The first and the last characters depend on what stands beside the value.
        encoded = base64.b64encode(b"\0" * offset + raw).decode().rstrip("=")
        yield encoded[(offset * 8 + 5) // 6 : -1]
    for offset in range(5):
        encoded = base64.b32encode(b"\0" * offset + raw).decode().rstrip("=")
        yield encoded[(offset * 8 + 4) // 5 : -1]


def _names(text: str, domain: str) -> bool:
    """Whether a request or command line goes to a domain or one below it."""
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
