"""Recall: Query → Selection. Hits from memory are filtered, weighed, cut to budget, or nothing is said. Pure functions.

`selection` answers the loop with domain types; `quick` answers hooks from a glance at the store. Both weigh by `ranking`.
"""
