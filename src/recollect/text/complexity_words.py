"""The words by which `router.py` tells a complex question. Data only; English, as the rules of understanding are.

A word's number is what it is worth to its signal when it stands alone. Idioms are struck out before anything is
looked up: "is that all" asks for nothing to be gathered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Phrases by their first word, the longest first.
Phrases = Mapping[str, Sequence[tuple[str, ...]]]


def _phrases(text: str) -> Phrases:
    phrases_of: dict[str, list[tuple[str, ...]]] = {}
    for phrase in sorted((tuple(line.split()) for line in text.strip().splitlines()), key=len, reverse=True):
        phrases_of.setdefault(phrase[0], []).append(phrase)
    return phrases_of


# ---------------------------------------------------------------- layers and scopes

#: Words for one scope, and the layer they speak of.
LAYERS = {
    **dict.fromkeys(_words("team squad crew guild chapter"), "team"),
    **dict.fromkeys(_words("org organization organisation department division directorate"), "org"),
    **dict.fromkeys(_words("company enterprise"), "company"),
    **dict.fromkeys(_words("project repo repository codebase"), "project"),
    **dict.fromkeys(_words("user"), "user"),
    **dict.fromkeys(_words("session"), "session"),
    **dict.fromkeys(_words("agent"), "agent"),
}
#: Layers whose names are everyday words of software: two of them in a sentence say less.
EVERYDAY_LAYERS = _words("user session agent")
#: Layers with much below them: "across the company" means many scopes.
UPPER_LAYERS = _words("org company")
SPANNING = _words("across throughout entire whole")
#: Plurals that mean several scopes wherever they stand.
SCOPE_PLURALS = _words("teams squads guilds orgs departments divisions directorates subsidiaries scopes")
#: Plurals that mean several scopes only when something says "several": "across projects".
EVERYDAY_PLURALS = _words(
    """
    projects repos repositories codebases users sessions agents companies organizations organisations groups layers
    units crews chapters offices
    """
)
#: What says "several" of a plural that follows, clearly or a little.
SPREADING = _words("across all every each between among amongst both per various different multiple several")
NUMBERING = _words("which other two three four five six seven eight nine ten most our")
#: Says it of one scope: "each team", "every project", "from team to team".
DISTRIBUTING = _words("each every per")
#: Words before a scope's word that name nothing.
UNNAMING = _words(
    "the a an our my your his her their this that which what whose same other another new old in of on for by and or"
)
#: "company-wide", "org-level".
SCOPE_ENDINGS = ("-wide", "-level")
#: Teams that play: no scopes of anybody's.
SPORT = _words(
    """
    sport sports football soccer basketball baseball hockey rugby cricket volleyball league nba nfl mlb nhl fifa
    championship championships tournament olympics playoffs cup coach coached fan fans favorite favourite stadium
    """
)
#: The product of that name.
TEAMS_BEFORE = _words("microsoft ms in on via over through using")
TEAMS_AFTER = _words("call calls meeting meetings channel channels chat link invite app message messages")

# ---------------------------------------------------------------- aggregation

#: Verbs that ask for an answer to be assembled; they count when they are asked of us.
AGGREGATION_VERBS = {
    **dict.fromkeys(
        _words("summarize summarise aggregate consolidate synthesize synthesise trace retrace"), 0.25
    ),
    **dict.fromkeys(
        _words("analyze analyse count tally recap collate gather collect compile combine track"), 0.15
    ),
}
#: Other words of gathering.
AGGREGATION = {
    **dict.fromkeys(_words("across aggregated consolidated chronological"), 0.25),
    **dict.fromkeys(
        _words("all every each everyone everybody everything entire overall throughout per"), 0.12
    ),
    **dict.fromkeys(_words("total totals average averages impact impacts impacted analysis breakdown"), 0.12),
    **dict.fromkeys(
        _words("relationship relationships correlation correlations correlate themes patterns"), 0.12
    ),
    **dict.fromkeys(_words("summary summaries overview recurring"), 0.12),
}
#: Answers that are assembled over time: "trends in", "evolution of". Less for what is also said of other things.
OVER_TIME_OF = {
    **dict.fromkeys(_words("trends trend evolution timeline chronology progression"), 0.25),
    **dict.fromkeys(_words("history"), 0.15),
}
FOLLOWING_OVER_TIME = {
    "trends": _words("of in for on across among between over"),
    "trend": _words("of in for on across over"),
    "evolution": _words("of in"),
    "timeline": _words("of for"),
    "chronology": _words("of"),
    "progression": _words("of in"),
    "history": _words("of behind"),
}
#: "What trends", "any trends".
PRECEDING_OVER_TIME = _words("what which any")
#: Verbs that by themselves go through many things or through a time, when one of the words below follows.
THOROUGH = _words("aggregate consolidate collate trace retrace")
FOLLOWING_THOROUGH = _words("how the our my its their all every each what when why")
#: Verbs of change: over time when the question has a time in it, or asks how something "has" come to be.
CHANGE = _words(
    """
    evolve evolved evolves evolving change changed changes changing develop developed progress progressed shift shifted
    grow grown grew improve improved decline declined mature matured
    """
)
OVER_TIME_PHRASES = _phrases(
    """
    over time
    over the years
    year over year
    month over month
    week over week
    quarter by quarter
    month by month
    year by year
    """
)

# ---------------------------------------------------------------- comparison

COMPARISON_VERBS = {**dict.fromkeys(_words("compare contrast benchmark"), 0.25)}
COMPARISON = {
    **dict.fromkeys(_words("vs versus comparison comparisons comparing contrasting compares"), 0.25),
    **dict.fromkeys(_words("differ differs similarities disparities discrepancies inconsistencies"), 0.25),
    **dict.fromkeys(_words("compared vary varies contradictions contradict disagree disagreements"), 0.20),
}
COMPARISON_PHRASES = _phrases(
    """
    side by side
    head to head
    pros and cons
    in common
    stack up
    measure up
    """
)
#: "difference between": the word alone also says "it makes a difference".
DIFFERENCE = _words("difference differences different gap gaps overlap conflicts trade-offs tradeoffs")
FOLLOWING_DIFFERENCE = _words("between from across among in")
#: A number that can be looked up, not a comparison.
MEASURED_DIFFERENCE = _words(
    "age ages time price prices height weight hour hours score goal currency cost size"
)
#: What "vs" stands in when it is a title or a fixture.
FIXTURES = _words(
    """
    movie film game match fight bout episode won win wins lost score scored watch watched play played case ruling court
    lawsuit season final
    """
)
#: What joins the two sides of a comparison.
JOINING = _words("and or with to vs versus against from than between & both")

# ---------------------------------------------------------------- length and structure

HOPS = _words(
    """
    then after afterwards caused causes causing subsequently consequently resulting thereby eventually downstream
    """
)
HOP_PHRASES = _phrases(
    """
    leading to
    led to
    followed by
    resulted in
    as a result
    """
)
TIMES = _words(
    """
    since until yesterday before during period historically lately recently q1 q2 q3 q4 h1 h2 quarterly monthly weekly
    yearly january february march april june july august september october november december
    """
)
TIME_UNITS = _words(
    "day days week weeks month months quarter quarters year years sprint sprints release releases"
)
TIME_BEFORE = _words("last past previous this next first few two three four five six nine twelve recent")
TIME_PHRASES = {
    **OVER_TIME_PHRASES,
    **_phrases(
        """
    so far
    to date
    up to now
    """
    ),
}
QUESTION_WORDS = _words("what how why which who whom when where whether")

# ---------------------------------------------------------------- who asks whom

#: Questions that open like this ask for something that happened, whatever verbs they contain.
TELLING_OPENERS = _words("did when who where whose was were had")
#: What may stand before a verb that is asked of us.
ASKING = _words("please you we i to and then also let's lets me us just now help kindly")

#: Struck out before anything is counted.
IDIOMS = _phrases(
    """
    at all
    after all
    above all
    first of all
    is that all
    that is all
    that's all
    all right
    all day
    all night
    all the time
    all of a sudden
    all along
    all set
    all good
    all done
    all in all
    all over again
    all i want
    all i need
    all or nothing
    all hands
    all-hands
    all stars
    all star
    once and for all
    for all intents and purposes
    every day
    every night
    every morning
    every evening
    every week
    every weekend
    every month
    every year
    every time
    every other
    every now and then
    every hour
    every minute
    each other
    each time
    each day
    each week
    each month
    each year
    everything ok
    everything okay
    everything alright
    makes a difference
    make a difference
    made a difference
    what difference
    beyond compare
    count on
    counting on
    above average
    below average
    across the street
    across the road
    across the hall
    across the river
    across the bridge
    vs code
    across from
    come across
    came across
    comes across
    coming across
    ran across
    run across
    stumbled across
    get across
    got across
    theory of evolution
    history class
    history teacher
    history book
    history exam
    art history
    browser history
    in a relationship
    relationship status
    sooner or later
    then again
    look after
    looks after
    looking after
    named after
    after hours
    per day
    per week
    per month
    per year
    per hour
    per minute
    per second
    per night
    per person
    per request
    in history
    in the history of
    medical history
    family history
    purchase history
    order history
    stack trace
    change my
    climate change
    small change
    average joe
    """
)

#: Every single word that a signal may hang on; all others are passed over.
SIGNIFICANT = frozenset(
    {*LAYERS, *SCOPE_PLURALS, *EVERYDAY_PLURALS, *AGGREGATION_VERBS, *AGGREGATION, *OVER_TIME_OF, *CHANGE}
    | {*COMPARISON_VERBS, *COMPARISON, *DIFFERENCE}
)
