"""What is written for llama.cpp can be read back, heads are turned the way it wants them, and other families are refused."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest

from tacit.domain.errors import Mistake, NotFound, Refusal
from tacit.features.evaluate.base_model import base_model_facts, base_model_hash, locate_model, read_gguf_header
from tacit.features.train.export import _gguf_parts, export_gguf, interleave_halves
from tests.raising import raises


def gguf(path: Path, stated: dict[str, str | float] | None = None) -> Path:
    tensors = {"a": np.ones((3, 5), dtype="<f4"), "b": np.arange(4, dtype="<f4")}
    path.write_bytes(b"".join(_gguf_parts({"general.architecture": "llama", **(stated or {})}, tensors)))
    return path


def folder(path: Path, *, family: str = "llama") -> Path:
    path.mkdir(exist_ok=True)
    config = {"model_type": family, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 3}
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    header = json.dumps({"__metadata__": {}, "w": {"dtype": "F32", "shape": [7, 3], "data_offsets": [0, 84]}}).encode()
    (path / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(84))
    return path


def adapter(path: Path) -> Path:
    path.mkdir()
    (path / "adapter_config.json").write_text(
        json.dumps({"peft_type": "LORA", "r": 2, "lora_alpha": 4}), encoding="utf-8"
    )
    (path / "adapter_model.safetensors").write_bytes(b"")
    return path


def test_what_is_written_is_read_back(tmp_path: Path):
    header = read_gguf_header(gguf(tmp_path / "x.gguf", {"general.name": "né", "adapter.lora.alpha": 32.0}))
    assert header.architecture == "llama"
    assert header.facts["general.name"] == "né"
    assert header.facts["adapter.lora.alpha"] == 32.0
    assert header.parameters == 19


def test_the_numbers_of_every_tensor_begin_where_the_list_says(tmp_path: Path):
    written = gguf(tmp_path / "x.gguf").read_bytes()
    assert len(written) % 32 == 0
    # 15 numbers take 60 bytes and the room of 64, so the second tensor begins 64 bytes after the first.
    assert written[-32 : -32 + 16] == np.arange(4, dtype="<f4").tobytes()
    assert written[-96:-36] == np.ones(15, dtype="<f4").tobytes()


def test_the_two_halves_of_each_head_are_interleaved():
    rows = np.arange(8).reshape(8, 1)
    assert interleave_halves(rows, 2)[:, 0].tolist() == [0, 2, 1, 3, 4, 6, 5, 7]
    assert interleave_halves(rows, 1)[:, 0].tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
    with raises(Refusal, "adapter_does_not_fit"):
        interleave_halves(rows, 3)


@pytest.mark.parametrize("length", [4, 12, 30, 60])
def test_a_damaged_file_is_reported_as_such(tmp_path: Path, length: int):
    path = gguf(tmp_path / "x.gguf")
    path.write_bytes(path.read_bytes()[:length])
    with raises(Mistake, "damaged_model"):
        read_gguf_header(path)


def test_lists_in_lists_and_dimensions_without_end_are_reported_as_damage(tmp_path: Path):
    text = struct.pack("<Q", 1) + b"x"
    start = b"GGUF" + struct.pack("<I", 3)
    nested = struct.pack("<QQ", 0, 1) + text + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 5_000
    wide = struct.pack("<QQ", 1, 0) + text + struct.pack("<I", 200_000) + struct.pack("<Q", 2**63) * 200_000
    for body in (nested, wide):
        (tmp_path / "x.gguf").write_bytes(start + body + bytes(64))
        with raises(Mistake, "damaged_model"):
            read_gguf_header(tmp_path / "x.gguf")


@pytest.mark.parametrize(
    "text", ["[]", "[" * 100_000, "x", "\xff", '{"num_attention_heads": "x"}', '{"num_hidden_layers": [1]}']
)
def test_a_configuration_that_tells_nothing_is_reported(tmp_path: Path, text: str):
    (folder(tmp_path / "m") / "config.json").write_text(text, encoding="latin-1")
    with raises(Mistake, "damaged_model") as mistake:
        base_model_facts(str(tmp_path / "m"))
    assert mistake.value.hint


@pytest.mark.parametrize(
    "data",
    [
        b"\x01",
        struct.pack("<Q", 2**62),
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 18) + b'{"w":{"shape":"x"}}',
        struct.pack("<Q", 20) + b'{"w":{"shape":["x"]}}',
        struct.pack("<Q", 8) + b'{"w":{}}',
        struct.pack("<Q", 50_000) + b"[" * 50_000,
    ],
)
def test_weights_whose_header_is_nonsense_are_reported_as_damage(tmp_path: Path, data: bytes):
    (folder(tmp_path / "m") / "model.safetensors").write_bytes(data)
    with raises(Mistake, "damaged_model"):
        base_model_facts(str(tmp_path / "m"))


def test_a_pipe_in_place_of_weights_is_not_waited_for(tmp_path: Path):
    (folder(tmp_path / "m") / "model.safetensors").unlink()
    os.mkfifo(tmp_path / "m" / "model.safetensors")
    for look in (base_model_facts, base_model_hash):
        with raises(Mistake, "not_a_regular_file"):
            look(str(tmp_path / "m"))


def test_a_file_that_is_no_model_is_reported_as_such(tmp_path: Path):
    (tmp_path / "x.gguf").write_bytes(b"PK..")
    (tmp_path / "x.txt").write_text("x", encoding="utf-8")
    with raises(Mistake, "not_gguf"):
        locate_model(str(tmp_path / "x.gguf"))
    with raises(Mistake, "not_a_model"):
        locate_model(str(tmp_path / "x.txt"))
    with raises(Mistake, "not_a_model"):
        locate_model(str(tmp_path))
    with raises(NotFound, "no_model"):
        locate_model(str(tmp_path / "missing.gguf"))


def test_family_and_size_are_known_without_loading(tmp_path: Path):
    facts = base_model_facts(str(folder(tmp_path / "model")))
    assert (facts.architecture, facts.parameters, facts.heads, facts.key_heads, facts.layers) == ("llama", 21, 4, 2, 3)


def test_a_model_is_another_when_its_weights_are_and_the_same_when_something_lies_next_to_them(tmp_path: Path):
    one, other = folder(tmp_path / "one"), folder(tmp_path / "other")
    assert base_model_hash(str(one)) == base_model_hash(str(other))
    (other / "README.md").write_text("x", encoding="utf-8")
    assert base_model_hash(str(one)) == base_model_hash(str(other))
    file = other / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"\1")
    assert base_model_hash(str(one)) != base_model_hash(str(other))


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "[]", "{}", "nonsense", '{"peft_type": "LORA", "r": 0, "lora_alpha": 4}', "\xff"]
)
def test_settings_that_cannot_be_read_are_reported(tmp_path: Path, text: str):
    (adapter(tmp_path / "a") / "adapter_config.json").write_text(text, encoding="latin-1")
    with raises(Mistake, "damaged_adapter") as mistake:
        export_gguf(tmp_path / "a", str(folder(tmp_path / "m")), tmp_path / "out.gguf")
    assert mistake.value.hint


def test_adapters_of_other_families_and_folders_without_an_adapter_are_refused(tmp_path: Path):
    with raises(Refusal, "unsupported_model"):
        export_gguf(adapter(tmp_path / "a"), str(folder(tmp_path / "g", family="gemma3")), tmp_path / "out.gguf")
    with raises(NotFound, "no_adapter"):
        export_gguf(tmp_path, str(folder(tmp_path / "m")), tmp_path / "out.gguf")
    config = {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "use_dora": True}
    (tmp_path / "a" / "adapter_config.json").write_text(json.dumps(config), encoding="utf-8")
    with raises(Refusal, "not_plain_lora"):
        export_gguf(tmp_path / "a", str(folder(tmp_path / "m")), tmp_path / "out.gguf")
    assert not (tmp_path / "out.gguf").exists()
