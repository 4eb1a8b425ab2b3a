"""PDF files that mean harm: each would take all time or memory, or act on whoever opens it, if a reader let it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping

from tests.unit.features.research.documents.pdf_files import PdfFile, Run, fonts, pdf

_LINE = [Run(60, 700, "An innocent line of text.")]


def _page(file: PdfFile, parent: int, content: int, resources: bytes) -> int:
    return file.add(
        b"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 612 792] /Resources << %b >> /Contents %d 0 R >>"
        % (parent, resources, content)
    )


def _one_page(file: PdfFile, content: int, resources: bytes = b"") -> bytes:
    shared = fonts(file)
    parent = file.add()
    page = _page(file, parent, content, shared + resources)
    file.objects[parent - 1] = b"<< /Type /Pages /Kids [%d 0 R] /Count 1 >>" % page
    return file.written(parent)


def _packed_blanks(mebibytes: int) -> bytes:
    packer, blanks = zlib.compressobj(1), b" " * (1 << 20)
    return b"".join(packer.compress(blanks) for _ in range(mebibytes)) + packer.flush()


def unpacking_without_end(mebibytes: int = 160) -> bytes:
    """A stream that unpacks to a thousand times its size."""
    file = PdfFile()
    packed = _packed_blanks(mebibytes)
    head = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream"
    return _one_page(file, file.add(head % (len(packed), packed)))


def packed_in_packed() -> bytes:
    """The same, packed twice: a few kilobytes."""
    file = PdfFile()
    packed = zlib.compress(_packed_blanks(160), 9)
    head = b"<< /Length %d /Filter [/FlateDecode /FlateDecode] >>\nstream\n%b\nendstream"
    return _one_page(file, file.add(head % (len(packed), packed)))


def pages_in_a_circle() -> bytes:
    file = PdfFile()
    parent = file.add()
    file.objects[parent - 1] = b"<< /Type /Pages /Kids [%d 0 R %d 0 R] /Count 2 >>" % (parent, parent)
    return file.written(parent)


def tables_in_a_circle() -> bytes:
    """The table of objects names itself as the one before it."""
    made = pdf([_LINE])
    start = made.rindex(b"xref\n0")
    return made.replace(b"trailer\n<< ", b"trailer\n<< /Prev %d " % start)


def nested_deeply() -> bytes:
    file = PdfFile(catalog=b" /Names " + b"[" * 50_000 + b"]" * 50_000)
    return _one_page(file, file.stream(b"[" * 200_000 + b"] TJ"))


def a_million_pages() -> bytes:
    """One page, referred to again and again."""
    file = PdfFile()
    content, shared, parent = file.stream(b""), fonts(file), file.add()
    page = _page(file, parent, content, shared)
    kids = b" ".join([b"%d 0 R" % page] * 90_000)
    file.objects[parent - 1] = b"<< /Type /Pages /Kids [%b] /Count 1000000 >>" % kids
    return file.written(parent)


def forms_of_forms() -> bytes:
    """Ten forms in each of ten forms, ten times over."""
    file, inner = PdfFile(), b""
    number = file.stream(
        b"BT /F1 10 Tf 60 700 Td (again and again) Tj ET", b" /Type /XObject /Subtype /Form /BBox [0 0 9 9]"
    )
    for _ in range(10):
        inner = b" /XObject << /X %d 0 R >>" % number
        entries = b" /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources <<%b >>" % inner
        number = file.stream(b"/X Do " * 10, entries)
    return _one_page(file, file.stream(b"/X Do"), b" /XObject << /X %d 0 R >>" % number)


def a_form_in_itself() -> bytes:
    file = PdfFile()
    number = len(file.objects) + 1
    file.stream(
        b"/X Do /X Do",
        b" /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X %d 0 R >> >>" % number,
    )
    return _one_page(file, file.stream(b"/X Do"), b" /XObject << /X %d 0 R >>" % number)


def a_length_in_itself() -> bytes:
    file = PdfFile()
    content = file.add()
    file.objects[content - 1] = b"<< /Length %d 0 R >>\nstream\nBT ET\nendstream" % content
    return _one_page(file, content)


def millions_of_operators() -> bytes:
    file = PdfFile()
    return _one_page(file, file.stream(b"BT /F1 10 Tf 60 700 Td " + b"(x) Tj " * 3_000_000 + b"ET"))


def acting(canary: str, address: str) -> bytes:
    """Whoever opens it in a program that obeys starts another one, runs a script, asks a server, unpacks a file."""
    command = b"/F (/bin/sh) /P (-c 'touch %b') /Unix << /F (/bin/sh) /P (-c 'touch %b') >>" % (
        canary.encode(),
        canary.encode(),
    )
    file = PdfFile()
    attached = file.stream(b"#!/bin/sh\ntouch %b\n" % canary.encode(), b" /Type /EmbeddedFile")
    spec = file.add(b"<< /Type /Filespec /F (run.sh) /EF << /F %d 0 R >> >>" % attached)
    script = b"<< /S /JavaScript /JS (app.launchURL\\('%b', true\\)) >>" % address.encode()
    launch = b"<< /S /Launch %b >>" % command
    ask = b"<< /S /URI /URI (%b) >>" % address.encode()
    file.catalog = b" /OpenAction %b /AA << /WC %b /DS %b >>" % (launch, script, ask)
    file.catalog += b" /Names << /JavaScript << /Names [(a) %b] >> /EmbeddedFiles << /Names [(run.sh) %d 0 R] >> >>" % (
        script,
        spec,
    )
    file.catalog += b" /AcroForm << /Fields [] /XFA (<xdp:xdp xmlns:xdp='x'/>) >>"
    shared = fonts(file)
    elsewhere = file.add(b"<< /Length 0 /F (%b) /FFilter /FlateDecode >>\nstream\n\nendstream" % address.encode())
    content = file.stream(_LINE[0].operators())
    parent = file.add()
    page = file.add(
        b"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 612 792] /Resources << %b >> /Contents [%d 0 R %d 0 R] /AA << /O %b >> "
        b"/Annots [<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /A %b >>] >>"
        % (parent, shared, content, elsewhere, launch, ask)
    )
    file.objects[parent - 1] = b"<< /Type /Pages /Kids [%d 0 R] /Count 1 >>" % page
    return file.written(parent)


GREEDY: Mapping[str, Callable[[], bytes]] = {
    each.__name__: each
    for each in (
        unpacking_without_end, packed_in_packed, pages_in_a_circle, tables_in_a_circle, nested_deeply, a_million_pages,
        forms_of_forms, a_form_in_itself, a_length_in_itself, millions_of_operators,
    )
}  # fmt: skip
