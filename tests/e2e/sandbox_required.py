"""Tests that need a sandbox: skipped with the command that enables them, or failed where TACIT_SANDBOX=required."""

from __future__ import annotations

import os

import pytest

from tacit.domain.errors import SandboxOutage
from tacit.providers.sandbox import Bubblewrap, open_sandbox


def missing_sandbox(why: str) -> None:
    """Skip the test, or fail it where a sandbox is required."""
    if os.environ.get("TACIT_SANDBOX") == "required":
        pytest.fail(why)
    pytest.skip(f"{why} (`make sandbox` installs what is needed)")


def require_sandbox() -> Bubblewrap:
    """Return the sandbox of this machine."""
    try:
        return open_sandbox()
    except SandboxOutage as outage:
        missing_sandbox(f"{outage.message}; {outage.hint}")
        raise
