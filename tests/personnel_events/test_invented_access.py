"""Test that the end of a leave gives nothing without approval that only files of the parties have shown.

The parties are the person on leave and the person who reported the leave.
"""

from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from tests.builders import a_token, an_application, an_identity
from tests.holdings import a_finished_import, an_account
from tests.personnel_events.bodies import EVENTS, created, day
from tests.working import let_the_worker_work

ALL = ("Users", "Memberships", "Permissions")


class Office:
    """Ada, who reports to Grace, uploads files of the ledger."""

    ada: UUID
    grace: UUID
    ledger: UUID


@pytest.fixture
async def office(db: Db) -> Office:
    office = Office()
    office.grace = await an_identity(db, "Grace", "Hopper")
    office.ada = await an_identity(db, supervisorId=str(office.grace))
    office.ledger = await an_application(db, "Ledger")
    return office


async def an_import_of(db: Db, office: Office, supplier: UUID | None, *files: str) -> int:
    number = await a_finished_import(db, office.ledger, *(files or ALL))
    sql = "UPDATE application_imports SET supplied_by = %(id)s WHERE number = %(number)s"
    await execute(db, sql, id=supplier, number=number)
    return number


async def join(db: Db, group: str, run: int) -> None:
    """Let an import show Ada's account in another group."""
    await execute(
        db,
        """WITH g AS (INSERT INTO groups (application_id, name) SELECT application_id, %(name)s FROM accounts
                      RETURNING number)
           , v AS (INSERT INTO group_versions SELECT number, %(run)s, NULL, '', '', '', '{}' FROM g)
           INSERT INTO memberships SELECT a.number, g.number, %(run)s, NULL FROM accounts a, g""",
        name=group,
        run=run,
    )


async def restored(
    client: httpx2.AsyncClient, db: Db, config: Config, office: Office, reporter: UUID | None = None
) -> tuple[Any, list[str]]:
    """Let Ada take a leave and return; return the Restore request and the comments on the leave."""
    dates = {"effectiveDate": day(0), "endDate": day(30)}
    leave = await created(client, "leave-of-absence", identityId=str(office.ada), **dates)
    sql = "UPDATE personnel_events SET reporter_id = coalesce(%(id)s, reporter_id)"
    await execute(db, sql, id=reporter)
    await let_the_worker_work(config)
    event = (await client.get(f"{EVENTS}/{leave['id']}")).json()
    [suspension] = event["stages"][0]["accessRequests"]
    assert (await client.post(f"/api/access-requests/{suspension['id']}/resolve")).status_code == 200
    await let_the_worker_work(config, clock.now() + timedelta(days=31))
    event = (await client.get(f"{EVENTS}/{leave['id']}")).json()
    [request] = event["stages"][2]["accessRequests"]
    detail = (await client.get(f"/api/access-requests/{request['id']}")).json()
    return detail, [comment["content"] for comment in event["comments"]]


def approvers(request: Any) -> list[str]:
    return [
        response["reviewer"]["name"]
        for requirement in request["requirements"]
        if requirement["type"] == "Approve"
        for rule in requirement["rules"]
        for response in rule["responses"]
    ]


@pytest.mark.parametrize("by_token", [False, True])
async def test_access_that_only_own_files_showed_is_restored_after_approval(
    client: httpx2.AsyncClient, db: Db, config: Config, office: Office, by_token: bool
) -> None:
    run = await an_import_of(db, office, None)
    await an_account(db, office.ledger, "ada", office.ada, groups=("Readers",), run=run)
    supplier = (await a_token(db, "uploads", owner=office.ada)).id if by_token else office.ada
    await join(db, "Administrators", await an_import_of(db, office, supplier))
    # A file without memberships does not confirm what the file before it showed.
    await an_import_of(db, office, None, "Users")

    request, comments = await restored(client, db, config, office)

    assert (request["status"], approvers(request)) == ("Pending", ["Grace Hopper"])
    assert comments == [
        "The restore of ada in Ledger must be approved: only files of the person, or of the reporter of the leave, have"
        " shown the active account with this access"
    ]


async def test_account_that_only_own_files_showed_as_active_is_restored_after_approval(
    client: httpx2.AsyncClient, db: Db, config: Config, office: Office
) -> None:
    run = await an_import_of(db, office, None)
    await an_account(db, office.ledger, "ada", office.ada, is_active=False, run=run)
    own = await an_import_of(db, office, office.ada)
    await execute(db, "UPDATE account_versions SET until_import = %(own)s", own=own)
    await execute(
        db,
        """INSERT INTO account_versions SELECT account_number, %(own)s, NULL, name, '', '', '', '', true, false, '', '',
                                               '{}', '', '' FROM account_versions""",
        own=own,
    )

    request, _ = await restored(client, db, config, office)

    assert (request["status"], approvers(request)) == ("Pending", ["Grace Hopper"])


async def test_access_that_only_files_of_the_reporter_showed_is_restored_after_approval(
    client: httpx2.AsyncClient, db: Db, config: Config, office: Office
) -> None:
    reporter = await an_identity(db, "Olga", "Noor")
    run = await an_import_of(db, office, reporter)
    await an_account(db, office.ledger, "ada", office.ada, groups=("Readers",), run=run)

    request, _ = await restored(client, db, config, office, reporter)

    assert (request["status"], approvers(request)) == ("Pending", ["Grace Hopper"])


async def test_program_may_upload_files_and_report_leaves(
    client: httpx2.AsyncClient, db: Db, config: Config, office: Office
) -> None:
    program = (await a_token(db, "a program")).id
    run = await an_import_of(db, office, program)
    await an_account(db, office.ledger, "ada", office.ada, groups=("Readers",), run=run)

    request, _ = await restored(client, db, config, office, program)

    assert (request["status"], approvers(request)) == ("Open", [])


async def test_access_that_others_have_shown_too_is_restored_without_approval(
    client: httpx2.AsyncClient, db: Db, config: Config, office: Office
) -> None:
    own = await an_import_of(db, office, office.ada)
    close = ("Books", "Close", "Modify", "None")
    await an_account(db, office.ledger, "ada", office.ada, groups=("Readers",), permissions=(close,), run=own)
    await an_import_of(db, office, office.grace)
    await an_import_of(db, office, office.ada)

    request, comments = await restored(client, db, config, office)

    assert (request["status"], approvers(request), comments) == ("Open", [], [])
