"""Names in texts: what is found, what is not, and how names are compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.names import alias_key, entity_key, lookup_keys, mention_keys
from recollect.text.names import MAX_NAMES, find_names


def names(text: str, **options: frozenset[str]) -> set[str]:
    return {name.text for name in find_names(text, **options)}


def kinds(text: str) -> dict[str, str]:
    return {name.text: name.kind for name in find_names(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It was directed by Edward D. Wood Jr. The film stars Bela Lugosi.", {"Edward D. Wood Jr.", "Bela Lugosi"}),
        ("Lothair II was a son of Emperor Lothair I.", {"Lothair II", "Emperor Lothair I", "Lothair I"}),
        ("He was Duke of Burgundy.", {"Duke of Burgundy", "Burgundy"}),
        ("Bill Haley & His Comets recorded it in 1954.", {"Bill Haley & His Comets"}),
        ("What did Acme Corporation order last month?", {"Acme Corporation"}),
        ("Alice and Bob met Sarah Chen in Paris.", {"Alice", "Bob", "Sarah Chen", "Paris"}),
        ("Vincent van Gogh, Simone de Beauvoir", {"Vincent van Gogh", "Simone de Beauvoir"}),
        ("Harry Potter and the Goblet of Fire", {"Harry Potter", "Harry Potter and the Goblet of Fire"}),
        ("Acme's CEO wrote. Gotham paid.", {"Acme", "Gotham"}),
        ("We read Schindler's List by Thomas Keneally.", {"Schindler", "Schindler's List", "Thomas Keneally"}),
        ("Otto I, Duke of Bavaria ruled.", {"Otto I", "Duke of Bavaria", "Bavaria", "Otto I, Duke of Bavaria"}),
        ("New York is large, the Charlotte-based Bank of America too.", {"New York", "Charlotte", "Bank of America"}),
        ("the CEO of Globex Inc. said no", {"Globex Inc."}),
        ("“The Lord of the Rings” is by J.R.R. Tolkien.", {"The Lord of the Rings", "J.R.R. Tolkien"}),
    ],
)  # fmt: skip
def test_people_places_and_titles_are_found(text: str, expected: set[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("see INV-1041 please", "INV-1041", "id"),
        ("about order #12345 again", "order #12345", "id"),
        ("mail ana@acme.com now", "ana@acme.com", "email"),
        ("at https://www.acme.com/a?b=c", "acme.com", "host"),
        ("ask @bob there", "@bob", "handle"),
        ("post it in #general", "#general", "channel"),
        ("on project Apollo now", "project Apollo", "project"),
        ("ask the Payments team", "Payments team", "team"),
        ("call load_config() first", "load_config", "identifier"),
        ("upgrade to v2.3.1 soon", "v2.3.1", "version"),
        ("we use Python 3.11 here", "Python", "product"),
        ("Dr. Smith came", "Smith", "person"),
        ("he joined Initech GmbH in May", "Initech GmbH", "organisation"),
        ("他在看《红楼梦》", "红楼梦", "title"),
        ("「東京物語」を見た", "東京物語", "title"),
    ],
)
def test_kinds_are_told_apart(text: str, name: str, kind: str) -> None:
    assert kinds(text)[name] == kind


@pytest.mark.parametrize(
    "text",
    [
        "How do I handle rush orders?",
        "Wow! Thanks so much. Sounds great.",
        "Yesterday I went home. I've been tired since Friday.",
        "The meeting was moved to Q3 in May.",
        "Chapter 3 says so, and Paragraph 12. See Appendix 4.",
        "WHAT DID WE ORDER FROM THEM LAST MONTH PLEASE",
        "what is on the list",
        "123 456.7 -- ... !!!",
        "🎉🎉🎉",
        "مرحبا كيف حالك",
    ],
)
def test_plain_sentences_name_nobody(text: str) -> None:
    assert names(text) == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Delivered on 14 July by courier.", set()),
        ("Rescheduled. Unsubscribed. Deploy it tomorrow.", set()),
        ("Refactored Orvo.", {"Orvo"}),
        ("Renamed Beacon to Tidepool.", {"Beacon", "Tidepool"}),
        ("Upgrade Orvo first.", {"Orvo"}),
        ("Ahmed, Alfred and Jared met. Mildred did not.", {"Ahmed", "Alfred", "Jared", "Mildred"}),
        ("Associated Press and United Airlines flew.", {"Associated Press", "United Airlines"}),
    ],
)
def test_what_was_done_is_no_name_and_who_did_it_is(text: str, expected: set[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Booked the flight for 14 July 2026, back on July 21.", set()),
        ("14 July: Ana left. On 3 May Ana met Ben.", {"Ana", "Ben"}),
        ("On Monday Imke Brandt called, Friday Kim.", {"Imke Brandt", "Kim"}),
        ("June Carter and April Jones sang 45 Fathers on 21st March.", {"June Carter", "April Jones", "45 Fathers"}),
    ],
)  # fmt: skip
def test_dates_are_no_names_and_people_called_like_months_are(text: str, expected: set[str]) -> None:
    assert names(text) == expected


def test_a_product_is_the_same_in_every_version() -> None:
    assert kinds("Released Brightpay 2.9, then Brightpay v3.0 and 3.1.") == {"Brightpay": "product"}
    assert names("Version 2.9 is out.") == set()
    assert names("Apollo 11 flew, and so did an iPhone 15.") >= {"Apollo 11", "iPhone 15"}


def test_a_word_that_opens_a_sentence_is_a_name_when_it_stands_inside_another() -> None:
    assert "Teutberga" in names("Teutberga was a queen. They crowned Teutberga.")
    assert names("Paint is expensive. We need more paint.") == set()


def test_other_alphabets_with_capitals_are_read() -> None:
    assert names("Мы встретили Анну Каренину в Москве.") == {"Анну Каренину", "Москве"}
    assert names("Είδαμε τον Γιώργο Παπαδόπουλο.") == {"Γιώργο Παπαδόπουλο"}


def test_declared_names_are_found_in_lower_case() -> None:
    known = frozenset({"acme foods", "北京"})
    assert names("what does acme foods want, 我在北京", known=known) == {"acme foods", "北京"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Acme", "ACME"),
        ("Zoë", "zoe"),
        ("Acme's", "Acme"),
        ("The Beatles", "beatles"),
        ("Bill Haley & His Comets", "bill haley and his comets"),
        ("U.S.A.", "USA"),
        ("Jean-Luc", "Jean Luc"),
        ("invoice #789", "Invoice 789"),
        ("Star Trek: Discovery", "Star Trek Discovery"),
    ],
)
def test_names_that_people_take_for_the_same_have_the_same_key(one: str, other: str) -> None:
    assert entity_key(one) == entity_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("C", "C++"), ("C", "C#"), ("#general", "general"), ("v1.2", "v1.3"), ("INV-1", "INV-2")],
)
def test_names_that_differ_stay_different(one: str, other: str) -> None:
    assert entity_key(one) != entity_key(other)


def test_short_forms_leave_out_what_companies_are_registered_as() -> None:
    assert alias_key(entity_key("Acme Corporation")) == "acme"
    assert alias_key(entity_key("Project Apollo")) == "apollo"
    assert alias_key("inc") == "inc"
    assert mention_keys("Santa Monica, California") == ["santa monica california", "santa monica"]


def test_numbers_are_never_looked_up_loosely() -> None:
    assert lookup_keys(entity_key("INV-1041")) == []
    assert lookup_keys(entity_key("ana@acme.com")) == []


def test_a_long_text_names_so_many_things_and_no_more() -> None:
    text = " and ".join(f"Person{chr(97 + n % 26)}x{n}" for n in range(1000))
    assert len(find_names(text)) == MAX_NAMES


#: What is read in some way of its own: dates, joining words, titles, owners, marks.
WORDS = (
    "Ana Acme Corp. King Dr Battle Project the The of and And in 280 BC May 3 Monday Delivered Renamed 2.9 's "
    "“ ” ( ) , . : -"
).split()


@given(st.text(max_size=300) | st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join))
def test_any_text_can_be_read(text: str) -> None:
    for name in find_names(text, known=frozenset({"acme"})):
        assert name.text.strip()
        assert mention_keys(name.text)


@given(st.text(min_size=1, max_size=100))
def test_a_key_is_never_longer_than_what_an_index_takes(text: str) -> None:
    assert len(entity_key(text * 5)) <= 200


def test_a_date_that_is_joined_to_a_name_leaves_the_name() -> None:
    text = "He lost at the Battle of Heraclea in 280 BC and the Battle of Asculum in 279 BC, during the Pyrrhic War."
    assert {"Battle of Heraclea", "Battle of Asculum", "Pyrrhic War"} <= {
        name.text for name in find_names(text)
    }
