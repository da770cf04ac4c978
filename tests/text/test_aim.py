"""What a question is after, read from its form."""

from __future__ import annotations

import pytest

from recollect.domain.query import Want
from recollect.text.aim import is_bare_topic, read_aim


@pytest.mark.parametrize(
    ("question", "want"),
    [
        ("Where do I live?", Want.ONE),
        ("whats the wifi password", Want.ONE),
        ("What is the wireless password?", Want.ONE),
        ("Who is my boss?", Want.ONE),
        ("List all outages", Want.ALL),
        ("Who in the family has allergies?", Want.ALL),
        ("Which books did we pick for book club this year?", Want.ALL),
        ("Tell me about my customers", Want.ALL),
        ("Everything Zielinski has repaired for us", Want.ALL),
        ("Which database does each Delivery team use?", Want.ALL),
        ("Welche Allergien habe ich?", Want.ALL),
        ("Who decided to drop passwords, and why?", Want.ALL),
        ("What did I do in May? List my changes.", Want.ALL),
        ("What allergies are there in the team?", Want.ALL),
        ("Who can't eat what?", Want.ALL),
        ("By how much did the fee rise?", Want.COMPARISON),
        ("Ist die neue Wohnung günstiger als die alte?", Want.COMPARISON),
        ("¿Qué es más barato, el tren o el autobús?", Want.COMPARISON),
        ("火车和汽车哪个快？", Want.COMPARISON),
        ("Um wie viel Uhr beginnt die Probe?", Want.ONE),
        ("How much does Adrian pay every month?", Want.ONE),
        ("How many incidents did we have this year?", Want.NUMBER),
        ("How often did my luggage get lost?", Want.NUMBER),
        ("Compare the databases of Atlas and Borealis", Want.COMPARISON),
        ("Which roof quote is lower, Kerr or Highland Slate?", Want.COMPARISON),
        ("Is Northgrid cheaper per kWh than Ember was?", Want.COMPARISON),
        ("Does Saskia eat fish?", Want.YES_NO),
        ("Draft the opening hours for the website", Want.TASK),
        ("Order new school shoes for Olly", Want.TASK),
        ("please book my usual seat on the flight to Osaka", Want.TASK),
        ("Tell Mrs Dunmore how much food Waffles should get", Want.TASK),
        ("Réserve une table pour le dîner", Want.TASK),
        ("", Want.ONE),
        ("???", Want.ONE),
    ],
)
def test_the_form_of_a_question_says_what_is_wanted(question: str, want: Want) -> None:
    assert read_aim(question).want is want


@pytest.mark.parametrize(
    ("question", "past"),
    [
        ("Where did Lena live before Hamburg?", True),
        ("Who used to babysit?", True),
        ("What was our day rate at the start of the year?", True),
        ("Where do I live?", False),
        ("What must be done before Friday?", False),
    ],
)
def test_a_question_about_the_past_is_known(question: str, past: bool) -> None:
    assert read_aim(question).past is past


@pytest.mark.parametrize(
    ("question", "first_person"),
    [
        ("What's my shoe size?", True),
        ("Welche BahnCard habe ich?", True),
        ("Does Tom ski?", False),
        ("Mix it", False),
    ],
)
def test_a_question_about_the_asker_is_known(question: str, first_person: bool) -> None:
    assert read_aim(question).first_person is first_person


def test_whatever_is_known_of_a_kind_of_thing_is_a_list() -> None:
    aim = read_aim("Tell me about my customers")
    assert (aim.want, aim.topic, aim.about_one) == (Want.ALL, True, False)
    assert 0.0 < aim.several < 1.0


def test_plain_words_ask_for_several_and_forms_more_or_less() -> None:
    assert read_aim("List all outages").several == pytest.approx(1.0, abs=0.05)
    assert read_aim("Where do I live?").several == 0.0
    assert (
        0.0
        < read_aim("Which invoice has not been paid?").several
        < read_aim("Which people eat no fish?").several
    )


@pytest.mark.parametrize(
    "question",
    [
        "Give me all treatments that Luna had",
        "Show me every change to the launch date",
        "What special wishes are there for the dinner?",
        "How often did the boiler break down?",
    ],
)
def test_plain_words_surely_ask_for_several(question: str) -> None:
    assert read_aim(question).several == 1.0


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("Tell me about Acme", True),
        ("What do we know about Acme?", True),
        ("Should we offer Acme a discount?", True),
        ("Give me an overview of Acme", True),
        ("What did Jonas suggest about the battery?", True),
        ("What book did Caroline recommend to Melanie?", False),
        ("Who inspired Maria to start volunteering?", False),
        ("How should I take the iron tablets?", False),
        ("Whose idea was Pembrokeshire?", False),
    ],
)
def test_one_thing_of_a_topic_is_no_question_for_the_topic(question: str, topic: bool) -> None:
    assert read_aim(question).topic is topic


@pytest.mark.parametrize(
    "question",
    [
        "What temperature do Tern Pharma's vaccines need, compared with Bellweather's yoghurt?",
        "Compare the deadlines of Acme and Zenith.",
        "What is the difference between the old and the new oven?",
    ],
)
def test_a_comparison_in_plain_words_surely_wants_several(question: str) -> None:
    aim = read_aim(question)
    assert (aim.want, aim.several) == (Want.COMPARISON, 1.0)


def test_a_comparison_names_its_sides() -> None:
    assert read_aim("Compare the databases of Atlas and Borealis").sides == ("Atlas", "Borealis")


def test_names_that_a_question_joins_are_owed_one_by_one() -> None:
    assert read_aim("Which database do Atlas, Borealis and the Cumulus team use?").sides == (
        "Atlas",
        "Borealis",
        "Cumulus",
    )
    assert read_aim("Where does Tom live, and when did Ann move?").sides == ()
    assert read_aim("Which database does Atlas use?").sides == ()


def test_a_hundred_kilobytes_are_read_at_once() -> None:
    assert read_aim("Where do I live? " * 6_000).want is Want.ONE


@pytest.mark.parametrize("question", ["Tom", "Acme Corp", "Łukasz?"])
def test_a_name_alone_asks_for_whatever_is_known_of_it(question: str) -> None:
    aim = read_aim(question)

    assert aim.about_one


@pytest.mark.parametrize(
    "question", ["Why?", "Where do I live", "tom", "Who", "Is Tom well?", "Tom Priya Lena"]
)
def test_more_than_a_name_is_no_topic(question: str) -> None:
    assert not read_aim(question).topic


@pytest.mark.parametrize(
    ("question", "least", "most"),
    [
        ("List all outages", 0.9, 1.0),
        ("Who runs which leg?", 0.9, 1.0),
        ("Which database does each Delivery team use?", 0.9, 1.0),
        ("When and where is the Christmas dinner?", 0.1, 0.3),
        ("When did all the practices get the dashboard?", 0.1, 0.3),
        ("Where do I live?", 0.0, 0.0),
    ],
)
def test_two_questions_in_one_are_less_sure_to_want_several_than_a_list(
    question: str, least: float, most: float
) -> None:
    assert least <= read_aim(question).several <= most


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("performance", True),
        ("error handling", True),
        ("Überblick Datenschutz", True),
        ("performance?", False),
        ("how errors end", False),
        ("errors of the last week", False),
        ("東京の事務所の住所", False),
        ("", False),
    ],
)
def test_a_bare_topic_is_told_from_a_question(text: str, bare: bool) -> None:
    assert is_bare_topic(text) is bare


@pytest.mark.parametrize(
    ("question", "may_be_list"),
    [
        ("Who are my customers?", True),
        ("What are Lena's hobbies?", True),
        ("What are our fixed costs?", True),
        ("What are our opening hours?", False),
        ("Who are the owners of the greyhound?", False),
        ("What are the twins called?", False),
        ("What are you?", False),
    ],
)
def test_what_are_my_things_may_ask_for_several(question: str, may_be_list: bool) -> None:
    assert (read_aim(question).several > 0.0) is may_be_list
