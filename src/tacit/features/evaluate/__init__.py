"""Does it help? A small reference agent that acts with recalled skills alone; later arms, suites and lift.

`environment` says what a world must offer, `agent` acts in it, `notebook` keeps what one attempt has seen.
"""

from tacit.domain.tool import Tool
from tacit.features.evaluate.agent import Agent, AttemptReport
from tacit.features.evaluate.suite import Environment

__all__ = ["Agent", "AttemptReport", "Environment", "Tool"]
