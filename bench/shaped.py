"""Write the same data in standard form and as an export that needs a shape, for `bench.imports`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

# The maximum time of an import with a shape, as a multiple of the time for the same data in standard form.
SHAPE_BAR = 1.3
TEAMS = 2_000
TEAMS_EACH = 10

STANDARD: dict[str, Any] = {
    "name": "Standard files",
    "files": [{"name": name, "content": name.lower()} for name in ("Users", "Memberships")],
}
_TOP = {"headerLine": 2}
SHAPED: dict[str, Any] = {
    "name": "Export",
    "files": [
        {
            "name": "Users",
            "content": "users",
            "columns": {"Login": "Username", "State": "Active", "Last Seen": "Last Login"},
            "shape": {
                **_TOP,
                "values": {"Active": {"Asleep": "No"}},
                "dates": {"Last Seen": "day first"},
                "join": {"Name": "{First Name} {Last Name}"},
                "ignore": ["Teams"],
                "contents": [
                    {
                        "content": "memberships",
                        "columns": {"Login": "Username"},
                        "shape": {**_TOP, "split": {"Teams": "|"}, "join": {"Group": "{Teams}"}},
                    }
                ],
            },
        }
    ],
}


def write_both(folder: Path, header: Sequence[str], users: Sequence[str]) -> tuple[dict[str, Path], dict[str, Path]]:
    """Write the same users and memberships in standard form and as one export with a title; return both file sets."""
    folder.mkdir()
    teams = [[f"team{(i * 7 + k * 31) % TEAMS}" for k in range(TEAMS_EACH)] for i in range(len(users))]
    rows = [line.split(",") for line in users]
    standard = {
        "Users": _write(folder / "users.csv", [",".join(header), *users]),
        "Memberships": _write(
            folder / "memberships.csv",
            ["Username,Group", *(f"{row[0]},{team}" for row, held in zip(rows, teams, strict=True) for team in held)],
        ),
    }
    names = {"Username": "Login", "Active": "State", "Last Login": "Last Seen", "Name": "Whole Name"}
    places = {name: header.index(name) for name in ("Active", "Last Login", "Name")}
    lines = ["Staff of the month", ",".join([*(names.get(name, name) for name in header), "Teams"])]
    for row, held in zip(rows, teams, strict=True):
        day = row[places["Last Login"]]
        row[places["Last Login"]] = f"{day[8:10]}/{day[5:7]}/{day[:4]} {day[11:19]}"
        row[places["Active"]] = "Enabled"
        row[places["Name"]] = ""
        lines.append(",".join([*row, "|".join(held)]))
    return standard, {"Users": _write(folder / "export.csv", lines)}


def _write(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("\n".join([*lines, ""]))
    return path
