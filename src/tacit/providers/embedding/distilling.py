"""A sentence encoder's folder → the folder of a static model: each token's vector, looked up from then on.

Every token of the vocabulary goes through the encoder by itself; the vectors are brought to fewer dimensions by their
principal components, and weighed so that frequent tokens count less. Needs the extra `semantic`.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.domain.errors import ConfigError
from tacit.providers.embedding.model_files import name_in, read_document, read_wordpieces
from tacit.providers.embedding.sentence import SentenceEncoder
from tacit.providers.embedding.static import FILE, TABLE, StaticEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIMENSIONS = 256
_AT_A_TIME = 512
_SMOOTH = 1e-4


def distil(
    source: Path, target: Path, *, dimensions: int = DIMENSIONS, progress: Callable[[int, int], None] | None = None
) -> StaticEmbedder:
    """Make the static model in a new folder and open it; `progress` hears how many tokens of how many are done."""
    import numpy as np

    if target.exists():
        hint = "name a new folder, or remove it first"
        raise ConfigError(f"{target} is there already", code="already_exists", hint=hint)
    encoder = SentenceEncoder(source)
    tokens = read_wordpieces(str(source)).tokens
    vectors = np.empty((len(tokens), encoder.dimensions), dtype=np.float32)
    for start in range(0, len(tokens), _AT_A_TIME):
        part = range(start, min(start + _AT_A_TIME, len(tokens)))
        embedded = encoder.embed_tokens(part)
        vectors[start : start + len(part)] = np.frombuffer(b"".join(embedded), dtype="<f4").reshape(len(part), -1)
        if progress:
            progress(start + len(part), len(tokens))
    _write(source, target, tokens=tokens, table=weighed(reduced(vectors, dimensions)))
    return StaticEmbedder(str(target))


def reduced(vectors: NDArray[np.float32], dimensions: int) -> NDArray[np.float32]:
    """The vectors, centred, in the directions in which they differ most."""
    import numpy as np

    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, directions = np.linalg.eigh(centred.T @ centred)  # the strongest last
    found: NDArray[np.float32] = (centred @ directions[:, ::-1][:, :dimensions]).astype(np.float32)
    return found


def weighed(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vectors with more weight the later they come: vocabularies are ordered by how often a token is met.

    Smooth inverse frequency, with Zipf's law in place of counts: a token's share is as one over its rank.
    """
    import numpy as np

    share = 1 / (np.arange(len(vectors)) + 2)
    share /= share.sum()
    found: NDArray[np.float32] = vectors * (_SMOOTH / (_SMOOTH + share)).astype(np.float32)[:, None]
    return found


def _write(source: Path, target: Path, *, tokens: list[str], table: NDArray[np.float32]) -> None:
    """All files in a folder of another name first, so that a half-made model is never taken for one."""
    import numpy as np

    name = name_in(read_document(str(source / "config.json")) or {}, otherwise="bert")
    config = {"model_type": "model2vec", "_name_or_path": f"{name}-static", "normalize": True}
    half = target.with_name(f".{target.name}.{os.getpid()}")
    half.mkdir(parents=True)
    try:
        data = np.ascontiguousarray(table, dtype="<f2").tobytes()
        header = json.dumps({TABLE: {"dtype": "F16", "shape": list(table.shape), "data_offsets": [0, len(data)]}})
        header += " " * (-len(header) % 8)
        (half / FILE).write_bytes(struct.pack("<Q", len(header)) + header.encode() + data)
        (half / "vocab.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8", newline="\n")
        (half / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        if (source / "tokenizer_config.json").is_file():
            shutil.copyfile(source / "tokenizer_config.json", half / "tokenizer_config.json")
        half.rename(target)
    except BaseException:
        shutil.rmtree(half, ignore_errors=True)
        raise
