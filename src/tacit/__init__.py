"""Tacit: a skill-learning layer for AI agents."""
