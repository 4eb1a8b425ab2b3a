"""Consensus: several drafts of one kind of work give one procedure, with what varies as parameters.

For shell and file work, where no two attempts make the same call. Only failures give nothing.
"""

from tacit.learn.consensus.agreement import consensus

__all__ = ["consensus"]
