"""The sandbox of this machine, for root and an ordinary user; where there is none, tests are skipped, or fail if required."""

from __future__ import annotations

import os
import pickle
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from tacit.domain.sandbox import SandboxRequest, SandboxResult
from tacit.providers.sandbox import Bubblewrap, open_sandbox
from tests.e2e.sandbox_required import missing_sandbox

ORDINARY = 64123
"""A user that nobody is; the tests become it in a child."""

Caller = Callable[[SandboxRequest], SandboxResult]


def as_ordinary(work: Callable[[], Any]) -> Any:
    """Do something as an ordinary user, in a child of this process, and bring back what it returned or raised."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forking beside threads
        child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            os.setgroups([])
            os.setgid(ORDINARY)
            os.setuid(ORDINARY)
            os.chdir("/")
            try:
                told: tuple[str, Any] = ("returned", work())
            except BaseException as error:
                told = ("raised", f"{error}\n{traceback.format_exc()}")
            with os.fdopen(writing, "wb") as channel:
                pickle.dump(told, channel)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as channel:
        data = channel.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, "the child of the ordinary user failed"
    how, what = pickle.loads(data)
    assert how == "returned", what
    return what


@pytest.fixture(scope="session", params=["root", "ordinary user"])
def caller(request: pytest.FixtureRequest) -> Caller:
    """Runs an errand for root, or for an ordinary user."""
    root = os.geteuid() == 0
    if request.param == "root":
        if not root:
            pytest.skip("the tests do not run as root")
        sandbox: Bubblewrap = request.getfixturevalue("sandbox")
        return sandbox.run
    if not root:
        return request.getfixturevalue("sandbox").run  # type: ignore[no-any-return]
    try:
        as_ordinary(open_sandbox)
    except AssertionError as error:
        missing_sandbox(f"an ordinary user has no sandbox here: {error}")
    return lambda request: as_ordinary(lambda: open_sandbox().run(request))
