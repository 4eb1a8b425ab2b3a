"""Asks the running agent, once a session and only where a setting wants it, what of the session is worth keeping.

The agent is about to stop and still knows everything that was done. The hook of Claude Code holds it back once with a reason;
what it then proposes waits for review like any other proposal.
"""

from __future__ import annotations

import json
import sys
import time

from tacit.ingest.journal import Journal
from tacit.surfaces.hook.events import Event, EventContext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MIN_CALLS = 8
"""Tool calls of a session that may have taught something."""
_QUESTION = """\
Before you stop: did this session show something that the next one should know? What the person corrected or asked for, an \
error and what fixed it, a command or a place that was hard to find. If so, propose it, at most three things, each in one \
sentence with words of this session as its evidence: by the MCP tool `propose`, or by
{tacit} propose SHORT-NAME --kind lesson|fact|norm|preference|code --description "ONE SENTENCE" --evidence "WORDS FROM HERE"
Nothing that an instruction file says already, and nothing that any agent knows. If there is nothing, stop; that is a good \
answer, too. A person reviews it later."""


def ask(
    event: Event, context: EventContext, *, say: Callable[[str], None], clock: Callable[[], float] = time.time
) -> None:
    """Ask at the first stop of the main agent after enough work; never twice, and never an agent that was held back."""
    if event.name != "Stop" or event.client != "claude-code" or event.agent or event.is_held_back:
        return
    with Journal(context.location.folder_path, event.client, event.session) as journal:
        if not journal.may_ask(MIN_CALLS):
            return
        journal.append({"at": round(clock(), 6), "moment": "ask"})
        from shlex import join
        from shutil import which

        # What the agent types to run Tacit: its shell has the same search path.
        program = "tacit" if which("tacit") else join([sys.executable, "-P", "-m", "tacit"])
        say(json.dumps({"decision": "block", "reason": _QUESTION.format(tacit=program)}, ensure_ascii=False))
