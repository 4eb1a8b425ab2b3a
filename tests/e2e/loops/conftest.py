"""A scripted model and a machine for each loop; clients that are not fetched are skipped, or missed if they are required."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.loops.clients import CLIENTS, OPTIONAL, REPORT_LITTLE, Client, missing
from tests.e2e.loops.model import ScriptedModel
from tests.e2e.loops.world import World


@pytest.fixture(params=list(CLIENTS))
def client(request: pytest.FixtureRequest) -> Client:
    client = (CLIENTS | OPTIONAL | REPORT_LITTLE)[request.param]
    if os.environ.get("TACIT_CLIENTS") == "skip":
        pytest.skip("a real client takes its time: `make loops`")
    why = missing(client)
    if why and os.environ.get("TACIT_CLIENTS") == "required" and request.param in CLIENTS:
        pytest.fail(why)
    if why:
        pytest.skip(why)
    return client


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


@pytest.fixture
def world(tmp_path: Path, client: Client, model: ScriptedModel) -> World:
    return World.made(tmp_path, client, model)
