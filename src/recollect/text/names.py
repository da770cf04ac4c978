"""Names in a text, by rule: people, organisations, places, titles, ids, addresses, projects, identifiers.

One pass over the words of a line. Capital letters make a run of words a name; where a sentence begins, and every word
has one, word lists and the rest of the text decide. Used on memories and on questions alike, so both sides agree.
What a name refers to is for resolve.py.

Pure, and linear in the length of the text: every pattern looks at a word, or at a bounded piece.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from recollect.domain.names import Name, entity_key
from recollect.text.word_lists import (
    CALENDAR,
    CLOSING_ABBREVIATIONS,
    CONNECTORS,
    DAYS,
    DEMONYMS,
    EVERYDAY_CAPITALS,
    GIVEN_NAMES,
    HONORIFICS,
    LEADING,
    MAX_WORD_CHARS,
    NAME_OPENERS,
    NUMBERED,
    OPEN_ABBREVIATIONS,
    PERSON_WORDS,
    PLAIN_ENDINGS,
    PROJECT_WORDS,
    ROLE_WORDS,
    TEAM_WORDS,
    TRAILING,
    has_inner_capital,
    is_common,
    is_done,
    is_shouted,
    is_title,
    kind_of,
    spaced,
    without_possessive,
)

#: A text of a hundred pages names thousands of things; what is beyond this is left to words.
MAX_NAMES = 200
MAX_NAME_CHARS = 100
#: More capitals in a row are a heading, or somebody shouting.
_MAX_RUN = 12


_QUOTED = re.compile(
    '"([^"\n]{2,80})"|“([^“”\n]{2,80})”|„([^„“”\n]{2,80})[“”]|«([^«»\n]{2,80})»'
    "|「([^「」\n]{1,40})」|『([^『』\n]{1,40})』|《([^《》\n]{1,40})》|〈([^〈〉\n]{1,40})〉|【([^【】\n]{1,40})】"
    r"|(?<!\w)['‘]([^\W\d_][^'‘’\n]{1,60})['’](?!\w)"
)
_CJK_QUOTES = range(5, 10)
_URL = re.compile(
    r"(?:https?|ftp)://(?:[^\s/@]{1,100}@)?([\w.-]{1,100})|^www\.([\w.-]{1,100})", re.IGNORECASE
)
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")
_HANDLE = re.compile(r"[@#][^\W\d][\w.-]{1,78}")
_NUMBER_SIGN = re.compile(r"#(\d[\w-]{0,30})")
_CODE = re.compile(r"[A-Z][A-Z0-9]{0,9}-\d[\w-]{0,20}")
_VERSION = re.compile(r"[vV]?\d+(?:\.\d+){1,3}[\w-]{0,12}")
_DOTTED_LETTERS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]?")
_BASED = re.compile(
    r"([^\W\d_]\w{1,40})-(?:based|born|led|backed|owned|style|era|speaking|like|related|wide)"
)
_CONTRACTION = re.compile("['’`](?:m|ve|ll|re|d|t|all|am|em)$", re.IGNORECASE)
_SNAKE = re.compile(r"_{0,2}[^\W_]+(?:_[^\W_]+)+_{0,2}")
_QUOTES = frozenset("\"'“‘«„")
_ENDS = frozenset(".!?…:;")
#: What follows these has its capital for itself.
_BEFORE_NAMES = frozenset("the a an in on at of by from with".split())


@dataclass(slots=True)
class _Run:
    """Capitalised words in a row, as far as they were read."""

    words: list[str] = field(default_factory=list)
    initial: bool = False
    #: How many words belong to the name so far; connectors behind them wait for a capital.
    size: int = 0
    possessive: int = 0
    project: bool = False
    #: A number in front, which may belong to the name: "45 Fathers".
    number: str = ""
    #: A title that follows a comma: "Albert III, Duke of Bavaria".
    before: str = ""


def find_names(text: str, *, known: Collection[str] = ()) -> list[Name]:
    """The distinct names in a text, in order. `known`: folded names that count in lower case, too."""
    names = _Names()
    for quoted in _QUOTED.finditer(text):
        title = quoted[quoted.lastindex or 0]
        if quoted.lastindex in _CJK_QUOTES or is_title(title):
            names.add(title.strip(), "title")
    if known:
        for name in _known_names(text, known):
            names.add(name, "declared")
    if not is_shouted(text):
        reader = _Reader(text, names)
        for line in text.splitlines():
            reader.read(line)
        reader.settle()
    return names.in_order()


class _Names:
    """Names without repeats; the kind that tells more wins."""

    def __init__(self) -> None:
        self._names: dict[str, Name] = {}

    def add(self, text: str, kind: str = "name") -> None:
        text = text.strip()
        if not text or len(text) > MAX_NAME_CHARS:
            return
        key = entity_key(text)
        before = self._names.get(key)
        if before is None:
            if len(self._names) < MAX_NAMES:
                self._names[key] = Name(text, kind)
        elif before.kind == "name" and kind != "name":
            self._names[key] = Name(before.text, kind)

    def __contains__(self, text: str) -> bool:
        return entity_key(text) in self._names

    def in_order(self) -> list[Name]:
        return list(self._names.values())


class _Reader:
    """Reads lines word by word. Names that open a sentence are decided when everything was read."""

    def __init__(self, text: str, names: _Names) -> None:
        self._kept = names
        self._text = text
        self._run = _Run()
        self._initial = True
        self._previous = ""
        self._doubtful: list[str] = []
        self._number = ""
        self._before = ""

    def read(self, line: str) -> None:
        """One line; names don't go on in the next."""
        self._initial = True
        if "—" in line or "–" in line or "/" in line:
            line = spaced(line)
        for chunk in line.split():
            # Most words are lower case and plain: they end a run or join two halves of it, nothing else.
            if chunk.isalpha() and chunk.islower():
                self._lower(chunk)
            else:
                self._chunk(chunk)
        self._flush()
        self._previous = ""

    def settle(self) -> None:
        """Take a word that only ever opened sentences for a name, unless the text knows it in lower case."""
        if not self._doubtful:
            return
        lower = {bare for word in self._text.split() if (bare := word.strip(LEADING + TRAILING)).islower()}
        for word in self._doubtful:
            folded = word.lower()
            # The lists are English; of other scripts only a word that also stands inside a sentence is taken.
            likely = folded not in lower and not folded.endswith(PLAIN_ENDINGS) and word[0] < "\u0370"
            if likely or word in self._kept:
                self._kept.add(word)

    # Words ----------------------------------------------------------------------------------------

    def _lower(self, word: str) -> None:
        run = self._run
        self._number = self._before = ""
        if run.words:
            if word in CONNECTORS or (word == "and" and run.size == len(run.words)):
                run.words.append(word)
                self._initial = False
                self._previous = word
                return
            if word in TEAM_WORDS and run.size:
                self._flush(kind="team", suffix=word)
            elif word in PROJECT_WORDS and run.size:
                self._flush(kind="project")
            else:
                self._flush()
        self._initial = False
        self._previous = word

    def _chunk(self, chunk: str) -> None:
        core = chunk.lstrip(LEADING)
        opened = chunk[: len(chunk) - len(core)]
        if opened and (opened[0] in _QUOTES or not opened.strip("-–—•*>|")):
            self._initial = self._initial or opened[0] in _QUOTES
        bare = core.rstrip(TRAILING)
        closed = core[len(bare) :]
        if opened:
            self._flush()
        if bare and len(bare) <= MAX_WORD_CHARS:
            self._word(bare, closed)
        elif bare:
            self._flush()
            self._initial = False
        # A sign alone, such as a bullet, says nothing; a dash ends a run.
        elif closed or opened:
            self._flush()
        self._close(bare, closed)

    def _close(self, bare: str, closed: str) -> None:
        """What the signs after a word mean for the next word."""
        if not closed:
            return
        folded = bare.lower()
        dotted = closed == "."
        if dotted and (
            folded in OPEN_ABBREVIATIONS
            or (len(bare) == 1 and bare.isupper())
            or _DOTTED_LETTERS.fullmatch(bare)
        ):
            return
        if dotted and folded in CLOSING_ABBREVIATIONS:
            self._flush()
            return
        self._number = ""
        self._before = " ".join(self._run.words[: self._run.size]) if closed == "," else ""
        self._flush()
        if not _ENDS.isdisjoint(closed):
            self._initial = True
            self._previous = ""

    def _word(self, bare: str, closed: str) -> None:
        first = bare[0]
        if not first.isalpha():
            self._sign_or_number(bare)
        elif "@" in bare or "://" in bare or bare.startswith("www."):
            self._address(bare)
        elif "_" in bare and _SNAKE.fullmatch(bare.rstrip("()")):
            self._flush()
            self._kept.add(bare.rstrip("()"), "identifier")
            self._initial = False
        elif first.isupper() or has_inner_capital(bare):
            self._capital(bare, closed)
            return
        elif first == "v" and _VERSION.fullmatch(bare):
            self._version(bare)
            self._initial = False
        else:
            self._lower(bare)
        self._previous = bare

    def _address(self, bare: str) -> None:
        self._flush()
        self._initial = False
        url = _URL.search(bare)
        email = None if url else _EMAIL.search(bare)
        if url:
            self._kept.add((url[1] or url[2]).removeprefix("www.").rstrip(".-"), "host")
        elif email:
            self._kept.add(email.group(), "email")

    def _sign_or_number(self, bare: str) -> None:
        run = self._run
        base, last = self._numbered_base()
        if bare[0] in "@#" and (match := _HANDLE.fullmatch(bare)):
            self._flush()
            self._kept.add(match.group(), "handle" if bare[0] == "@" else "channel")
        elif match := _NUMBER_SIGN.fullmatch(bare):
            self._drop_or_flush()
            self._numbered(match[1], sign=True)
        elif bare[0] == "&" and run.size:
            run.words.append(bare)
            return
        elif bare[0].isdigit():
            model = len(bare) <= 4 and has_inner_capital(last) and last.lower() not in NUMBERED
            if base and _VERSION.fullmatch(bare):
                self._version("")
            elif base and model:
                self._flush()
                self._kept.add(f"{base} {bare}", "product")
            elif self._previous.lower() in NUMBERED and len(bare) >= 3 and bare.isdigit():
                self._drop_or_flush()
                self._numbered(bare, sign=False)
            elif base and len(bare) <= 2 and not is_common(last.lower()):
                self._flush()
                self._kept.add(f"{base} {bare}", "title")
            else:
                self._flush()
                self._number = bare if bare.isalnum() and len(bare) <= 4 else ""
        else:
            self._flush()
        self._initial = False

    def _numbered_base(self) -> tuple[str, str]:
        """The name right before a number, and its last word; a month and its day are no name."""
        run = self._run
        words = run.words[: run.size]
        words = words[self._strip_opening(words, run.initial)[0] :] if run.size == len(run.words) else []
        last = words[-1] if words else ""
        return ("", last) if last.lower() in CALENDAR else (" ".join(words), last)

    def _version(self, bare: str) -> None:
        """Take a product whatever its version: a release is no thing of its own. A version alone is kept."""
        base, last = self._numbered_base()
        self._flush(kind="product" if base and not is_common(last.lower()) else None)
        if not base:
            self._kept.add(bare, "version")

    def _numbered(self, number: str, *, sign: bool) -> None:
        noun = self._previous.lower()
        if noun in NUMBERED:
            self._kept.add(f"{noun} #{number}" if sign else f"{noun} {number}", "id")
        else:
            self._kept.add(f"#{number}", "id")

    def _drop_or_flush(self) -> None:
        """Leave out the word before a number: the "Order" of "Order #12" is no name of its own."""
        if len(self._run.words) == 1 and self._run.words[0].lower() in NUMBERED:
            self._run = _Run()
        self._flush()

    def _capital(self, bare: str, closed: str) -> None:
        run = self._run
        word, possessive = without_possessive(bare)
        if (word == "I" and self._is_pronoun()) or _CONTRACTION.search(word):
            self._flush()
            self._initial, self._previous = False, word
            return
        if _CODE.fullmatch(word):
            self._flush()
            self._kept.add(word, "id")
            self._initial, self._previous = False, word
            return
        if _VERSION.fullmatch(word):
            self._version(word)
            self._initial, self._previous = False, word
            return
        if run.words and run.words[-1] == "and":
            # "Harry Potter and the Goblet" is one name, "Alice and Bob" are two.
            self._flush()
        run = self._run
        if not run.words:
            run = self._run = _Run(initial=self._initial)
            run.project = self._previous in PROJECT_WORDS
            run.number, run.before = self._number, self._before
        self._number = self._before = ""
        if (based := _BASED.fullmatch(word)) is not None:
            word = based[1]
        if closed == "." and (
            len(word) == 1
            or word.lower() in CLOSING_ABBREVIATIONS
            or word.lower() in OPEN_ABBREVIATIONS
            or _DOTTED_LETTERS.fullmatch(word)
        ):
            word += "."
        run.words.append(word)
        run.size = len(run.words)
        if possessive and not run.possessive:
            run.possessive = run.size
        self._initial = False
        self._previous = word
        if based is not None:
            self._flush()

    def _is_pronoun(self) -> bool:
        """Whether an "I" here is its speaker, rather than the first of a name."""
        run = self._run
        if run.size != len(run.words) or not run.words:
            return True
        last = run.words[-1].lower()
        return is_common(last) or last in CALENDAR

    # Runs -----------------------------------------------------------------------------------------

    def _flush(self, *, kind: str | None = None, suffix: str = "") -> None:
        """End a run, and keep what of it is a name."""
        run = self._run
        if not run.words:
            return
        self._run = _Run()
        words = run.words[: run.size]
        shift, initial = self._strip_opening(words, run.initial)
        words = words[shift:]
        if len(words) > 1 and len(words[-1]) == 2:
            words[-1] = words[-1].rstrip(".")
        while words and (words[0] in CONNECTORS or words[0] == "and"):
            del words[0]
            shift += 1
        if words and self._is_date(words, run.number):
            # "In 280 BC and the Battle of Heraclea": what joined it to the date goes with it.
            begins = next(
                (place for place, word in enumerate(words[1:], 1) if not word.islower()), len(words)
            )
            del words[:begins]
            run.number, initial, shift = "", False, shift + begins
        if not words or len(words) > _MAX_RUN:
            return
        if run.number and (len(words) > 1 or len(run.number) < 3) and not shift:
            self._kept.add(f"{run.number} {' '.join(words)}", "title")
        if run.before and words[0].lower() in PERSON_WORDS and len(words) > 1:
            self._kept.add(f"{run.before}, {run.number} {' '.join(words)}".replace("  ", " "), "person")
        split = run.possessive - shift
        if 0 < split < len(words):
            # "Schindler's List" is a name; "Acme's CEO" is not, but Acme is.
            self._take(words[:split], kind=None, initial=initial)
            rest = words[split:]
            if len(rest) > 1 or not is_common(rest[0].lower()):
                self._take(rest, kind=kind, initial=False)
            joined = f"{' '.join(words[:split])}'s {' '.join(rest)}"
            if rest[0].lower() not in EVERYDAY_CAPITALS:
                self._kept.add(joined, "title" if kind is None else kind)
            return
        if "and" in words:
            # One name or two? "Harry Potter and the Goblet of Fire", "Apollo and the Payments team": the first, always.
            middle = words.index("and")
            self._take(words[:middle], kind=None, initial=initial)
            if suffix or run.project:
                words = words[middle + 2 :] or words
        if suffix:
            self._kept.add(f"{' '.join(words)} {suffix}", kind or "name")
        elif run.project:
            self._kept.add(f"project {' '.join(words)}", "project")
        else:
            self._take(words, kind=kind, initial=initial)

    def _is_date(self, words: list[str], number: str) -> bool:
        """Whether the first word is when, not who: "on 3 May Ana left", "on Monday Ana left"."""
        first = words[0].lower()
        if number:
            return first in CALENDAR
        return first in DAYS and len(words) > 1 and not is_common(words[1].lower())

    def _strip_opening(self, words: list[str], initial: bool) -> tuple[int, bool]:
        """How many words opened the sentence rather than the name."""
        shift = 0
        while shift < len(words):
            folded = words[shift].lower()
            alone = shift == len(words) - 1
            if folded.rstrip(".") in HONORIFICS and not alone:
                return shift, False
            done = initial and is_done(folded) and words[shift][1:].islower()
            opens = initial and (done or is_common(folded)) and (alone or folded not in NAME_OPENERS)
            if not opens and not (folded in {"i", "the"} and not alone):
                break
            shift += 1
            # "The Beatles", "Renamed Orvo".
            initial = initial and not done and folded not in _BEFORE_NAMES
        return shift, initial

    def _take(self, words: list[str], *, kind: str | None, initial: bool) -> None:
        if len(words) == 1:
            self._take_single(words[0], kind=kind, initial=initial)
            return
        folded = [word.lower().rstrip(".") for word in words]
        honoured = folded[0] in HONORIFICS
        name = " ".join(words[1:] if honoured else words)
        role = folded[0] in ROLE_WORDS and "of" in folded[1:-1]
        if not (role and folded[0] in EVERYDAY_CAPITALS):
            self._kept.add(name, kind or ("person" if honoured else kind_of(folded)))
        if folded[0] in PERSON_WORDS and not honoured and folded[1] != "of":
            # "King Oswiu of Northumbria" is also called without his crown.
            bare = words[1:]
            while len(bare) > 1 and bare[0].lower() in PERSON_WORDS:
                del bare[0]
            self._kept.add(" ".join(bare), "person")
        if role:
            tail = words[folded.index("of", 1) + 1 :]
            while tail and tail[0].lower() in CONNECTORS:
                del tail[0]
            if tail:
                self._take(tail, kind=None, initial=False)

    def _take_single(self, word: str, *, kind: str | None, initial: bool) -> None:
        folded = word.lower().rstrip(".")
        if len(folded) < 2 or folded in CALENDAR or folded in DEMONYMS or folded in EVERYDAY_CAPITALS:
            return
        plain = word[1:].islower()
        if initial and folded in NAME_OPENERS:
            return
        if kind is None and is_common(folded) and (initial or (plain and folded not in GIVEN_NAMES)):
            return
        if initial and plain and kind is None:
            self._doubtful.append(word)
            return
        self._kept.add(word, kind or "name")


_MAX_KNOWN_WORDS = 5
_TOKEN = re.compile(r"[\w@#+.:'’&-]+")


def _known_names(text: str, known: Collection[str]) -> Iterator[str]:
    """Names the tenant has declared, wherever they stand, as they are written there."""
    tokens = _TOKEN.findall(text)
    folded = [entity_key(token.strip(".:'’&-") or token) for token in tokens]
    longest = min(_MAX_KNOWN_WORDS, max((name.count(" ") + 1 for name in known), default=0))
    for start in range(len(tokens)):
        for size in range(min(longest, len(tokens) - start), 0, -1):
            if " ".join(folded[start : start + size]) in known:
                yield " ".join(tokens[start : start + size]).rstrip(".:'’&-")
                break
    if not text.isascii():
        # Scripts without blanks between words.
        yield from (name for name in known if not name.isascii() and " " not in name and name in text)
