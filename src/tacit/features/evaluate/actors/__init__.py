"""Agents under test: a model in the one form, the reference agent, and anybody's agent by JSON (command, Python, HTTP).

All but the reference agent act through `lockstep`: one decision for every open world, then one call in each of them.
"""
