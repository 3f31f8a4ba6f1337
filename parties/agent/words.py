"""Words that tables are full of, in many languages: what says nothing, truths, units.  A draft shows these words alone.

Checked in tests/unit/parties/agent/test_sketch.py.
"""

from __future__ import annotations


def _words(*lines: str) -> tuple[str, ...]:
    return tuple(word for line in lines for word in line.split())


# Texts that say nothing; a space within one is written _.
TOKENS = _words(
    "- -- --- \u2013 \u2014 ? ?? . .. * / n/a na n.a. n.d. n.c. n.r. n.s. nd nc nr nk ns nsp s/d s.d. k.a. k.i. b.d.",
    "none null nil nan unknown unk missing undefined not_known not_available not_applicable not_recorded no_data",
    "inconnu inconnue manquant non_renseigné non_connu ne_sait_pas unbekannt fehlt keine_angabe desconocido desconocida",
    "sin_dato no_consta ignorado sconosciuto sconosciuta non_noto mancante desconhecido desconhecida onbekend ukjent okänd",
    "ukendt tuntematon brak nieznany nieznane neznámý neznámé ismeretlen bilinmiyor неизвестно 不明 未知",
)
TRUE_WORDS = _words(
    "oui ja sí si sì sim vrai wahr vero verdadero verdadeiro waar tak prawda ano igen evet kyllä sant sann da да はい 是",
    "y t o j s x v positive pos positif positiv positivo",
)
FALSE_WORDS = _words(
    "non nein nee nej nei não nao faux falsch falso onwaar nie fałsz ne nem ei usann falskt nu нет いいえ 否",
    "n f negative neg négatif negatif negativ negativo",
)
TOTALS = (
    *_words(
        "total totals sum summe gesamt insgesamt gesamtsumme totale totaal totalt somme suma итого 合計"
    ),
    *("grand total", "total général", "total general", "totale generale"),
)
CURRENCIES = _words("€ $ £ ¥ EUR USD GBP CHF Fr. SEK NOK DKK PLN CAD AUD JPY kr zł")
# Units of one quantity, by what each counts in terms of the first; with degrees also what is added.
FAMILIES: tuple[dict[str, float], ...] = (
    {"kg": 1, "Kg": 1, "KG": 1, "lb": 0.45359237, "lbs": 0.45359237, "g": 0.001, "oz": 0.028349523125},
    {"cm": 1, "m": 100, "mm": 0.1, "in": 2.54, "ft": 30.48},
    {"days": 1, "day": 1, "d": 1, "weeks": 7, "week": 7, "wk": 7},
    {"years": 1, "year": 1, "yrs": 1, "yr": 1, "y": 1},
)
UNITS = CURRENCIES + _words(
    "kg Kg KG g gr mg µg \u03bcg mcg lb lbs oz cm mm m km in ft ml mL l L dl cl mmHg kPa bpm /min bar % ‰ °C °F C F °",
    "mmol/l mmol/L mg/dl mg/dL g/dl g/dL g/l g/L µmol/l kcal kJ IU UI U/l U/L kg/m2 kg/m² ml/min",
    "years year yrs yr y ans an Jahre Jahr J años año anni anno anos jaar år months month mois Monate meses mesi",
    "weeks week sem wk Wochen days day d jours jour j Tage Tag días día giorni dias dagen dage h hr hrs hours heures",
    "Std Stunden horas ore uur min mn minutes s sec sek",
)
