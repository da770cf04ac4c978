"""What the elements of HTML mean for reading: which are blocks, which are furniture of the page, which are asides.

Rules are general (names of elements, roles, class names that generators share), so that pages of an unknown generator
read well too.
"""

from __future__ import annotations

from recollect.library.reading.html_tokens import Start

HEADINGS = {f"h{level}": level for level in range(1, 7)}
BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure footer"
    " form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol optgroup option p pre section summary"
    " table tbody td tfoot th thead tr ul".split()
)
#: Never text of the page: programs, styles, drawings, controls, and what is shown only when something is missing.
_SILENT = frozenset(
    "script style template noscript noembed noframes iframe object applet video audio canvas svg nav head select button"
    " textarea datalist annotation annotation-xml dialog map".split()
)
_SILENT_ROLES = frozenset("navigation search banner contentinfo menu menubar toolbar tablist doc-toc".split())
#: Class names of navigation and of links to headings, as DocBook, Sphinx and their relatives write them.
_SILENT_CLASSES = frozenset(
    "navheader navfooter toc tableofcontents table-of-contents breadcrumb breadcrumbs headerlink anchorjs-link"
    " permalink skip-link skiplink sphinxsidebar".split()
)
_ASIDE_CLASSES = frozenset(
    "note tip warning caution important danger hint attention admonition sidebar callout alert markdown-alert"
    " seealso".split()
)
_ASIDE_ELEMENTS = frozenset("div section blockquote details table dl fieldset p".split())
_PERMALINKS = frozenset({"¶", "#", "§", "🔗", "\uf0c1"})


def is_main(tag: Start) -> bool:
    """Whether the page itself says that this is what it is about."""
    return tag.name == "main" or tag.attributes.get("role", "").strip().lower() == "main"


def is_silent(tag: Start) -> bool:
    """Whether nothing inside is text of the page."""
    if tag.name in _SILENT:
        return True
    attributes = tag.attributes
    if not attributes or tag.name in {"html", "body"}:
        return False
    role = attributes.get("role", "").strip().lower()
    if role == "tabpanel":  # the other tabs are hidden, and one click away
        return False
    if role in _SILENT_ROLES or "hidden" in attributes or attributes.get("aria-hidden", "").lower() == "true":
        return True
    style = attributes.get("style", "")
    if style and "display:none" in style.replace(" ", "").lower():
        return True
    names = attributes.get("class", "")
    return bool(names) and not _SILENT_CLASSES.isdisjoint(names.lower().split())


def is_aside(tag: Start) -> bool:
    """Whether this is a note, a warning or a sidebar: headings inside start no section."""
    if tag.name == "aside":
        return True
    if not tag.attributes:
        return False
    if tag.attributes.get("role", "").strip().lower() == "note":
        return True
    names = tag.attributes.get("class", "")
    return (
        bool(names) and tag.name in _ASIDE_ELEMENTS and not _ASIDE_CLASSES.isdisjoint(names.lower().split())
    )


def is_permalink(text: str, *, in_heading: bool) -> bool:
    """Whether a link's text only marks a place to link to."""
    text = text.strip()
    return text in _PERMALINKS and (in_heading or text in {"¶", "\uf0c1"})
