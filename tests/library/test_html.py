"""HTML: what a reader of the page would read."""

from __future__ import annotations

import pytest

from recollect.domain.library import ReadDocument
from recollect.errors import DocumentError
from recollect.library.reading import read_document


def read(html: str) -> ReadDocument:
    return read_document(html.encode(), name="page.html")


def body(html: str) -> str:
    return read(f"<html><body>{html}</body></html>").text


def test_headings_start_sections_and_paragraphs_are_lines() -> None:
    page = read(
        "<!doctype html><title>Limits — The Manual</title><h1>Limits</h1><p>Every\n key\thas&nbsp;a  quota.</p>"
        "<h2>Bursts</h2><p>Short <em>burst</em>s are fine.<p>Long ones are not.<h3>Deep</h3>x<h2>Last</h2>"
    )
    assert page.title == "Limits"
    assert page.lines == [
        "# Limits",
        "",
        "Every key has a quota.",
        "",
        "## Bursts",
        "",
        "Short bursts are fine.",
        "",
        "Long ones are not.",
        "",
        "### Deep",
        "",
        "x",
        "",
        "## Last",
    ]
    assert [(one.path, one.line_start, one.line_end) for one in page.sections] == [
        ("Limits", 1, 3),
        ("Limits > Bursts", 5, 9),
        ("Limits > Bursts > Deep", 11, 13),
        ("Limits > Last", 15, 15),
    ]


def test_programs_styles_and_what_is_hidden_are_not_text_and_never_run() -> None:
    text = body(
        "<script>document.write('<h1>gone</h1>')</script><style>p{}</style><template><p>gone</p></template>"
        "<noscript>gone</noscript><svg><text>gone</text></svg><p hidden>gone</p><p style='display: none'>gone</p>"
        "<span aria-hidden=true>gone</span><!-- gone --><button>gone</button><p onclick='gone()'>kept</p>"
        "<a href='javascript:gone()'>link</a><iframe src=x>gone</iframe><script>unclosed gone"
    )
    assert text == "kept\n\nlink"


def test_navigation_of_common_generators_is_left_out() -> None:
    text = body(
        "<nav>gone</nav><div class='navheader'>gone<table><tr><td>gone</table></div><div class='toc'><p>gone</p></div>"
        "<div role='navigation'>gone</div><ul class='breadcrumbs'><li>gone</ul><h1>Kept"
        "<a class='headerlink' href='#k'>¶</a></h1><p>kept<a href='#p'>¶</a> # 1</p>"
        "<div class='navfooter'>gone</div><footer>gone</footer>"
    )
    assert text == "# Kept\n\nkept # 1"


@pytest.mark.parametrize(
    "root", ["main", "div role=main", "article"], ids=["main", "role", "the only article"]
)
def test_what_the_page_says_it_is_about_is_preferred(root: str) -> None:
    name = root.split()[0]
    text = body(f"<div>around</div><{root}><h1>Inside</h1><p>words</p></{name}><div>around</div>")
    assert text == "# Inside\n\nwords"


def test_of_several_articles_all_are_read() -> None:
    assert body("<article>one</article><article>two</article>") == "one\n\ntwo"


def test_an_empty_main_element_does_not_lose_the_page() -> None:
    assert body("<main></main><p>words</p>") == "words"


@pytest.mark.parametrize(
    "aside",
    [
        "div class='note'",
        "div class='admonition warning'",
        "aside",
        "div class='tip'",
        "div class='sidebar'",
        "section class='caution'",
        "div class='important'",
    ],
)
def test_headings_in_notes_and_sidebars_start_no_section(aside: str) -> None:
    page = read(f"<body><h1>A</h1><{aside}><h3>Note</h3><p>Mind.</p></{aside.split()[0]}><h2>B</h2>")
    assert [section.heading for section in page.sections] == ["A", "B"]
    assert page.text_of(page.sections[0]) == "# A\n\nNote\n\nMind."


def test_tables_become_markdown() -> None:
    text = body(
        "<table><caption>Plans</caption><thead><tr><th>Plan<th>Quota</thead>"
        "<tr><td>Free<td>100 <p>a day</p><tr><td>A|B<td></table>after"
    )
    assert text.split("\n") == [
        "Plans",
        "",
        "| Plan | Quota |",
        "| --- | --- |",
        "| Free | 100 a day |",
        "| A\\|B |  |",
        "",
        "after",
    ]


def test_cells_that_span_keep_the_columns_in_place() -> None:
    text = body(
        "<table><tr><td rowspan=2>a<td colspan=2>b<td>c</tr><tr><td>d<td>e<td>f</tr>"
        "<tr><td colspan=999999>g</table>"
    )
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.split("\n")]
    assert rows[3][:4] == ["", "d", "e", "f"]
    assert max(map(len, rows)) <= 201


def test_tables_used_for_layout_are_read_as_blocks() -> None:
    text = body("<table><tr><td><h1>Title</h1><td><table><tr><td>x<td>y</table></table>")
    assert text == "# Title\n\n|  |  |\n| --- | --- |\n| x | y |"
    assert body("<table><tr><td>only<tr><td>column</table>") == "only\n\ncolumn"


def test_preformatted_text_is_kept_as_it_is() -> None:
    text = body("<p>See:</p><pre>\nif  x:\n    <b>y</b> &lt; 2\n\n# no heading</pre><p>End.</p>")
    assert text == "See:\n\n```\nif  x:\n    y < 2\n\n# no heading\n```\n\nEnd."
    page = read("<pre># one</pre><pre>a ``` b</pre>")
    assert [section.level for section in page.sections] == [0]
    assert "````\na ``` b\n````" in page.text


def test_lists_keep_their_marks_and_depth() -> None:
    text = body(
        "<ul><li>one<ul><li>deeper</ul><li>two</ul><ol start=3><li>three<li><p>four</p><p>more</p></ol>"
    )
    assert text.split("\n") == ["- one", "  - deeper", "- two", "3. three", "4. four", "", "  more"]


def test_definition_lists_and_line_breaks_separate_words() -> None:
    assert body("<dl><dt>key<dd>value<dt>other<dd>thing</dl>") == "key\n\n  value\n\nother\n\n  thing"
    assert body("one<br>two<br/>three") == "one\ntwo\nthree"


def test_character_references_are_resolved_and_bad_ones_do_no_harm() -> None:
    assert body("&lt;b&gt; &amp; &copy; &#8364; &#x41; &nosuch;") == "<b> & © € A &nosuch;"
    assert "\x00" not in body("&#0; &#xD800; &#999999999999999999999; &#x2028;end")


def test_broken_markup_is_read_as_far_as_it_goes() -> None:
    assert body("a < b <3 <p>c</b></p></div> d <a href='unclosed>gone") == "a < b <3\n\nc\n\nd"
    assert body("<h1>One<h2>Two<p>three") == "# One\n\n## Two\n\nthree"
    assert body("<![CDATA[a comment to browsers]]><!bogus><?php gone ?>end") == "end"


def test_an_xhtml_page_may_close_any_element_in_place() -> None:
    page = read(
        '<?xml version="1.0"?><html><body><a id="x"/><div/><script src="y"/><h2>T</h2><p>w</p></body></html>'
    )
    assert page.text == "## T\n\nw"
    assert page.title == "T"


def test_nesting_of_any_depth_is_read() -> None:
    assert body("<div>" * 20_000 + "deep" + "</div>" * 20_000) == "deep"
    assert body("<ul><li>" * 3_000 + "x").endswith("x")


def test_a_page_without_headings_is_one_section_named_by_its_title() -> None:
    page = read("<title>Plain</title><p>words")
    assert [(one.heading, one.line_start, one.line_end) for one in page.sections] == [("Plain", 1, 1)]


@pytest.mark.parametrize(
    "piece",
    ["<", "<!--", "<![CDATA[", "<a b='", "<!", "</", "&", "<p a=", "<script>", "<td>", "</b>", "<p><b>"],
)
def test_hostile_repetition_is_read_in_linear_time(piece: str) -> None:
    # Quadratic readers need minutes for it; there is no clock here, the suite's own limit would tell.
    read(piece * 30_000)


@pytest.mark.parametrize("piece", ["<b></i>", "<div>", "<ul><li>"])
def test_a_page_of_tags_that_nobody_closes_is_refused_before_it_takes_minutes(piece: str) -> None:
    with pytest.raises(DocumentError, match=r"nest .* deep"):
        read(piece * 200_000)


def test_a_page_can_name_no_file_and_no_entity_of_its_own() -> None:
    text = body("<!DOCTYPE r [<!ENTITY e SYSTEM 'file:///etc/passwd'><!ENTITY b 'bomb'>]><p>&e; &b;</p>")
    assert "root:" not in text
    assert "bomb" not in text.replace("'bomb'", "")
    assert "&b;" in text


def test_the_encoding_that_a_page_names_does_not_change_its_letters() -> None:
    assert body("<meta charset='iso-8859-1'><p>Grüße, 東京") == "Grüße, 東京"
    assert body("<p>" + "ü😀" * 60_000) == "ü😀" * 60_000
