"""Measures whether skills help: arms, suites, agents under test, reports, and a small reference agent."""

from tacit.features.evaluate.agent import Agent, AttemptReport
from tacit.features.evaluate.suite import TaskEnvironment
from tacit.features.evaluate.tool import Tool

__all__ = ["Agent", "AttemptReport", "TaskEnvironment", "Tool"]
