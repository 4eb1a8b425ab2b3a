"""The files of adapters next to the store: one folder each, named by the hash of its content.

A folder appears complete or not at all. Other folders are never touched, and links are not followed. Adapters need a store
in a file.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tacit.config.files import write_atomically
from tacit.config.location import DATABASE, MEMORY, StoreLocation
from tacit.domain.errors import Mistake, Refusal, StoreOutage
from tacit.features.evaluate.local_model import ADAPTER_SETTINGS, ADAPTER_WEIGHTS, adapter_key

WORK = ".work"
SOURCES = "sources.json"
"""The trajectories that the texts in the working folder come from; written first."""
_DRAFT = ".draft-"
_LOCK = ".lock"
_KEY = re.compile(r"[0-9a-f]{32}")


class AdapterFolders:
    """The folder with the adapters of one store."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, key: str) -> Path:
        """Return the folder of an adapter."""
        if not _KEY.fullmatch(key):
            raise Mistake(
                f"{key!r} is not the key of an adapter", code="bad_key", hint="`tacit adapters` shows the keys"
            )
        return self.root / key

    def keys(self) -> list[str]:
        """Return the keys of the adapters that have a folder."""
        return [path.name for path in self._children() if _KEY.fullmatch(path.name)]

    def keep(self, source: Path, records: Mapping[str, bytes]) -> str:
        """Copy a trained adapter with its records; return its key. An existing folder stays as it is."""
        key = adapter_key(source)
        if self.path(key).is_dir() and adapter_key(self.path(key)) == key:
            return key
        self.open()
        draft = self.root / f"{_DRAFT}{key}"
        with _store_outage_on_error(self.root):
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(mode=0o700)
            for name in (ADAPTER_SETTINGS, ADAPTER_WEIGHTS):
                shutil.copyfile(source / name, draft / name)
            for name, data in records.items():
                (draft / name).write_bytes(data)
            for path in (*draft.iterdir(), draft):
                _flush(path)
            if self.path(key).is_dir():  # it was changed on disk and is restored
                shutil.rmtree(self.path(key))
            draft.rename(self.path(key))
            _flush(self.root)
        return key

    def add_record(self, key: str, name: str, *, data: bytes) -> None:
        """Write a record next to the weights; replaces one of that name."""
        target = self.path(key) / name
        with _store_outage_on_error(target):
            write_atomically(target, data)

    def is_unchanged(self, key: str) -> bool:
        """Whether the files are the registered ones."""
        folder = self.path(key)
        try:
            return not folder.is_symlink() and adapter_key(folder) == key
        except Mistake:
            return False

    def remove(self, key: str) -> None:
        """Delete the files of an adapter."""
        self._remove(self.path(key))

    def remove_unknown(self, known: set[str]) -> list[str]:
        """Remove folders of unknown adapters and unfinished drafts; return the keys of the former."""
        gone = [key for key in self.keys() if key not in known]
        drafts = [path for path in self._children() if path.name.startswith(_DRAFT)]
        for path in (*(self.root / key for key in gone), *drafts):
            self._remove(path)
        return gone

    @property
    def work(self) -> Path:
        """The working folder of a consolidation, kept so that an interrupted one continues."""
        return self.root / WORK

    def work_sources(self) -> list[str] | None:
        """Return the trajectories whose text is in the working folder; empty if there is none, None if unknown."""
        texts = [path for path in self._entries(self.work) if path.is_dir()]
        path = self.work / SOURCES
        if not texts and not path.exists():
            return []
        try:
            found = json.loads(path.read_bytes()) if path.is_file() else None
        except (OSError, ValueError, RecursionError):
            return None
        return [str(each) for each in found] if isinstance(found, list) else None

    def drop_work(self) -> None:
        """Delete the working folder."""
        self._remove(self.work)

    def open(self) -> None:
        """Create the folder if there is none."""
        if self.root.is_symlink():
            raise Refusal(
                f"{self.root} is a link",
                code="folder_is_link",
                hint="remove the link: adapters are kept next to their store",
            )
        with _store_outage_on_error(self.root):
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)

    @contextmanager
    def locked(self, name: str = _LOCK, *, wait: bool = True) -> Iterator[bool]:
        """Hold a lock of this folder; yields False if another process has it and `wait` is false."""
        self.open()
        with _store_outage_on_error(self.root / name):
            file = os.open(self.root / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(file)  # the lock ends with the process

    def _children(self) -> list[Path]:
        return sorted(path for path in self._entries(self.root) if path.is_dir() and not path.is_symlink())

    def _entries(self, folder: Path) -> list[Path]:
        return [] if folder.is_symlink() or not folder.is_dir() else list(folder.iterdir())

    def _remove(self, path: Path) -> None:
        with _store_outage_on_error(path):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)


def adapter_folders(place: StoreLocation | None) -> AdapterFolders | None:
    """Return the folder of adapters for a store; None if the store is not a file.

    Each store has its own: `adapters` for the default file name, otherwise named after the file.
    """
    if place is None or place.database == MEMORY or "://" in place.database:
        return None
    file = Path(place.database)
    return AdapterFolders(file.parent / ("adapters" if file.name == DATABASE else f"{file.name}.adapters"))


def _flush(path: Path) -> None:
    """Flush to disk: what the ledger says must exist after a power failure."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


@contextmanager
def _store_outage_on_error(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreOutage(
            f"cannot change {path}: {error.strerror or error}",
            code="adapter_folder_not_writable",
            hint="check permissions and free space",
        ) from error
