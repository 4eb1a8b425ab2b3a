"""Gate: the only way into the library. Formation policy, duplicates, safety checks, review rules."""
