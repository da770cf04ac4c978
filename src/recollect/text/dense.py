"""Whether a question wants all of something, or how many there are: what rows answer and one look does not.

Read from plain words alone, in the languages that `aim.py` reads. A question that is missed is answered as any other;
one that is taken for dense by mistake reads every section for nothing, so what is doubtful is not.
"""

from __future__ import annotations

import re

#: Words that ask to be told something, and say nothing about what.
TELL = (
    "list enumerate name give show find collect tell count "
    "liste listet nenne nennen zähle zeige gib finde "
    "lister énumère énumérez cite citez donne donnez montre trouve "
    "lista listar enumera nombra dame muestra encuentra "
    "elenca elencare nomina dammi mostra trova "
    "enumere mostre diga liste noem geef toon lijst"
)
_PLEASE = r"(?:please|bitte|por favor|s'il (?:te|vous) pla[iî]t|per favore|alsjeblieft|can you|could you)"
_TELL = f"(?:{'|'.join(TELL.split())})"
_ALLE = r"(?:alle[nrs]?|jede[rsnm]?|sämtliche\w*|tous|toutes|chaque|tod[oa]s|cada|tutt[ie]|ogni|elke|iedere?)"
_EVERY = rf"(?:all|every|each|{_ALLE})"
_WHO = r"(?:what|which|who|welche[rsn]?|wer|quel(?:le)?s?|cu[aá]les|quali|quais|wat|welke|wie)"
_FEW = r"(?:zwei|drei|vier|sechs|deux|trois|dos|tres|due|tre|dois|duas|três|twee|drie)"
_SPAN = (
    r"(?:seconde?|minute|hour|morning|evening|night|day|week|weekend|month|quarter|year|time|once"
    r"|sekunde|stunde|morgen|abend|nacht|tag|woche|monat|quartal|jahr|mal"
    r"|heure|matin|soir|nuit|jour|semaine|mois|an|ann[ée]e|fois"
    r"|segundo|minuto|hora|noche|d[ií]a|semana|mes|año|vez|noite|m[eê]s|ano"
    r"|secondo|ora|giorno|settimana|mese|volta|uur|dag|maand|jaar|keer)(?:e?[sn]|i)?"
)
#: What several things have in common: whoever asks which of them do wants all that do.
_SHARE = r"(?:need|require|mention|contain|support|lack|use)"
#: "Every month" says how often, not that all are wanted.
_HOW_OFTEN = re.compile(
    rf"\b{_EVERY}\s+(?:single |other |second |the |les |l[oa]s |[oa]s |i |le |\d+ |{_FEW} )?{_SPAN}\b",
    re.IGNORECASE,
)
_ALL = re.compile(
    rf"^\W*(?:{_PLEASE}\s+)?(?:list|enumerate|liste[nrt]?|lista|listar|énumère|énumérez|enumer[ae]|elenca|elencare|lijst)\b"
    rf"|\b{_TELL}\b[^.?!]{{0,40}}\b{_EVERY}\b"
    rf"|\b{_WHO}\s+(?:are|is|were|sind|waren|sont|étaient|son|eran|sono|são|eram|zijn|waren)\s+{_EVERY}\b"
    rf"|\bwelche\b[^.?!]{{0,60}}\balle\b"
    rf"|^\W*(?:which|what) (?:[\w-]+ ){{0,2}}[\w-]+s {_SHARE}\b"
    r"|\b(?:all|every)\s+(?:of\s+)?(?:the\s+|my\s+|our\s+)?(?:[\w-]+\s+){1,4}(?:that|which|who|whose|where)\b"
    rf"|\b{_ALLE}\s+(?:[\w-]+,?\s+){{1,5}}(?:d(?:ie|er|as|eren|enen)|qui|que|dont|che|cui)\b",
    re.IGNORECASE,
)
#: "How many bytes does a name hold?" wants a quantity that is written somewhere; these want a count of things.
_COUNT = re.compile(
    r"\bhow many\b[^.?!]*\b(?:are there|exist|in all|in total|altogether|do we have|did we have|have we)\b"
    rf"|\bhow many (?:[\w-]+ ){{1,3}}{_SHARE}\b"
    r"|\bwie ?viele\b[^.?!]*\b(?:insgesamt|gibt es|gab es|haben wir|hatten wir)\b"
    r"|\bcombien d[e'’][^.?!]*\b(?:y a-t-il|y avait-il|en tout|au total|avons-nous)\b"
    r"|\bcu[aá]nt[oa]s\b[^.?!]*\b(?:hay|hubo|en total|tenemos|tuvimos)\b"
    r"|\bquant[ie]\b[^.?!]*\b(?:ci sono|in tutto|in totale|abbiamo)\b"
    r"|\bquant[oa]s\b[^.?!]*\b(?:há|houve|no total|temos)\b"
    r"|\bhoeveel\b[^.?!]*\b(?:zijn er|waren er|in totaal|hebben we)\b"
    r"|^\W*(?:please\s+)?count\b|\bthe (?:total )?number of (?:all |different |distinct )",
    re.IGNORECASE,
)


def wants_rows(question: str) -> bool:
    """Whether every section or memory should be asked."""
    text = _HOW_OFTEN.sub("regularly", question[:600])
    return _ALL.search(text) is not None or wants_count(text)


def wants_count(question: str) -> bool:
    """Whether it asks how many things there are."""
    return _COUNT.search(question[:600]) is not None
