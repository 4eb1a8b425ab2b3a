"""The embedder that a hook can afford: the setting and the spaces of a store → a static model that made one of them, or none.

Decides as `opening` does, on plain strings and without importing anything slow. That the store has vectors of the very model
shows that it is the one in use: with any other embedder hooks go by words, and nothing is opened for it.
"""

from __future__ import annotations

import os

from tacit.providers.embedding.naming import is_path, name_in
from tacit.providers.embedding.static import StaticEmbedder, is_static
from tacit.providers.embedding.tensors import refuse_special
from tacit.providers.embedding.wordpiece import read_document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

FOLDER = "embedders"
"""Below the home: one folder for each model."""
CACHED = "minishlab/potion-base-8M"
"""The static model that is taken from the hub's cache unasked."""


def open_light(
    choice: str, *, homes: Collection[str], spaces: Collection[str], hub_cache: str = ""
) -> StaticEmbedder | None:
    """Open the static model that the setting means; `homes` are the person's, `spaces` those that have vectors.

    `hub_cache` is the hub's cache where it is not the usual one.

    Raises `ConfigError` for a model that is there and broken.
    """
    if not spaces or choice in ("none", "hashed") or choice.startswith("openai:"):
        return None
    for folder in _places(choice, homes, hub_cache or os.path.expanduser("~/.cache/huggingface/hub")):
        if not os.path.isdir(folder) or not is_static(folder):
            continue
        name = name_in(read_document(f"{folder}/config.json") or {}, otherwise="static")
        if not any(space.startswith(f"{name}/") for space in spaces):
            continue  # nobody embedded with it, so it need not be read
        embedder = StaticEmbedder(folder)
        if embedder.identity in spaces:
            return embedder
    return None


def _places(choice: str, homes: Collection[str], cache: str) -> Iterator[str]:
    own = [os.path.join(home, FOLDER) for home in homes]
    kind, mark, name = choice.partition(":")
    if choice == "auto":
        for folder in filter(os.path.isdir, own):
            yield from (os.path.join(folder, entry) for entry in sorted(os.listdir(folder)) if entry[0] != ".")
        yield from _cached(cache, CACHED)
    elif mark and kind == "hub":
        repository, _, revision = name.partition("@")
        yield from _cached(cache, repository, revision or "main")
    elif is_path(choice):
        yield os.path.expanduser(choice)
    elif choice and "/" not in choice:
        yield from (os.path.join(folder, choice) for folder in own)


def _cached(cache: str, repository: str, revision: str = "main") -> Iterator[str]:
    """Where the hub's library keeps a model that it fetched."""
    kept = f"{cache}/models--{repository.replace('/', '--')}"
    try:
        refuse_special(f"{kept}/refs/{revision}")
        with open(f"{kept}/refs/{revision}", encoding="utf-8", errors="replace") as file:
            commit = file.read(65).strip()
    except OSError:
        commit = revision
    if commit and "/" not in commit and commit[0] != ".":
        yield f"{kept}/snapshots/{commit}"
