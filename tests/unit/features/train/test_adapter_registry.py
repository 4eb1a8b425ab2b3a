"""The registry of adapters: what may serve and what may not, and what becomes of files, entries and purged experience."""

from __future__ import annotations

import json
import os
import threading
from datetime import datetime
from pathlib import Path

import pytest

from tacit.api import Tacit
from tacit.config.location import StoreLocation
from tacit.domain.archive import Source, SourceKind
from tacit.domain.errors import GateRefusal, Mistake, NotFound, Refusal
from tacit.features.train.adapter import Activation, Adapter, AdapterRuling, Judgement
from tacit.features.train.adapter_registry import Adapters
from tacit.store import open_store
from tests.raising import raises
from tests.unit.features.train.adapter_builders import (
    MODEL,
    MODEL_HASH,
    Clock,
    birth,
    judged_adapter,
    kept_attempt,
    memory_at,
    open_adapters,
    registered,
    serving,
    trained,
    with_clock,
)
from tests.unit.making import NOW


@pytest.fixture
def memory(tmp_path: Path) -> Tacit:
    return memory_at(tmp_path / "store")


@pytest.fixture
def adapters(memory: Tacit) -> Adapters:
    return open_adapters(memory)


# --- taking one in ----------------------------------------------------------------------------------------------------


def test_an_adapter_is_copied_next_to_the_store_with_its_records_and_serves_nobody(
    adapters: Adapters, tmp_path: Path
) -> None:
    adapter = registered(adapters, tmp_path)
    folder = tmp_path / "store" / "adapters" / adapter.key
    assert {path.name for path in folder.iterdir()} == {
        "adapter_config.json",
        "adapter_model.safetensors",
        "manifest.json",
    }
    [standing] = adapters.all()
    assert (standing.adapter, standing.folder, standing.serves) == (adapter, folder, False)
    assert [problem.code for problem in standing.problems] == ["not_tested"]
    assert adapters.active(MODEL_HASH) is None


def test_the_very_same_adapter_again_changes_nothing(adapters: Adapters, memory: Tacit, tmp_path: Path) -> None:
    first = registered(adapters, tmp_path)
    assert registered(adapters, tmp_path) == first
    assert len(memory.context.store.entries(Adapter)) == 1


def test_settings_that_peft_wrote_in_another_order_are_the_same_adapter(adapters: Adapters, tmp_path: Path) -> None:
    first = registered(adapters, tmp_path)
    again = trained(tmp_path / "again")
    (again / "adapter_config.json").write_text(json.dumps({"target_modules": ["v_proj", "q_proj"], "lora_alpha": 32}))
    assert adapters.register(birth(again)) == first
    assert adapters.register(birth(trained(tmp_path / "other", alpha=64))).key != first.key


def test_an_adapter_of_another_form_is_not_taken_in(adapters: Adapters, tmp_path: Path) -> None:
    with raises(Refusal, "other_format"):
        registered(adapters, tmp_path, form_hash="0" * 16)
    assert adapters.all() == []


def test_a_folder_that_holds_no_adapter_is_reported_as_a_mistake(adapters: Adapters, tmp_path: Path) -> None:
    with raises(Mistake, "not_an_adapter"):
        adapters.register(birth(tmp_path))


def test_an_adapter_that_learned_from_purged_experience_is_refused_and_its_files_go(
    adapters: Adapters, memory: Tacit, tmp_path: Path
) -> None:
    source = kept_attempt(memory)
    memory.archive.purge(memory.archive.descent(Source(kind=SourceKind.TRAJECTORY, value=source.id)), by="ann")
    with pytest.raises(GateRefusal):
        registered(adapters, tmp_path, trajectory_ids=(source.id,))
    assert len(adapters.files.keys()) == 1
    entered = open_adapters(memory)
    assert (entered.all(), entered.files.keys()) == ([], [])


# --- which may serve --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ruling", [ruling for ruling in AdapterRuling if ruling is not AdapterRuling.BETTER])
def test_only_one_that_a_test_calls_better_may_serve(adapters: Adapters, tmp_path: Path, ruling: AdapterRuling) -> None:
    adapter = registered(adapters, tmp_path)
    with raises(Refusal, "not_tested"):
        adapters.activate(adapter.key, by="ann")
    judged_adapter(adapters, adapter, ruling, reason="so it went")
    with raises(Refusal, "test_not_passed"):
        adapters.activate(adapter.key, by="ann")
    assert adapters.active(MODEL_HASH) is None


def test_the_last_test_counts(adapters: Adapters, tmp_path: Path) -> None:
    adapter = registered(adapters, tmp_path)
    judged_adapter(adapters, adapter)
    judged_adapter(adapters, adapter, AdapterRuling.NO_BETTER)
    with raises(Refusal, "test_not_passed"):
        adapters.activate(adapter.key, by="ann")


def test_a_better_one_serves_its_base_model_and_no_other(adapters: Adapters, memory: Tacit, tmp_path: Path) -> None:
    adapter = serving(adapters, tmp_path)
    assert adapters.active(MODEL_HASH) == (adapter, adapters.files.path(adapter.key))
    assert adapters.active("m2") is None
    [activation] = memory.context.store.entries(Activation)
    assert (activation.adapter, activation.by, activation.undone) == (adapter.key, "ann", "")
    with raises(Refusal, "already_active"):
        adapters.activate(adapter.key, by="ann")


def test_another_base_model_under_the_same_name_is_refused(memory: Tacit, tmp_path: Path) -> None:
    adapters = open_adapters(memory, model_hash="m2")
    adapter = registered(adapters, tmp_path)
    judged_adapter(adapters, adapter)
    with raises(Refusal, "model_changed"):
        adapters.activate(adapter.key, by="ann")


def test_a_base_model_that_is_gone_is_reported(memory: Tacit, tmp_path: Path) -> None:
    def missing(name: str) -> str:
        raise NotFound(f"no model {name}", hint="")

    adapters = Adapters(memory, model_hash=missing)
    adapter = registered(adapters, tmp_path)
    judged_adapter(adapters, adapter)
    with raises(Refusal, "model_unreadable"):
        adapters.activate(adapter.key, by="ann")


@pytest.mark.parametrize("name", ["adapter_model.safetensors", "adapter_config.json"])
def test_files_that_changed_on_disk_are_neither_activated_nor_handed_out(
    adapters: Adapters, tmp_path: Path, name: str
) -> None:
    adapter = serving(adapters, tmp_path)
    (adapters.files.path(adapter.key) / name).write_text('{"lora_alpha": 9}')
    with raises(Refusal, "files_changed") as refusal:
        adapters.active(MODEL_HASH)
    assert "activate --previous" in refusal.value.hint
    with raises(Refusal, "files_changed"):
        adapters.export(adapter.key, tmp_path / "out")
    adapters.roll_back(by="ann")
    with raises(Refusal, "files_changed"):
        adapters.activate(adapter.key, by="ann")


def test_settings_of_brackets_alone_are_files_that_changed(adapters: Adapters, tmp_path: Path) -> None:
    adapter = serving(adapters, tmp_path)
    (adapters.files.path(adapter.key) / "adapter_config.json").write_text("[" * 100_000)
    assert not adapters.files.is_unchanged(adapter.key)
    with raises(Refusal, "files_changed"):
        adapters.active(MODEL_HASH)
    with raises(Mistake, "not_an_adapter"):
        adapters.register(birth(adapters.files.path(adapter.key)), by="ann")
    adapters.files.work.mkdir()
    (adapters.files.work / "sources.json").write_text("[" * 100_000)
    assert adapters.files.work_sources() is None, "nobody can tell whose text lies there"


def test_registering_it_again_mends_files_that_changed(adapters: Adapters, tmp_path: Path) -> None:
    adapter = serving(adapters, tmp_path)
    (adapters.files.path(adapter.key) / "adapter_model.safetensors").write_bytes(b"other")
    registered(adapters, tmp_path)
    assert adapters.active(MODEL_HASH) == (adapter, adapters.files.path(adapter.key))


def test_several_problems_are_reported_at_once(adapters: Adapters, tmp_path: Path) -> None:
    adapter = registered(adapters, tmp_path)
    (adapters.files.path(adapter.key) / "adapter_model.safetensors").write_bytes(b"other")
    with raises(Refusal, "files_changed"):
        adapters.activate(adapter.key, by="ann")
    assert [problem.code for problem in adapters.find(adapter.key).problems] == ["files_changed", "not_tested"]


# --- going back -------------------------------------------------------------------------------------------------------


def test_rolling_back_goes_to_the_one_before_and_then_to_the_base_model_alone(
    adapters: Adapters, tmp_path: Path
) -> None:
    first, second = serving(adapters, tmp_path, weights=b"first"), serving(adapters, tmp_path, weights=b"second")
    assert adapters.roll_back(by="ann", reason="it felt slower").adapter == first.key
    assert adapters.active(MODEL_HASH) == (first, adapters.files.path(first.key))
    undone = adapters.roll_back(MODEL, by="ann")
    assert (undone.adapter, undone.undone) == ("", first.key)
    assert adapters.active(MODEL_HASH) is None
    with raises(NotFound, "no_active_adapter"):
        adapters.roll_back(by="ann")
    adapters.activate(second.key, by="ann")
    assert adapters.roll_back(by="ann").adapter == ""


def test_rolling_back_passes_over_one_that_may_not_serve_any_more(adapters: Adapters, tmp_path: Path) -> None:
    first = serving(adapters, tmp_path, weights=b"first")
    second, third = serving(adapters, tmp_path, weights=b"second"), serving(adapters, tmp_path, weights=b"third")
    (adapters.files.path(second.key) / "adapter_model.safetensors").write_bytes(b"other")
    back = adapters.roll_back(by="ann")
    assert (back.undone, back.adapter) == (third.key, first.key)


def test_one_that_serves_and_loses_a_later_test_is_taken_back_at_once(
    adapters: Adapters, memory: Tacit, tmp_path: Path
) -> None:
    adapter = serving(adapters, tmp_path)
    judged_adapter(adapters, adapter, AdapterRuling.WORSE_ELSEWHERE, reason="it forgot the other work")
    assert adapters.active(MODEL_HASH) is None
    assert adapter.key in adapters.notices[-1]
    assert memory.context.store.entries(Activation)[-1].by == "the paired test"


def test_a_later_test_that_cannot_tell_leaves_it_serving(adapters: Adapters, tmp_path: Path) -> None:
    adapter = serving(adapters, tmp_path)
    judged_adapter(adapters, adapter, AdapterRuling.TOO_LITTLE)
    assert adapters.active(MODEL_HASH) is not None


def test_one_that_serves_and_shows_nothing_in_a_later_test_is_taken_back_too(
    adapters: Adapters, tmp_path: Path
) -> None:
    adapter = serving(adapters, tmp_path)
    judged_adapter(adapters, adapter, AdapterRuling.NO_BETTER, reason="no difference")
    assert (adapters.find(adapter.key).serves, adapters.active(MODEL_HASH)) == (False, None)


@pytest.mark.parametrize("ruling", [ruling for ruling in AdapterRuling if ruling is not AdapterRuling.BETTER])
def test_a_test_that_ends_while_one_is_being_activated_counts(
    memory: Tacit, tmp_path: Path, ruling: AdapterRuling
) -> None:
    adapters = open_adapters(memory)
    adapter = registered(adapters, tmp_path)
    judged_adapter(adapters, adapter)

    def slowly(name: str) -> str:
        judged_adapter(adapters, adapter, ruling, reason=f"found while {name} was read")
        return MODEL_HASH

    with raises(Refusal, "test_not_passed"):
        Adapters(memory, model_hash=slowly).activate(adapter.key, by="ann")
    assert not adapters.find(adapter.key).serves
    assert adapters.active(MODEL_HASH) is None


def test_an_adapter_that_goes_while_it_is_being_activated_does_not_serve(memory: Tacit, tmp_path: Path) -> None:
    adapters = open_adapters(memory)
    adapter = registered(adapters, tmp_path)
    judged_adapter(adapters, adapter)

    def slowly(name: str) -> str:
        del name
        adapters.remove(adapter.key, by="bob")
        return MODEL_HASH

    with raises(NotFound, "no_adapter"):
        Adapters(memory, model_hash=slowly).activate(adapter.key, by="ann")
    assert memory.context.store.entries(Activation) == []


@pytest.mark.parametrize("ruling", [AdapterRuling.WORSE, AdapterRuling.WORSE_ELSEWHERE, AdapterRuling.NO_BETTER])
def test_one_that_the_ledger_lets_serve_in_spite_of_its_last_test_is_not_handed_out(
    adapters: Adapters, memory: Tacit, tmp_path: Path, ruling: AdapterRuling
) -> None:
    adapter = registered(adapters, tmp_path)
    judged_adapter(adapters, adapter)
    judged_adapter(adapters, adapter, ruling, reason="so it went")
    judged_adapter(adapters, adapter, AdapterRuling.TOO_LITTLE)
    memory.context.store.add(Activation(key=MODEL_HASH, at=Clock()(), by="ann", adapter=adapter.key))
    with raises(Refusal, "test_not_passed") as refusal:
        adapters.active(MODEL_HASH)
    assert "activate --previous" in refusal.value.hint


def test_the_last_word_counts_though_the_clock_stands_still(memory: Tacit, tmp_path: Path) -> None:
    adapters = Adapters(with_clock(memory, lambda: NOW), model_hash=lambda name: MODEL_HASH)
    adapter = serving(adapters, tmp_path)
    for _ in range(3):
        adapters.roll_back(by="ann")
        assert adapters.active(MODEL_HASH) is None
        adapters.activate(adapter.key, by="ann")
        assert adapters.active(MODEL_HASH) == (adapter, adapters.files.path(adapter.key))
    judged_adapter(adapters, adapter, AdapterRuling.WORSE)
    judged_adapter(adapters, adapter)
    judged_adapter(adapters, adapter, AdapterRuling.WORSE)
    assert [problem.code for problem in adapters.find(adapter.key).problems] == ["test_not_passed"]
    assert adapters.active(MODEL_HASH) is None
    adapters.remove(adapter.key, by="ann")
    assert registered(adapters, tmp_path).key == adapter.key
    assert [standing.adapter.key for standing in adapters.all()] == [adapter.key]


def test_the_very_same_judgement_again_changes_nothing(adapters: Adapters, memory: Tacit, tmp_path: Path) -> None:
    adapter = registered(adapters, tmp_path)
    assert judged_adapter(adapters, adapter) == judged_adapter(adapters, adapter)
    assert len(memory.context.store.entries(Judgement)) == 1


def test_which_base_model_is_meant_must_be_stated_where_several_are_served(
    adapters: Adapters, memory: Tacit, tmp_path: Path
) -> None:
    serving(adapters, tmp_path, weights=b"first")
    other = registered(adapters, tmp_path, weights=b"second", model="large-model", model_hash="m2")
    judged_adapter(adapters, other)
    adapters_of_large = open_adapters(memory, model_hash="m2")
    adapters_of_large.activate(other.key, by="ann")
    with raises(Mistake, "several_models"):
        adapters.roll_back(by="ann")
    assert adapters.roll_back("large-model", by="ann").undone == other.key


# --- finding, removing, handing on ------------------------------------------------------------------------------------


def test_an_adapter_is_named_by_the_beginning_of_its_key(adapters: Adapters, tmp_path: Path) -> None:
    adapter = registered(adapters, tmp_path)
    assert adapters.find(adapter.key[:6].upper()).adapter == adapter
    for reference in ("", adapter.key[:3], "ffff" * 3, "../" + adapter.key):
        with pytest.raises(NotFound):
            adapters.find(reference)


def test_a_removed_adapter_leaves_its_mark_and_no_files(adapters: Adapters, memory: Tacit, tmp_path: Path) -> None:
    adapter = registered(adapters, tmp_path)
    adapters.remove(adapter.key, by="ann", reason="a trial")
    assert (adapters.all(), adapters.files.keys()) == ([], [])
    assert [entry.removed for entry in memory.context.store.entries(Adapter, key=adapter.key)] == ["", "a trial"]
    assert open_adapters(memory).notices == []


def test_one_that_serves_is_not_removed(adapters: Adapters, tmp_path: Path) -> None:
    adapter = serving(adapters, tmp_path)
    with raises(Refusal, "adapter_active"):
        adapters.remove(adapter.key, by="ann")


def test_one_that_begins_to_serve_while_it_is_being_removed_is_not_removed(memory: Tacit, tmp_path: Path) -> None:
    adapters = open_adapters(memory)
    adapter = registered(adapters, tmp_path)
    judged_adapter(adapters, adapter)

    def meanwhile() -> datetime:
        return adapters.activate(adapter.key, by="bob").at

    with raises(Refusal, "adapter_active"):
        Adapters(with_clock(memory, meanwhile)).remove(adapter.key, by="ann")
    assert adapters.active(MODEL_HASH) == (adapter, adapters.files.path(adapter.key))


def test_a_removal_that_is_cut_off_is_finished_at_the_next_look(
    adapters: Adapters, memory: Tacit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = registered(adapters, tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr("shutil.rmtree", cut_off)
        with pytest.raises(KeyboardInterrupt):
            adapters.remove(adapter.key, by="ann", reason="a trial")
    assert (adapters.all(), adapters.files.keys()) == ([], [adapter.key])
    entered = open_adapters(memory)
    assert (entered.all(), entered.files.keys()) == ([], [])
    assert [adapter.key in notice for notice in entered.notices] == [True]


def cut_off(*_: object) -> None:
    raise KeyboardInterrupt


def test_exporting_copies_the_weights_and_nothing_that_they_were_trained_on(adapters: Adapters, tmp_path: Path) -> None:
    adapter = registered(adapters, tmp_path)
    written = adapters.export(adapter.key, tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {path.name for path in written}
    assert (tmp_path / "out" / "adapter_model.safetensors").read_bytes() == b"weights"
    with raises(Mistake, "folder_not_empty"):
        adapters.export(adapter.key, tmp_path / "out")
    with raises(Mistake, "unknown_format"):
        adapters.export(adapter.key, tmp_path / "new", form="onnx")


def notices_of(memory: Tacit) -> list[str]:
    return [notice for extension in memory.context.extensions for notice in extension.notices]


# --- files and entries in step ----------------------------------------------------------------------------------------


def test_purging_what_an_adapter_learned_from_takes_entry_files_and_service_away(tmp_path: Path) -> None:
    memory = memory_at(tmp_path / "store")
    adapters = open_adapters(memory)
    source, other = kept_attempt(memory), kept_attempt(memory, session="s2")
    before = serving(adapters, tmp_path, weights=b"before", trajectory_ids=(other.id,))
    adapter = serving(adapters, tmp_path, trajectory_ids=(source.id, other.id))
    memory.archive.purge(memory.archive.descent(Source(kind=SourceKind.TRAJECTORY, value=source.id)), by="ann")
    assert adapters.files.keys() == [before.key]
    assert open_adapters(memory).active(MODEL_HASH) is None, "the base model serves alone, not the adapter before"
    assert adapter.key in notices_of(memory)[0]
    assert [entry.key for entry in memory.context.store.entries(Judgement)] == [before.key]
    assert memory.archive.verify() == []


def test_a_process_killed_before_the_entry_leaves_files_that_are_swept_and_reported(
    adapters: Adapters, memory: Tacit, tmp_path: Path
) -> None:
    key = adapters.files.keep(trained(tmp_path / "killed"), {})
    (adapters.files.root / ".draft-0").mkdir()
    (adapters.files.root / "notes").mkdir()
    entered = open_adapters(memory)
    assert [key in notice for notice in entered.notices] == [True]
    assert {path.name for path in adapters.files.root.iterdir()} == {".lock", "notes"}, "what is nobody's is left alone"


def test_nobody_sweeps_while_an_adapter_is_taken_in(adapters: Adapters, memory: Tacit, tmp_path: Path) -> None:
    with adapters.files.locked():
        key = adapters.files.keep(trained(tmp_path / "half"), {})
        assert open_adapters(memory).files.keys() == [key]
    assert open_adapters(memory).files.keys() == []


def test_two_that_register_at_once_wait_for_each_other(adapters: Adapters, tmp_path: Path) -> None:
    with adapters.files.locked():
        second = threading.Thread(target=lambda: registered(adapters, tmp_path))
        second.start()
        second.join(timeout=0.2)
        assert adapters.files.keys() == []
    second.join(timeout=30)
    assert len(adapters.all()) == 1


def test_a_link_in_place_of_an_adapter_is_not_followed(adapters: Adapters, memory: Tacit, tmp_path: Path) -> None:
    adapter = serving(adapters, tmp_path)
    folder = adapters.files.path(adapter.key)
    moved = folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(moved)
    with raises(Refusal, "files_changed"):
        adapters.active(MODEL_HASH)
    entered = open_adapters(memory)
    entered.roll_back(by="ann")
    entered.remove(adapter.key, by="ann")
    assert (moved / "adapter_model.safetensors").is_file()


def test_stores_that_share_a_folder_do_not_share_adapters(adapters: Adapters, tmp_path: Path) -> None:
    adapter = registered(adapters, tmp_path)
    other = open_adapters(memory_at(tmp_path / "store", file="other.db"))
    registered(other, tmp_path, weights=b"theirs")
    assert [standing.adapter for standing in adapters.all()] == [adapter]
    assert other.files.root.name == "other.db.adapters"


def test_the_work_of_a_consolidation_goes_when_its_experience_is_purged(
    adapters: Adapters, memory: Tacit, tmp_path: Path
) -> None:
    source = kept_attempt(memory)
    adapters.files.work.mkdir(parents=True)
    (adapters.files.work / "sources.json").write_text(json.dumps([source.id]))
    assert adapters.tidy() == []
    memory.archive.purge(memory.archive.descent(Source(kind=SourceKind.TRAJECTORY, value=source.id)), by="ann")
    assert not adapters.files.work.exists()
    assert len(notices_of(memory)) == 1


@pytest.mark.parametrize("stated", ["{}", "[", None])
def test_work_of_which_nobody_can_tell_where_it_comes_from_does_not_outlive_a_purge(
    adapters: Adapters, memory: Tacit, stated: str | None
) -> None:
    source = kept_attempt(memory)
    (adapters.files.work / "dataset").mkdir(parents=True)
    if stated is not None:
        (adapters.files.work / "sources.json").write_text(stated)
    memory.archive.purge(memory.archive.descent(Source(kind=SourceKind.TRAJECTORY, value=source.id)), by="ann")
    assert not adapters.files.work.exists()
    assert len(notices_of(memory)) == 1


def test_a_purge_tells_what_it_cannot_remove_and_what_it_does_not_reach(
    adapters: Adapters, memory: Tacit, tmp_path: Path
) -> None:
    source = kept_attempt(memory)
    adapter = registered(adapters, tmp_path, trajectory_ids=(source.id,))
    assert notices_of(memory) == []
    with adapters.files.locked():
        memory.archive.purge(memory.archive.descent(Source(kind=SourceKind.TRAJECTORY, value=source.id)), by="ann")
        assert adapters.files.path(adapter.key).is_dir()
        [notice] = notices_of(memory)
        assert adapter.key in notice
    assert [adapter.key in notice for notice in adapters.tidy(purged=True)] == [True, False]
    assert not adapters.files.path(adapter.key).exists()


def test_no_test_counts_for_files_that_are_not_those_that_were_registered(adapters: Adapters, tmp_path: Path) -> None:
    adapter = registered(adapters, tmp_path)
    (adapters.files.path(adapter.key) / "adapter_model.safetensors").write_bytes(b"others")
    with raises(Refusal, "files_changed"):
        judged_adapter(adapters, adapter)


def test_a_pipe_in_place_of_weights_is_not_waited_for(adapters: Adapters, tmp_path: Path) -> None:
    adapter = registered(adapters, tmp_path)
    weights = adapters.files.path(adapter.key) / "adapter_model.safetensors"
    weights.unlink()
    os.mkfifo(weights)
    assert adapters.find(adapter.key).problems[0].code == "files_changed"


@pytest.mark.parametrize("database", [":memory:", "postgresql://host/db"])
def test_a_store_that_is_no_file_has_no_adapters_and_says_so(tmp_path: Path, database: str) -> None:
    place = StoreLocation(database=database, project=tmp_path, chosen_by="a test")
    memory = Tacit(open_store(":memory:"), place=place, clock=Clock())
    adapters = Adapters(memory)
    assert (adapters.all(), adapters.active(MODEL_HASH)) == ([], None)
    with raises(Refusal, "store_without_file"):
        registered(adapters, tmp_path)
    assert not (tmp_path / "adapters").exists()
