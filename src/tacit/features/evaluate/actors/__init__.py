"""Agents under test: a local or remote model, the reference agent, and any agent that speaks JSON."""
