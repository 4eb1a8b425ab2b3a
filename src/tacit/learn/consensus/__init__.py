"""Several drafts of one kind of work → one procedure: what most attempts did, in one order, with what varies as parameters.

For work in shells and files, where no two attempts make the same call. Nothing comes from failures alone.
"""

from tacit.learn.consensus.agreement import consensus

__all__ = ["consensus"]
