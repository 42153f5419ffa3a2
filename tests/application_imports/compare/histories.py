"""Generate random files of several imports, run the imports, and read the state of the database after each one."""

import csv
import hashlib
import io
from typing import Any, Literal
from uuid import UUID

from hypothesis import strategies as st

from rolecall.application_imports import actions
from rolecall.application_imports.model import ImportType
from rolecall.application_imports.run import build
from rolecall.application_imports.run.job import BuildOutcome, Job
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.core.ids import new_id
from tests.application_imports.compare.naive import State
from tests.builders import ADA, an_application

NAMES = st.sampled_from(["ada", "bob", "cyd", "dee", "Ada", "ève"])
GROUPS = st.sampled_from(["staff", "admins", "audit"])
TEXTS = st.sampled_from(["", "x", "y", 'say "hi"', "a,b;c|d\te", "two\nlines", "ünï", " padded "])
USERS = st.lists(st.tuples(NAMES, TEXTS, TEXTS, st.sampled_from(["", "Yes", "No"]), TEXTS), min_size=1, max_size=6)
LISTED = st.lists(st.tuples(GROUPS, TEXTS, TEXTS), max_size=3)
MEMBERS = st.lists(st.tuples(NAMES, GROUPS), max_size=5)
HOLDERS = st.one_of(st.tuples(NAMES, st.just("")), st.tuples(st.just(""), GROUPS))
HELD = st.lists(
    st.tuples(
        HOLDERS,
        st.sampled_from(["", "Ledger"]),
        st.sampled_from(["", "Books"]),
        st.sampled_from(["Post", "Close"]),
        st.sampled_from(["", "Grant", "Deny"]),
        st.sampled_from(["", "7"]),
        st.sampled_from(["", "", "said"]),
    ),
    max_size=6,
)
COLUMNS = {
    "Users": ["Username", "Name", "Email", "Active", "Cost Centre"],
    "Groups": ["Group", "Description", "Nomenclature"],
    "Memberships": ["Username", "Group"],
    "Permissions": ["Username", "Group", "Header", "Section", "Permission", "Access", "Value", "Description"],
}


@st.composite
def imports(draw: st.DrawFn) -> list[tuple[dict[str, list[str]], str]]:
    """Draw the files of several imports, each with a delimiter. Most files resemble the previous ones."""
    rows: dict[str, Any] = {"Users": draw(USERS), "Groups": draw(LISTED), "Memberships": [], "Permissions": []}
    made = []
    for _ in range(draw(st.integers(2, 4))):
        again = draw(st.lists(st.sampled_from(list(COLUMNS)), max_size=3, unique=True))
        for name in again:
            rows[name] = draw({"Users": USERS, "Groups": LISTED, "Memberships": MEMBERS, "Permissions": HELD}[name])
        present = {row[0].strip() for row in rows["Users"]}
        if draw(st.integers(0, 9)):
            # Most files are well formed: one row per key, and only existing users.
            rows["Users"] = list({row[0]: row for row in rows["Users"]}.values())
            rows["Groups"] = list({row[0]: row for row in rows["Groups"]}.values())
            rows["Memberships"] = [row for row in rows["Memberships"] if row[0] in present]
            rows["Permissions"] = [row for row in rows["Permissions"] if row[0][0] in present or row[0][1]]
            rows["Permissions"] = list({row[:4]: row for row in rows["Permissions"]}.values())
        omitted = draw(st.sets(st.sampled_from(["Users", "Groups", "Memberships", "Permissions"]), max_size=2))
        dialect = draw(st.sampled_from([",", ",", ",", ";", "\t", "|"]))
        files = {name: _files(draw, name, rows[name], dialect) for name in COLUMNS if name not in omitted}
        made.append((files or {"Users": _files(draw, "Users", rows["Users"], dialect)}, dialect))
    return made


def _files(draw: st.DrawFn, name: str, rows: list[Any], delimiter: str) -> list[str]:
    flat = [[*row[0], *row[1:]] if isinstance(row[0], tuple) else list(row) for row in rows]
    if draw(st.booleans()):
        flat = draw(st.permutations(flat))
    order = list(range(len(COLUMNS[name])))
    if not draw(st.integers(0, 5)):
        order = draw(st.permutations(order))
    parts = [flat[::2], flat[1::2]] if name == "Permissions" and draw(st.booleans()) else [flat]
    quoting: Literal[0, 1] = csv.QUOTE_MINIMAL if draw(st.integers(0, 3)) else csv.QUOTE_ALL
    ending = "\r\n" if draw(st.booleans()) else "\n"
    texts = []
    for part in parts:
        out = io.StringIO()
        writer = csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator=ending)
        writer.writerows([[row[i] for i in order] for row in [COLUMNS[name], *part]])
        texts.append(out.getvalue())
    return texts


async def run_import(
    db: Db, config: Config, application: UUID, files: dict[str, list[str]]
) -> tuple[UUID, BuildOutcome, str]:
    now = clock.now()
    id = await actions.create_import(db, application, ADA, type=ImportType.API, now=now)
    await execute(
        db, "UPDATE application_imports SET status = 'Running', build_start = %(now)s WHERE id = %(id)s", id=id, now=now
    )
    await execute(db, "INSERT INTO import_runs (import_id) VALUES (%(id)s)", id=id)
    groups: dict[str, UUID] = dict(
        await fetch_rows(
            db,
            """SELECT g.name, g.id FROM file_groups g JOIN connectors c ON c.id = g.connector_id
               WHERE c.application_id = %(id)s""",
            id=application,
        )
    )
    position = 0
    for name, texts in files.items():
        for text in texts:
            location = str(new_id())
            config.store.folder.mkdir(exist_ok=True)
            (config.store.folder / location).write_bytes(text.encode())
            await execute(
                db,
                """INSERT INTO import_files (id, import_id, position, file_group_id, file_group, name, sha256, size,
                                             location)
                   VALUES (%(id)s, %(run)s, %(position)s, %(group)s, %(name)s, %(name)s, %(sha)s, 1, %(location)s)""",
                id=new_id(),
                run=id,
                position=(position := position + 1),
                group=groups[name],
                name=name,
                sha=hashlib.sha256(text.encode()).digest(),
                location=location,
            )
    assert config.database_url
    ended = await build.build(Job(id, config.database_url, config.base_url, config.store, "UTC", 0, clock.now()))
    return id, ended.outcome, ended.message


_USERS = """SELECT a.username, v.name, v.email, v.is_active, v.metadata::json FROM accounts a JOIN account_versions v
    ON v.account_number = a.number AND v.until_import IS NULL WHERE a.application_id = %(id)s"""
_GROUPS = """SELECT g.name, v.description, v.nomenclature, v.metadata::json FROM groups g JOIN group_versions v
    ON v.group_number = g.number AND v.until_import IS NULL WHERE g.application_id = %(id)s"""
_MEMBERSHIPS = """SELECT a.username, g.name FROM memberships m JOIN accounts a ON a.number = m.account_number
    JOIN groups g ON g.number = m.group_number
    WHERE m.until_import IS NULL AND a.application_id = %(id)s"""
_PERMISSIONS = """SELECT p.header, p.section, p.permission, v.description
    FROM permissions p JOIN permission_versions v
    ON v.permission_number = p.number AND v.until_import IS NULL WHERE p.application_id = %(id)s"""
_ASSIGNMENTS = """SELECT coalesce(a.username, ''), coalesce(g.name, ''), p.header, p.section, p.permission,
           s.access::text, s.value
    FROM assignments s JOIN permissions p ON p.number = s.permission_number
    LEFT JOIN accounts a ON a.number = s.holder_number LEFT JOIN groups g ON g.number = s.holder_number
    WHERE s.until_import IS NULL AND p.application_id = %(id)s"""


async def state_of(db: Db, application: UUID) -> State:
    users, groups, memberships, permissions, assignments = [
        await fetch_rows(db, sql, id=application) for sql in (_USERS, _GROUPS, _MEMBERSHIPS, _PERMISSIONS, _ASSIGNMENTS)
    ]
    return State(
        {row[0]: row[1:] for row in users},
        {row[0]: row[1:] for row in groups},
        frozenset(memberships),
        {row[:3]: row[3:] for row in permissions},
        {row[:5]: row[5:] for row in assignments},
    )


def seen(state: State) -> State:
    """Return the state in the form of `state_of`: `listed` also has the groups that other files name."""
    return state._replace(listed=state.groups)


async def an_application_of_files(db: Db, **group: Any) -> UUID:
    """Create an application with a file group for each content."""
    files = [
        {"name": name, "content": name.lower(), "isOptional": True, "isMultiple": True, **group} for name in COLUMNS
    ]
    return await an_application(db, f"Application {new_id()}", connector={"name": "Files", "files": files})
