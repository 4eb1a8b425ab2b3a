"""Recall: Query → Selection. Search hits are filtered, weighed, ranked and cut to a budget, or recall abstains.

`retrieval` answers the API with domain types, `hook_recall` answers hooks from a small index. Both decide by `ranking`.
"""
