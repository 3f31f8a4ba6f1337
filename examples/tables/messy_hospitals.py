"""Two made-up hospitals whose tables are as tables are: `python examples/tables/messy_hospitals.py DIRECTORY`.

north.csv has commas, quotes and line breaks in cells, four ways to say nothing, units and marks of thousands.  south.csv
has semicolons, a mark of byte order, decimal commas, dates as 31/12/2024 and words that are not English.  In both, many
patients come several times, and some cost is above what anybody would declare.  What is printed is what is known of them.
"""

from __future__ import annotations

import csv
import json
import random
import sys
from datetime import date, timedelta
from pathlib import Path

ROWS = 30_000
WARDS = ("Cardiology", "Surgery", "Neurology", "Pediatrics")
NOTES = ("", "calm", 'said: "no pain"', "fell,\nagain", "élève de l'école", "a; b, c")
NOTHING = ("NA", "n/a", "-", "unknown")
FIRST_DAY = date(2024, 1, 1)


def visits(seed: int) -> list[dict[str, object]]:
    """Made-up visits, in no order."""
    coins, made, person = random.Random(seed), [], 0  # noqa: S311 - made-up people
    while len(made) < ROWS:
        person += 1
        born = date(1930, 1, 1) + timedelta(days=coins.randrange(34_000))
        smoker, weight = coins.random() < 0.3, coins.gauss(75, 14)
        for visit in range(min(coins.choice((1, 1, 1, 2, 2, 3, 4, 7)), ROWS - len(made))):
            made += [
                {
                    "patient": f"p{person:05}",
                    "born": born,
                    "admitted": FIRST_DAY + timedelta(days=coins.randrange(365)),
                    "ward": coins.choice(WARDS),
                    "weight": round(min(150.0, max(35.0, weight + visit)), 1),
                    "cost": round(min(49_000, coins.lognormvariate(7.5, 1)), 2),
                    "smoker": smoker,
                    "died": coins.random() < 0.055,
                    "note": coins.choice(NOTES),
                    "coin": coins.random(),
                }
            ]
    coins.shuffle(made)
    made[coins.randrange(ROWS)]["cost"] = 57_605.25
    return made


def truth(made: list[dict[str, object]]) -> dict[str, float]:
    """What the generator knows of its people."""
    died: dict[object, bool] = {}
    for row in made:
        died[row["patient"]] = bool(row["died"]) or died.get(row["patient"], False)
    return {
        "people": len(died),
        "died in any visit": sum(died.values()) / len(died),
        "died in a visit": sum(bool(row["died"]) for row in made) / len(made),
    }


def _or_nothing(text: str, coin: float, share: float = 0.06) -> str:
    """The text, or one of the ways to say nothing, or an empty cell."""
    return text if coin >= share else (*NOTHING, "")[int(coin / share * (len(NOTHING) + 1))]


def north(path: Path, made: list[dict[str, object]]) -> None:
    """Commas, quotes, units, marks of thousands."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(
            [
                "Patient ID",
                "Né le",
                "Admission date",
                "Ward",
                "Weight",
                "Cost (total)",
                "Smoker?",
                "Died",
                "Free text",
            ]
        )
        for row in made:
            coin = float(str(row["coin"]))
            table.writerow(
                [
                    *(row["patient"], row["born"], row["admitted"], _or_nothing(str(row["ward"]), coin)),
                    _or_nothing(f"{row['weight']} kg", 1 - coin),
                    f"{row['cost']:,.2f}",
                    _or_nothing("yes" if row["smoker"] else "no", (coin * 7) % 1),
                    *("true" if row["died"] else "false", row["note"]),
                ]
            )


def south(path: Path, made: list[dict[str, object]]) -> None:
    """Semicolons, a mark of byte order, decimal commas, days before months."""

    def day(value: object) -> str:
        assert isinstance(value, date)
        return value.strftime("%d/%m/%Y")

    def number(value: object) -> str:
        return f"{value:,.2f}".replace(",", " ").replace(".", ",").replace(" ", ".")

    with path.open("w", newline="", encoding="utf-8-sig") as file:
        table = csv.writer(file, delimiter=";")
        table.writerow(
            ["N° patient", "Né le", "Entrée", "Service", "Poids", "Coût", "Fumeur", "Décédé", "Notes"]
        )
        for row in made:
            coin = float(str(row["coin"]))
            table.writerow(
                [
                    *(
                        row["patient"],
                        day(row["born"]),
                        day(row["admitted"]),
                        _or_nothing(str(row["ward"]), coin),
                    ),
                    _or_nothing(str(row["weight"]).replace(".", ","), 1 - coin),
                    number(row["cost"]),
                    _or_nothing("oui" if row["smoker"] else "non", (coin * 7) % 1),
                    *("oui" if row["died"] else "non", row["note"]),
                ]
            )


def main(directory: Path) -> None:
    """Write both tables, and print what is known of them."""
    for write, seed in ((north, 1), (south, 2)):
        made = visits(seed)
        write(directory / f"{write.__name__}.csv", made)
        print(json.dumps({"table": write.__name__, **truth(made)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
