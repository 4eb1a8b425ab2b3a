"""The registry of adapters: a trained folder in → an entry of the ledger and files beside the store; which of them serves.

An adapter serves only after a paired test on held-out tasks said that it is better than skills alone and loses nothing
elsewhere, and only while its files, its base model and the form of conversation are those that were tested. Who may ask for
it is the surface's business. Nothing here trains or tests.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from tacit.config.place import Place
from tacit.domain.adapter import Activation, Adapter, Judgement, Ruling
from tacit.domain.entry import E, latest
from tacit.domain.errors import Mistake, NotFound, Refusal, TacitError
from tacit.domain.ports import Store
from tacit.features.train.adapters import exporting
from tacit.features.train.adapters.folders import Folders, folders_of
from tacit.features.train.conversation import form_hash

LEAST_PREFIX = 4
"""Characters of a key that name an adapter."""
_SPEAKS_AGAINST = (Ruling.WORSE, Ruling.WORSE_ELSEWHERE, Ruling.NO_BETTER)
"""Rulings that end the service of an adapter; one that cannot tell leaves it as it is."""
_TICK = timedelta(microseconds=1)
_TEST = "the paired test"


class Memory(Protocol):
    """The memory that adapters belong to."""

    store: Store
    place: Place | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Birth:
    """Where an adapter comes from."""

    folder: Path
    """A PEFT folder."""
    model: str
    """The base model as it was named."""
    model_hash: str
    dataset_hash: str
    form_hash: str
    tasks: int
    trajectory_ids: tuple[str, ...]
    recipe: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    records: Mapping[str, bytes] = field(default_factory=dict)
    """Files to keep beside the weights, such as the dataset's manifest and the curve; never the dataset itself, for what
    retention or a purge takes out of the store may not live on here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """An adapter as it stands now."""

    adapter: Adapter
    folder: Path
    judgement: Judgement | None = None
    """What the last test said of it."""
    serves: bool = False
    problems: tuple[str, ...] = ()
    """Why it may not serve; empty: it may."""


class Adapters:
    """The room of adapters. What lost its entry (a trajectory was purged) loses its files when the room is entered."""

    def __init__(
        self, memory: Memory, *, clock: Callable[[], datetime], model_hash: Callable[[str], str] | None = None
    ) -> None:
        self._store = memory.store
        self._folders = folders_of(memory.place)
        self._now = clock
        self._model_hash = model_hash or _hash_of_model
        self.told: list[str] = []
        """What happened by itself and a person should know of, oldest first."""
        self.tidy()

    # --- what there is ------------------------------------------------------------------------------------------

    def all(self) -> list[Standing]:
        """Every adapter that stands, oldest first."""
        return [self._standing(adapter) for adapter in self._known().values()]

    def find(self, reference: str) -> Standing:
        """One adapter by its key, or the beginning of it."""
        return self._standing(self._named(reference))

    def active(self, model_hash: str) -> tuple[Adapter, Path] | None:
        """The adapter that serves a base model, by that model's hash; nothing where none does.

        One that serves and is not what was tested any more is refused, not passed over: whoever asks must not believe that it
        works with an adapter, nor that none was chosen.
        """
        adapter = self._serving().get(model_hash)
        if adapter is None:
            return None
        problems = self._problems(adapter, serves=True)
        if problems:
            raise Refusal(
                f"the adapter {adapter.key} serves and may not: {'; '.join(problems)}",
                hint="`tacit adapters rollback` goes back to the one before it, or to the base model alone",
            )
        return adapter, self.files.path(adapter.key)

    @property
    def files(self) -> Folders:
        """The folders; a store without a file has none."""
        if self._folders is None:
            raise Refusal(
                "adapters lie beside their store, and this store is no file on this machine",
                hint="open a store in a file, such as the project's .tacit/tacit.db",
            )
        return self._folders

    # --- what becomes of one ------------------------------------------------------------------------------------

    def register(self, birth: Birth, *, by: str = "") -> Adapter:
        """Take a trained adapter in; the very same again changes nothing. It serves nobody yet."""
        if birth.form_hash != form_hash():
            raise Refusal(
                "the adapter was trained in another form than agents are asked in now",
                hint="train it again: `tacit train` makes the dataset anew",
            )
        with self.files.locked():  # else another process might sweep the files away before their entry is there
            key = self.files.keep(birth.folder, birth.records)
            known = self._known().get(key)
            if known is not None:
                return known
            adapter = Adapter(
                key=key,
                at=self._now(),
                by=by,
                sources=birth.trajectory_ids,
                base=birth.model,
                base_hash=birth.model_hash,
                dataset_hash=birth.dataset_hash,
                form_hash=birth.form_hash,
                tasks=birth.tasks,
                recipe=dict(birth.recipe),
                metrics=dict(birth.metrics),
            )
            return self._added(adapter)  # refused if a trajectory was purged meanwhile; the files go at the next look

    def judge(self, judgement: Judgement, *, report: Mapping[str, bytes] | None = None) -> Judgement:
        """Keep what a paired test found; refused where the files are not those that were registered.

        One that serves and is found worse, or no better, is taken back at once: that needs nobody's word.
        """
        adapter = self.find(judgement.key).adapter
        self.require_whole(adapter.key)
        kept = replace(judgement, key=adapter.key, sources=adapter.sources, id="")  # it goes when its adapter does
        for name, data in (report or {}).items():
            self.files.add_record(adapter.key, name, data=data)
        with self._store.transaction():
            if [each.id for each in self._store.entries(Judgement, key=adapter.key)][-1:] != [kept.id]:
                kept = self._added(kept)
            if kept.ruling in _SPEAKS_AGAINST and self._serving().get(adapter.base_hash) == adapter:
                self._take_back(adapter, by=_TEST, reason=kept.reason)
                self.told.append(f"the adapter {adapter.key} served and is taken back: {kept.reason}")
        return kept

    def require_whole(self, key: str) -> None:
        """Refuse an adapter whose files are not those that were registered: what is found of them holds for nothing else."""
        if not self.files.is_whole(key):
            raise Refusal(
                f"the files of the adapter {key} are not those that were registered",
                hint="`tacit adapters remove` takes it away; `tacit train` makes one anew",
            )

    def activate(self, reference: str, *, by: str, reason: str = "") -> Activation:
        """Let an adapter serve its base model from now on, on a person's word; refused unless the last test says better."""
        adapter = self._named(reference)
        # That takes long for a large model, so nobody waits for the store meanwhile.
        of_model = self._problems_of_model(adapter)
        with self._store.transaction():  # a test that ends just now comes before it or after it, never in between
            standing = self.find(adapter.key)
            problems = [*standing.problems, *of_model]
            if problems:
                raise Refusal(
                    f"the adapter {adapter.key} may not serve: {'; '.join(problems)}",
                    hint="`tacit consolidate` trains and tests one; `tacit adapters show` tells what is known of this one",
                )
            if standing.serves:
                raise Refusal(
                    f"the adapter {adapter.key} serves already", hint="`tacit adapters rollback` takes it back"
                )
            return self._added(
                Activation(key=adapter.base_hash, at=self._now(), by=by, adapter=adapter.key, reason=reason)
            )

    def roll_back(self, model: str = "", *, by: str, reason: str = "") -> Activation:
        """Take back the adapter that serves: the one before it serves again if it still may, else the base model alone."""
        with self._store.transaction():
            return self._take_back(self._one_serving(model), by=by, reason=reason)

    def export(self, reference: str, folder: Path, *, form: str = "peft") -> list[Path]:
        """Write an adapter into a folder of its own, for another program: `peft`, or `gguf` for llama.cpp."""
        standing = self.find(reference)
        self.require_whole(standing.adapter.key)
        return exporting.export(standing.folder, folder, form=form, model=standing.adapter.base)

    def remove(self, reference: str, *, by: str, reason: str = "") -> Adapter:
        """Take an adapter's files away; that it was there stays in the ledger. One that serves is rolled back first."""
        at = self._now()
        with self.files.locked():
            with self._store.transaction():  # an activation comes before it or after it, never in between
                adapter = self._named(reference)
                if self._serving().get(adapter.base_hash) == adapter:
                    raise Refusal(f"the adapter {adapter.key} serves", hint="first: `tacit adapters rollback`")
                said = reason or "removed by a person"
                gone = self._added(replace(adapter, at=at, by=by, removed=said, id=""))
            self.files.remove(gone.key)  # whoever is cut off here leaves files that go at the next look
        return gone

    def tidy(self, *, purged: bool = False) -> list[str]:
        """Remove the files of adapters that have no entry any more, and unfinished drafts; tells what went.

        After a purge it also tells what could not be removed, for nobody may believe that it is gone.
        """
        if self._folders is None or not self._folders.root.is_dir():
            return []
        with self._folders.locked(wait=False) as free:
            if not free:  # somebody registers or tidies just now
                return self._left_behind() if purged else []
            gone = self._folders.leftovers(set(self._known()))
            unclean = self._unclean()
            if unclean:  # a consolidation that runs just now fails, and starts anew without it
                self._folders.drop_work()
        served = {each.adapter for each in latest(self._store.entries(Activation)).values()}
        removed = {key for key, each in latest(self._store.entries(Adapter)).items() if each.removed}
        news = [
            f"the files of the adapter {key} are removed: "
            + (
                "it was taken away before, and that was cut off"
                if key in removed
                else "it is not in the ledger, as after a purge of what it learned from"
            )
            + ("; it served, and its base model serves alone now" if key in served else "")
            for key in gone
        ]
        if unclean:
            news.append(f"the unfinished consolidation is dropped: {unclean}")
        if gone and purged:
            news.append(
                "copies outside are not reached: delete folders that `tacit adapters export` or `tacit train --out` wrote, "
                "and what a server loaded from them"
            )
        self.told += news
        return news

    def _unclean(self) -> str:
        """Why the work of a consolidation may not stay, in words; empty where it may."""
        sources = self.files.work_of()
        if sources is None:
            return "which experience its text comes from cannot be read any more"
        gone = [identity for identity in sources if self._store.is_purged(identity)]
        return f"{gone[0]}, which it learned from, was purged" if gone else ""

    def _left_behind(self) -> list[str]:
        """What a purge should have removed and could not, since another process works on the adapters."""
        news: list[str] = []
        left = [f"of the adapter {key}" for key in sorted(set(self.files.keys()) - set(self._known()))]
        if self._unclean():
            left.append("of the unfinished consolidation")
        if left:
            news.append(
                f"the files {' and '.join(left)} are still there: another process holds {self.files.root}; "
                "`tacit adapters list` removes them as soon as it has ended"
            )
        self.told += news
        return news

    # --- rules --------------------------------------------------------------------------------------------------

    def _known(self) -> dict[str, Adapter]:
        return {key: each for key, each in latest(self._store.entries(Adapter)).items() if not each.removed}

    def _named(self, reference: str) -> Adapter:
        """One adapter by its key, or the beginning of it, whatever becomes of it."""
        wanted = reference.strip().lower()
        found = [adapter for key, adapter in self._known().items() if key.startswith(wanted)]
        if len(wanted) < LEAST_PREFIX or not found:
            raise NotFound(f"no adapter {reference!r}", hint="`tacit adapters list` shows the keys")
        if len(found) > 1:
            several = ", ".join(each.key for each in found)
            raise Mistake(f"{reference!r} is the beginning of several keys", hint=several)
        return found[0]

    def _serving(self) -> dict[str, Adapter]:
        """Base model's hash → the adapter that serves it; one that is gone serves nobody."""
        known, last = self._known(), latest(self._store.entries(Activation))
        return {key: known[each.adapter] for key, each in last.items() if each.adapter in known}

    def _standing(self, adapter: Adapter) -> Standing:
        judgements = self._store.entries(Judgement, key=adapter.key)
        return Standing(
            adapter=adapter,
            folder=self.files.path(adapter.key),
            judgement=judgements[-1] if judgements else None,
            serves=self._serving().get(adapter.base_hash) == adapter,
            problems=tuple(self._problems(adapter)),
        )

    def _problems(self, adapter: Adapter, *, serves: bool = False) -> list[str]:
        """Why an adapter may not serve, all of it; one that `serves` goes on where a later test could not tell."""
        problems = []
        if not self.files.path(adapter.key).is_dir():
            problems.append("its files are gone")
        elif not self.files.is_whole(adapter.key):
            problems.append("its files are not those that were registered")
        if adapter.form_hash != form_hash():
            problems.append("it was trained in another form than agents are asked in now")
        judgements = self._store.entries(Judgement, key=adapter.key)
        if serves:
            judgements = [each for each in judgements if each.ruling is not Ruling.TOO_LITTLE]
        if not judgements:
            problems.append("no paired test was made of it")
        elif judgements[-1].ruling is not Ruling.BETTER:
            problems.append(f"the last test says: {judgements[-1].ruling} ({judgements[-1].reason})")
        return problems

    def _problems_of_model(self, adapter: Adapter) -> list[str]:
        try:
            now = self._model_hash(adapter.base)
        except TacitError as error:
            return [f"its base model {adapter.base} cannot be read: {error.message}"]
        return [] if now == adapter.base_hash else [f"{adapter.base} is not the base model that it was trained on"]

    def _one_serving(self, model: str) -> Adapter:
        serving = [each for each in self._serving().values() if model in ("", each.base, each.base_hash, each.key)]
        if not serving:
            of = f" for {model}" if model else ""
            raise NotFound(f"no adapter serves{of}", hint="`tacit adapters list` shows what there is")
        if len(serving) > 1:
            raise Mistake("adapters serve several base models", hint="name one: " + ", ".join(e.base for e in serving))
        return serving[0]

    def _take_back(self, adapter: Adapter, *, by: str, reason: str) -> Activation:
        known = self._known()
        before = [key for key in _stack(self._store.entries(Activation, key=adapter.base_hash)) if key != adapter.key]
        fit = [key for key in before if key in known and not self._problems(known[key])]
        activation = Activation(
            key=adapter.base_hash,
            at=self._now(),
            by=by,
            adapter=fit[-1] if fit else "",
            undone=adapter.key,
            reason=reason,
        )
        return self._added(activation)

    def _added(self, entry: E) -> E:
        """Append to the ledger as its last word: the same said again at the same instant is an entry of its own."""
        while not self._store.add_entry(entry):
            entry = replace(entry, at=entry.at + _TICK, id="")
        return entry


def _stack(activations: Collection[Activation]) -> list[str]:
    """The adapters that served and were not taken back, the last one at the end: going back twice goes back two steps."""
    stack: list[str] = []
    for each in activations:
        if each.undone:
            stack = [key for key in stack if key != each.undone]
        elif each.adapter:
            stack = [*(key for key in stack if key != each.adapter), each.adapter]
    return stack


def _hash_of_model(name: str) -> str:
    from tacit.features.train.foundation import foundation_hash

    return foundation_hash(name)
