"""What the founding chapters of the book contain, and its errors: as data, for the map to be counted against.

The chapters are sections 2.3, 3.5 and 5.2, chapters 6 to 12 and the appendices.  Theorem 6.9 is Theorem 6.1 once more.
"""

from __future__ import annotations

THEOREMS = {
    "2": ("2.2",),
    "3": ("3.14", "3.16", "3.20"),
    "5": ("5.3", "5.4", "5.5", "5.6", "5.7"),
    "6": ("6.1", "6.6", "6.7", "6.8", "6.9"),
    "7": ("7.1", "7.3"),
    "8": ("8.1", "8.2", "8.7", "8.8"),
    "9": ("9.1", "9.2"),
    "10": ("10.3", "10.4", "10.5"),
    "11": ("11.1", "11.2", "11.3", "11.4", "11.5", "11.6"),
    "12": ("12.5", "12.6", "12.7", "12.8"),
    "appendices": ("A.1", "B.1"),
}
DEFINITIONS = {
    "3": ("3.7",),
    "5": ("5.3", "5.4", "5.5"),
    "6": ("6.1",),
    "7": ("7.1", "7.2", "7.3"),
    "8": ("8.1",),
    "9": ("9.1", "9.2", "9.3", "9.4"),
    "10": ("10.1", "10.2", "10.3", "10.4", "10.5", "10.6"),
    "11": ("11.1", "11.2", "11.3", "11.4", "11.5"),
    "12": ("12.1", "12.2", "12.3", "12.4", "12.5", "12.6", "12.7", "12.8"),
}
ALGORITHMS = {
    "5": ("8",),
    "7": ("12", "13", "14"),
    "11": ("15", "16", "17"),
    "12": ("18",),
}
FIGURES = {"6": ("6.1",), "7": ("7.1",), "12": ("12.1", "12.2")}
ITEMS = {"Theorem": THEOREMS, "Definition": DEFINITIONS, "Algorithm": ALGORITHMS, "Figure": FIGURES}
EXPECTED = {
    kind: tuple(f"{kind} {number}" for numbers in chapters.values() for number in numbers)
    for kind, chapters in ITEMS.items()
}
# The fifteen that were found when the book was gone through; the list may have more.
ERRORS = (
    "Theorem 5.7",
    "Lemma 6.2, Theorem 6.1",
    "Lemma 6.4",
    "section 6.2.3",
    "Algorithm 12, threshold",
    "Algorithm 12, base",
    "Algorithm 14",
    "Proposition 10.1",
    "Theorem 10.5",
    "section 10.2.1",
    "section 10.3.1",
    "section 10.3.3",
    "section 12.2",
    "Figure 12.1",
    "Algorithm 17",
)
