"""Adapters: weights that a base model was given from verified experience. Attempts in, a registry of what may serve out.

`gathering` takes attempts out of the store for a dataset, `registry` keeps what was trained of it, what tests said, and which
adapter serves; `folders` holds the files beside the store, `exporting` hands them on. Training and testing happen elsewhere.
"""

from tacit.features.train.adapters.registry import Adapters, Birth, Standing

__all__ = ["Adapters", "Birth", "Standing"]
