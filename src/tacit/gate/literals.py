"""The literal rule: what from outside would be believed word for word? Content and origins → things to tick one by one.

A host, a package, a command, a path outside the workspace, a variable or an address is something that an agent acts on as it
stands. Where it came from a tool's output, a file or the web, one yes for the whole text is not enough. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tacit.domain.origin import Origin
from tacit.domain.trust import Literal, Touch, Touched
from tacit.gate.origins import origin_at


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
    return tuple(found.values())
