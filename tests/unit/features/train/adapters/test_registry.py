"""The registry of adapters: what may serve and what may not, and what becomes of files, entries and purged experience."""

from __future__ import annotations

import json
import os
import threading
from datetime import datetime
from pathlib import Path

import pytest

from tacit.api import Loop
from tacit.config.place import Place
from tacit.domain.adapter import Activation, Adapter, Judgement, Ruling
from tacit.domain.errors import GateRefusal, Mistake, NotFound, Refusal
from tacit.domain.purging import Source, SourceKind
from tacit.features.train.adapters import Adapters
from tacit.store import open_store
from tests.unit.features.train.adapters.rooms import (
    MODEL,
    MODEL_HASH,
    Clock,
    birth,
    judged,
    kept_attempt,
    memory_at,
    registered,
    room_of,
    serving,
    trained,
)
from tests.unit.making import NOW


@pytest.fixture
def memory(tmp_path: Path) -> Loop:
    return memory_at(tmp_path / "store")


@pytest.fixture
def room(memory: Loop) -> Adapters:
    return room_of(memory)


# --- taking one in ----------------------------------------------------------------------------------------------------


def test_an_adapter_is_copied_beside_the_store_with_its_records_and_serves_nobody(
    room: Adapters, tmp_path: Path
) -> None:
    adapter = registered(room, tmp_path)
    folder = tmp_path / "store" / "adapters" / adapter.key
    assert {path.name for path in folder.iterdir()} == {
        "adapter_config.json",
        "adapter_model.safetensors",
        "manifest.json",
    }
    [standing] = room.all()
    assert (standing.adapter, standing.folder, standing.serves) == (adapter, folder, False)
    assert standing.problems == ("no paired test was made of it",)
    assert room.active(MODEL_HASH) is None


def test_the_very_same_adapter_again_changes_nothing(room: Adapters, memory: Loop, tmp_path: Path) -> None:
    first = registered(room, tmp_path)
    assert registered(room, tmp_path) == first
    assert len(memory.store.entries(Adapter)) == 1


def test_settings_that_peft_wrote_in_another_order_are_the_same_adapter(room: Adapters, tmp_path: Path) -> None:
    first = registered(room, tmp_path)
    again = trained(tmp_path / "again")
    (again / "adapter_config.json").write_text(json.dumps({"target_modules": ["v_proj", "q_proj"], "lora_alpha": 32}))
    assert room.register(birth(again)) == first
    assert room.register(birth(trained(tmp_path / "other", alpha=64))).key != first.key


def test_an_adapter_of_another_form_is_not_taken_in(room: Adapters, tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="another form"):
        registered(room, tmp_path, form_hash="0" * 16)
    assert room.all() == []


def test_a_folder_that_holds_no_adapter_is_told_as_a_mistake(room: Adapters, tmp_path: Path) -> None:
    with pytest.raises(Mistake, match="no PEFT adapter"):
        room.register(birth(tmp_path))


def test_an_adapter_that_learned_from_purged_experience_is_refused_and_its_files_go(
    room: Adapters, memory: Loop, tmp_path: Path
) -> None:
    source = kept_attempt(memory)
    memory.purge(memory.descent(Source(kind=SourceKind.TRAJECTORY, value=source.id)), by="ann")
    with pytest.raises(GateRefusal):
        registered(room, tmp_path, trajectory_ids=(source.id,))
    assert len(room.files.keys()) == 1
    entered = room_of(memory)
    assert (entered.all(), entered.files.keys()) == ([], [])


# --- which may serve --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ruling", [ruling for ruling in Ruling if ruling is not Ruling.BETTER])
def test_only_one_that_a_test_calls_better_may_serve(room: Adapters, tmp_path: Path, ruling: Ruling) -> None:
    adapter = registered(room, tmp_path)
    with pytest.raises(Refusal, match="no paired test"):
        room.activate(adapter.key, by="ann")
    judged(room, adapter, ruling, reason="so it went")
    with pytest.raises(Refusal, match=f"the last test says: {ruling}.*so it went"):
        room.activate(adapter.key, by="ann")
    assert room.active(MODEL_HASH) is None


def test_the_last_test_counts(room: Adapters, tmp_path: Path) -> None:
    adapter = registered(room, tmp_path)
    judged(room, adapter)
    judged(room, adapter, Ruling.NO_BETTER)
    with pytest.raises(Refusal, match="no better"):
        room.activate(adapter.key, by="ann")


def test_a_better_one_serves_its_base_model_and_no_other(room: Adapters, memory: Loop, tmp_path: Path) -> None:
    adapter = serving(room, tmp_path)
    assert room.active(MODEL_HASH) == (adapter, room.files.path(adapter.key))
    assert room.active("m2") is None
    [activation] = memory.store.entries(Activation)
    assert (activation.adapter, activation.by, activation.undone) == (adapter.key, "ann", "")
    with pytest.raises(Refusal, match="serves already"):
        room.activate(adapter.key, by="ann")


def test_another_base_model_under_the_same_name_is_refused(memory: Loop, tmp_path: Path) -> None:
    room = room_of(memory, model_hash="m2")
    adapter = registered(room, tmp_path)
    judged(room, adapter)
    with pytest.raises(Refusal, match="not the base model that it was trained on"):
        room.activate(adapter.key, by="ann")


def test_a_base_model_that_is_gone_is_told(memory: Loop, tmp_path: Path) -> None:
    def missing(name: str) -> str:
        raise NotFound(f"no model {name}", hint="")

    room = Adapters(memory, clock=Clock(), model_hash=missing)
    adapter = registered(room, tmp_path)
    judged(room, adapter)
    with pytest.raises(Refusal, match="cannot be read: no model small-model"):
        room.activate(adapter.key, by="ann")


@pytest.mark.parametrize("name", ["adapter_model.safetensors", "adapter_config.json"])
def test_files_that_changed_on_disk_are_neither_activated_nor_handed_out(
    room: Adapters, tmp_path: Path, name: str
) -> None:
    adapter = serving(room, tmp_path)
    (room.files.path(adapter.key) / name).write_text('{"lora_alpha": 9}')
    with pytest.raises(Refusal, match="not those that were registered") as refusal:
        room.active(MODEL_HASH)
    assert "rollback" in refusal.value.hint
    with pytest.raises(Refusal, match="not those that were registered"):
        room.export(adapter.key, tmp_path / "out")
    room.roll_back(by="ann")
    with pytest.raises(Refusal, match="not those that were registered"):
        room.activate(adapter.key, by="ann")


def test_settings_of_brackets_alone_are_files_that_changed(room: Adapters, tmp_path: Path) -> None:
    adapter = serving(room, tmp_path)
    (room.files.path(adapter.key) / "adapter_config.json").write_text("[" * 100_000)
    assert not room.files.is_whole(adapter.key)
    with pytest.raises(Refusal, match="not those that were registered"):
        room.active(MODEL_HASH)
    with pytest.raises(Mistake, match="holds no PEFT adapter"):
        room.register(birth(room.files.path(adapter.key)), by="ann")
    room.files.work.mkdir()
    (room.files.work / "sources.json").write_text("[" * 100_000)
    assert room.files.work_of() is None, "nobody can tell whose text lies there"


def test_registering_it_anew_mends_files_that_changed(room: Adapters, tmp_path: Path) -> None:
    adapter = serving(room, tmp_path)
    (room.files.path(adapter.key) / "adapter_model.safetensors").write_bytes(b"other")
    registered(room, tmp_path)
    assert room.active(MODEL_HASH) == (adapter, room.files.path(adapter.key))


def test_several_problems_are_told_at_once(room: Adapters, tmp_path: Path) -> None:
    adapter = registered(room, tmp_path)
    (room.files.path(adapter.key) / "adapter_model.safetensors").write_bytes(b"other")
    with pytest.raises(Refusal, match="not those that were registered; no paired test"):
        room.activate(adapter.key, by="ann")


# --- going back -------------------------------------------------------------------------------------------------------


def test_rolling_back_goes_to_the_one_before_and_then_to_the_base_model_alone(room: Adapters, tmp_path: Path) -> None:
    first, second = serving(room, tmp_path, weights=b"first"), serving(room, tmp_path, weights=b"second")
    assert room.roll_back(by="ann", reason="it felt slower").adapter == first.key
    assert room.active(MODEL_HASH) == (first, room.files.path(first.key))
    undone = room.roll_back(MODEL, by="ann")
    assert (undone.adapter, undone.undone) == ("", first.key)
    assert room.active(MODEL_HASH) is None
    with pytest.raises(NotFound, match="no adapter serves"):
        room.roll_back(by="ann")
    room.activate(second.key, by="ann")
    assert room.roll_back(by="ann").adapter == ""


def test_rolling_back_passes_over_one_that_may_not_serve_any_more(room: Adapters, tmp_path: Path) -> None:
    first = serving(room, tmp_path, weights=b"first")
    second, third = serving(room, tmp_path, weights=b"second"), serving(room, tmp_path, weights=b"third")
    (room.files.path(second.key) / "adapter_model.safetensors").write_bytes(b"other")
    back = room.roll_back(by="ann")
    assert (back.undone, back.adapter) == (third.key, first.key)


def test_one_that_serves_and_loses_a_later_test_is_taken_back_at_once(
    room: Adapters, memory: Loop, tmp_path: Path
) -> None:
    adapter = serving(room, tmp_path)
    judged(room, adapter, Ruling.WORSE_ELSEWHERE, reason="it forgot the other work")
    assert room.active(MODEL_HASH) is None
    assert "taken back: it forgot the other work" in room.told[-1]
    assert memory.store.entries(Activation)[-1].by == "the paired test"


def test_a_later_test_that_cannot_tell_leaves_it_serving(room: Adapters, tmp_path: Path) -> None:
    adapter = serving(room, tmp_path)
    judged(room, adapter, Ruling.TOO_LITTLE)
    assert room.active(MODEL_HASH) is not None


def test_one_that_serves_and_shows_nothing_in_a_later_test_is_taken_back_too(room: Adapters, tmp_path: Path) -> None:
    adapter = serving(room, tmp_path)
    judged(room, adapter, Ruling.NO_BETTER, reason="no difference")
    assert (room.find(adapter.key).serves, room.active(MODEL_HASH)) == (False, None)


@pytest.mark.parametrize("ruling", [ruling for ruling in Ruling if ruling is not Ruling.BETTER])
def test_a_test_that_ends_while_one_is_being_activated_counts(memory: Loop, tmp_path: Path, ruling: Ruling) -> None:
    room = room_of(memory)
    adapter = registered(room, tmp_path)
    judged(room, adapter)

    def slowly(name: str) -> str:
        judged(room, adapter, ruling, reason=f"found while {name} was read")
        return MODEL_HASH

    with pytest.raises(Refusal, match=f"the last test says: {ruling}.*found while small-model was read"):
        Adapters(memory, clock=Clock(), model_hash=slowly).activate(adapter.key, by="ann")
    assert not room.find(adapter.key).serves
    assert room.active(MODEL_HASH) is None


def test_an_adapter_that_goes_while_it_is_being_activated_does_not_serve(memory: Loop, tmp_path: Path) -> None:
    room = room_of(memory)
    adapter = registered(room, tmp_path)
    judged(room, adapter)

    def slowly(name: str) -> str:
        del name
        room.remove(adapter.key, by="bob")
        return MODEL_HASH

    with pytest.raises(NotFound, match="no adapter"):
        Adapters(memory, clock=Clock(), model_hash=slowly).activate(adapter.key, by="ann")
    assert memory.store.entries(Activation) == []


@pytest.mark.parametrize("ruling", [Ruling.WORSE, Ruling.WORSE_ELSEWHERE, Ruling.NO_BETTER])
def test_one_that_the_ledger_lets_serve_in_spite_of_its_last_test_is_not_handed_out(
    room: Adapters, memory: Loop, tmp_path: Path, ruling: Ruling
) -> None:
    adapter = registered(room, tmp_path)
    judged(room, adapter)
    judged(room, adapter, ruling, reason="so it went")
    judged(room, adapter, Ruling.TOO_LITTLE)
    memory.store.add_entry(Activation(key=MODEL_HASH, at=Clock()(), by="ann", adapter=adapter.key))
    with pytest.raises(Refusal, match=f"the last test says: {ruling}") as refusal:
        room.active(MODEL_HASH)
    assert "rollback" in refusal.value.hint


def test_the_last_word_counts_though_the_clock_stands_still(memory: Loop, tmp_path: Path) -> None:
    room = Adapters(memory, clock=lambda: NOW, model_hash=lambda name: MODEL_HASH)
    adapter = serving(room, tmp_path)
    for _ in range(3):
        room.roll_back(by="ann")
        assert room.active(MODEL_HASH) is None
        room.activate(adapter.key, by="ann")
        assert room.active(MODEL_HASH) == (adapter, room.files.path(adapter.key))
    judged(room, adapter, Ruling.WORSE)
    judged(room, adapter)
    judged(room, adapter, Ruling.WORSE)
    assert room.find(adapter.key).problems == ("the last test says: worse (as it went)",)
    assert room.active(MODEL_HASH) is None
    room.remove(adapter.key, by="ann")
    assert registered(room, tmp_path).key == adapter.key
    assert [standing.adapter.key for standing in room.all()] == [adapter.key]


def test_the_very_same_judgement_again_changes_nothing(room: Adapters, memory: Loop, tmp_path: Path) -> None:
    adapter = registered(room, tmp_path)
    assert judged(room, adapter) == judged(room, adapter)
    assert len(memory.store.entries(Judgement)) == 1


def test_which_base_model_is_meant_must_be_said_where_several_are_served(room: Adapters, tmp_path: Path) -> None:
    serving(room, tmp_path, weights=b"first")
    other = registered(room, tmp_path, weights=b"second", model="large-model", model_hash="m2")
    judged(room, other)
    room_of_large = Adapters(_Same(room), clock=Clock(), model_hash=lambda name: "m2")
    room_of_large.activate(other.key, by="ann")
    with pytest.raises(Mistake, match="several base models"):
        room.roll_back(by="ann")
    assert room.roll_back("large-model", by="ann").undone == other.key


class _Same:
    """The memory of another room."""

    def __init__(self, room: Adapters) -> None:
        self.store = room._store
        folder = room.files.root.parent
        self.place: Place | None = Place(database=str(folder / "tacit.db"), project=folder, chosen_by="a test")


# --- finding, removing, handing on ------------------------------------------------------------------------------------


def test_an_adapter_is_named_by_the_beginning_of_its_key(room: Adapters, tmp_path: Path) -> None:
    adapter = registered(room, tmp_path)
    assert room.find(adapter.key[:6].upper()).adapter == adapter
    for reference in ("", adapter.key[:3], "ffff" * 3, "../" + adapter.key):
        with pytest.raises(NotFound):
            room.find(reference)


def test_a_removed_adapter_leaves_its_mark_and_no_files(room: Adapters, memory: Loop, tmp_path: Path) -> None:
    adapter = registered(room, tmp_path)
    room.remove(adapter.key, by="ann", reason="a trial")
    assert (room.all(), room.files.keys()) == ([], [])
    assert [entry.removed for entry in memory.store.entries(Adapter, key=adapter.key)] == ["", "a trial"]
    assert room_of(memory).told == []


def test_one_that_serves_is_not_removed(room: Adapters, tmp_path: Path) -> None:
    adapter = serving(room, tmp_path)
    with pytest.raises(Refusal, match="serves"):
        room.remove(adapter.key, by="ann")


def test_one_that_begins_to_serve_while_it_is_being_removed_is_not_removed(memory: Loop, tmp_path: Path) -> None:
    room = room_of(memory)
    adapter = registered(room, tmp_path)
    judged(room, adapter)

    def meanwhile() -> datetime:
        return room.activate(adapter.key, by="bob").at

    with pytest.raises(Refusal, match="serves"):
        Adapters(memory, clock=meanwhile).remove(adapter.key, by="ann")
    assert room.active(MODEL_HASH) == (adapter, room.files.path(adapter.key))


def test_a_removal_that_is_cut_off_is_finished_at_the_next_look(
    room: Adapters, memory: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = registered(room, tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr("shutil.rmtree", cut_off)
        with pytest.raises(KeyboardInterrupt):
            room.remove(adapter.key, by="ann", reason="a trial")
    assert (room.all(), room.files.keys()) == ([], [adapter.key])
    entered = room_of(memory)
    assert (entered.all(), entered.files.keys()) == ([], [])
    assert [told.partition(": ")[2] for told in entered.told] == ["it was taken away before, and that was cut off"]


def cut_off(*_: object) -> None:
    raise KeyboardInterrupt


def test_exporting_copies_the_weights_and_nothing_that_they_were_trained_on(room: Adapters, tmp_path: Path) -> None:
    adapter = registered(room, tmp_path)
    written = room.export(adapter.key, tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {path.name for path in written}
    assert (tmp_path / "out" / "adapter_model.safetensors").read_bytes() == b"weights"
    with pytest.raises(Mistake, match="not an empty folder"):
        room.export(adapter.key, tmp_path / "out")
    with pytest.raises(Mistake, match="no form"):
        room.export(adapter.key, tmp_path / "new", form="onnx")


# --- files and entries in step ----------------------------------------------------------------------------------------


def test_purging_what_an_adapter_learned_from_takes_entry_files_and_service_away(tmp_path: Path) -> None:
    memory = memory_at(tmp_path / "store")
    room = room_of(memory)
    source, other = kept_attempt(memory), kept_attempt(memory, session="s2")
    before = serving(room, tmp_path, weights=b"before", trajectory_ids=(other.id,))
    adapter = serving(room, tmp_path, trajectory_ids=(source.id, other.id))
    memory.purge(memory.descent(Source(kind=SourceKind.TRAJECTORY, value=source.id)), by="ann")
    assert room.files.keys() == [before.key]
    assert room_of(memory).active(MODEL_HASH) is None, "the base model serves alone, not the adapter before"
    [told] = memory.adapters.told
    assert adapter.key in told
    assert "its base model serves alone now" in told
    assert [entry.key for entry in memory.store.entries(Judgement)] == [before.key]
    assert memory.verify() == []


def test_a_process_killed_before_the_entry_leaves_files_that_are_swept_and_told(
    room: Adapters, memory: Loop, tmp_path: Path
) -> None:
    key = room.files.keep(trained(tmp_path / "killed"), {})
    (room.files.root / ".draft-0").mkdir()
    (room.files.root / "notes").mkdir()
    entered = room_of(memory)
    assert f"the files of the adapter {key} are removed" in entered.told[0]
    assert {path.name for path in room.files.root.iterdir()} == {".lock", "notes"}, "what is nobody's is left alone"


def test_nobody_sweeps_while_an_adapter_is_taken_in(room: Adapters, memory: Loop, tmp_path: Path) -> None:
    with room.files.locked():
        key = room.files.keep(trained(tmp_path / "half"), {})
        assert room_of(memory).files.keys() == [key]
    assert room_of(memory).files.keys() == []


def test_two_that_register_at_once_wait_for_each_other(room: Adapters, tmp_path: Path) -> None:
    with room.files.locked():
        second = threading.Thread(target=lambda: registered(room, tmp_path))
        second.start()
        second.join(timeout=0.2)
        assert room.files.keys() == []
    second.join(timeout=30)
    assert len(room.all()) == 1


def test_a_link_in_place_of_an_adapter_is_not_followed(room: Adapters, memory: Loop, tmp_path: Path) -> None:
    adapter = serving(room, tmp_path)
    folder = room.files.path(adapter.key)
    moved = folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(moved)
    with pytest.raises(Refusal, match="not those that were registered"):
        room.active(MODEL_HASH)
    entered = room_of(memory)
    entered.roll_back(by="ann")
    entered.remove(adapter.key, by="ann")
    assert (moved / "adapter_model.safetensors").is_file()


def test_stores_that_share_a_folder_do_not_share_adapters(room: Adapters, tmp_path: Path) -> None:
    adapter = registered(room, tmp_path)
    other = room_of(memory_at(tmp_path / "store", file="other.db"))
    registered(other, tmp_path, weights=b"theirs")
    assert [standing.adapter for standing in room.all()] == [adapter]
    assert other.files.root.name == "other.db.adapters"


def test_the_work_of_a_consolidation_goes_when_its_experience_is_purged(
    room: Adapters, memory: Loop, tmp_path: Path
) -> None:
    source = kept_attempt(memory)
    room.files.work.mkdir(parents=True)
    (room.files.work / "sources.json").write_text(json.dumps([source.id]))
    assert room.tidy() == []
    memory.purge(memory.descent(Source(kind=SourceKind.TRAJECTORY, value=source.id)), by="ann")
    assert not room.files.work.exists()
    assert "unfinished consolidation is dropped" in memory.adapters.told[0]


@pytest.mark.parametrize("said", ["{}", "[", None])
def test_work_of_which_nobody_can_tell_where_it_comes_from_does_not_outlive_a_purge(
    room: Adapters, memory: Loop, said: str | None
) -> None:
    source = kept_attempt(memory)
    (room.files.work / "dataset").mkdir(parents=True)
    if said is not None:
        (room.files.work / "sources.json").write_text(said)
    memory.purge(memory.descent(Source(kind=SourceKind.TRAJECTORY, value=source.id)), by="ann")
    assert not room.files.work.exists()
    assert "cannot be read any more" in memory.adapters.told[0]


def test_a_purge_tells_what_it_cannot_remove_and_what_it_does_not_reach(
    room: Adapters, memory: Loop, tmp_path: Path
) -> None:
    source = kept_attempt(memory)
    adapter = registered(room, tmp_path, trajectory_ids=(source.id,))
    assert memory.adapters.told == []
    with room.files.locked():
        memory.purge(memory.descent(Source(kind=SourceKind.TRAJECTORY, value=source.id)), by="ann")
        assert room.files.path(adapter.key).is_dir()
        [told] = memory.adapters.told
        assert f"of the adapter {adapter.key} are still there" in told
        assert "`tacit adapters list` removes them" in told
    assert [f"the adapter {adapter.key} are removed" in each for each in room.tidy(purged=True)] == [True, False]
    assert "copies outside are not reached" in room.told[-1]
    assert not room.files.path(adapter.key).exists()


def test_no_test_counts_for_files_that_are_not_those_that_were_registered(room: Adapters, tmp_path: Path) -> None:
    adapter = registered(room, tmp_path)
    (room.files.path(adapter.key) / "adapter_model.safetensors").write_bytes(b"others")
    with pytest.raises(Refusal, match="not those that were registered"):
        judged(room, adapter)


def test_a_pipe_in_place_of_weights_is_not_waited_for(room: Adapters, tmp_path: Path) -> None:
    adapter = registered(room, tmp_path)
    weights = room.files.path(adapter.key) / "adapter_model.safetensors"
    weights.unlink()
    os.mkfifo(weights)
    assert room.find(adapter.key).problems[0] == "its files are not those that were registered"


@pytest.mark.parametrize("database", [":memory:", "postgresql://host/db"])
def test_a_store_that_is_no_file_has_no_adapters_and_says_so(tmp_path: Path, database: str) -> None:
    place = Place(database=database, project=tmp_path, chosen_by="a test")
    memory = Loop(open_store(":memory:"), place=place, clock=Clock())
    assert (memory.adapters.all(), memory.adapters.active(MODEL_HASH)) == ([], None)
    with pytest.raises(Refusal, match="no file on this machine"):
        registered(memory.adapters, tmp_path)
    assert not (tmp_path / "adapters").exists()
