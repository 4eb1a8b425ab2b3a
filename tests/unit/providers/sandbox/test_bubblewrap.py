"""Why there is no sandbox: each reason is told, with what to do about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.domain.errors import SandboxOutage
from tacit.providers.sandbox import bubblewrap
from tacit.providers.sandbox.bubblewrap import MachineSigns

DENIED = "bwrap: setting up uid map: Permission denied"
NO_NAMESPACE = "bwrap: No permissions to create new namespace, likely because the kernel does not allow it"
NO_PROC = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted"


@pytest.mark.parametrize(
    ("output", "signs", "code", "hint"),
    [
        (DENIED, MachineSigns(apparmor=True), "apparmor", "Ubuntu 24.04"),
        (NO_NAMESPACE, MachineSigns(namespaces_off=True), "namespaces_off", "max_user_namespaces"),
        (NO_NAMESPACE, MachineSigns(container=True), "container", "--security-opt"),
        (NO_PROC, MachineSigns(container=True), "container", "--security-opt"),
        (NO_PROC, MachineSigns(), "not_started", "`bwrap "),
        ("setpriv: setresuid failed: Operation not permitted", MachineSigns(container=True), "no_setpriv", "root"),
        ("", MachineSigns(), "not_started", "`bwrap "),
    ],
)
def test_failed_trial_is_explained(output: str, signs: MachineSigns, code: str, hint: str) -> None:
    outage = bubblewrap.explain_failure(output, signs)
    assert isinstance(outage, SandboxOutage)
    assert outage.code == code
    assert hint in outage.hint
    assert "nothing was run" in outage.message
    assert output in outage.message


def test_missing_programs_and_systems_are_named() -> None:
    outage = bubblewrap.no_sandbox("not_installed", ": bubblewrap is not installed")
    assert outage.code == "not_installed"
    assert "apt-get install bubblewrap" in outage.hint
    assert outage.message == "there is no sandbox: bubblewrap is not installed; nothing was run"
    assert "util-linux" in bubblewrap.no_sandbox("no_setpriv", " for root").hint


@pytest.mark.parametrize(
    ("version", "old"),
    [("bubblewrap 0.6.1", True), ("bubblewrap 0.8.0", False), ("bubblewrap 0.11.0", False), ("1.0", False), ("", True)],
)
def test_versions_that_cannot_forbid_namespaces_are_too_old(version: str, old: bool) -> None:
    assert bubblewrap.is_too_old(version) is old


def test_signs_are_read_from_the_machine(tmp_path: Path) -> None:
    assert MachineSigns.read(tmp_path) == MachineSigns()
    kernel = tmp_path / "proc" / "sys" / "kernel"
    kernel.mkdir(parents=True)
    (kernel / "apparmor_restrict_unprivileged_userns").write_text("1\n")
    (kernel / "unprivileged_userns_clone").write_text("0\n")
    (tmp_path / ".dockerenv").write_text("")
    assert MachineSigns.read(tmp_path) == MachineSigns(apparmor=True, namespaces_off=True, container=True)
