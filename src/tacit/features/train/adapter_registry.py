"""The registry of adapters: which are trained, what tests said of them, and which one is active.

Entries are in the store's ledger, files next to the store. An adapter is active only after a paired test on held-out tasks
found it better than skills alone without a loss on other work, and only while its files, its base model and the prompt
format are the tested ones. Surfaces decide who may activate one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.domain.errors import Mistake, NotFound, Refusal, TacitError
from tacit.domain.ledger import E, latest
from tacit.features.evaluate.base_model import base_model_hash
from tacit.features.evaluate.conversation import form_hash
from tacit.features.train.adapter import Activation, Adapter, AdapterRuling, Judgement
from tacit.features.train.adapter_folders import AdapterFolders, adapter_folders
from tacit.features.train.export import export_files

if TYPE_CHECKING:
    from tacit.api import Tacit

PREFIX_MIN = 4
"""Characters of a key that are enough to name an adapter."""
_ENDS_SERVICE = (AdapterRuling.WORSE, AdapterRuling.WORSE_ELSEWHERE, AdapterRuling.NO_BETTER)
"""Rulings that deactivate an adapter; an inconclusive test does not."""
_TICK = timedelta(microseconds=1)
_TEST = "the paired test"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAdapter:
    """A trained adapter before it is registered."""

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
    """Files to keep with the weights, such as the dataset's manifest. Never the dataset itself: what a purge removes from the
    store must not survive here."""


@dataclass(frozen=True, slots=True)
class AdapterProblem:
    """Why an adapter cannot be active."""

    code: str
    """`files_missing`, `files_changed`, `other_format`, `not_tested`, `test_not_passed`, `model_changed`, …"""
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterStatus:
    """An adapter, its last test, and whether it is active."""

    adapter: Adapter
    folder: Path
    judgement: Judgement | None = None
    """The result of the last test."""
    serves: bool = False
    """Whether it is active."""
    problems: tuple[AdapterProblem, ...] = ()
    """Why it cannot be activated; empty if it can."""


class Adapters:
    """The adapters of a memory. Opening it removes the files of adapters whose entry is gone, as after a purge."""

    def __init__(
        self, memory: Tacit, *, model_hash: Callable[[str], str] = base_model_hash, purged: bool = False
    ) -> None:
        """`purged` says that a purge came just before: then files that could not be removed are reported too."""
        self._store = memory.context.store
        self._folders = adapter_folders(memory.context.place)
        self._now = memory.context.now
        self._model_hash = model_hash
        self.notices: list[str] = []
        """Messages for the person about what was cleaned up, oldest first."""
        self.tidy(purged=purged)

    # --- lookup -------------------------------------------------------------------------------------------------

    def all(self) -> list[AdapterStatus]:
        """Return every registered adapter, oldest first."""
        return [self._status_of(adapter) for adapter in self._known().values()]

    def find(self, reference: str) -> AdapterStatus:
        """Return the adapter with this key, or whose key begins so."""
        return self._status_of(self._resolve(reference))

    def active(self, model_hash: str) -> tuple[Adapter, Path] | None:
        """Return the active adapter of a base model, by the model's hash; None if there is none.

        Raises `Refusal` if the active adapter is no longer what was tested: the caller must not believe that it works with
        an adapter, nor that none was chosen.
        """
        adapter = self._active().get(model_hash)
        if adapter is None:
            return None
        problems = self._problems(adapter, is_active=True)
        if problems:
            raise Refusal(
                f"the active adapter {adapter.key} cannot be used: {_joined(problems)}",
                code=problems[0].code,
                hint="`tacit adapters activate --previous` goes back to the one before it, or to the base model alone",
            )
        return adapter, self.files.path(adapter.key)

    @property
    def files(self) -> AdapterFolders:
        """The folders of the adapters; raises `Refusal` if the store is not a file."""
        if self._folders is None:
            raise Refusal(
                "adapters are kept next to the store's file, and this store is not a file on this machine",
                code="store_without_file",
                hint="open a store in a file, such as the project's .tacit/tacit.db",
            )
        return self._folders

    # --- changes ------------------------------------------------------------------------------------------------

    def register(self, new: NewAdapter, *, by: str = "") -> Adapter:
        """Register a trained adapter, inactive; registering it again changes nothing."""
        if new.form_hash != form_hash():
            raise Refusal(
                "the adapter was trained with another prompt format than the current one",
                code="other_format",
                hint="train it again with `tacit adapters train`",
            )
        with self.files.locked():  # otherwise another process could remove the files before their entry exists
            key = self.files.keep(new.folder, new.records)
            known = self._known().get(key)
            if known is not None:
                return known
            adapter = Adapter(
                key=key,
                at=self._now(),
                by=by,
                sources=new.trajectory_ids,
                base=new.model,
                base_hash=new.model_hash,
                dataset_hash=new.dataset_hash,
                form_hash=new.form_hash,
                tasks=new.tasks,
                recipe=dict(new.recipe),
                metrics=dict(new.metrics),
            )
            return self._append(adapter)  # refused if a trajectory was purged meanwhile; `tidy` removes the files

    def judge(self, judgement: Judgement, *, report: Mapping[str, bytes] | None = None) -> Judgement:
        """Store the result of a paired test. An active adapter that is found worse or no better is deactivated at once."""
        adapter = self.find(judgement.key).adapter
        self.require_unchanged(adapter.key)
        kept = replace(judgement, key=adapter.key, sources=adapter.sources, id="")  # purged together with its adapter
        for name, data in (report or {}).items():
            self.files.add_record(adapter.key, name, data=data)
        with self._store.transaction():
            if [each.id for each in self._store.entries(Judgement, key=adapter.key)][-1:] != [kept.id]:
                kept = self._append(kept)
            if kept.ruling in _ENDS_SERVICE and self._active().get(adapter.base_hash) == adapter:
                self._deactivate(adapter, by=_TEST, reason=kept.reason)
                self.notices.append(f"the active adapter {adapter.key} was deactivated: {kept.reason}")
        return kept

    def require_unchanged(self, key: str) -> None:
        """Raise `Refusal` if the files of an adapter are not the registered ones: a test of them would mean nothing."""
        if not self.files.is_unchanged(key):
            raise Refusal(
                f"the files of the adapter {key} are not the registered ones",
                code="files_changed",
                hint="`tacit adapters remove` removes it; `tacit adapters train` trains a new one",
            )

    def activate(self, reference: str, *, by: str, reason: str = "") -> Activation:
        """Make an adapter the active one of its base model; refused unless the last test says better."""
        adapter = self._resolve(reference)
        model_problems = self._model_problems(adapter)  # hashes a large file, so before the transaction
        with self._store.transaction():  # a test that ends now comes before this or after it, not in between
            status = self.find(adapter.key)
            problems = [*status.problems, *model_problems]
            if problems:
                raise Refusal(
                    f"the adapter {adapter.key} cannot be activated: {_joined(problems)}",
                    code=problems[0].code,
                    hint="`tacit adapters train` trains and tests one; `tacit adapters show` shows this one",
                )
            if status.serves:
                raise Refusal(
                    f"the adapter {adapter.key} is already active",
                    code="already_active",
                    hint="`tacit adapters activate --previous` deactivates it",
                )
            return self._append(
                Activation(key=adapter.base_hash, at=self._now(), by=by, adapter=adapter.key, reason=reason)
            )

    def roll_back(self, model: str = "", *, by: str, reason: str = "") -> Activation:
        """Deactivate the active adapter; the one before it becomes active if it still can, else the base model is alone."""
        with self._store.transaction():
            return self._deactivate(self._only_active(model), by=by, reason=reason)

    def export(self, reference: str, folder: Path, *, form: str = "peft") -> list[Path]:
        """Write an adapter into a new folder for another program: `peft`, or `gguf` for llama.cpp."""
        status = self.find(reference)
        self.require_unchanged(status.adapter.key)
        return export_files(status.folder, folder, form=form, model=status.adapter.base)

    def remove(self, reference: str, *, by: str, reason: str = "") -> Adapter:
        """Delete the files of an adapter; its entry stays, marked as removed. An active one must be rolled back first."""
        at = self._now()
        with self.files.locked():
            with self._store.transaction():  # an activation comes before this or after it, not in between
                adapter = self._resolve(reference)
                if self._active().get(adapter.base_hash) == adapter:
                    raise Refusal(
                        f"the adapter {adapter.key} is active",
                        code="adapter_active",
                        hint="run `tacit adapters activate --previous` first",
                    )
                gone = self._append(replace(adapter, at=at, by=by, removed=reason or "removed by a person", id=""))
            self.files.remove(gone.key)  # if this is interrupted, `tidy` removes the files
        return gone

    def tidy(self, *, purged: bool = False) -> list[str]:
        """Remove files of adapters without an entry, and unfinished drafts; return a message for each removal.

        After a purge the messages also say what could not be removed, so that nobody believes that it is gone.
        """
        if self._folders is None or not self._folders.root.is_dir():
            return []
        with self._folders.locked(wait=False) as free:
            if not free:  # another process registers or tidies now
                messages = self._left_behind() if purged else []
                self.notices += messages
                return messages
            gone = self._folders.remove_unknown(set(self._known()))
            unclean = self._purged_work()
            if unclean:  # a running consolidation fails and starts again without it
                self._folders.drop_work()
        served = {each.adapter for each in latest(self._store.entries(Activation)).values()}
        removed = {key for key, each in latest(self._store.entries(Adapter)).items() if each.removed}
        messages = [
            f"the files of the adapter {key} were removed: "
            + (
                "its removal was interrupted before"
                if key in removed
                else "it has no entry, as after a purge of its sources"
            )
            + ("; it was active, and its base model now works alone" if key in served else "")
            for key in gone
        ]
        if unclean:
            messages.append(f"the unfinished consolidation was dropped: {unclean}")
        if gone and purged:
            messages.append(
                "copies elsewhere are not removed: delete folders that `tacit adapters export` or `tacit train --out` wrote, "
                "and what a server loaded from them"
            )
        self.notices += messages
        return messages

    def _purged_work(self) -> str:
        """Return why the work of a consolidation must be dropped; empty if it may stay."""
        sources = self.files.work_sources()
        if sources is None:
            return "its list of sources cannot be read"
        gone = [identity for identity in sources if self._store.tombstones(identity)]
        return f"{gone[0]}, which it learned from, was purged" if gone else ""

    def _left_behind(self) -> list[str]:
        """Return a message about files that a purge could not remove because another process works on them."""
        left = [f"of the adapter {key}" for key in sorted(set(self.files.keys()) - set(self._known()))]
        if self._purged_work():
            left.append("of the unfinished consolidation")
        if not left:
            return []
        return [
            f"the files {' and '.join(left)} are still there, because another process uses {self.files.root}; "
            "`tacit adapters` removes them after it has ended"
        ]

    # --- rules --------------------------------------------------------------------------------------------------

    def _known(self) -> dict[str, Adapter]:
        return {key: each for key, each in latest(self._store.entries(Adapter)).items() if not each.removed}

    def _resolve(self, reference: str) -> Adapter:
        wanted = reference.strip().lower()
        found = [adapter for key, adapter in self._known().items() if key.startswith(wanted)]
        if len(wanted) < PREFIX_MIN or not found:
            raise NotFound(f"no adapter {reference!r}", code="no_adapter", hint="`tacit adapters` lists the keys")
        if len(found) > 1:
            several = ", ".join(each.key for each in found)
            raise Mistake(f"several keys begin with {reference!r}", code="ambiguous_key", hint=several)
        return found[0]

    def _active(self) -> dict[str, Adapter]:
        """Return the active adapter by the hash of its base model; one without an entry is not active."""
        known, last = self._known(), latest(self._store.entries(Activation))
        return {key: known[each.adapter] for key, each in last.items() if each.adapter in known}

    def _status_of(self, adapter: Adapter) -> AdapterStatus:
        judgements = self._store.entries(Judgement, key=adapter.key)
        return AdapterStatus(
            adapter=adapter,
            folder=self.files.path(adapter.key),
            judgement=judgements[-1] if judgements else None,
            serves=self._active().get(adapter.base_hash) == adapter,
            problems=tuple(self._problems(adapter)),
        )

    def _problems(self, adapter: Adapter, *, is_active: bool = False) -> list[AdapterProblem]:
        """Return why an adapter cannot be active; an inconclusive later test does not stop one that `is_active`."""
        problems = []
        if not self.files.path(adapter.key).is_dir():
            problems.append(AdapterProblem("files_missing", "its files are missing"))
        elif not self.files.is_unchanged(adapter.key):
            problems.append(AdapterProblem("files_changed", "its files are not the registered ones"))
        if adapter.form_hash != form_hash():
            problems.append(AdapterProblem("other_format", "it was trained with another prompt format"))
        judgements = self._store.entries(Judgement, key=adapter.key)
        if is_active:
            judgements = [each for each in judgements if each.ruling is not AdapterRuling.TOO_LITTLE]
        if not judgements:
            problems.append(AdapterProblem("not_tested", "it was not tested"))
        elif judgements[-1].ruling is not AdapterRuling.BETTER:
            last = judgements[-1]
            problems.append(AdapterProblem("test_not_passed", f"the last test says: {last.ruling} ({last.reason})"))
        return problems

    def _model_problems(self, adapter: Adapter) -> list[AdapterProblem]:
        try:
            now = self._model_hash(adapter.base)
        except TacitError as error:
            message = f"its base model {adapter.base} cannot be read: {error.message}"
            return [AdapterProblem("model_unreadable", message)]
        if now == adapter.base_hash:
            return []
        return [AdapterProblem("model_changed", f"{adapter.base} is not the base model that it was trained on")]

    def _only_active(self, model: str) -> Adapter:
        active = [each for each in self._active().values() if model in ("", each.base, each.base_hash, each.key)]
        if not active:
            of = f" for {model}" if model else ""
            raise NotFound(f"no adapter is active{of}", code="no_active_adapter", hint="`tacit adapters` lists all")
        if len(active) > 1:
            names = ", ".join(each.base for each in active)
            raise Mistake(
                "adapters of several base models are active",
                code="several_models",
                hint=f"name one with --base: {names}",
            )
        return active[0]

    def _deactivate(self, adapter: Adapter, *, by: str, reason: str) -> Activation:
        known = self._known()
        before = [key for key in _stack(self._store.entries(Activation, key=adapter.base_hash)) if key != adapter.key]
        usable = [key for key in before if key in known and not self._problems(known[key])]
        activation = Activation(
            key=adapter.base_hash,
            at=self._now(),
            by=by,
            adapter=usable[-1] if usable else "",
            undone=adapter.key,
            reason=reason,
        )
        return self._append(activation)

    def _append(self, entry: E) -> E:
        """Append to the ledger as its newest entry, also if the same entry was written at the same instant."""
        while not self._store.add(entry):
            entry = replace(entry, at=entry.at + _TICK, id="")
        return entry


def _stack(activations: Collection[Activation]) -> list[str]:
    """Return the adapters that were activated and not undone, newest last: rolling back twice goes back two steps."""
    stack: list[str] = []
    for each in activations:
        if each.undone:
            stack = [key for key in stack if key != each.undone]
        elif each.adapter:
            stack = [*(key for key in stack if key != each.adapter), each.adapter]
    return stack


def _joined(problems: Collection[AdapterProblem]) -> str:
    return "; ".join(problem.message for problem in problems)
