"""Office files: Word's written by hand as the parts of a zip archive, the others with their usual libraries."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_TYPES = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/word/document.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/>'
    '<Override PartName="/word/styles.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"/>'
    "</Types>"
)
_RELATIONS = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Target="{target}" Type='
    '"http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}"/></Relationships>'
)
_STYLES = f"""<?xml version="1.0" encoding="UTF-8"?><w:styles {_WORD}>
<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="Heading2"><w:name w:val="heading 2"/></w:style></w:styles>"""


def write_zip(parts: Mapping[str, str | bytes]) -> bytes:
    """An archive of these parts, packed."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in parts.items():
            archive.writestr(name, body)
    return out.getvalue()


def docx_parts(blocks: Sequence[tuple[str, str] | Sequence[Sequence[str]]]) -> dict[str, str | bytes]:
    """The parts of a Word file. A block is (style, text), "" for plain text, or the rows of a table."""
    body = ""
    for block in blocks:
        if isinstance(block, tuple):
            body += _paragraph(block[1], style=block[0])
        else:
            rows = ("".join(f"<w:tc>{_paragraph(cell)}</w:tc>" for cell in row) for row in block)
            body += "<w:tbl>" + "".join(f"<w:tr>{cells}</w:tr>" for cells in rows) + "</w:tbl>"
    return {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _RELATIONS.format(target="word/document.xml", kind="officeDocument"),
        "word/_rels/document.xml.rels": _RELATIONS.format(target="styles.xml", kind="styles"),
        "word/styles.xml": _STYLES,
        "word/document.xml": f"<w:document {_WORD}><w:body>{body}</w:body></w:document>",
    }


def write_docx(blocks: Sequence[tuple[str, str] | Sequence[Sequence[str]]]) -> bytes:
    """A Word file of these blocks."""
    return write_zip(docx_parts(blocks))


def write_pptx(slides: Sequence[tuple[str, str]]) -> bytes:
    """A presentation; a slide is (title, text), the title may be empty."""
    import pptx

    presentation = pptx.Presentation()
    for title, text in slides:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = text
    out = io.BytesIO()
    presentation.save(out)
    return out.getvalue()


def write_xlsx(sheets: Mapping[str, Sequence[Sequence[object]]]) -> bytes:
    """A workbook of these sheets."""
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _paragraph(text: str, *, style: str = "") -> str:
    styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{styled}<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'
