"""Measures whether skills help: arms, suites, agents under test, reports, and a small reference agent."""

from tacit.domain.tool import Tool
from tacit.features.evaluate.agent import Agent, AttemptReport
from tacit.features.evaluate.suite import TaskEnvironment

__all__ = ["Agent", "AttemptReport", "TaskEnvironment", "Tool"]
