"""Helpers for tests of separation of duties: duties, rules and a company with access."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, execute, fetch_value
from rolecall.duties import actions as duties
from tests.builders import an_application, an_identity, facts
from tests.holdings import a_finished_import, an_account
from tests.nesting import give, some_groups


async def a_duty(db: Db, name: str, *patterns: dict[str, str], now: datetime | None = None) -> UUID:
    raw = {"name": name, "patterns": list(patterns)}
    async with db.transaction():
        return (await duties.create_duty(db, raw, facts(now=now or datetime.now(UTC)))).id


async def a_rule(db: Db, name: str, *conflicts: UUID, committed: bool = True, **fields: Any) -> UUID:
    raw = {"name": name, "conflicts": [str(id) for id in conflicts], **fields}
    async with db.transaction():
        rule = await duties.create_rule(db, raw, facts())
        if committed:
            await duties.commit_rule(db, SYSTEM, str(rule.id), datetime.now(UTC))
    return rule.id


async def finish_again(db: Db, import_number: int, now: datetime | None = None) -> None:
    """Finish an import whose rows are already written; this evaluates duties."""
    await execute(
        db,
        """UPDATE application_imports SET status = 'Running', build_end = NULL, metrics = NULL
           WHERE number = %(number)s""",
        number=import_number,
    )
    await execute(
        db,
        """UPDATE application_imports SET status = 'Finished', build_end = %(now)s, metrics = '{}'
           WHERE number = %(number)s""",
        number=import_number,
        now=now or datetime.now(UTC),
    )


class Company:
    """Sofia prepares and releases payments in the ledger; Noor only prepares them."""

    def __init__(self, ledger: UUID, sofia: UUID, noor: UUID, owner: UUID, run: int) -> None:
        self.ledger, self.sofia, self.noor, self.owner, self.run = ledger, sofia, noor, owner, run
        self.prepare, self.release, self.rule = UUID(int=0), UUID(int=0), UUID(int=0)


async def a_company(db: Db, *, response: str = "Approve") -> Company:
    owner = await an_identity(db, "Hana", "Makinen")
    chief = await an_identity(db, "Carla", "Abadi")
    ledger = await an_application(db, "Finance Ledger", ownerId=str(chief))
    sofia, noor = await an_identity(db, "Sofia", "Dubois"), await an_identity(db, "Noor", "Hansen")
    run = await some_groups(db, ledger, {"Approvers": "", "Officers": "", "Juniors": "Officers"})
    await give(db, ledger, "Officers", "Prepare run", run)
    await give(db, ledger, "Approvers", "Release run", run)
    await an_account(db, ledger, "sofia", sofia, groups=("Juniors", "Approvers"), run=run)
    await an_account(db, ledger, "noor", noor, groups=("Officers",), run=run)
    company = Company(ledger, sofia, noor, owner, run)
    company.prepare = await a_duty(db, "Prepare payments", {"header": "Wires", "permission": "prepare*"})
    company.release = await a_duty(db, "Release payments", {"application": "finance*", "permission": "Release run"})
    both = company.prepare, company.release
    company.rule = await a_rule(
        db, "Prepare and release", *both, risk="Critical", ownerId=str(owner), response=response
    )
    return company


async def join(db: Db, company: Company, username: str, group: str) -> int:
    """Import data with one more membership."""
    run = await a_finished_import(db, company.ledger)
    await execute(
        db,
        """INSERT INTO memberships SELECT a.number, g.number, %(run)s, NULL FROM accounts a, groups g
           WHERE a.username = %(username)s AND g.name = %(group)s""",
        run=run,
        username=username,
        group=group,
    )
    await finish_again(db, run)
    return run


async def leave(db: Db, company: Company, username: str, group: str) -> int:
    """Import data without one membership."""
    run = await a_finished_import(db, company.ledger)
    await execute(
        db,
        """UPDATE memberships SET until_import = %(run)s WHERE until_import IS NULL
           AND account_number = (SELECT number FROM accounts WHERE username = %(username)s)
           AND group_number = (SELECT number FROM groups WHERE name = %(group)s)""",
        run=run,
        username=username,
        group=group,
    )
    await finish_again(db, run)
    return run


async def conflict_of(db: Db, identity_id: UUID) -> UUID:
    id: UUID = await fetch_value(
        db, "SELECT id FROM conflicts WHERE identity_id = %(id)s AND until IS NULL", id=identity_id
    )
    return id
