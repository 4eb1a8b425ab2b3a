"""MCP tools for assumptions: `assume` before the work, and `checkpoint` at milestones.

What an agent says is stored as its own word. No command is run, and nothing of another session is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from tacit.api import Tacit
from tacit.evidence.credit import BY_AGENT
from tacit.features.people.ledger_entries import Aspect, Assumption
from tacit.features.people.moments import Moments
from tacit.features.people.session_assumptions import Speaker
from tacit.text.safe_markdown import shown_line

MAX_SHOWN = 30
_AGENT = Speaker(BY_AGENT)


class Opened(Protocol):
    """Opens the memory for one call, and tells the model what it refuses."""

    def __call__(self, *, create: bool = False) -> AbstractContextManager[Tacit]: ...


class MomentTools:
    """The verbs as an agent calls them. Docstrings are what the model reads."""

    def __init__(self, memory: Opened, session: str) -> None:
        self._memory, self._session = memory, session

    @property
    def tools(self) -> tuple[Callable[..., str], ...]:
        """All of them, for the server to offer."""
        return (self.assume, self.checkpoint)

    def assume(self, text: str, aspect: str = "approach", *, check: str = "", task: str = "", session: str = "") -> str:
        """Note something that your work takes for granted, before you rely on it. Later it is compared with what happened.

        Args:
            text: one thing, in one sentence, best with what can be seen later: "Only `src/api/` has to change", "At most 3
                files", "`make lint` works", "`get_order` shows `status: pending`".
            aspect: complexity, approach, preferences, scope, or risk (what may go wrong; name the error in `backquotes`).
            check: a command that shows whether it holds. It is noted, not run: run it yourself.
            task: what you are working on, in a sentence.
            session: id of your session, if you know it.
        """
        with self._memory(create=True) as loop:
            made = Moments(loop).assume(
                text, aspect=aspect.strip().casefold(), check=check, task=task, session=self._of(session), by=_AGENT
            )
        return f"Noted as {made.key}: {_assumption_line(made)}"

    def checkpoint(
        self,
        milestone: str = "",
        holds: list[str] | None = None,
        *,
        wrong: dict[str, str] | None = None,
        session: str = "",
    ) -> str:
        """At a milestone, or when something fails: see what you still take for granted, and say what of it holds.

        Args:
            milestone: what you just reached, in a few words.
            holds: keys of assumptions that still hold.
            wrong: key → what is the case instead, in a sentence.
            session: id of your session, if you named it in `assume`.
        """
        with self._memory(create=bool(milestone or holds or wrong)) as loop:
            looked = Moments(loop).checkpoint(
                self._of(session), milestone=milestone, holds=holds or (), wrong=wrong, by=_AGENT
            )
        settled = [f"- {each.held}: {_assumption_line(each)}" for each in looked.settled]
        still = [f"- {each.key}: {_assumption_line(each)}" for each in looked.open[:MAX_SHOWN]]
        head = (
            f"{len(looked.open)} still open; look at each before you build more on it:" if still else "Nothing is open."
        )
        return "\n".join([*settled, head, *still])

    def _of(self, session: str) -> str:
        return session.strip() or self._session


def _assumption_line(each: Assumption) -> str:
    check = f" [check: {shown_line(each.check)}]" if each.check else ""
    aspect = "" if each.aspect is Aspect.APPROACH else f" ({each.aspect})"
    return f"{shown_line(each.text)}{aspect}{check}"
