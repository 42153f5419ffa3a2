"""Import files as proposed: propose over HTTP, create the application, upload and import."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

import httpx2

from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_rows
from tests.application_imports.running import Imports

Permission = tuple[str, str, str, str, str]


class Imported(NamedTuple):
    """The stored data after an import. Permissions have a username or group, header, section, name and access."""

    log: str
    active: set[str]
    inactive: set[str]
    groups: set[str]
    memberships: set[tuple[str, str]]
    permissions: set[Permission]
    people: set[tuple[str, str, str, str]]
    columns: dict[str, dict[str, str]]


async def propose(client: httpx2.AsyncClient, files: Mapping[str, bytes]) -> dict[str, Any]:
    answer = await client.post("/api/file-shapes/propose", files=[("file", each) for each in files.items()])
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def import_proposed(client: httpx2.AsyncClient, config: Config, db: Db, files: Mapping[str, bytes]) -> Imported:
    """Import files as proposed, without changes; fail on a problem or a rejected row."""
    proposal = await propose(client, files)
    assert [file["problem"] for file in proposal["files"]] == [None] * len(files)
    groups: dict[str, list[bytes]] = {}
    for file in proposal["files"]:
        groups.setdefault(file["fileGroup"], []).append(files[file["name"]])
    for shape in [group["shape"] or {} for group in proposal["connector"]["files"]]:
        # Accept the proposal for all open questions.
        for each in (shape, *(content["shape"] for content in shape.get("contents", []))):
            each.pop("openQuestions", None)
    is_source = proposal["isIdentitySource"]
    return await import_by(client, config, db, proposal["connector"], groups, is_identity_source=is_source)


async def import_by(
    client: httpx2.AsyncClient,
    config: Config,
    db: Db,
    connector: Any,
    files: Mapping[str, list[bytes]],
    *,
    is_identity_source: bool = False,
) -> Imported:
    """Import files into a new application. `files` maps the name of each file group to its files."""
    body = {"name": "Sample", "connector": connector, "isIdentitySource": is_identity_source}
    made = await client.post("/api/applications", json=body)
    assert made.status_code == 201, made.text
    id = UUID(made.json()["id"])
    run = await Imports(client, config).finish(id, {name: list(contents) for name, contents in files.items()})
    rejects = await client.get(f"/api/application-imports/{run['id']}/rejects")
    assert rejects.json()["items"] == []
    return await stored(db, run["log"])


async def stored(db: Db, log: str) -> Imported:
    accounts = await fetch_rows(
        db,
        """SELECT a.username, v.is_active, v.name, v.first_name, v.last_name, v.email, v.employee_id, v.last_login,
                  v.metadata
           FROM accounts a JOIN account_versions v ON v.account_number = a.number WHERE v.until_import IS NULL""",
    )
    memberships = await fetch_rows(
        db,
        """SELECT a.username, g.name FROM memberships m JOIN accounts a ON a.number = m.account_number
           JOIN groups g ON g.number = m.group_number WHERE m.until_import IS NULL""",
    )
    permissions = await fetch_rows(
        db,
        """SELECT coalesce(c.username, g.name), p.header, p.section, p.permission, a.access::text FROM assignments a
           JOIN permissions p ON p.number = a.permission_number LEFT JOIN accounts c ON c.number = a.holder_number
           LEFT JOIN groups g ON g.number = a.holder_number WHERE a.until_import IS NULL""",
    )
    people = await fetch_rows(db, "SELECT employee_id, first_name, last_name, status FROM identities")
    fields = ("name", "first", "last", "email", "employee", "login", "metadata")
    return Imported(
        log,
        {username for username, is_active, *_ in accounts if is_active},
        {username for username, is_active, *_ in accounts if not is_active},
        {name for (name,) in await fetch_rows(db, "SELECT name FROM groups")},
        {(row[0], row[1]) for row in memberships},
        {(row[0], row[1], row[2], row[3], row[4]) for row in permissions},
        {(row[0], row[1], row[2], row[3]) for row in people},
        {row[0]: dict(zip(fields, row[2:], strict=True)) for row in accounts},
    )
