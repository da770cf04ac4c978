"""What the tokenizer makes of texts and questions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.text.terms import MAX_TERM_CHARS, query_terms, terms


def test_words_are_stemmed_lower_cased_and_without_stop_words() -> None:
    assert terms("The teams were deploying, and Deployed again") == ["team", "deploy", "deploy"]


def test_a_memory_keeps_repeats_and_a_question_does_not() -> None:
    assert terms("tea, more tea") == ["tea", "tea"]
    assert query_terms("tea, more tea") == ["tea"]


def test_possessives_and_contractions_leave_the_word_they_hang_on() -> None:
    assert terms("Ana's cat won't eat; José’s dog does") == ["ana", "cat", "eat", "jose", "dog"]


def test_a_word_that_looks_like_a_contraction_without_apostrophe_stays() -> None:
    assert terms("who won in May") == ["won", "may"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("src/api/login.py", {"src", "api", "login", "py", "src/api/login.py"}),
        ("ERR-1042", {"err", "1042", "err-1042"}),
        ("max_retry_count", {"max", "retri", "count", "max_retry_count"}),
        ("version 3.11.7", {"version", "3", "11", "7", "3.11.7"}),
        ("ana@example.com", {"ana", "exampl", "com", "ana@example.com"}),
        ("at 9:30", {"9", "30", "9:30"}),
        ("parseRequest", {"parserequest", "pars", "request"}),
        ("PaymentService", {"paymentservic", "payment", "servic"}),
        ("well-known", {"well", "known"}),
        ("tea/coffee", {"tea", "coffe"}),
        ("the U.S.A. at 5 p.m.", {"usa", "5", "pm"}),
        ("iPhone", {"iphon"}),
    ],
)
def test_identifiers_are_kept_whole_beside_their_parts(text: str, expected: set[str]) -> None:
    assert set(terms(text)) == expected


def test_a_question_for_a_brand_asks_for_its_name_only_and_one_for_code_for_its_parts_too() -> None:
    assert query_terms("GitHub") == ["github"]
    assert "github" in terms("github")
    assert "github" in terms("GitHub")
    assert query_terms("loginHandler") == ["loginhandl", "login", "handler"]


def test_accents_width_case_and_invisible_signs_do_not_matter() -> None:
    assert terms("Café ＡＢＣ Straße na\u00adïve zero\u200bwidth") == terms(
        "cafe abc strasse naive zerowidth"
    )


def test_text_of_stop_words_only_keeps_them_so_it_can_be_found_by_itself() -> None:
    assert terms("The Who") == ["the", "who"]
    assert query_terms("to be or not to be") == ["to", "be", "or", "not"]


def test_unspaced_scripts_become_pairs_and_a_single_letter_stands_alone() -> None:
    assert terms("部署密钥") == ["部署", "署密", "密钥"]
    assert terms("茶") == ["茶"]
    assert terms("カタカナ") == ["カタ", "タカ", "カナ"]
    assert terms("ไทย") == ["ไท", "ทย"]


def test_grammar_of_a_chinese_or_japanese_question_leaves_no_terms() -> None:
    assert query_terms("部署密钥在哪里？") == ["部署", "署密", "密钥"]
    assert query_terms("デプロイキーはどこにありますか") == terms("デプロイキー")
    assert query_terms("好きな人は誰ですか") == ["好", "きな", "人", "誰"]


def test_scripts_mixed_in_one_word_are_each_treated_their_own_way() -> None:
    assert terms("API密钥v2") == ["api", "密钥", "v2"]


def test_korean_and_hindi_stay_words_with_their_vowel_signs() -> None:
    assert terms("한국어 문서") == ["한국어", "문서"]
    assert terms("हिन्दी भाषा") == ["हिन्दी", "भाषा"]


def test_a_term_is_bounded_and_cut_the_same_way_on_both_sides() -> None:
    blob = "a" * 500
    assert terms(blob) == query_terms(blob) == ["a" * MAX_TERM_CHARS]


def test_threads_sharing_the_stemmer_get_the_same_stems() -> None:
    words = [
        f"{stem}{ending}"
        for stem in ("connect", "walk", "paint", "relat")
        for ending in ("ing", "ed", "ions", "s")
    ]
    expected = [terms(word) for word in words]
    with ThreadPoolExecutor(8) as pool:
        for got in pool.map(lambda _: [terms(f"x{word}")[0] for word in words], range(32)):
            assert [f"x{stem}" for [stem] in expected] == got


@given(st.text())
def test_any_text_gives_bounded_visible_terms_every_time(text: str) -> None:
    found = terms(text)
    assert found == terms(text)
    assert all(0 < len(term) <= MAX_TERM_CHARS and not term.isspace() for term in found)


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_every_question_finds_the_memory_with_the_same_text(text: str) -> None:
    assert set(query_terms(text)) <= set(terms(text))
