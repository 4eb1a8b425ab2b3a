"""What is loaded is what the key names: the bytes that are handed over are those that were hashed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tacit.domain.errors import Mistake, Refusal
from tacit.features.evaluate.local_model import ADAPTER_SETTINGS, ADAPTER_WEIGHTS, adapter_key, read_adapter
from tests.raising import raises


def adapter(
    folder: Path, *, weights: bytes = b"weights", settings: str = '{"r": 2, "target_modules": ["q", "v"]}'
) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / ADAPTER_SETTINGS).write_text(settings)
    (folder / ADAPTER_WEIGHTS).write_bytes(weights)
    return folder


def test_the_key_of_what_was_read_is_the_key_of_the_folder(tmp_path: Path):
    key = adapter_key(adapter(tmp_path))
    held = read_adapter(tmp_path, key=key)
    assert (held.key, held.weights) == (key, b"weights")


def test_other_weights_or_settings_than_the_key_names_are_refused(tmp_path: Path):
    key = adapter_key(adapter(tmp_path))
    for changed in (adapter(tmp_path, weights=b"others"), adapter(tmp_path, settings='{"r": 4}')):
        with raises(Refusal, "files_changed"):
            read_adapter(changed, key=key)


def test_the_order_of_names_in_the_settings_does_not_matter(tmp_path: Path):
    key = adapter_key(adapter(tmp_path))
    assert read_adapter(adapter(tmp_path, settings='{"target_modules": ["v", "q"], "r": 2}'), key=key).key == key


def test_files_that_are_swapped_after_they_were_read_change_nothing(tmp_path: Path):
    held = read_adapter(adapter(tmp_path), key=adapter_key(tmp_path))
    adapter(tmp_path, weights=b"others")
    assert held.weights == b"weights"


@pytest.mark.parametrize("settings", ["[" * 100_000, "x"])
def test_settings_that_cannot_be_read_are_reported(tmp_path: Path, settings: str):
    with raises(Mistake, "not_an_adapter"):
        read_adapter(adapter(tmp_path, settings=settings), key="0" * 32)
    with raises(Mistake, "not_an_adapter"):
        adapter_key(tmp_path)


def test_a_pipe_is_not_waited_for(tmp_path: Path):
    (adapter(tmp_path) / ADAPTER_WEIGHTS).unlink()
    os.mkfifo(tmp_path / ADAPTER_WEIGHTS)
    for look in (read_adapter, adapter_key):
        with raises(Mistake, "not_a_regular_file"):
            look(tmp_path)
