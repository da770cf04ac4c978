"""What a text is made of for lexical search: the tokenizer, with a profile for memories and a profile for source code.

`terms` gives every term of a memory, with repeats, for the postings table; `query_terms` gives the
distinct terms of a question. Both sides must agree, so both go through the same code. When `TERMS_VERSION`
changes, postings have to be written again: a store records the version that wrote its own, and says so when another
one searches it.

Pure and deterministic: no files, no network, no settings. BM25 itself is SQL (storage/sql); what the
matches are worth is decided in `rank/`.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import cache, lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Raise it with every change that alters any text's terms.
TERMS_VERSION = 1
#: Longer runs are hashes and encoded data; their first letters still tell them apart.
MAX_TERM_CHARS = 64

# Words that say how a sentence is built, not what it is about. Longer lists were measured and gain nothing;
# dropping pronouns and question words is what counts (BM25 recall@10 on LoCoMo 0.57 with the 33 words of
# Lucene, 0.62 with these). "May" the month and "won" are no stop words here.
STOP_WORDS = frozenset(
    """
    a about after again all also am an and any anyone anything are as at be been before being both but by
    can could did do does doing done down during each either else ever every few for from further get gets
    getting got had has have having he her here hers herself him himself his how i if in into is it its
    itself just let like many me more most much my myself no nor not now of off on once one only or other our
    ours ourselves out over own please same shall she should so some someone something such than that the
    their theirs them themselves then there these they this those through to too under until up upon us
    very was we were what whatever when where which while who whom whose why will with within without
    would yes yet you your yours yourself yourselves
    """.split()
)

# Scripts written without spaces. Japanese changes script at word borders, so each script is a run of its
# own: 食べる is 食 + べる, and a question about 食 finds it.
_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HIRAGANA = "\u3041-\u309f"
_KATAKANA = "\u30a1-\u30ff\u31f0-\u31ff"
_OTHER_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
_UNSPACED = re.compile(f"[{_HAN}]+|[{_HIRAGANA}]+|[{_KATAKANA}]+|[{_OTHER_UNSPACED}]+")

# Function words of Chinese and Japanese, the unspaced twin of STOP_WORDS. They cut a run in two, so that
# 密钥在哪里 gives the pairs of 密钥 alone and a question's grammar does not lower its coverage.
_CUTS = re.compile(
    "[的了吗嗎呢吧啊嘛是在]|什[么麼]时候|什[么麼]|甚麼|怎[么麼]样?|[为為]什[么麼]|[为為]何|哪[里裡裏儿兒个個些]|多少|几个|幾個|何时|何時|如何"
    "|[我你他她它][们們]|[这那這][个些里個裡]|没有|沒有|可以|因[为為]|所以|但是|如果|已[经經]|以及|或者|[还還]是|是否|[请請][问問]"
)
_HIRAGANA_CUTS = re.compile(
    "あり?ます?か?|いますか?|ありません|でした|でしょうか?|ですか?|ました?か?|ません|ますか?|しました|します|している|して|した"
    "|ください|どこ|なに|なん|どれ|どの|いつ|だれ|どう|どんな|から|まで|こと|これ|それ|この|その|ため|もの|とき|ので|けど|って|という"
)
# What follows a word of another script is a particle: キーは, 人が.
_LEADING_PARTICLE = re.compile("^(?:には|では|とは|[はがをにでともへやのか])")

# Python's \w has letters and digits but not the vowel signs and marks that are inside Indic, Thai, Hebrew
# or Arabic words, and would cut words in two at each of them.
_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0966-\u0dff\u0e00-\u0fff\u1000-\u109f\u1780-\u17d3"
)
# Words, and what is joined by a sign inside: paths, versions, addresses, ticket numbers, times.
_CHUNK = re.compile(rf"[\w{_MARKS}]+(?:[-./\\:@][\w{_MARKS}]+)*")
_JOINT = re.compile(r"[-./\\:@_]+")
_SPLIT_CASE = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_CASE_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CONTRACTION = re.compile(r"\b\w+n['’]t\b|(?<=\w)['’](?:s|d|m|ll|re|ve)\b", re.IGNORECASE)
# Accents, Hebrew points and Arabic vowels are left out as often as they are typed.
_OPTIONAL_MARKS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]")
_INVISIBLE = dict.fromkeys([0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF])
_STEM_CACHE_WORDS = 65_536


def terms(text: str) -> list[str]:
    """All terms of a memory's text, in order, with repeats."""
    return _collect(text, question=False)


def query_terms(text: str) -> list[str]:
    """The distinct terms of a question, in order."""
    return list(dict.fromkeys(_collect(text, question=True)))


def _collect(text: str, *, question: bool) -> list[str]:
    content: list[str] = []
    stopped: list[str] = []
    for word, is_stop in _words(_prepared(text), question=question):
        (stopped if is_stop else content).append(word[:MAX_TERM_CHARS])
    # "The Who" or "to be or not to be" is still a text and finds its like. Longer texts don't index their
    # stop words (they would double the postings), so "who am I" is for the semantic side to answer.
    return content or stopped


def _prepared(text: str) -> str:
    """Compatibility forms unified, optional marks and contractions gone; case is kept for `_identifier`."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text.translate(_INVISIBLE))
        text = unicodedata.normalize("NFC", _OPTIONAL_MARKS.sub("", text))
    if "'" in text or "’" in text:
        text = _CONTRACTION.sub(" ", text)
    return text


def _words(text: str, *, question: bool) -> Iterator[tuple[str, bool]]:
    """Terms, each with whether it is a stop word."""
    for chunk in _CHUNK.findall(text):
        if chunk.isalpha() and chunk.isascii() and (chunk.islower() or chunk[1:].islower()):
            yield _plain(chunk)
        else:
            yield from _compound(chunk, question=question)


def _compound(chunk: str, *, question: bool) -> Iterator[tuple[str, bool]]:
    """A chunk with signs, digits, capitals inside or another script: its parts, and itself if a name."""
    parts = [part for part in _JOINT.split(chunk) if part]
    if len(parts) > 1 and _DOTTED_LETTERS.fullmatch(chunk):
        yield _plain("".join(parts))  # U.S.A. is USA, p.m. is pm
        return
    for part in parts:
        if part.isascii():
            yield _plain(part)
            yield from _case_parts(part, question=question)
        else:
            yield from _mixed(part)
    if len(parts) > 1 and _is_name(chunk, parts):
        yield chunk.casefold(), False


_DOTTED_LETTERS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")


def _is_name(chunk: str, parts: list[str]) -> bool:
    """Is the whole worth a term beside its parts? Ticket ABC-1 is, well-known and tea/coffee are not."""
    if any(sign in chunk for sign in "._@\\"):
        return True
    if any(part[0].isdigit() for part in parts[1:]):
        return True
    return chunk.count("/") > 1


def _case_parts(word: str, *, question: bool) -> Iterator[tuple[str, bool]]:
    """Words in camelCase and PascalCase, beside the whole.

    In a question a word like GitHub stays whole: whoever asks for it means the name, and parts that
    no memory has would only lower its coverage. `loginHandler` is code and is split on both sides.
    """
    if not _SPLIT_CASE.search(word) or (question and word[0].isupper()):
        return
    parts = _CASE_PARTS.findall(word)
    if len(parts) > 1 and all(len(part) > 1 for part in parts):
        for part in parts:
            yield _plain(part)


def _mixed(word: str) -> Iterator[tuple[str, bool]]:
    """A word with letters beyond ASCII: unspaced scripts as pairs of letters, the rest as words."""
    end = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > end:
            yield _plain(word[end : run.start()])
        yield from ((pair, False) for pair in _pairs(run.group(), follows=run.start() > 0))
        end = run.end()
    if end < len(word):
        yield _plain(word[end:])


def _pairs(run: str, *, follows: bool) -> Iterator[str]:
    """Overlapping pairs of letters; a letter alone as itself, unless it is a particle."""
    is_hiragana = "\u3041" <= run[0] <= "\u309f"
    pieces = (_HIRAGANA_CUTS if is_hiragana else _CUTS).split(run)
    if is_hiragana and follows:
        pieces[0] = _LEADING_PARTICLE.sub("", pieces[0])
    for piece in pieces:
        if len(piece) == 1 and not is_hiragana:
            yield piece
        for index in range(len(piece) - 1):
            yield piece[index : index + 2]


@lru_cache(maxsize=_STEM_CACHE_WORDS)
def _plain(word: str) -> tuple[str, bool]:
    """A word's term and whether it is a stop word; stemming takes 50 microseconds, a word seen before none."""
    folded = word.casefold()
    return (folded, True) if folded in STOP_WORDS else (_stem(folded), False)


def _stem(word: str) -> str:
    """Snowball English."""
    if len(word) > MAX_TERM_CHARS or not word.isalpha() or not word.isascii():
        return word
    return stem_english(word)


def stem_english(word: str) -> str:
    """What a word and its forms have in common."""
    with _stemmer_lock:
        stemmed: str = _stemmer().stemWord(word)
        return stemmed


@cache
def _stemmer() -> Any:
    import snowballstemmer  # type: ignore[import-untyped]  # it ships no types

    return snowballstemmer.stemmer("english")


# A stemmer keeps the word it works on in itself.
_stemmer_lock = threading.Lock()


#: What counts as an identifier or a word: two characters or more.
IDENTIFIER = re.compile(r"[^\W\d]\w+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_LETTERS = re.compile(r"[^\W\d_]+")
#: Longer "words" are keys, hashes and packed data.
_MAX_CHARS = 80


def split_identifier(name: str) -> tuple[str, ...]:
    """The parts of an identifier, in lower case, in order; numbers and single letters are no parts."""
    parts = _PART.findall(name) if name.isascii() else _wide_parts(name)
    return tuple(part.lower() for part in parts if len(part) > 1 and not part.isdigit())


def _wide_parts(name: str) -> list[str]:
    """The parts of an identifier with letters beyond ASCII, which expressions do not tell upper from lower in."""
    parts = []
    for word in _LETTERS.findall(name):
        begin = 0
        for place in range(1, len(word)):
            after_lower = not word[place - 1].isupper()
            before_lower = word[place + 1 : place + 2].islower()
            if word[place].isupper() and (after_lower or before_lower):
                parts.append(word[begin:place])
                begin = place
        parts.append(word[begin:])
    return parts


@lru_cache(maxsize=100_000)
def identifier_terms(name: str) -> tuple[str, ...]:
    """The terms an identifier stands for: its parts, and itself when that is another term."""
    if len(name) > _MAX_CHARS:
        return ()
    parts = split_identifier(name)
    whole = name.strip("_").lower()
    if len(whole) < 2 or parts == (whole,):
        return parts
    return (*parts, whole)


def code_terms(text: str) -> list[str]:
    """Every term of a text, in order, repeated as it stands."""
    return [term for word in IDENTIFIER.findall(text) for term in identifier_terms(word)]


def term_key(term: str) -> int:
    """The number a term or name is kept under: 64 bits of its hash, so that no list of words has to be kept."""
    return int.from_bytes(blake2b(term.encode("utf-8", "replace"), digest_size=8).digest(), "little")
