"""Words, and shapes of words, that tell names from other words, for names.py and classify.py.

Lists, not a model: they decide only what capital letters leave open. `common_words.txt` holds English words that are
seldom names, each in its base form.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import resources


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@cache
def common_words() -> frozenset[str]:
    """English words that are seldom names."""
    return _words((resources.files(__package__) / "common_words.txt").read_text(encoding="utf-8"))


def is_common(word: str) -> bool:
    """Whether a word, in lower case, is an everyday word in any of its regular forms."""
    known = common_words()
    if word in known:
        return True
    for ending in ("s", "es", "ed", "d", "ing", "ly", "er"):
        stem = word.removesuffix(ending)
        if len(stem) < 3 or stem == word:
            continue
        if stem in known:
            return True
        doubled = len(stem) > 3 and stem[-1] == stem[-2]
        if ending in {"ing", "ed", "er"} and (stem + "e" in known or (doubled and stem[:-1] in known)):
            return True
    return word[-3:] in {"ies", "ied"} and word[:-3] + "y" in known


#: People whose names end like something done.
_NAMED_IN_ED = _words(
    """
    fred alfred wilfred winifred mildred manfred siegfried gottfried ted ned jed reed creed jared ahmed mohammed mohamed
    muhammed hamed khaled sayed syed saeed waleed rasheed rashed javed majed zayed fahed allred eldred ethelred
    """
)


def is_done(word: str) -> bool:
    """Whether a word, in lower case, says what was done: delivered, rescheduled."""
    return len(word) > 4 and word.endswith("ed") and word not in _NAMED_IN_ED


#: Endings of words that open sentences and are no names.
PLAIN_ENDINGS = tuple("ing ly tion tions ness ment ments ful less able ally ize ise".split())

#: Times are read by `text/times`, not kept as entities.
CALENDAR = _words(
    """
    january february march april may june july august september october november december jan feb mar apr jun jul aug
    sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri
    sat sun today tomorrow yesterday tonight am pm utc gmt est pst cet q1 q2 q3 q4 h1 h2 ad bc bce ce
    """
)
#: Those of them that nobody is called.
DAYS = _words(
    """
    january february july september october november december monday tuesday wednesday thursday friday saturday sunday
    """
)
#: Where somebody or something is from; alone it names nothing, inside a name it belongs to it.
DEMONYMS = _words(
    """
    american british english french german italian spanish russian chinese japanese korean indian african european
    asian canadian australian mexican brazilian dutch swedish norwegian danish finnish polish greek turkish irish
    scottish welsh swiss austrian belgian portuguese hungarian czech romanian ukrainian egyptian israeli iranian arab
    arabic latin roman jewish christian muslim catholic buddhist hindu protestant western eastern northern southern
    """
)
#: Capital letters that stand for everyday things.
EVERYDAY_CAPITALS = _words(
    """
    i ok tv dvd cd pc id ceo cto cfo coo cmo vp hr it pr qa ui ux api url html http https pdf faq eta asap fyi lol omg
    btw imo imho aka diy usb gps wifi app apps n/a tbd todo ps re fw fwd vs no nr mr mrs ms dr prof sr jr etc eg ie
    ii iii iv vi vii viii ix xi xii kpi okr roi crm erp sql csv json xml yaml sdk cli gui ip dns vpn sso mfa internet
    """
)
#: Everyday words that people are also called; in the middle of a sentence a capital letter tells.
GIVEN_NAMES = _words(
    """
    will mark rose hope grace faith joy dawn bill frank jack art ray grant chase hunter summer drew pat rob sue penny
    ivy lily daisy ruby olive violet iris holly amber jade pearl crystal autumn skip norm gene chip buck miles wade
    dale cliff glen heath ford lane reed clay stone max rich earl duke king prince bishop major baron guy happy mercy
    charity patience constance victor
    """
)
#: Words that stay when they open a sentence and a name at once.
NAME_OPENERS = _words(
    """
    new great first old big little north south east west northern southern eastern western central upper lower grand
    good bad young high black white red blue green golden silver royal united national international general saint
    super hot allied associated federated consolidated advanced applied integrated unified
    fort mount lake river port san santa los las la le el de van von king queen prince princess lord lady
    sir captain president pope saint bank world air star second third fourth true happy dark wild lost free iron
    love house home city state sweet secret american
    """
)
#: What joins the parts of a name: "Duke of Burgundy", "Vincent van Gogh", "Winnie the Pooh".
CONNECTORS = _words(
    "of de del della di da do dos das du des la le les el al bin ibn von van der den zu zur y e the mac"
)

ORGANISATION_WORDS = _words(
    """
    inc incorporated corp corporation company co ltd limited llc llp plc gmbh ag kg kgaa se sa sas sarl srl spa bv nv oy
    ab asa pty university college school institute academy bank airlines airways association foundation society union
    ministry department agency committee council commission bureau federation league party church hospital museum
    holdings group partners industries motors pictures records studios press labs laboratories technologies systems
    solutions ventures capital orchestra club fc
    """
)
PLACE_WORDS = _words(
    """
    river lake mount mountain mountains island islands county city town village street avenue road square valley bay
    beach ocean sea park bridge airport station peninsula desert province district region kingdom empire republic
    """
)
HONORIFICS = _words("mr mrs ms miss mx dr prof professor sir madam")
PERSON_WORDS = HONORIFICS | _words(
    """
    jr sr king queen prince princess duke duchess count countess earl baron baroness emperor empress lord lady pope
    bishop archbishop archduke archduchess caliph sultan tsar dauphin margrave landgrave grand crown
    saint president senator governor mayor general colonel captain sergeant admiral judge
    """
)
#: "CEO of Acme": what follows "of" is a name of its own.
ROLE_WORDS = _words(
    """
    ceo cto cfo coo cmo vp president director head chief chairman chair minister secretary king queen prince princess
    duke duchess count countess earl baron bishop archbishop mayor governor emperor margrave elector landgrave
    professor dean kingdom republic state city county province duchy archduke
    """
)
ROMAN = _words("ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi")
#: Dots after these do not end a sentence; the second kind ends a name.
OPEN_ABBREVIATIONS = _words("mr mrs ms dr prof st mt ft lt gen sgt col capt rev hon gov sen rep pres dept")
CLOSING_ABBREVIATIONS = _words("jr sr inc corp ltd co esq bros")
#: What a number may be the number of.
NUMBERED = _words(
    """
    order invoice ticket issue case po pr bug quote contract request shipment claim task story epic account customer
    item sku ref reference rfc job build release order's pull
    """
)
TEAM_WORDS = _words("team squad department division crew guild committee")
PROJECT_WORDS = _words("project initiative program programme codename")


#: Longer words are data, not words.
MAX_WORD_CHARS = 100
#: Signs around a word.
LEADING = "([{<\"'“‘«„*~`¿¡•-–—>|"
TRAILING = "-.,;:!?)]}>\"'”’»“*~`…|"


def kind_of(folded: list[str]) -> str:
    """What kind of thing a name of several words seems to be."""
    if folded[0] == "project":
        return "project"
    if folded[-1] == "team":
        return "team"
    if folded[-1] in ORGANISATION_WORDS or (folded[0] in ORGANISATION_WORDS and "of" in folded):
        return "organisation"
    if folded[-1] in PLACE_WORDS or folded[0] in {"lake", "mount", "river", "fort"}:
        return "place"
    if folded[0] in PERSON_WORDS or folded[-1] in {"jr", "sr"} or folded[-1] in ROMAN:
        return "person"
    if any(len(word) == 1 and word.isalpha() for word in folded[:-1]):
        return "person"
    return "name"


@lru_cache(maxsize=4096)
def has_inner_capital(word: str) -> bool:
    """iPhone, GitHub, NASA, A320: more than a capital at the front."""
    return any(letter.isupper() for letter in word[1:])


def without_possessive(word: str) -> tuple[str, bool]:
    """A word without its 's, and whether it had that."""
    for ending in ("'s", "’s"):
        if word.endswith(ending) and len(word) > 3:
            return word[:-2], True
    return word, False


def spaced(line: str) -> str:
    """Dashes, and slashes between words, stand between names; addresses and AC/DC stay whole."""
    line = line.replace("—", " — ").replace("–", " – ")
    if "/" not in line:
        return line
    parts = []
    for chunk in line.split():
        short = all(len(part) <= 3 for part in chunk.split("/"))
        parts.append(
            chunk if short or "://" in chunk or len(chunk) > MAX_WORD_CHARS else chunk.replace("/", " , ")
        )
    return " ".join(parts)


def is_shouted(text: str) -> bool:
    """Whether nearly everything is in capitals, so that they tell nothing."""
    sample = text[:2_000]
    upper = sum(map(str.isupper, sample))
    return upper > 20 and upper > 2 * sum(map(str.islower, sample))


def is_title(text: str) -> bool:
    """Whether what stands in quotes is a title rather than speech: mostly capitals, no end of a sentence."""
    words = text.split()
    if not words or len(words) > 10 or text.rstrip()[-1:] in {",", "."}:
        return False
    if not (words[0][0].isupper() or words[0][0].isdigit()):
        return False
    weighty = [word for word in words if len(word) > 3 and word[0].isalpha()] or words
    capitals = sum(not word[0].islower() for word in weighty)
    if capitals >= 0.6 * len(weighty):
        return len(words) > 1 or not is_common(words[0].lower())
    # Titles in other languages have one capital; speech in English has English words.
    return len(words) <= 6 and sum(is_common(word.lower().strip(TRAILING)) for word in words) * 2 < len(words)
