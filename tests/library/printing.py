"""Printing Markdown to PDF with a browser; `python -m tests.library.printing` makes `printed/` again."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from markdown_it import MarkdownIt

PRINTED = Path(__file__).parent / "printed"
BROWSER = shutil.which("chromium")

_RULED = "table{border-collapse:collapse} td,th{border:1px solid #000;padding:4px 8px}"
#: A style and the browser's options for each way to print.
WAYS = {
    "browser": ("", ()),
    "columns": (
        f"body{{column-count:2;font-size:9pt;text-align:justify;hyphens:auto}} h1{{column-span:all}} {_RULED}",
        ("--no-pdf-header-footer", "--disable-pdf-tagging"),
    ),
    "outline": (
        "body{font-family:'DejaVu Sans',sans-serif;font-size:10pt;line-height:1.5} h3{font-size:1em}"
        f" h1,h2{{border-bottom:1px solid #ccc}} code{{background:#eee;font-size:85%}} {_RULED}",
        ("--no-pdf-header-footer", "--generate-pdf-document-outline"),
    ),
}


def print_markdown(source: str, target: Path, *, way: str) -> None:
    """Write the PDF that a browser makes of a Markdown text."""
    style, options = WAYS[way]
    body = MarkdownIt("commonmark").enable("table").render(source)
    page = target.with_suffix(".html")
    head = f"<meta charset=utf-8><title>Printed</title><style>{style}</style>"
    page.write_text(f"<!doctype html><html lang=en><head>{head}</head><body>{body}</body></html>")
    assert BROWSER is not None
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    profile = f"--user-data-dir={target.with_suffix('.profile')}"
    subprocess.run(
        [*command, *options, profile, f"--print-to-pdf={target}", page.as_uri()],
        check=True,
        capture_output=True,
        timeout=120,
    )


def main() -> None:
    """Print the manual in all ways."""
    import tempfile

    for way in WAYS:
        with tempfile.TemporaryDirectory() as folder:
            print_markdown((PRINTED / "manual.md").read_text(), Path(folder) / "manual.pdf", way=way)
            shutil.copy(Path(folder) / "manual.pdf", PRINTED / f"{way}.pdf")


if __name__ == "__main__":
    main()
