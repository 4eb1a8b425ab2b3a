"""Takes in what an agent or a person proposes, from the command line and over MCP: finds its evidence, then asks the gate."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.api import Tacit
from tacit.config.checkout import workspace
from tacit.config.environment import UserEnvironment
from tacit.domain.candidate import Verdict
from tacit.domain.errors import Mistake, NotFound
from tacit.domain.reach import CARD
from tacit.domain.scope import Scope
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.trajectory import Origin
from tacit.evidence.capture import QuotedSteps, find_quoted
from tacit.ingest.client_memories import find_statement, known_statements
from tacit.ingest.sources import client_homes


def submit(
    memory: Tacit,
    content: SkillContent,
    *,
    by: str,
    origin: Origin,
    source: str,
    environment: UserEnvironment,
    scope: Scope | None = None,
    evidence: Sequence[str | int] = (),
) -> tuple[Verdict, QuotedSteps]:
    """Put a proposal through the gate, with the places of the running session that show it; return the verdict and those.

    An agent is told where an instruction file or a client's memory says the same already; a person may propose it all the same.
    """
    context = memory.context
    homes = client_homes(environment)
    if content.kind is Kind.FACT and content.name == CARD:
        message = f"`{CARD}` is the card of the project's commands, which Tacit counts"
        raise Mistake(message, code="reserved_name", hint="choose another name")
    if content.extends and content.extends not in {entry.name for entry in memory.catalogue().entries}:
        hint = "name a skill that `tacit skills` lists, or leave it out"
        raise NotFound(f"no skill `{content.extends}` to extend", code="unknown_skill", hint=hint)
    if origin is Origin.AGENT and context.project is not None:
        known = known_statements(workspace(context.project), environment.user_home, client_folders=homes)
        if statement := find_statement(f"{content.description}\n{content.body}", known):
            hint = "nothing to do: your client reads that file"
            raise Mistake(
                f"{statement.place} says this already: {statement.text[:120]}", code="already_written", hint=hint
            )
    quoted = find_quoted(context, evidence, homes)
    if quoted.missing:
        hint = "quote at least 8 characters as they stand in this session, or leave the evidence out"
        raise Mistake(f"this session does not show {quoted.missing[0]!r}", code="evidence_not_found", hint=hint)
    verdict = memory.propose(content, by=by, origin=origin, source=source, scope=scope, evidence=quoted.spans)
    return verdict, quoted
