"""The setting `recall.embedder` → an embedder ready for use, or none. Nothing is fetched but by `install`.

`auto` takes what is installed here and is silent where nothing is; `survey` says what it looked at and why. A model that is
named and cannot be had is an error that says what to do.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.domain.errors import ConfigError, Mistake, Outage
from tacit.providers.embedding.sentence import WEIGHTS, SentenceEncoder

if TYPE_CHECKING:
    from tacit.domain.ports import Embedder

INSTALL = "pip install 'tacit[semantic]', or in a checkout: pip install '.[semantic]'"
FOLDER = "embedders"
"""Below the home: one folder for each model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedModel:
    """A model of the hub at one revision, with the size and SHA-256 of each file that is used."""

    repository: str
    revision: str
    license: str
    files: Mapping[str, tuple[int, str]]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(size for size, _ in self.files.values())

    def folder(self, home: Path) -> Path:
        """Where it is installed: a folder where `auto` looks first."""
        return home / FOLDER / self.repository.rpartition("/")[2]


MINILM = PublishedModel(
    repository="sentence-transformers/all-MiniLM-L6-v2",
    revision="c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
    license="Apache-2.0",
    files={
        "config.json": (612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
        "vocab.txt": (231_508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
        "tokenizer_config.json": (350, "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"),
        "sentence_bert_config.json": (53, "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"),
        "modules.json": (349, "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
        "1_Pooling/config.json": (190, "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"),
        WEIGHTS: (90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
    },
)
"""The model of which recall's figures are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundModel:
    """A place where a model could be, and why it cannot be used; empty: it can."""

    folder: Path
    problem: str = ""
    embedder: Embedder | None = None


def open_embedder(choice: str, *, home: Path) -> Embedder | None:
    """Open what the setting names; `home` is the person's."""
    if choice == "none":
        return None
    if choice == "auto":
        places = survey(home) if find_spec("numpy") else ()
        return next((place.embedder for place in places if place.embedder), None)
    return open_folder(_named(choice, home))


def open_folder(folder: Path) -> Embedder:
    """Open the model in a folder; its weights are loaded with the first text."""
    if not folder.is_dir():
        raise ConfigError(f"recall.embedder names {folder}, which is not a folder", code="not_a_folder", hint=_CHOICES)
    if not find_spec("numpy"):
        raise Mistake(f"the model in {folder} needs the extra `semantic`", code="extra_missing", hint=INSTALL)
    return SentenceEncoder(folder)


def missing_extra() -> str:
    """How to install what models of the hub need; empty where it is installed."""
    return "" if find_spec("numpy") and find_spec("huggingface_hub") else INSTALL


def install(model: PublishedModel, home: Path) -> Path:
    """Download a model into the person's embedders, check every file, and return its folder; without one nothing changes.

    No account is used.
    """
    if extra := missing_extra():
        raise Mistake("models of the hub need the extra `semantic`", code="extra_missing", hint=extra)
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError

    expected: tuple[type[Exception], ...] = (OSError, ValueError)
    expected += tuple(each for each in HfHubHTTPError.__bases__ if issubclass(each, Exception))  # its HTTP library's
    folder = model.folder(home)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".download-") as name:
        download, made = Path(name) / "download", Path(name) / folder.name
        for path, (size, digest) in model.files.items():
            try:
                fetched = hf_hub_download(
                    model.repository, path, revision=model.revision, local_dir=download, token=False
                )
            except expected as error:
                hint = f"check the network, or copy the model's folder to {folder}; until then search goes by words"
                message = f"{model.repository} could not be downloaded: nothing was changed"
                raise Outage(message, code="model_not_fetched", hint=hint, retryable=True) from error
            with Path(fetched).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != digest:
                message = f"{path} is not the published file: {found} instead of {digest} ({size:,} bytes)"
                raise Outage(message, code="model_changed", hint="nothing was changed; ask the hub's operator")
            (made / path).parent.mkdir(parents=True, exist_ok=True)
            Path(fetched).rename(made / path)
        shutil.rmtree(folder, ignore_errors=True)
        made.rename(folder)
    return folder


def survey(home: Path) -> Iterator[FoundModel]:
    """Every place that `auto` looks at and where something is, in order."""
    for folder in _places(home):
        try:
            embedder = open_folder(folder)
            embedder.identity  # noqa: B018 - reads the vocabulary and the weights' header, so that what is broken shows
        except Mistake as error:
            yield FoundModel(folder=folder, problem=error.message)
        except OSError as error:
            yield FoundModel(folder=folder, problem=f"{folder}: {error.strerror}")
        else:
            yield FoundModel(folder=folder, embedder=embedder)


def why_none(home: Path) -> str:
    """Why `auto` found nothing, and what would help; empty where it finds something."""
    seen = list(survey(home))
    if seen and not find_spec("numpy"):
        return f"there is a model in {seen[0].folder}, but numpy is missing: {INSTALL}"
    if any(not place.problem for place in seen):
        return ""
    if seen:
        return "; ".join(place.problem for place in seen)
    return "no model is installed; `tacit init --meaning` sets one up"


_CHOICES = "use auto, none, a folder (from /, ./, ../ or ~), or its name among your embedders"


def _places(home: Path) -> Iterator[Path]:
    own = home / FOLDER
    if own.is_dir():
        yield from sorted(entry for entry in own.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def _named(choice: str, home: Path) -> Path:
    """A folder by its path, or by its name among the person's models."""
    if os.path.isabs(choice) or choice.startswith(("./", "../", "~")) or choice in (".", ".."):  # noqa: PTH117
        try:
            return Path(choice).expanduser()
        except RuntimeError as error:
            message = f"recall.embedder names {choice}, whose home is not known"
            raise ConfigError(message, code="unknown_home", hint=_CHOICES) from error
    if not choice or "/" in choice:
        raise ConfigError(f"recall.embedder is {choice!r}, which names no model", code="unknown_model", hint=_CHOICES)
    return home / FOLDER / choice
