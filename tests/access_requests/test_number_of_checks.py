"""Test that requests are not checked for conflicts more often than needed, because each check locks people."""

from datetime import UTC, datetime

import httpx2
import pytest

from rolecall.access_requests.creation import create_enriched
from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.access_requests.separation import conflicts_created
from rolecall.core.caller import SYSTEM
from rolecall.settings.policy import RequestAction
from tests.builders import an_application, an_identity
from tests.counting import counting
from tests.duties.separating import a_company

ADD, CHANGE, RESTORE = RequestAction.ADD, RequestAction.CHANGE, RequestAction.RESTORE


async def test_request_that_changes_no_duties_is_not_compared_with_the_duties_of_its_person(
    clean_database: str,
) -> None:
    async with counting(clean_database) as counts:
        company = await a_company(counts.db)

        async def check(group: str) -> int:
            new = NewRequest(
                action=ADD,
                application_id=company.ledger,
                identity_id=company.noor,
                privileges=[NewPrivilege(header="Group", permission=group)],
            )
            return await counts.of(conflicts_created(counts.db, [new]))

        assert await check("Readers") < await check("Approvers")


@pytest.mark.parametrize(
    ("together", "is_checked_again"),
    [
        ([("Ada", ADD), ("Ada", ADD)], False),
        ([("Ada", RESTORE), ("Ada", ADD)], False),
        ([("Ada", RESTORE), ("Bo", RESTORE)], False),
        ([("Ada", RESTORE), ("Ada", RESTORE)], True),
        ([("Ada", ADD), ("Ada", CHANGE)], True),
    ],
)
async def test_requests_made_together_are_checked_again_only_if_they_can_depend_on_each_other(
    client: httpx2.AsyncClient,
    clean_database: str,
    together: list[tuple[str, RequestAction]],
    *,
    is_checked_again: bool,
) -> None:
    # Nothing needs an approval, so all requests start at once.
    await client.patch("/api/settings", json={"approvalPolicy": []})
    async with counting(clean_database) as counts:
        db = counts.db
        ledger, people = await an_application(db), {name: await an_identity(db, name) for name in ("Ada", "Bo")}

        async def create(*asked: tuple[str, RequestAction]) -> int:
            news = [
                NewRequest(action=action, application_id=ledger, identity_id=people[name], target_name=name)
                for name, action in asked
            ]
            async with db.transaction():
                return await counts.of(create_enriched(db, SYSTEM, news, datetime.now(UTC), [[] for _ in news]))

        assert (await create(*together) > await create(("Ada", ADD))) == is_checked_again
