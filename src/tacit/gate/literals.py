"""The literal rule: what from outside would be believed word for word? Content and origins → things to tick one by one.

A host, a package, a command, a path outside the workspace, a variable or an address is something that an agent acts on as it
stands. Where it came from a tool's output, a file or the web, one yes for the whole text is not enough. What another tick
already names whole is not asked again: a URL's host, the program of a longer command, the launcher of a package. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tacit.domain.origin import Origin
from tacit.domain.trust import Literal, Touch, Touched
from tacit.gate.origins import origin_at
from tacit.text.programs import WRAPPERS
from tacit.text.touches.addresses import host_of
from tacit.text.touches.commands import FETCHERS

_PREFIXES = WRAPPERS - {"sudo", "doas", "env"}
"""Change nothing of what they run, so that it alone is asked for."""
_MORE = re.compile(r"[?@%\\$]|\.\.|//|:[^\d]")


def literals(touched: Iterable[Touch], origins: Mapping[str, Origin]) -> tuple[Literal, ...]:
    """Everything touched that stands in a field from outside, each once, in the order of the text; effects are none."""
    found: dict[str, Literal] = {}
    known: dict[str, Origin] = {}
    for touch in touched:
        if touch.kind is Touched.EFFECT:
            continue
        if touch.field not in known:
            known[touch.field] = origin_at(origins, touch.field)
        if known[touch.field] is Origin.EXTERNAL:
            literal = Literal(kind=touch.kind, value=touch.value, field=touch.field)
            found.setdefault(literal.key, literal)
    told = _Told(found.values())
    return tuple(literal for literal in found.values() if not told.elsewhere(literal))


class _Told:
    """What the ticks name together, so that one can be left out whose thing another names too."""

    def __init__(self, found: Iterable[Literal]) -> None:
        values: dict[Touched, list[str]] = {kind: [] for kind in Touched}
        for literal in found:
            values[literal.kind].append(literal.value)
        self._hosts = {host_of(url) for url in values[Touched.URL]}
        self._places: dict[tuple[str, str, str], str] = {}
        for url in values[Touched.URL]:
            if place := _place(url):
                self._places.setdefault(place, url)
        self._heads = {head for command in values[Touched.COMMAND] for head in _heads(command)}
        self._packages = set(values[Touched.PACKAGE])
        self._paths = {*values[Touched.SECRET], *values[Touched.WRITE]}

    def elsewhere(self, literal: Literal) -> bool:
        """Whether another tick names all of this."""
        match literal.kind:
            case Touched.HOST:
                return literal.value in self._hosts
            case Touched.URL:
                return self._is_beneath_another(literal.value)
            case Touched.COMMAND:
                launcher, _, package = literal.value.rpartition(" ")
                fetched = launcher in FETCHERS and package in self._packages
                return fetched or literal.value in self._heads or literal.value in _PREFIXES
            case Touched.READ:
                return literal.value in self._paths
            case _:
                return False

    def _is_beneath_another(self, url: str) -> bool:
        """Whether an address is asked for as another one or as a place above it; a bare host is above too much."""
        place = _place(url)
        if place is None:
            return False
        scheme, host, path = place
        pieces = path.split("/")
        above = ((scheme, host, "/".join(pieces[:count])) for count in range(2, len(pieces)))
        return self._places[place] != url or any(each in self._places for each in above)


def _heads(command: str) -> Iterable[str]:
    """The shorter names of a command: `python3` and `python3 manage.py` of `python3 manage.py sync`."""
    words = command.split(" ")
    return (" ".join(words[:count]) for count in range(1, len(words)))


def _place(url: str) -> tuple[str, str, str] | None:
    """Scheme, host and path of an address that is a place and no more; a query, a user or an address in it are more."""
    scheme, _, rest = url.partition("#")[0].partition("://")
    host, _, path = rest.partition("/")
    if _MORE.search(rest):
        return None
    return scheme.lower(), host.lower(), f"/{path}".rstrip("/")
