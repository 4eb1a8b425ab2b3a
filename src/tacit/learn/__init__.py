"""Learning: makes candidates of attempts, passes them to the gate, and withdraws lessons and rules that no longer hold.

`pipeline` runs a pass: `single_attempt` (one attempt alone), `like_runs` and `consensus` (shell and file work done several
times), `fixes`, `project_facts` and `person_rules` (counted over sessions), `mining` (plain tool calls), `reading` (a model).
"""

from tacit.learn.attempt_outlines import outline_of
from tacit.learn.consensus import consensus
from tacit.learn.mining.candidates import is_mined
from tacit.learn.mining.miner import Mined, mine
from tacit.learn.origin_limits import AttemptTexts, attempt_texts, limit_origins
from tacit.learn.single_attempt import Distillation, distil, draft_of

__all__ = [
    "AttemptTexts",
    "Distillation",
    "Mined",
    "attempt_texts",
    "consensus",
    "distil",
    "draft_of",
    "is_mined",
    "limit_origins",
    "mine",
    "outline_of",
]
