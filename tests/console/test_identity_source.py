"""Test that only administrators and the role People can import an identity source in the console."""

import httpx2
import pytest

from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.roles import Role
from tests.builders import an_application, an_import

HR = {"name": "HR file", "vendor": "Rolecall", "files": [{"name": "People", "content": "identities"}]}
SCHEDULE = {"cron": "0 5 * * *", "locations": {"People": "/srv/people.csv"}}


@pytest.mark.parametrize("role", [Role.ADMINISTRATOR, Role.PEOPLE, Role.OPERATOR, Role.PROVISIONER])
async def test_only_the_roles_administrator_and_people_can_import_an_identity_source(
    administrator: httpx2.AsyncClient, db: Db, role: Role
) -> None:
    me = await fetch_value(db, "SELECT identity_id FROM console_roles")
    given = {"connector": HR, "schedule": SCHEDULE, "provisionerIds": [str(me)]}
    application = await an_application(db, "HR", isIdentitySource=True, **given)
    finished = await an_import(db, application, "Finished")
    await an_import(db, application, "Finished")
    await execute(db, "UPDATE console_roles SET role = %(role)s", role=role)

    page = (await administrator.get(f"/applications/{application}")).text
    shown = (await administrator.get(f"/imports/{finished}")).text
    form = await administrator.get(f"/applications/{application}/upload")
    answers = [
        await administrator.post(path)
        for path in (f"/imports/{finished}/rollback", f"/applications/{application}/stage")
    ]

    may = role in (Role.ADMINISTRATOR, Role.PEOPLE)
    assert (f'/applications/{application}/upload"' in page) is may
    assert (f'/applications/{application}/stage"' in page) is may
    assert (f'/imports/{finished}/rollback"' in shown) is may
    assert (form.status_code == 200) is may
    assert [answer.status_code for answer in answers] == ([303, 303] if may else [403, 403])
