"""Opening a memory: a place, a path or nothing at all → a `Loop` ready for use."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from tacit.api import Loop
from tacit.config.place import Place, find_place
from tacit.config.settings import Config, load_config
from tacit.config.surroundings import Surroundings
from tacit.domain.model import Embedder
from tacit.domain.scope import Level, Scope
from tacit.store import open_store


def open(store: str | Path = "", *, config: Config | None = None) -> Loop:  # noqa: A001 - tacit.open() is the public name
    """Open the nearest store (`.tacit/tacit.db` of this project), or the one at the given path.

    The store is created if there is none. Use it as a context manager, or call `close()`.
    """
    surroundings = Surroundings.read()
    place = find_place(surroundings, store=str(store))
    if config is None:
        folders = (Path.cwd(), place.project)
        config, _ = load_config(folders, file=surroundings.config_file, home=surroundings.person_home)
    return open_at(place, config=config, home=surroundings.person_home)


def open_at(place: Place, *, config: Config, home: Path) -> Loop:
    """Open the store of a place; `home` is the folder of the person's own store, settings and embedders."""
    place = replace(place, home=home)
    place.prepare()
    scope = Scope(Level.PROJECT, "" if place.is_projects_own else place.project_name)
    embedder = partial(_open_embedder, config.recall.embedder, home)
    return Loop(open_store(place.database, home=home), config=config, scope=scope, place=place, embedder=embedder)


@cache  # a server opens the store for every request, and weights take a while to load
def _open_embedder(choice: str, home: Path) -> Embedder | None:
    from tacit.providers.embedding.opening import open_embedder  # most commands need none

    own = (
        Surroundings.read().account_home
    )  # whose cache of the hub counts: a variable of an agent's shell does not move it
    return open_embedder(choice, home=home, hub_cache=own / ".cache" / "huggingface" / "hub" if own else None)
