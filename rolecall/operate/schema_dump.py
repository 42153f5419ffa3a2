"""Print the schema of a database as SQL, independent of the server and of how the database was created.

Tables come with their constraints, indexes and triggers. Functions, procedures and views are listed under the file
that defines them, each with a digest: a diff of two dumps shows which of these objects differ.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import psycopg

from rolecall.operate.programs import run

_HEAD = """\
-- The schema of the database as `rolecall migrate --schema` prints it: the result of migrations and schema files.
-- To change it, add a migration or edit rolecall/schema, then run `make schema`.
"""
# pg_dump writes this comment above each object.
_OBJECT = re.compile(r"^--\n-- Name: (?P<name>.*); Type: (?P<type>.*); Schema: .*\n--\n", re.M)
# Output of pg_dump that varies: versions and session settings.
_NOISE = re.compile(r"^(?:--.*\n|\\.*\n|SET .*;\n|SELECT pg_catalog.*;\n|CREATE SCHEMA .*\n)", re.M)
_TABLE = re.compile(r"(?:ALTER TABLE (?:ONLY )?|CREATE (?:UNLOGGED )?TABLE | ON )public\.(\w+)")
# Types of objects that files in rolecall/schema define; migrations define only a few functions.
_ROUTINES = ("FUNCTION", "PROCEDURE", "VIEW")
_FILES = "SELECT name, unnest(objects) FROM schema_files"


class Dumped(NamedTuple):
    name: str
    type: str
    sql: str


def dump_schema(url: str) -> str:
    objects = list(_objects(url))
    routines = [each for each in objects if each.type in _ROUTINES]
    others = [each for each in objects if each.type not in _ROUTINES]
    return "\n\n".join([_HEAD.strip(), *_tables(others), *_listed(routines, _files(url))]) + "\n"


def _objects(url: str) -> Iterator[Dumped]:
    dump = run(url, "pg_dump", "--schema-only", "--no-owner", "--no-privileges", "--no-comments", "--schema=public")
    _, *parts = _OBJECT.split(dump)
    for name, type, sql in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        if sql := _NOISE.sub("", sql).strip():
            yield Dumped(name, type, sql)


def _tables(objects: Iterable[Dumped]) -> list[str]:
    """Return types, sequences and tables, each table followed by a line for each constraint, index and trigger."""
    tables = dict[str, list[str]]()
    for each in objects:
        table = found[1] if (found := _TABLE.search(each.sql)) else each.name
        sql = each.sql if each.type == "TABLE" else " ".join(each.sql.split())
        tables.setdefault(table, []).append(sql)
    return ["\n".join(tables[table]) for table in sorted(tables)]


def _listed(routines: Iterable[Dumped], files: dict[str, str]) -> list[str]:
    """Return a paragraph for each file: its functions, procedures and views with their digests."""
    lines = dict[str, list[str]]()
    for each in routines:
        file = files.get(each.name.partition("(")[0], "migrations")
        digest = hashlib.sha256(each.sql.encode()).hexdigest()[:12]
        lines.setdefault(file, []).append(f"-- {digest} {each.type.lower()} {each.name}")
    return ["\n".join([f"-- In rolecall/{file}:", *lines[file]]) for file in sorted(lines)]


def _files(url: str) -> dict[str, str]:
    """Map each function, procedure and view to the schema file that defines it."""
    with psycopg.connect(url) as db:
        if db.execute("SELECT to_regclass('public.schema_files')").fetchone() == (None,):
            return {}
        recorded = db.execute(_FILES).fetchall()
    return {re.sub(r"^\w+ public\.|\(.*", "", object): file for file, object in recorded}
