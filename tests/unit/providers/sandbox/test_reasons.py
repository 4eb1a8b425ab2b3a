"""Why there is no sandbox: each reason is told, with what to do about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.domain.errors import SandboxOutage
from tacit.providers.sandbox import reasons
from tacit.providers.sandbox.reasons import Signs

DENIED = "bwrap: setting up uid map: Permission denied"
NO_NAMESPACE = "bwrap: No permissions to create new namespace, likely because the kernel does not allow it"
NO_PROC = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted"


@pytest.mark.parametrize(
    ("said", "signs", "hint"),
    [
        (DENIED, Signs(apparmor=True), "Ubuntu 24.04"),
        (NO_NAMESPACE, Signs(namespaces_off=True), "max_user_namespaces"),
        (NO_NAMESPACE, Signs(container=True), "this is a container"),
        (NO_PROC, Signs(container=True), "this is a container"),
        (NO_PROC, Signs(), "by hand"),
        ("setpriv: setresuid failed: Operation not permitted", Signs(container=True), "ordinary user"),
        ("", Signs(), "by hand"),
    ],
)
def test_failed_trial_is_explained(said: str, signs: Signs, hint: str) -> None:
    outage = reasons.explain(said, signs)
    assert isinstance(outage, SandboxOutage)
    assert hint in outage.hint
    assert "nothing was run" in outage.message
    assert said in outage.message


def test_missing_programs_and_systems_are_named() -> None:
    assert "bubblewrap is not installed" in reasons.not_installed().message
    assert "apt-get install bubblewrap" in reasons.not_installed().hint
    assert "Darwin" in reasons.not_linux("Darwin").message
    assert "setpriv" in reasons.no_setpriv().message
    assert "bubblewrap 0.6.1" in reasons.too_old("bubblewrap 0.6.1").message
    assert all("nothing was run" in outage.message for outage in (reasons.not_installed(), reasons.no_setpriv()))


@pytest.mark.parametrize(
    ("version", "old"),
    [("bubblewrap 0.6.1", True), ("bubblewrap 0.8.0", False), ("bubblewrap 0.11.0", False), ("1.0", False), ("", True)],
)
def test_versions_that_cannot_forbid_namespaces_are_too_old(version: str, old: bool) -> None:
    assert reasons.is_too_old(version) is old


def test_signs_are_read_from_the_machine(tmp_path: Path) -> None:
    assert Signs.read(tmp_path) == Signs()
    kernel = tmp_path / "proc" / "sys" / "kernel"
    kernel.mkdir(parents=True)
    (kernel / "apparmor_restrict_unprivileged_userns").write_text("1\n")
    (kernel / "unprivileged_userns_clone").write_text("0\n")
    (tmp_path / ".dockerenv").write_text("")
    assert Signs.read(tmp_path) == Signs(apparmor=True, namespaces_off=True, container=True)
