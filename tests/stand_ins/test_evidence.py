"""Test that evidence names both the reviewer and the person who responded."""

import asyncio
import zipfile
from pathlib import Path

from rolecall.access_requests import actions as requests
from rolecall.core.db import Db
from tests.builders import an_access_request, an_identity, facts
from tests.cli.commands import typed
from tests.stand_ins.standing_in import a_stand_in, caller_of


async def test_report_names_the_reviewer_and_the_stand_in(db: Db, clean_database: str, tmp_path: Path) -> None:
    grace, sam = await an_identity(db, "Grace", "Hopper"), await an_identity(db, "Sam", "Else")
    ada = await an_identity(db, "Ada", "Lovelace", email="ada@example.com", supervisorId=str(grace))
    request = await an_access_request(db, identity_id=ada)
    await a_stand_in(db, grace, sam)
    body = {"type": "Approve", "response": "Approved", "reviewerId": str(grace)}
    async with db.transaction():
        await requests.respond(db, await caller_of(db, sam), str(request), body, facts())
    file = tmp_path / "ada.zip"

    made = await asyncio.to_thread(
        typed, "evidence", "ada@example.com", "-o", file, ROLECALL_DATABASE_URL=clean_database
    )

    assert made.returncode == 0, made.stderr
    with zipfile.ZipFile(file) as bundle:
        report = bundle.read("report.html").decode()
    assert "Approve: Grace Hopper Approved by Sam Else as stand-in" in report
    assert "Sam Else approved, standing in for Grace Hopper" in report
