"""A selection of skills → what the agent sees: SKILL.md folders, one catalogue in three tiers, and the context block."""
