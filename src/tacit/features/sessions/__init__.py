"""Working memory of a running session: what its agents share while it lasts. Wiring between the store and those who share.

What an agent found out, what was made and where, an agent's own notes, what was asked before. It is redacted as it comes in,
lasts a day, and has narrow limits. It belongs to one session: nothing of it is found from another, and nothing of it becomes a
skill but by the gate (`teaching`).
"""

from tacit.features.sessions.shared_lessons import lessons
from tacit.features.sessions.working_memory import LASTS, SHOWN_TOKENS, Asked, Limits, Scratch, WorkingMemory

__all__ = ["LASTS", "SHOWN_TOKENS", "Asked", "Limits", "Scratch", "WorkingMemory", "lessons"]
