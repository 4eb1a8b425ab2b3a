"""What bubblewrap said when it did not start, and signs of the machine → why there is no sandbox, and what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tacit.domain.errors import SandboxOutage

OLDEST = (0, 8)
"""The first bubblewrap that can forbid further user namespaces."""

_NAMESPACE = re.compile(r"namespace|uid map|gid map|setgroups|clone", re.IGNORECASE)
_SETPRIV = re.compile(r"^setpriv: ", re.MULTILINE)
_NOT_RUN = "nothing was run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What the machine shows of its rules for user namespaces."""

    apparmor: bool = False
    """AppArmor lets only programs with a profile make them, as Ubuntu does since 23.10."""
    namespaces_off: bool = False
    """A setting of the kernel forbids them to users, or allows none at all."""
    container: bool = False

    @classmethod
    def read(cls, root: Path = Path("/")) -> Signs:
        """Look them up in /proc and where container runtimes leave their marks."""
        kernel = root / "proc" / "sys"
        clone = _setting(kernel / "kernel" / "unprivileged_userns_clone")
        most = _setting(kernel / "user" / "max_user_namespaces")
        marks = (root / ".dockerenv", root / "run" / ".containerenv")
        return cls(
            apparmor=_setting(kernel / "kernel" / "apparmor_restrict_unprivileged_userns") == "1",
            namespaces_off=clone == "0" or most == "0",
            container=any(mark.exists() for mark in marks) or "kubepods" in _setting(root / "proc" / "1" / "cgroup"),
        )


def not_installed() -> SandboxOutage:
    """Bubblewrap is not on the machine."""
    hint = "install it: apt-get install bubblewrap (Debian, Ubuntu) or dnf install bubblewrap (Fedora)"
    return SandboxOutage(f"there is no sandbox: bubblewrap is not installed; {_NOT_RUN}", hint=hint)


def not_linux(system: str) -> SandboxOutage:
    """Bubblewrap is for Linux alone."""
    return SandboxOutage(
        f"there is no sandbox for {system}; {_NOT_RUN}", hint="run it on Linux, or in a Linux virtual machine"
    )


def too_old(version: str) -> SandboxOutage:
    """A bubblewrap that lacks what the profile needs."""
    needed = ".".join(map(str, OLDEST))
    return SandboxOutage(
        f"there is no sandbox: {version or 'this bubblewrap'} is older than {needed}; {_NOT_RUN}",
        hint=f"install bubblewrap {needed} or newer",
    )


def no_setpriv() -> SandboxOutage:
    """A root caller without the means to become somebody else."""
    hint = "install util-linux, or run this as an ordinary user"
    return SandboxOutage(f"there is no sandbox for root without `setpriv`; {_NOT_RUN}", hint=hint)


def explain(said: str, signs: Signs) -> SandboxOutage:
    """Say why a trial run failed."""
    said = " ".join(said.split())[:300] or "it ended without a word"
    what = f"there is no sandbox: bubblewrap could not start ({said}); {_NOT_RUN}"
    if _SETPRIV.search(said):
        return SandboxOutage(what, hint="root may not change its user here; run this as an ordinary user")
    if _NAMESPACE.search(said) and signs.apparmor:
        hint = (
            "AppArmor restricts user namespaces here, as on Ubuntu 24.04: give /usr/bin/bwrap a profile with `userns,` "
            "(the package apparmor-profiles has bwrap-userns-restrict), or set kernel.apparmor_restrict_unprivileged_userns=0"
        )
        return SandboxOutage(what, hint=hint)
    if _NAMESPACE.search(said) and signs.namespaces_off:
        hint = "user namespaces are switched off: set user.max_user_namespaces above 0 and kernel.unprivileged_userns_clone=1"
        return SandboxOutage(what, hint=hint)
    if signs.container:
        hint = (
            "this is a container, which may not make namespaces of its own or mount /proc: run this on the host, or start the "
            "container with --security-opt seccomp=unconfined --security-opt systempaths=unconfined"
        )
        return SandboxOutage(what, hint=hint)
    return SandboxOutage(
        what, hint="try `bwrap --unshare-all --ro-bind / / true` by hand; the message tells what is missing"
    )


def is_too_old(version: str) -> bool:
    """Whether the text of `bwrap --version` names one that cannot be used; what cannot be read counts as too old."""
    found = re.search(r"(\d+)\.(\d+)", version)
    return found is None or (int(found[1]), int(found[2])) < OLDEST


def _setting(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
