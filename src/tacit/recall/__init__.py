"""Recall: Query → Selection. Hits from memory are filtered, weighed, cut to budget, or nothing is said. Pure functions."""

from tacit.recall.selection import Known, select

__all__ = ["Known", "select"]
