"""PDF files for tests, written byte by byte: text with exact places, outlines, encryption, images, and files that mean harm."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

WIDTH, HEIGHT = 612, 792
_WIDTHS = dict.fromkeys("abdeghnopqu0123456789", 556) | dict.fromkeys("cksvxyz", 500) | dict.fromkeys("ijl", 222)
_WIDTHS |= dict.fromkeys("ft .,:;/I!|", 278) | dict.fromkeys("ABEKPSVXY&", 667) | dict.fromkeys("CDHNRUw", 722)
_WIDTHS |= {"m": 833, "r": 333, "-": 333, "(": 333, ")": 333, "F": 611, "T": 611, "Z": 611, "G": 778, "O": 778}
_WIDTHS |= {"Q": 778, "J": 500, "L": 556, "M": 833, "W": 944, "'": 191, "%": 889, "[": 278, "]": 278, "_": 556}
_WIDTHS |= {"\x01": 500, "\x02": 500, "\x03": 556, "\x04": 833, "=": 584, "+": 584, "@": 1015}
LIGATURES = {"ffi": "\x04", "ff": "\x03", "fi": "\x01", "fl": "\x02"}
_PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")


def width_of(text: str, size: float) -> float:
    return sum(_WIDTHS.get(character, 556) for character in text) * size / 1000


@dataclass(frozen=True)
class Run:
    """A line of text at a place; with `spaced` the words are set apart by moves alone, as typesetters do."""

    x: float
    y: float
    text: str
    size: float = 10
    bold: bool = False
    spaced: bool = False

    def operators(self) -> bytes:
        font = "F2" if self.bold else "F1"
        if self.spaced:
            words = " -333 ".join(_literal(word) for word in self.text.split(" "))
            shown = f"[{words}] TJ"
        else:
            shown = f"{_literal(self.text)} Tj"
        return f"BT /{font} {self.size:g} Tf 1 0 0 1 {self.x:g} {self.y:g} Tm {shown} ET\n".encode("cp1252")


def _literal(text: str) -> str:
    escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return f"({escaped})"


def wrapped(text: str, width: float, size: float = 10) -> list[str]:
    """A text as lines no wider than that."""
    lines: list[str] = []
    for word in text.split():
        if lines and width_of(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def column(text: str, *, x: float, top: float, width: float, size: float = 10, spaced: bool = False) -> list[Run]:
    """A text set in one column, from the top down."""
    lines = wrapped(text, width, size)
    return [Run(x, top - 1.2 * size * number, line, size, spaced=spaced) for number, line in enumerate(lines)]


def with_ligatures(text: str) -> str:
    """The text with the codes of the ligatures, as fonts of typesetters have them."""
    for letters, code in LIGATURES.items():
        text = text.replace(letters, code)
    return text


@dataclass
class PdfFile:
    """Objects of a file, numbered from 1; written out with a table of where each one lies."""

    objects: list[bytes] = field(default_factory=list)
    catalog: bytes = b""
    """Further entries of the catalog."""
    info: bytes = b""
    user_password: str | None = None
    """Encrypts the file; empty: whoever opens it can read it."""

    def add(self, body: bytes = b"") -> int:
        self.objects.append(body)
        return len(self.objects)

    def stream(self, data: bytes, entries: bytes = b"", *, packed: bool = True) -> int:
        if packed:
            data, entries = zlib.compress(data), entries + b" /Filter /FlateDecode"
        return self.add(b"<< /Length %d%b >>\nstream\n%b\nendstream" % (len(data), entries, data))

    def written(self, pages_object: int) -> bytes:
        root = self.add(b"<< /Type /Catalog /Pages %d 0 R%b >>" % (pages_object, self.catalog))
        info = self.add(b"<<%b >>" % self.info)
        trailer = b"/Root %d 0 R /Info %d 0 R" % (root, info)
        bodies = self.objects
        if self.user_password is not None:
            identity, keys = hashlib.md5(b"made for tests").digest(), _Keys.of(self.user_password)
            bodies = [keys.encrypted(number, body) for number, body in enumerate(bodies, 1)]
            bodies = [*bodies, keys.dictionary()]
            shown = identity.hex().encode()
            trailer += b" /Encrypt %d 0 R /ID [<%b> <%b>]" % (len(bodies), shown, shown)
        out, places = bytearray(b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n"), []
        for number, body in enumerate(bodies, 1):
            places.append(len(out))
            out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
        start = len(out)
        out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
        out += b"".join(b"%010d 00000 n \n" % place for place in places)
        out += b"trailer\n<< /Size %d %b >>\nstartxref\n%d\n%%%%EOF\n" % (len(bodies) + 1, trailer, start)
        return bytes(out)


@dataclass(frozen=True)
class _Keys:
    """The standard security handler of 40 bits: enough to be refused, or read, by every reader."""

    owner: bytes
    user: bytes
    key: bytes

    @classmethod
    def of(cls, password: str) -> _Keys:
        padded = (password.encode() + _PADDING)[:32]
        owner = _rc4(hashlib.md5((b"the owner" + _PADDING)[:32]).digest()[:5], padded)
        identity = hashlib.md5(b"made for tests").digest()
        key = hashlib.md5(padded + owner + b"\xfc\xff\xff\xff" + identity).digest()[:5]
        return cls(owner, _rc4(key, _PADDING), key)

    def dictionary(self) -> bytes:
        shown = (self.owner.hex().encode(), self.user.hex().encode())
        return b"<< /Filter /Standard /V 1 /R 2 /P -4 /O <%b> /U <%b> >>" % shown

    def encrypted(self, number: int, body: bytes) -> bytes:
        """Streams alone are encrypted: strings are not looked at by the tests."""
        head, mark, rest = body.partition(b"\nstream\n")
        if not mark:
            return body
        data = rest.removesuffix(b"\nendstream")
        key = hashlib.md5(self.key + number.to_bytes(3, "little") + b"\0\0").digest()[:10]
        return head + mark + _rc4(key, data) + b"\nendstream"


def _rc4(key: bytes, data: bytes) -> bytes:
    state, j = list(range(256)), 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out, i, j = bytearray(), 0, 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)


def fonts(file: PdfFile) -> bytes:
    """Two fonts with the widths above; the codes 1 to 4 are ligatures, told by their glyphs' names alone."""
    numbers = []
    for name in ("Helvetica", "Helvetica-Bold"):
        widths = " ".join(str(_WIDTHS.get(chr(code), 556)) for code in range(256))
        entries = f"/Type /Font /Subtype /Type1 /BaseFont /{name} /FirstChar 0 /LastChar 255 /Widths [{widths}]"
        encoding = "/Encoding << /BaseEncoding /WinAnsiEncoding /Differences [1 /fi /fl /ff /ffi] >>"
        numbers.append(file.add(f"<< {entries} {encoding} >>".encode()))
    return b"/Font << /F1 %d 0 R /F2 %d 0 R >>" % (numbers[0], numbers[1])


def pdf(
    pages: Iterable[Sequence[Run] | bytes],
    *,
    title: str = "",
    author: str = "",
    outline: Sequence[tuple[str, int]] = (),
    user_password: str | None = None,
    catalog: bytes = b"",
) -> bytes:
    """A whole file: a page is a list of runs, or the operators themselves."""
    file = PdfFile(catalog=catalog, user_password=user_password)
    resources, parent, kids = fonts(file), file.add(), []
    for page in pages:
        drawn = page if isinstance(page, bytes) else b"".join(run.operators() for run in page)
        content = file.stream(drawn)
        kids.append(
            file.add(
                b"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 %d %d] /Resources << %b >> /Contents %d 0 R >>"
                % (parent, WIDTH, HEIGHT, resources, content)
            )
        )
    listed = b" ".join(b"%d 0 R" % kid for kid in kids)
    file.objects[parent - 1] = b"<< /Type /Pages /Kids [%b] /Count %d >>" % (listed, len(kids))
    if title:
        file.info += b" /Title %b" % _literal(title).encode("cp1252")
    if author:
        file.info += b" /Author %b" % _literal(author).encode("cp1252")
    if outline:
        file.catalog += b" /Outlines %d 0 R" % _outline(file, outline, kids)
    return file.written(parent)


def _outline(file: PdfFile, entries: Sequence[tuple[str, int]], kids: Sequence[int]) -> int:
    root, first = file.add(), len(file.objects) + 1
    for place, (title, page) in enumerate(entries):
        links = b" /Prev %d 0 R" % (first + place - 1) if place else b""
        links += b" /Next %d 0 R" % (first + place + 1) if place + 1 < len(entries) else b""
        shown = (_literal(title).encode("cp1252"), root, kids[page - 1], links)
        file.add(b"<< /Title %b /Parent %d 0 R /Dest [%d 0 R /Fit]%b >>" % shown)
    last = first + len(entries) - 1
    file.objects[root - 1] = b"<< /Type /Outlines /First %d 0 R /Last %d 0 R /Count %d >>" % (first, last, len(entries))
    return root


def scanned(pages: int = 2) -> bytes:
    """Pages that show an image each, and no text."""
    file = PdfFile()
    image = file.stream(
        bytes(64 * 64),
        b" /Type /XObject /Subtype /Image /Width 64 /Height 64 /ColorSpace /DeviceGray /BitsPerComponent 8",
    )
    parent, kids = file.add(), []
    for _ in range(pages):
        content = file.stream(b"q 612 0 0 792 0 0 cm /Im0 Do Q")
        resources = b"/XObject << /Im0 %d 0 R >>" % image
        shown = (parent, WIDTH, HEIGHT, resources, content)
        kids.append(
            file.add(
                b"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 %d %d] /Resources << %b >> /Contents %d 0 R >>" % shown
            )
        )
    listed = b" ".join(b"%d 0 R" % kid for kid in kids)
    file.objects[parent - 1] = b"<< /Type /Pages /Kids [%b] /Count %d >>" % (listed, len(kids))
    return file.written(parent)
