"""Verified experience → dataset → LoRA adapter. What needs torch is imported only when it is used.

`conversation` is the one form in which a model is asked and trained.
"""
