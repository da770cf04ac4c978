"""Words that tell names from other words, for names.py and classify.py.

Lists, not a model: they decide only what capital letters leave open. `common_words.txt` holds English words that are
seldom names, each in its base form.
"""

from __future__ import annotations

from functools import cache
from importlib import resources


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@cache
def common_words() -> frozenset[str]:
    """English words that are seldom names."""
    return _words((resources.files(__package__) / "common_words.txt").read_text(encoding="utf-8"))


def is_common(word: str) -> bool:
    """Whether a word, in lower case, is an everyday one in any of its regular forms."""
    known = common_words()
    if word in known:
        return True
    for ending in ("s", "es", "ed", "d", "ing", "ly", "er"):
        stem = word.removesuffix(ending)
        if len(stem) < 3 or stem == word:
            continue
        if stem in known or (ending in {"ing", "ed", "er"} and (stem + "e" in known or stem[:-1] in known)):
            return True
    return word[-3:] in {"ies", "ied"} and word[:-3] + "y" in known


#: Endings of words that open sentences and are no names.
PLAIN_ENDINGS = (
    "ing",
    "ly",
    "tion",
    "tions",
    "ness",
    "ment",
    "ments",
    "ful",
    "less",
    "able",
    "ally",
    "ize",
    "ise",
)

#: Times are read by `text/times`, not kept as entities.
CALENDAR = _words(
    """
    january february march april may june july august september october november december jan feb mar apr jun jul aug
    sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri
    sat sun today tomorrow yesterday tonight am pm utc gmt est pst cet q1 q2 q3 q4 h1 h2 ad bc bce ce
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
    super hot fort mount lake river port san santa los las la le el de van von king queen prince princess lord lady
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
