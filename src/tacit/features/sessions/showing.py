"""What lies in working memory → the one text that an agent of the session is shown, framed as background and made inert.

An agent sees what all have shared, what was made, what was asked before, and its own notes; never another agent's. Where the
budget is too small, the newest of each is kept and the number of the rest is told. Pure, but for the number of the frame.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from tacit.domain.origin import Origin
from tacit.domain.working import Drawer, Jotting
from tacit.text.fence import attribute, framed
from tacit.text.inert import shown as inert_text
from tacit.text.inert import shown_line
from tacit.text.words import estimate_tokens

SHOWN_TOKENS = 2000
_ORDER = (Drawer.SCRATCH, Drawer.CONTEXT, Drawer.ARTIFACT, Drawer.QUERY)
"""What is needed most comes first where not all has room."""
_WHOSE = {
    Origin.USER: "a person",
    Origin.OPERATOR: "the operator",
    Origin.EXTERNAL: "outside text",
    Origin.AGENT: "an agent",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question asked before, and the names of what was found."""

    query: str
    found: tuple[str, ...]
    at: datetime


def written_query(query: str, found: Iterable[str]) -> str:
    """A question and what came of it, as it is kept."""
    return json.dumps({"query": query, "found": list(found)}, ensure_ascii=False)


def read_query(jotting: Jotting) -> Asked:
    """The same, read back."""
    try:
        kept = json.loads(jotting.text)
        return Asked(query=str(kept["query"]), found=tuple(map(str, kept["found"])), at=jotting.at)
    except (ValueError, LookupError, TypeError):  # written by somebody else's hand
        return Asked(query=jotting.text, found=(), at=jotting.at)


def visible(jottings: Iterable[Jotting], agent: str) -> list[Jotting]:
    """What an agent may see: all that is shared, the last word on each artifact, and its own notes."""
    kept = [each for each in jottings if each.drawer is not Drawer.SCRATCH or (agent and each.agent == agent)]
    last = {each.name: each.id for each in kept if each.drawer is Drawer.ARTIFACT}
    return [each for each in kept if each.drawer is not Drawer.ARTIFACT or last[each.name] == each.id]


def shown(jottings: Sequence[Jotting], *, agent: str = "", budget_tokens: int = SHOWN_TOKENS) -> str:
    """The text for an agent; empty where there is nothing to show."""
    seen = visible(jottings, agent)
    wanted = [each for drawer in _ORDER for each in reversed(seen) if each.drawer is drawer and each.text]
    chosen, spent = set[str](), 0
    for each in wanted:
        cost = estimate_tokens(_block(each))
        if spent + cost <= budget_tokens:
            chosen.add(each.id)
            spent += cost
    blocks = [_block(each) for each in seen if each.id in chosen]
    missing = len(wanted) - len(chosen)
    return framed([*blocks, _left_out(missing) if missing else ""], number=secrets.token_hex(8))


def _block(jotting: Jotting) -> str:
    by = f' by="{attribute(shown_line(jotting.agent))}"' if jotting.agent else ""
    whose = f'{by} from="{_WHOSE[jotting.origin]}"'
    if jotting.drawer is Drawer.QUERY:
        asked = read_query(jotting)
        found = ", ".join(shown_line(name) for name in asked.found) or "nothing"
        return f"<tacit-asked>{shown_line(asked.query)} → {found}</tacit-asked>"
    tag = {Drawer.CONTEXT: "tacit-shared", Drawer.SCRATCH: "tacit-scratch"}.get(jotting.drawer, "tacit-artifact")
    name = f' name="{attribute(shown_line(jotting.name))}"' if jotting.drawer is Drawer.ARTIFACT else ""
    return f"<{tag}{name}{whose}>\n{inert_text(jotting.text)}\n</{tag}>"


def _left_out(number: int) -> str:
    return f"[{number} not shown here, for want of room]"
