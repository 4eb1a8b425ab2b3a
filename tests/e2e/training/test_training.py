"""A tiny real adapter: it changes what the model says, it can be taken off again, and other programs read it alike."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tacit.domain.errors import NotFound, Refusal
from tacit.features.evaluate.base_model import BaseModel
from tacit.features.evaluate.conversation import parse_tool_call
from tacit.features.evaluate.local_model import ADAPTER_WEIGHTS, LocalModel, adapter_key, prompts
from tacit.features.train.export import export_gguf
from tacit.features.train.lora_learner import IGNORED, encode_all
from tacit.features.train.training import Trained
from tests.e2e.training.conftest import MODELS, asked, dataset, example, wanted
from tests.raising import raises

COUNT = 8


def first_tool(text: str) -> str:
    call = parse_tool_call(text)
    return call.tool if call else ""


def test_no_question_and_no_held_out_task_is_one_that_was_trained_on():
    data = dataset()
    learned, held_out = ({each.messages[1].content for each in part} for part in (data.train, data.held_out))
    questions = [messages[1].content for messages in asked(200)]
    assert len(set(questions)) == 200
    assert not learned & held_out
    assert not set(questions) & (learned | held_out)


def test_what_is_trained_is_token_for_token_what_is_asked_and_what_should_be_stated(smollm: BaseModel):
    messages = example(1).messages
    (encoded,) = encode_all([example(1)], smollm.tokenizer)
    for place in (2, 4):
        (question,) = prompts([messages[:place]], smollm.tokenizer)
        assert list(encoded.ids[: len(question)]) == question
        assert encoded.labels[len(question) - 1] == IGNORED
        assert encoded.labels[len(question)] == encoded.ids[len(question)]
    text_seen = [token for token in encoded.labels if token != IGNORED]
    spoken = "".join(f"{messages[place].content}<|im_end|>" for place in (2, 4))
    assert smollm.tokenizer.decode(text_seen) == spoken


def test_an_adapter_changes_what_the_model_says_and_taking_it_off_gives_the_model_back(
    smollm: BaseModel, adapter: Trained
):
    model = LocalModel(smollm, {"carts": adapter.folder})
    before = LocalModel(smollm).complete(asked(COUNT), max_tokens=32)
    with_it = model.complete(asked(COUNT), adapter="carts", max_tokens=32)
    after = model.complete(asked(COUNT), max_tokens=32)
    right = sum(first_tool(done.text) == first_tool(text) for done, text in zip(with_it, wanted(COUNT), strict=True))
    assert right > sum(
        first_tool(done.text) == first_tool(text) for done, text in zip(before, wanted(COUNT), strict=True)
    )
    assert all(first_tool(done.text) for done in with_it)
    assert after == before
    assert adapter.best_held_out is not None
    assert adapter.best_held_out < (adapter.curve[0].held_out or 0) / 2


def test_peft_and_llama_cpp_say_the_same_as_we_do_with_the_adapter(
    smollm: BaseModel, weights: Path, adapter: Trained, tmp_path: Path
):
    ours = [
        done.text
        for done in LocalModel(smollm, {"a": adapter.folder}).complete(asked(COUNT), adapter="a", max_tokens=32)
    ]
    # Every program rounds in its own way, and an adapter of a few steps is not sure of every question: one may differ.
    assert alike(stated_by_peft(smollm, adapter.folder), ours) >= COUNT - 1
    written = export_gguf(adapter.folder, str(weights), tmp_path / "adapter.gguf")
    assert alike(stated_by_llama(weights, written), ours) >= COUNT - 1
    assert alike(stated_by_llama(weights, None), ours) < COUNT - 1


def alike(one: list[str], other: list[str]) -> int:
    """How often the same tool is called first."""
    return sum(first_tool(here) == first_tool(there) for here, there in zip(one, other, strict=True))


def stated_by_peft(base: BaseModel, folder: Path) -> list[str]:
    from peft import PeftModel

    model = PeftModel.from_pretrained(base.model, folder)
    try:
        text_seen = []
        for question in prompts(asked(COUNT), base.tokenizer):
            import torch

            ids = model.generate(input_ids=torch.tensor([question]), max_new_tokens=32, do_sample=False)[0]
            text_seen.append(base.tokenizer.decode(ids[len(question) :], skip_special_tokens=True))
        return text_seen
    finally:
        model.unload()


def stated_by_llama(weights: Path, adapter: Path | None) -> list[str]:
    sys.path.insert(0, str(MODELS))
    try:
        import xllamacpp
    finally:
        sys.path.pop(0)
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx, params.n_parallel = 2048, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    if adapter:
        own = xllamacpp.CommonAdapterLoraInfo()
        own.path, own.scale = str(adapter), 1.0
        params.lora_adapters = [own]
    server = xllamacpp.Server(params)
    return [answered(server, [{"role": each.role, "content": each.content} for each in one]) for one in asked(COUNT)]


def answered(server, messages: list[dict[str, str]]) -> str:
    question = {"messages": messages, "temperature": 0, "max_tokens": 32}
    return str(server.handle_chat_completions(question)["choices"][0]["message"]["content"])


def test_adapters_that_are_not_there_or_fit_no_more_are_refused(smollm: BaseModel, adapter: Trained, tmp_path: Path):
    with raises(NotFound, "no_adapter"):
        LocalModel(smollm, {"a": adapter.folder}).complete(asked(1), adapter="b")
    with raises(NotFound, "no_adapter"):
        LocalModel(smollm, {"a": tmp_path})
    for file in adapter.folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    model, key = LocalModel(smollm), adapter_key(tmp_path)
    model.add("a", tmp_path, key=key)
    (tmp_path / ADAPTER_WEIGHTS).write_bytes((tmp_path / ADAPTER_WEIGHTS).read_bytes()[:-1] + b"?")
    with raises(Refusal, "files_changed"):
        model.add("a", tmp_path, key=key)
    (tmp_path / "trained.json").write_text(json.dumps({"base_hash": "another"}), encoding="utf-8")
    with raises(Refusal, "other_base_model"):
        LocalModel(smollm, {"a": tmp_path})
