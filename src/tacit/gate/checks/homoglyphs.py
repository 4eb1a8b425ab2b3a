"""Letters that look like Latin ones → the Latin ones. Only the pairs that real attacks use; no full confusables table."""

from __future__ import annotations

import re

_LOOKALIKES = {
    "a": "аɑα", "c": "сϲ", "d": "ԁ", "e": "еҽ", "g": "ɡ", "h": "һ", "i": "іıɩ", "j": "јϳ", "k": "κк",
    "l": "ӏ", "m": "м", "n": "ո", "o": "оοօ", "p": "рρ", "q": "ԛ", "r": "г", "s": "ѕ", "t": "т", "u": "υս", "v": "νѵ",
    "w": "ԝѡ", "x": "хχ", "y": "уγ", "z": "ᴢ", "A": "АΑ", "B": "ВΒ", "C": "СϹ", "E": "ЕΕ", "H": "НΗ", "I": "ІΙ",
    "J": "Ј", "K": "КΚ", "M": "МΜ", "N": "Ν", "O": "ОΟ", "P": "РΡ", "S": "Ѕ", "T": "ТΤ", "X": "ХΧ", "Y": "ΥҮ", "Z": "Ζ",
}  # fmt: skip
_FOLD = str.maketrans({foreign: latin for latin, foreigns in _LOOKALIKES.items() for foreign in foreigns})
_MIXED = re.compile(r"\b(?=\w{0,40}[A-Za-z])\w{0,40}[\u0400-\u052f\u0531-\u058f]\w{0,40}")


def fold(text: str) -> str:
    """The text with every lookalike replaced by the Latin letter it passes for."""
    return text if text.isascii() else text.translate(_FOLD)


def mixed_words(text: str) -> list[re.Match[str]]:
    """Words that mix Latin letters with lookalikes of other alphabets, and read as one Latin word."""
    if text.isascii():
        return []
    return [match for match in _MIXED.finditer(text) if fold(match[0]).isascii() and len(match[0]) > 3]
