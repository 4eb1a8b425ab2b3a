"""Text → token numbers the way BERT models were taught: cleaned, lowered, split, then cut into the longest known pieces.

Reads `vocab.txt`, or `tokenizer.json` where there is none. Equal to the libraries' answers for models of this kind (decision
0024), and other kinds are refused.
"""

from __future__ import annotations

import json
import mmap
import os.path
from functools import lru_cache
from hashlib import sha256

from tacit.domain.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

LONGEST_TEXT = 20_000
"""Characters of a text that are looked at: far more than fit into any model of this kind."""
_LARGEST_VOCABULARY = 32 << 20
_LONGEST_WORD = 100
_MARK = "##"
"""Before pieces that continue a word."""
_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_ASCII: dict[int, str | None] = {**dict.fromkeys(range(32)), **dict.fromkeys(b"\t\n\r", " "), 127: None}
_ASCII |= {ord(mark): f" {mark} " for mark in _PUNCTUATION}
"""What becomes of each ASCII character before words are split at blanks."""
_UNSEEN = ("Cc", "Cf", "Co", "Cs")
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


class WordPieces:
    """A vocabulary and how text is made ready for it."""

    def __init__(self, tokens: list[str], *, lowers: bool = True, strips_accents: bool = True) -> None:
        """Take the tokens in the order of their numbers."""
        numbers = dict(zip(tokens, range(len(tokens)), strict=True))
        if len(numbers) != len(tokens):  # a token that comes twice counts where it came first
            numbers = dict(zip(reversed(tokens), range(len(tokens) - 1, -1, -1), strict=True))
        self.tokens = tokens
        self._numbers = numbers
        self._lowers = lowers
        self._strips = strips_accents
        # Words come again and again; strangers must not fill the memory.
        self._pieces = lru_cache(50_000)(self._cut_word)
        self.unknown = self._numbers.get("[UNK]", 0)

    def fingerprint(self) -> bytes:
        """All that decides how a text is cut."""
        return f"lowers {self._lowers} strips {self._strips}\n".encode() + "\n".join(self.tokens).encode(
            "utf-8", "replace"
        )

    def number_of(self, token: str) -> int:
        """The number of a token that must be there."""
        if token not in self._numbers:
            raise unusable(f"the model's vocabulary has no {token}", "token_missing")
        return self._numbers[token]

    def cut(self, text: str, *, limit: int) -> list[int]:
        """The numbers of a text's first pieces, `limit` at most; a word that cannot be put together is unknown."""
        numbers: list[int] = []
        for word in self._words(text[:LONGEST_TEXT]):
            numbers.extend(self._pieces(word))
            if len(numbers) >= limit:
                break
        return numbers[:limit]

    def _words(self, text: str) -> list[str]:
        if text.isascii():
            text = text.lower() if self._lowers else text
            return text.translate(_ASCII).split()
        import unicodedata

        text = "".join(_cleaned(text, unicodedata.category))
        if self._strips:
            text = "".join(mark for mark in unicodedata.normalize("NFD", text) if unicodedata.category(mark) != "Mn")
        if self._lowers:
            # Each character for itself, as the models were taught: a final sigma is like any other.
            text = "".join(map(str.lower, text))
        return "".join(
            f" {mark} " if mark in _PUNCTUATION or unicodedata.category(mark)[0] == "P" else mark for mark in text
        ).split()

    def _cut_word(self, word: str) -> tuple[int, ...]:
        pieces: list[int] = []
        start, numbers = 0, self._numbers
        while start < len(word) <= _LONGEST_WORD:
            mark = _MARK if start else ""
            for end in range(len(word), start, -1):
                if (number := numbers.get(mark + word[start:end])) is not None:
                    pieces.append(number)
                    start = end
                    break
            else:
                break
        return tuple(pieces) if start == len(word) else (self.unknown,)


def read_wordpieces(folder: str) -> WordPieces:
    """Read a model folder's vocabulary; raises `ConfigError` where it is none of this kind."""
    document = read_document(f"{folder}/tokenizer_config.json", most=_LARGEST_VOCABULARY) or {}
    if (text := read_text(f"{folder}/vocab.txt", most=_LARGEST_VOCABULARY)) is not None:
        lowers = document.get("do_lower_case") is not False
        strips = document.get("strip_accents")
        tokens = text.removesuffix("\n").split("\n")
        if not text.strip():
            raise unusable(f"{folder}/vocab.txt lists no tokens", "no_tokens")
    else:
        document = read_document(f"{folder}/tokenizer.json", most=_LARGEST_VOCABULARY) or {}
        parts = (document.get("normalizer"), document.get("model"))
        normalizer, model = (part if isinstance(part, dict) else {} for part in parts)
        if normalizer.get("type") != "BertNormalizer" or model.get("type", "WordPiece") != "WordPiece":
            kind = f"{model.get('type', 'no')} tokenizer" if document else "no tokenizer.json or vocab.txt"
            hint = "use a model with BERT's tokenizer, such as all-MiniLM-L6-v2"
            raise unusable(f"{folder} has {kind}, which cannot be read here", "unknown_tokenizer", hint=hint)
        lowers, strips = normalizer.get("lowercase") is not False, normalizer.get("strip_accents")
        numbers = model.get("vocab")
        if not isinstance(numbers, dict) or not numbers:
            raise unusable(f"{folder}/tokenizer.json lists no tokens", "no_tokens")
        places = list(numbers.values())
        if not all(type(place) is int for place in places) or sorted(places) != list(range(len(places))):
            raise unusable(f"{folder}/tokenizer.json does not number its tokens from 0", "bad_token_numbers")
        tokens = sorted(numbers, key=numbers.__getitem__)
    return WordPieces(tokens, lowers=lowers, strips_accents=lowers if strips is None else bool(strips))


def read_text(path: str, *, most: int) -> str | None:
    """A text file, or nothing where there is none; raises `ConfigError` where it is too large or no text."""
    refuse_special(path)
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib is slow to import
            data = file.read(most + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unusable(f"{path}: {error.strerror}", "unreadable", hint="check the model's folder") from error
    if len(data) > most:
        raise _broken(path, f"it is larger than {most >> 20} MiB", "too_large")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise _broken(path, "it is not UTF-8", "not_utf8") from error


def read_document(path: str, *, most: int = 1 << 20) -> dict[str, Any] | None:
    """A JSON object in a file, or nothing where there is no file; raises `ConfigError` where it is something else."""
    if (text := read_text(path, most=most)) is None:
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _broken(path, "it is not JSON", "not_json") from error
    if not isinstance(document, dict):
        raise _broken(path, "it holds no object", "not_an_object")
    return document


def _cleaned(text: str, category: Any) -> Iterator[str]:
    """Drop what cannot be seen, make every blank a space, and set ideographs apart."""
    for mark in text:
        code = ord(mark)
        if mark in "\t\n\r":
            yield " "
        elif code in (0, 0xFFFD) or (kind := category(mark)) in _UNSEEN:
            continue
        elif kind[0] == "Z":
            yield " "
        elif any(low <= code <= high for low, high in _IDEOGRAPHS):
            yield f" {mark} "
        else:
            yield mark


_DIGITS = 12


def identity_of(name: str, dimensions: int, digest: bytes) -> str:
    """Such as `MiniLM-L6-H384-uncased/384@0f1e2d3c4b5a`."""
    return f"{name}/{dimensions}@{digest.hex()[:_DIGITS]}"


def name_in(config: Mapping[str, Any], *, otherwise: str) -> str:
    """The name that a model's own config.json gives it; its folder may be called anything."""
    path = config.get("_name_or_path")
    last = path.rstrip("/").rpartition("/")[2] if isinstance(path, str) else ""
    plain = "".join(mark for mark in last if mark.isascii() and (mark.isalnum() or mark in "._-"))
    return plain[:60] or otherwise


SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
"""Bytes for each number, by the format's name of its type."""
FETCH_AGAIN = "fetch or copy the model's folder again"
_LARGEST_HEADER = 8 << 20
_LARGEST_FILE = 4 << 30
_BLOCK = 4 << 10
_STRIDE = 1 << 20


class Tensor:
    """One array of numbers: their type, the shape, and their bytes in the mapped file."""

    __slots__ = ("data", "kind", "shape")

    def __init__(self, kind: str, shape: tuple[int, ...], data: memoryview) -> None:
        self.kind = kind
        self.shape = shape
        self.data = data


def read_tensors(path: str) -> dict[str, Tensor]:
    """Map a file and list what is in it; raises `ConfigError` where it is not what it says."""
    mapped = _mapped(path)
    length = int.from_bytes(mapped[:8], "little")
    if not 2 <= length <= min(_LARGEST_HEADER, len(mapped) - 8):
        raise _broken(path, "its header is cut short or too long", "bad_header")
    try:
        header = json.loads(bytes(mapped[8 : 8 + length]))
    except (ValueError, RecursionError) as error:
        raise _broken(path, "its header is not JSON", "bad_header") from error
    if not isinstance(header, dict):
        raise _broken(path, "its header lists no tensors", "bad_header")
    body = mapped[8 + length :]
    found = {name: _tensor(path, name, entry, body) for name, entry in header.items() if name != "__metadata__"}
    if sum(len(tensor.data) for tensor in found.values()) != len(body):
        raise _broken(path, "its tensors overlap or leave gaps", "tensors_overlap")
    return found


def fingerprint(tensors: dict[str, Tensor]) -> bytes:
    """What tells these weights from others: names, types, shapes, and samples of each tensor's bytes.

    A block of every megabyte and both ends of each tensor: training changes all of a tensor, so it shows, and a large
    file takes milliseconds. It is no proof against somebody who alters a file on purpose.
    """
    digest = sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        size = len(tensor.data)
        samples = sha256(size.to_bytes(8, "little"))
        for start in range(0, size, min(_STRIDE, max(_BLOCK, size // 3))):
            samples.update(tensor.data[start : start + _BLOCK])
        samples.update(tensor.data[-_BLOCK:])
        digest.update(f"{name} {tensor.kind} {tensor.shape}\n".encode("utf-8", "replace"))
        digest.update(samples.digest())
    return digest.digest()


def refuse_special(path: str) -> None:
    """Raise `ConfigError` for a pipe, a device or a folder: whoever opens a pipe may wait for ever."""
    if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113 - pathlib is slow to import
        raise _broken(path, "it is no plain file", "not_a_regular_file")


def _mapped(path: str) -> memoryview:
    try:
        refuse_special(path)
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib is slow to import
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        reason = getattr(error, "strerror", None) or "it is empty"
        raise unusable(f"{path}: {reason}", "unreadable") from error
    if len(mapped) > _LARGEST_FILE:
        raise _broken(path, f"it is larger than {_LARGEST_FILE >> 30} GiB", "too_large")
    return mapped


def _tensor(path: str, name: str, entry: Any, body: memoryview) -> Tensor:
    entry = entry if isinstance(entry, dict) else {}
    kind, shape, place = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(kind, str) or kind not in SIZES:
        raise _broken(path, f"the type of tensor {name[:80]!r} is not known", "tensor_type")
    if not _is_sizes(shape) or not _is_sizes(place) or len(place) != 2:
        raise _broken(path, f"tensor {name[:80]!r} has no shape or place", "tensor_shape")
    count = SIZES[kind]
    for size in shape:
        count *= size
    start, end = place
    if not start <= end <= len(body) or end - start != count:
        raise _broken(path, f"tensor {name[:80]!r} lies outside the file or does not fit its shape", "tensor_outside")
    return Tensor(kind, tuple(shape), body[start:end])


def _is_sizes(value: Any) -> bool:
    return (
        isinstance(value, list) and len(value) <= 8 and all(type(item) is int and 0 <= item < 1 << 48 for item in value)
    )


def unusable(message: str, code: str, *, hint: str = FETCH_AGAIN) -> ConfigError:
    """Return the error for a model that cannot be used; most often it is best fetched again."""
    return ConfigError(message, code=code, hint=hint)


def _broken(path: str, why: str, code: str) -> ConfigError:
    return unusable(f"{path} cannot be used: {why}", code)
