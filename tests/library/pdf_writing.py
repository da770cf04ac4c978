"""PDF files written by hand, small enough to read: pages of text at given places, rules, pictures, bookmarks."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

WIDTH, HEIGHT = 612, 792


def words(text: str, *, x: int = 72, y: int, size: int = 11) -> str:
    """Operators that write one line of text; y counts from the bottom of the page."""
    escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return f"BT /F1 {size} Tf {x} {y} Td ({escaped}) Tj ET\n"


def paragraph(lines: Sequence[str], *, top: int = 700, size: int = 11) -> str:
    """Operators that write lines below each other."""
    return "".join(words(line, y=top - 14 * number, size=size) for number, line in enumerate(lines))


def table(rows: Sequence[Sequence[str]], *, top: int, ruled: bool, width: int = 120) -> str:
    """Operators that write a table, with or without lines around its cells."""
    content = ""
    for number, row in enumerate(rows):
        for column, cell in enumerate(row):
            content += words(cell, x=76 + width * column, y=top - 20 * number - 14, size=10)
    if ruled:
        right, bottom = 72 + width * len(rows[0]), top - 20 * len(rows)
        for number in range(len(rows) + 1):
            content += f"72 {top - 20 * number} m {right} {top - 20 * number} l S\n"
        for column in range(len(rows[0]) + 1):
            content += f"{72 + width * column} {top} m {72 + width * column} {bottom} l S\n"
    return content


def picture() -> str:
    """Operators that fill the page with a picture."""
    return f"q {WIDTH} 0 0 {HEIGHT} 0 0 cm /Im1 Do Q\n"


def write_pdf(
    pages: Sequence[str],
    *,
    title: str = "",
    bookmarks: Sequence[tuple[str, int]] = (),
    extra_trailer: str = "",
    extra_objects: Sequence[bytes] = (),
) -> bytes:
    """A PDF with these contents, one string of operators a page. Bookmarks are (title, page from 0)."""
    objects: list[bytes] = []

    def add(body: bytes) -> int:
        objects.append(body)
        return len(objects)

    first_page = 5 + len(pages)
    kids = " ".join(f"{first_page + number} 0 R" for number in range(len(pages)))
    first_mark = first_page + len(pages) + 1
    outlines = f"/Outlines {first_mark - 1} 0 R" if bookmarks else ""
    add(f"<< /Type /Catalog /Pages 2 0 R {outlines} >>".encode())
    add(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode())
    add(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    pixel = zlib.compress(b"\x80")
    add(
        b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8"
        b" /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (len(pixel), pixel)
    )
    for content in pages:
        packed = zlib.compress(content.encode("latin-1"))
        add(b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (len(packed), packed))
    for number in range(len(pages)):
        add(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] /Contents {5 + number} 0 R"
            " /Resources << /Font << /F1 3 0 R >> /XObject << /Im1 4 0 R >> >> >>".encode()
        )
    if bookmarks:
        last = first_mark + len(bookmarks) - 1
        add(
            f"<< /Type /Outlines /First {first_mark} 0 R /Last {last} 0 R /Count {len(bookmarks)} >>".encode()
        )
        for number, (text, page) in enumerate(bookmarks):
            following = f"/Next {first_mark + number + 1} 0 R" if number + 1 < len(bookmarks) else ""
            place = f"/Parent {first_mark - 1} 0 R /Dest [{first_page + page} 0 R /Fit]"
            add(f"<< /Title ({text}) {place} {following} >>".encode())
    info = add(f"<< /Title ({title}) >>".encode())
    objects.extend(extra_objects)
    return _assemble(objects, f"/Info {info} 0 R {extra_trailer}")


def _assemble(objects: Sequence[bytes], trailer: str) -> bytes:
    out = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R %s >>\n" % (len(objects) + 1, trailer.encode())
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)
