"""Print the schema of a database as SQL, independent of the server and of how the database was created."""

import re

from rolecall.operate.programs import run

_HEAD = """\
-- The schema of the database as `rolecall migrate --schema` prints it: what migrations and schema files make together.
-- To change it, add a migration or edit rolecall/schema, then run `make schema`.
"""
# Output of pg_dump that varies: versions, session settings, and a heading for every object.
_NOISE = re.compile(
    r"^(?:--\n(?:-- .*\n)+--\n|-- Dumped .*\n|\\.*\n|SET .*;\n|SELECT pg_catalog.*;\n|CREATE SCHEMA .*\n)", re.M
)


def dump_schema(url: str) -> str:
    dump = run(url, "pg_dump", "--schema-only", "--no-owner", "--no-privileges", "--no-comments", "--schema=public")
    statements = re.sub(r"\n{3,}", "\n\n", _NOISE.sub("", dump)).strip()
    return f"{_HEAD}\n{statements}\n"
