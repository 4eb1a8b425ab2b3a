"""Text as a reader sees it: lookalike letters as Latin ones, and without invisible characters. Pure.

For comparing texts only: letters of other alphabets lose their accents and may be mapped to Latin ones.
"""

from __future__ import annotations

import unicodedata

_LATIN = (
    ("АВЕКМНОРСТУХЅІЈҮԌԚԜ", "ABEKMHOPCTYXSIJYGQW"),
    ("авекмнорстухѕіјүԁԍԛԝһѵѡӏгпь", "abekmhopctyxsijydgqwhvwlrnb"),
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ", "ABEZHIKMNOPTYXC"),
    ("αβγεηικμνοπρστυχωϲϳ", "abyenikuvonpotuxwcj"),
    ("օոսհզյցՏՍՕԼ", "onuhqjgSUOL"),
    ("ᎪᏴᏟᎠᎬᏀᎻᏆᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᎩᏃ", "ABCDEGHIJKLMPRSTVWYZ"),
    ("ꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ", "ABCDEFGHIJKLMNOPRSTUVWXYZ"),
    ("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz"),
    ("ıɑɡɩłøđħŧƅƨɵʋɯɾǀⲁⲟⲣⲥⲕ", "iagilodhtbsovwrlaopck"),
    ("ːꓸꓽ", ":.:"),
)
"""Characters that look like Latin ones, with these, for what compatibility decomposition leaves alone."""
_LETTER_SIGNS = (0x1F150, 0x1F170, 0x1F1E6)
"""Signs that are the letters A to Z in circles, squares and flags."""
_INVISIBLE = frozenset({"Cf", "Mn", "Me"})
_FILLERS = frozenset({0x115F, 0x1160, 0x17B4, 0x17B5})


class _Folding(dict[int, "int | str | None"]):
    """For `str.translate`: asks for the category of a character once."""

    def __missing__(self, point: int) -> int | str | None:
        unseen = unicodedata.category(chr(point)) in _INVISIBLE or point in _FILLERS
        self[point] = None if unseen else point
        return self[point]


_FOLDING = _Folding(
    {ord(a): b for others, latin in _LATIN for a, b in zip(others, latin, strict=True)}
    | {start + number: chr(ord("a") + number) for start in _LETTER_SIGNS for number in range(26)}
)


def unmasked(text: str) -> str:
    """Return a text with Latin letters for lookalikes, and without accents and invisible characters."""
    return text if text.isascii() else unicodedata.normalize("NFKD", text).translate(_FOLDING)
