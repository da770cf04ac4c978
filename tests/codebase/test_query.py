import pytest

from recollect.codebase.query import Place, read_query


def test_names_are_told_from_words_by_their_shape_ticks_and_calls():
    query = read_query(
        "The cart loses items\nSee `merge` and pay_now, then checkout() of CartView. Nothing else."
    )
    assert set(query.identifiers) == {"merge", "pay_now", "checkout", "CartView"}


def test_a_name_in_the_title_weighs_more_than_one_in_a_pasted_program():
    query = read_query("pay_now fails\n\n```python\nlose_all()\n```\n")
    assert query.identifiers["pay_now"] > query.identifiers["lose_all"]


def test_dotted_names_come_from_sentences_imports_and_other_languages():
    query = read_query("Look\nat shop.cart.Cart and\nfrom shop.pay import card, cash\nshop::cart::pay")
    assert {"shop.cart.Cart", "shop.pay", "shop.pay.card", "shop.pay.cash", "shop.cart.pay"} <= set(
        query.dotted
    )


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("see shop/cart.py:12 for it", Place(path="shop/cart.py", line=12)),
        ("see (shop/cart.py).", Place(path="shop/cart.py")),
        (
            "https://git.example.com/me/shop/blob/0a1b2c/src/shop/cart.go#L7",
            Place(path="me/shop/blob/0a1b2c/src/shop/cart.go", line=7),
        ),
        ("see src\\shop\\cart.ts", Place(path="src/shop/cart.ts")),
        ("cart.py line 12 says so", Place(path="cart.py", line=12)),
    ],
)
def test_files_named_in_a_text_are_places(text, place):
    assert read_query(text).places == (place,)


def test_abbreviations_and_attributes_are_no_places():
    assert read_query("e.g. self.cart, i.e. 1.5.2, and so on etc. ...").places == ()


def test_the_frames_of_a_trace_are_not_places_as_well():
    query = read_query('Boom\n  File "shop/cart.py", line 12, in pay\nas cart.py says')
    assert [frame.path for frame in query.frames] == ["shop/cart.py"]
    assert [place.path for place in query.places] == ["cart.py"]


@pytest.mark.parametrize(
    ("hint", "field", "expected"),
    [
        ("src/shop/cart.py", "hinted_places", (Place(path="src/shop/cart.py"),)),
        ("src/shop/cart.py:40", "hinted_places", (Place(path="src/shop/cart.py", line=40),)),
        ("cart.py:40:7", "hinted_places", (Place(path="cart.py", line=40),)),
        ("src/shop/", "hinted_places", (Place(path="src/shop"),)),
        ("src/**/*.ts", "globs", ("src/**/*.ts",)),
        ("Cart.pay", "hinted_names", ("Cart.pay",)),
        ("Cart::pay", "hinted_names", ("Cart.pay",)),
        ("pay()", "hinted_names", ("pay",)),
        (
            "\tat com.shop.Cart.pay(Cart.java:42)",
            "frames",
            (Place(path="com/shop/Cart.java", line=42),),
        ),
        ("  ", "hinted_names", ()),
    ],
)
def test_hints_are_paths_places_globs_symbols_or_traces(hint, field, expected):
    assert getattr(read_query("why?", [hint]), field) == expected


def test_a_pasted_trace_is_a_hint_innermost_first():
    trace = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n  File "b.py", line 2, in g\n'
    assert [frame.path for frame in read_query("why?", [trace]).frames] == ["b.py", "a.py"]


def test_several_hints_may_stand_on_lines_of_one():
    query = read_query("why?", ["src/cart.py\nCart.pay"])
    assert query.hinted_places == (Place(path="src/cart.py"),)
    assert query.hinted_names == ("Cart.pay",)


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("Which tests cover the cart?", True),
        ("Add a unit test for the cart", True),
        ("The cart loses items when tested by hand", False),
        ("Where is the cart merged?", False),
        ("The latest attestation is lost", False),
        ("How does the test helper feed input to a program?", False),
        ("What does our test client send?", False),
    ],
)
def test_a_question_about_tests_is_known_by_its_title(text, about):
    assert read_query(text).about_tests is about


def test_what_the_text_holds_is_counted_by_where_it_stands():
    query = read_query(
        'Title words\nA sentence here.\n```\ncode_line = 1\n```\n  File "a.py", line 1, in f\n'
    )
    assert query.segments.title == "Title words"
    assert query.segments.prose == "A sentence here."
    assert query.segments.code == "code_line = 1"
    assert "a.py" in query.segments.trace


@pytest.mark.parametrize(
    "text", ["", "   \n\n", "\0\0", "?", "```", "🙂 " * 50, "a" * 300_000, "." * 50_000, "(" * 50_000]
)
def test_no_text_is_too_odd_to_read(text):
    query = read_query(text, [text])
    assert query.places == ()


@pytest.mark.parametrize(
    "part",
    [
        "@",
        "<!--",
        "where docs ",
        "a.",
        "a/",
        "`a ",
        "from a import ",
        "a_",
        "(a",
        "; ",
        "a = ",
        "::a",
        "A1",
        "at a:1:1\n",
    ],
)
def test_repeating_anything_does_not_make_reading_slow(part):
    # Whatever is quadratic in one of the patterns would keep this from ending.
    read_query(part * (100_000 // len(part)), [part * 2_000])


def test_comments_of_issue_templates_are_left_out():
    query = read_query("Title\n<!-- please describe -->the cart<!-- and never\nclosed")
    assert "describe" not in query.words
    assert "closed" not in query.words
    assert "cart" in query.words
