from pathlib import Path

import httpx2

from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.notifications.model import Reminders
from rolecall.notifications.notification_facts import FactContext, facts_of
from tests.builders import an_identity
from tests.reports.reporting import DUE, START, daily, runs_of, work


async def test_recipients_are_notified_of_each_file(
    scheduled: Config, service: httpx2.AsyncClient, db: Db, folder: Path
) -> None:
    ada, bob = await an_identity(db, "Ada", "Byron"), await an_identity(db, "Bob", "Noyce")
    report = await daily(service, folder, recipientIds=[str(ada), str(bob), str(ada)])
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=bob)

    await work(scheduled, START)
    await work(scheduled, DUE)

    assert [person["name"] for person in report["recipients"]] == ["Ada Byron", "Bob Noyce"]
    [(id, identity_id, part)] = await fetch_rows(
        db, "SELECT id, identity_id, part FROM notifications WHERE kind = 'Report'"
    )
    [run] = await runs_of(service, report)
    assert (identity_id, part) == (ada, run["id"])
    facts = (await facts_of(db, [id], FactContext(Reminders(), scheduled.timezone)))[id]
    assert (facts.what, facts.result) == ("Report People", "was written with 2 rows")
    assert (facts.why, facts.link) == ("You receive the report", f"/reports/{report['id']}")


async def test_owner_is_notified_of_a_failed_run(
    scheduled: Config, service: httpx2.AsyncClient, db: Db, folder: Path
) -> None:
    owner, ada = await an_identity(db, "Olga", "Ladyzhenskaya"), await an_identity(db, "Ada", "Byron")
    await daily(service, folder, ownerId=str(owner), recipientIds=[str(ada)])

    await work(scheduled, START)
    await work(scheduled, DUE)

    [(id, identity_id)] = await fetch_rows(db, "SELECT id, identity_id FROM notifications WHERE kind = 'Report'")
    facts = (await facts_of(db, [id], FactContext(Reminders(), scheduled.timezone)))[id]
    assert identity_id == owner
    assert facts.result == (
        "failed: Olga Ladyzhenskaya owns the report but may no longer read its list. Choose another owner"
    )


async def test_recipients_can_be_removed(service: httpx2.AsyncClient, db: Db, folder: Path) -> None:
    ada = await an_identity(db, "Ada", "Byron")
    report = await daily(service, folder, recipientIds=[str(ada)])

    kept = (await service.patch(f"/api/reports/{report['id']}", json={"description": "x"})).json()["recipients"]
    removed = (await service.patch(f"/api/reports/{report['id']}", json={"recipientIds": []})).json()["recipients"]

    assert [person["id"] for person in kept] == [str(ada)]
    assert removed == []
