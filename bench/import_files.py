"""Write the files that `bench.imports` uploads."""

import random
from pathlib import Path

from bench.people import write_people

COLUMNS = [
    "Username", "Name", "First Name", "Last Name", "Email", "Employee ID", "Active", "Locked", "Last Login",
    "Password Changed", *(f"Attribute {n}" for n in range(1, 15)),
]  # fmt: skip
PERMISSION_COLUMNS = ["Username", "Header", "Section", "Permission", "Access", "Value", "Description", "Risk Rating"]
GROUPS = 2_000
PERMISSIONS = 5_000


def users(end: int, begin: int = 0) -> list[str]:
    return [
        ",".join(
            [
                f"user{i:07d}", f"First{i % 5000} Last{i}", f"First{i % 5000}", f"Last{i}", f"user{i}@corp.example.com",
                f"E{i:07d}", "Yes", "No", f"2026-{i % 12 + 1:02d}-{i % 28 + 1:02d}T08:00:00Z", "2026-01-01",
                *(f"attribute {n} of user {i} in full" for n in range(1, 15)),
            ]
        )
        for i in range(begin, end)
    ]  # fmt: skip


def assignments(accounts: int, count: int) -> list[str]:
    rows = []
    for i in range(count):
        # Each account holds several different permissions.
        account = i % accounts
        permission = (account * 7 + i // accounts * 331) % PERMISSIONS
        rows.append(
            f"user{account:07d},Header {permission % 7},Section {permission % 13},Permission number {permission},"
            f"Grant,value{i % 100},What permission {permission} is for,Low"
        )
    return rows


def changed(lines: list[str], column: int, share: float = 0.01) -> list[str]:
    """Return a copy of the lines; in a random share of them, the value in `column` is changed."""
    lines = list(lines)
    for i in random.Random(7).sample(range(len(lines)), int(len(lines) * share)):
        fields = lines[i].split(",")
        fields[column] += "x"
        lines[i] = ",".join(fields)
    return lines


def write(path: Path, header: list[str], lines: list[str]) -> Path:
    path.write_text("\n".join([",".join(header), *lines, ""]))
    return path


def make_files(folder: Path, accounts: int, count: int) -> dict[str, dict[str, Path]]:
    people, held = users(accounts), assignments(accounts, count)
    groups = write(
        folder / "groups.csv", ["Group", "Description"], [f"group{i},Group number {i}" for i in range(GROUPS)]
    )
    made = {}
    for name, lines, more in (("first", people, held), ("changed", changed(people, 12), changed(held, 5))):
        made[name] = {
            "Users": write(folder / f"users-{name}.csv", COLUMNS, lines),
            "Groups": groups,
            "Permissions": write(folder / f"permissions-{name}.csv", PERMISSION_COLUMNS, more),
        }
    return made


def warm_files(folder: Path) -> dict[str, Path]:
    held = ["user0000000,Header,Section,Permission,Grant,value,What it is for,Low"]
    return {
        "Users": write(folder / "warm-users.csv", COLUMNS, users(1)),
        "Groups": write(folder / "warm-groups.csv", ["Group", "Description"], ["group,Group"]),
        "Permissions": write(folder / "warm-permissions.csv", PERMISSION_COLUMNS, held),
    }


def people_files(folder: Path, count: int) -> tuple[Path, Path]:
    folder.mkdir()
    return write(folder / "users.csv", COLUMNS, users(count)), write_people(folder / "people.csv", count)
