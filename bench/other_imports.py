"""Load the same files in other ways: with a raw COPY and with a conventional importer."""

import csv
import time
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

CONVENTIONAL_TABLES = """
    CREATE TABLE plain_accounts (id serial PRIMARY KEY, username text UNIQUE, fields jsonb);
    CREATE TABLE plain_groups (id serial PRIMARY KEY, name text UNIQUE, fields jsonb);
    CREATE TABLE plain_permissions (id serial PRIMARY KEY, header text, section text, permission text, fields jsonb,
                                    UNIQUE (header, section, permission));
    CREATE TABLE plain_assignments (account_id int REFERENCES plain_accounts ON DELETE CASCADE,
                                    permission_id int REFERENCES plain_permissions ON DELETE CASCADE, fields jsonb,
                                    PRIMARY KEY (account_id, permission_id));
    CREATE INDEX ON plain_assignments (permission_id);
    CREATE TABLE plain_changes (import int, kind text, change text, name text, before jsonb, after jsonb)
"""
CATALOGUE = ("Header", "Section", "Permission")
Fields = dict[str, str]


def raw_copy(database: str, files: dict[str, Path]) -> float:
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("DROP TABLE IF EXISTS raw_lines")
        db.execute("CREATE TABLE raw_lines (line text)")
        started = time.perf_counter()
        with db.transaction():
            copy_lines(db, "raw_lines", files)
        took = time.perf_counter() - started
        db.execute("DROP TABLE raw_lines")
    return took


def copy_lines(db: psycopg.Connection[Any], target: str, files: dict[str, Path]) -> None:
    with db.cursor().copy(f"COPY {target} FROM STDIN") as copy:
        for path in files.values():
            with path.open("rb") as file:
                while piece := file.read(1 << 18):
                    copy.write(piece)


def conventional(database: str, files: dict[str, dict[str, Path]], steps: dict[str, str]) -> dict[str, float]:
    """Import conventionally (csv.DictReader, dicts, executemany for the differences); return the seconds of each step.

    This does less than Rolecall: it stores accounts, groups, permissions, assignments, and a list of changes with old
    and new values, but it has no history, no matching and no limits.
    """
    took = {}
    with psycopg.connect(database) as db:
        db.execute(CONVENTIONAL_TABLES)
        for number, (label, chosen) in enumerate(steps.items()):
            started = time.perf_counter()
            import_conventionally(db, number, {name: read(path) for name, path in files[chosen].items()})
            db.commit()
            took[label] = time.perf_counter() - started
        db.execute("DROP TABLE plain_accounts, plain_groups, plain_permissions, plain_assignments, plain_changes")
        db.commit()
    return took


def read(path: Path) -> list[Fields]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def import_conventionally(db: psycopg.Connection[Any], number: int, files: dict[str, list[Fields]]) -> None:
    def sync(table: str, key: tuple[str, ...], wanted: dict[tuple[Any, ...], Fields]) -> None:
        put_difference(db, number, table, key, wanted)

    sync("plain_accounts", ("username",), {(row.pop("Username"),): row for row in files["Users"]})
    sync("plain_groups", ("name",), {(row.pop("Group"),): row for row in files["Groups"]})
    held = files["Permissions"]
    listed = {tuple(row[part] for part in CATALOGUE): {"Risk": row["Risk Rating"]} for row in held}
    sync("plain_permissions", ("header", "section", "permission"), listed)
    accounts = dict(db.execute("SELECT username, id FROM plain_accounts").fetchall())
    rows = db.execute("SELECT header, section, permission, id FROM plain_permissions")
    permissions = {tuple(row[:3]): row[3] for row in rows}
    sync(
        "plain_assignments",
        ("account_id", "permission_id"),
        {
            (accounts[row["Username"]], permissions[tuple(row[part] for part in CATALOGUE)]): {
                "Access": row["Access"],
                "Value": row["Value"],
            }
            for row in held
        },
    )


def put_difference(
    db: psycopg.Connection[Any], number: int, table: str, key: tuple[str, ...], wanted: dict[tuple[Any, ...], Fields]
) -> None:
    names = ", ".join(key)
    present = {tuple(row[:-1]): row[-1] for row in db.execute(f"SELECT {names}, fields FROM {table}")}
    new = [(*k, Jsonb(row)) for k, row in wanted.items() if k not in present]
    altered = [(Jsonb(row), *k) for k, row in wanted.items() if k in present and present[k] != row]
    gone = [k for k in present if k not in wanted]
    where = " AND ".join(f"{column} = %s" for column in key)
    changes = [
        *((number, table, "New", str(k), None, row) for *k, row in new),
        *((number, table, "Altered", str(k), Jsonb(present[tuple(k)]), row) for row, *k in altered),
        *((number, table, "Removed", str(k), Jsonb(present[k]), None) for k in gone),
    ]
    with db.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {table} ({names}, fields) VALUES ({'%s, ' * len(key)}%s)", new)
        cursor.executemany(f"UPDATE {table} SET fields = %s WHERE {where}", altered)
        cursor.executemany(f"DELETE FROM {table} WHERE {where}", gone)
        cursor.executemany("INSERT INTO plain_changes VALUES (%s, %s, %s, %s, %s, %s)", changes)
