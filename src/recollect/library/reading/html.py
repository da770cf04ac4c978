"""HTML: what a reader of the page would read, without its navigation, programs and styles.

`main`, or the only `article`, is preferred when the page has one. The tokens are `html_tokens.py`, the rules of the
elements `html_rules.py`, the lines `html_layout.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.domain.documents import ReadDocument
from recollect.library.reading.html_layout import Layout
from recollect.library.reading.html_rules import is_main
from recollect.library.reading.html_tokens import End, Start, Token, tokens_of
from recollect.library.reading.sections import build_sections, shorten


def read_html(source: str, *, title: str) -> ReadDocument:
    """A canonical text of HTML; `title` is for a page that does not give itself one."""
    tokens = tokens_of(source)
    layout = Layout(tokens, root=_root(tokens))
    if not layout.lines:
        layout = Layout(tokens, root=None)
    title = _title(layout) or title
    lines = layout.lines or [""]
    return ReadDocument(
        title=title,
        kind="html",
        text="\n".join(lines),
        sections=build_sections(lines, layout.headings, title=title),
    )


def _root(tokens: Sequence[Token]) -> str | None:
    """Which element holds what the page is about: `main`, the only `article`, or the whole page."""
    articles = depth = 0
    for token in tokens:
        if isinstance(token, Start):
            if is_main(token):
                return "main"
            if token.name == "article":
                articles += depth == 0
                depth += 1
        elif isinstance(token, End) and token.name == "article":
            depth -= 1
    return "article" if articles == 1 else None


def _title(layout: Layout) -> str:
    """The page's title; when that is the first heading and the name of the site, the heading alone."""
    if not layout.headings:
        return shorten(layout.title)
    heading = shorten(layout.headings[0].text)
    return heading if not layout.title or layout.title.startswith(heading) else shorten(layout.title)
