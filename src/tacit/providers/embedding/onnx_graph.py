"""A model as an ONNX file, run by onnxruntime: token numbers in → one vector for each token out.

For folders that have such a file; whatever built the model, it takes token numbers and a mask. Loads no code of the
folder. Needs the extra `semantic`.
"""

from __future__ import annotations

import os

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from numpy.typing import NDArray

from tacit.domain.errors import ConfigError
from tacit.providers.embedding.model_files import FETCH_AGAIN

_THREADS = 4
_KNOWN = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_ERRORS_ONLY = 3


class Graph:
    """A session of onnxruntime that gives a vector for each token."""

    def __init__(self, path: str) -> None:
        """Load the file; raises `ConfigError` where it is no model of this kind."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = min(_THREADS, os.cpu_count() or 1)
        options.log_severity_level = _ERRORS_ONLY
        # Threads that wait by spinning take the time of whatever else runs on the machine.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except _refusals() as error:
            raise ConfigError(
                f"{path} cannot be used: onnxruntime does not load it", code="onnx_not_loadable", hint=FETCH_AGAIN
            ) from error
        self._inputs = [entry.name for entry in self._session.get_inputs()]
        outputs = [entry.name for entry in self._session.get_outputs() if len(entry.shape) == 3]
        if not outputs or not {"input_ids", "attention_mask"} <= set(self._inputs) <= _KNOWN:
            raise ConfigError(
                f"{path} is no model that turns tokens into vectors",
                code="not_an_encoder",
                hint="use a sentence encoder",
            )
        self._output = outputs[0]

    def __call__(self, numbers: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        """Texts × tokens → texts × tokens × width; where the mask is 0, what comes out means nothing."""
        given = {"input_ids": numbers, "attention_mask": mask, "token_type_ids": np.zeros_like(numbers)}
        try:
            answer = self._session.run([self._output], {name: given[name] for name in self._inputs})[0]
        except _refusals() as error:
            raise ConfigError("the model's ONNX file does not run", code="onnx_failed", hint=FETCH_AGAIN) from error
        return np.asarray(answer, dtype=np.float32)


def _refusals() -> tuple[type[Exception], ...]:
    """The errors of onnxruntime, which are made in its compiled part and share no parent but `Exception`."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state  # type: ignore[import-untyped]

    kinds = (getattr(state, name, None) for name in dir(state))
    own = (kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Exception))
    return (RuntimeError, ValueError, *own)
