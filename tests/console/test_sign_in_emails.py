"""Test that an event that changes an e-mail address lets nobody sign in as another person."""

from datetime import UTC, datetime
from uuid import UUID

import httpx2
import pytest

from rolecall.console import signing_in
from rolecall.console.actions import create_link, set_password, set_role
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.core.errors import Invalid
from rolecall.core.roles import Role
from rolecall.personnel_events import actions as events
from rolecall.personnel_events.permitted import NOT_TYPE
from tests.application_imports.running import Imports
from tests.builders import a_token, an_application, an_identity, facts
from tests.stand_ins.standing_in import caller_of
from tests.working import let_the_worker_work

TODAY = datetime.now(UTC).date().isoformat()
HR = {"name": "HR file", "vendor": "Rolecall", "files": [{"name": "People", "content": "identities"}]}
ADA = "Employee ID,First Name,Last Name,Email,Title\nE1,Ada,Lovelace,ada@example.com,Analyst\n"


@pytest.fixture
async def ada(db: Db) -> UUID:
    return await an_identity(db, email="ada@example.com")


async def headers(db: Db, *scopes: str) -> dict[str, str]:
    token = await a_token(db, f"with {scopes}", scopes=["personnel-events:write", *scopes])
    return {"Authorization": f"Bearer {token.secret}"}


async def transition(client: httpx2.AsyncClient, config: Config, ada: UUID, email: str, **headers: str) -> None:
    body = {"identityId": str(ada), "effectiveDate": TODAY, "identity": {"email": email, "title": "Clerk"}}
    answer = await client.post("/api/personnel-events/role-transition", json=body, headers=headers)
    assert answer.status_code == 201, answer.text
    await let_the_worker_work(config)


async def from_hr(imports: Imports, db: Db) -> tuple[UUID, UUID]:
    """Import Ada from an identity source; return the source and Ada."""
    source = await an_application(db, "HR", isIdentitySource=True, connector=HR)
    await imports.finish(source, {"People": ADA})
    [(id,)] = await fetch_rows(db, "SELECT id FROM identities WHERE employee_id = 'E1'")
    return source, id


async def signs_in(db: Db, email: str) -> UUID | None:
    person = await signing_in.person_with_email(db, email)
    return person.id if person else None


async def test_event_of_a_token_changes_the_email_but_not_the_sign_in_email(
    client: httpx2.AsyncClient, db: Db, config: Config, ada: UUID
) -> None:
    await transition(client, config, ada, "eve@example.com", **await headers(db))

    shown = (await client.get(f"/api/identities/{ada}")).json()
    assert (shown["emailAddress"], shown["title"]) == ("eve@example.com", "Clerk")
    assert await signs_in(db, "eve@example.com") is None
    assert await signs_in(db, "ADA@example.com") == ada
    said = await fetch_rows(db, "SELECT content FROM activity WHERE action = 'E-mail Not Confirmed'")
    assert said == [("The person signs in with ada@example.com until eve@example.com is confirmed",)]


async def test_second_event_keeps_the_confirmed_e_mail(
    client: httpx2.AsyncClient, db: Db, config: Config, ada: UUID
) -> None:
    sent = await headers(db)
    await transition(client, config, ada, "eve@example.com", **sent)
    await transition(client, config, ada, "mallory@example.com", **sent)

    assert [await signs_in(db, f"{name}@example.com") for name in ("ada", "eve", "mallory")] == [ada, None, None]


async def test_event_with_identities_write_confirms_the_e_mail(
    client: httpx2.AsyncClient, db: Db, config: Config, ada: UUID
) -> None:
    await transition(client, config, ada, "new@example.com", **await headers(db))
    await transition(client, config, ada, "new@example.com", **await headers(db, "identities:write"))

    assert [await signs_in(db, f"{name}@example.com") for name in ("ada", "new")] == [None, ada]


async def test_identity_source_confirms_an_e_mail_that_it_gives(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    """The e-mail of the identity stays the same here, because an event set it before the identity source did."""
    imports = Imports(client, config)
    source, ada = await from_hr(imports, db)
    await transition(client, config, ada, "new@example.com", **await headers(db))
    assert await signs_in(db, "new@example.com") is None

    await imports.finish(source, {"People": ADA.replace("ada@", "new@")})

    assert [await signs_in(db, f"{name}@example.com") for name in ("ada", "new")] == [None, ada]


async def test_other_changes_of_the_identity_source_do_not_confirm_an_e_mail(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    imports = Imports(client, config)
    source, ada = await from_hr(imports, db)
    await transition(client, config, ada, "eve@example.com", **await headers(db))

    changed = await imports.finish(source, {"People": ADA.replace("Analyst", "Countess")})
    assert [await signs_in(db, f"{name}@example.com") for name in ("ada", "eve")] == [ada, None]

    await client.post(f"/api/applications/{source}/rollback", json={"importNumber": changed["number"] - 1})
    await imports.work()
    assert [await signs_in(db, f"{name}@example.com") for name in ("ada", "eve")] == [ada, None]
    shown = (await client.get(f"/api/identities/{ada}")).json()
    assert (shown["title"], shown["emailAddress"]) == ("Analyst", "eve@example.com")


async def test_new_person_of_the_identity_source_is_not_someone_with_an_unconfirmed_email(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    """Pete has a password, so he could sign in as the new person."""
    imports = Imports(client, config)
    pete = await an_identity(db, "Pete", "Contractor", email="pete@example.com")
    await transition(client, config, pete, "ada@example.com", **await headers(db))

    source, ada = await from_hr(imports, db)
    assert ada != pete
    assert [await signs_in(db, f"{name}@example.com") for name in ("ada", "pete")] == [ada, pete]

    await imports.finish(source, {"People": f"{ADA}E2,Pete,Contractor,pete@example.com,Builder\n"})
    assert await fetch_rows(db, "SELECT id, email_address FROM identities WHERE employee_id = 'E2'") == [
        (pete, "pete@example.com")
    ]


async def test_identity_source_finds_a_person_although_a_newcomer_has_the_same_unconfirmed_email(
    client: httpx2.AsyncClient, db: Db, config: Config, ada: UUID
) -> None:
    body = {"identity": {"firstName": "New", "lastName": "Comer", "email": "ada@example.com"}, "effectiveDate": TODAY}
    await client.post("/api/personnel-events/onboard", json=body, headers=await headers(db))

    _, found = await from_hr(Imports(client, config), db)

    assert found == ada


async def test_person_found_by_an_unconfirmed_email_keeps_neither_password_nor_link(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    """Eve signs in as a newcomer until a token makes the newcomer a shared identity, and a person again."""
    newcomer = await an_identity(db, "New", "Comer", email="eve@example.com")
    await set_password(db, newcomer, "a long password", datetime.now(UTC))
    token = await headers(db)
    await transition(client, config, newcomer, "ada@example.com", **token)
    await create_link(db, newcomer, datetime.now(UTC))
    for type in ("Shared", "Employee"):
        body = {"identityId": str(newcomer), "effectiveDate": TODAY, "identity": {"identityType": type}}
        await client.post("/api/personnel-events/role-transition", json=body, headers=token)
        await let_the_worker_work(config)
    assert [await signs_in(db, f"{name}@example.com") for name in ("ada", "eve")] == [None, None]

    _, ada = await from_hr(Imports(client, config), db)

    assert ada == await signs_in(db, "ada@example.com") == newcomer
    assert await fetch_rows(db, "SELECT FROM console_passwords") == []
    assert await fetch_rows(db, "SELECT FROM sign_in_links") == []


async def test_person_found_by_a_confirmed_email_keeps_the_password(
    client: httpx2.AsyncClient, db: Db, config: Config, ada: UUID
) -> None:
    await set_password(db, ada, "a long password", datetime.now(UTC))

    _, found = await from_hr(Imports(client, config), db)

    assert found == ada
    assert await fetch_rows(db, "SELECT identity_id FROM console_passwords") == [(ada,)]


async def test_event_with_the_email_of_another_person_does_not_lock_that_person_out(
    client: httpx2.AsyncClient, db: Db, config: Config, ada: UUID
) -> None:
    eve = await an_identity(db, "Eve", "Else", email="eve@example.com")
    sent = await headers(db)

    await transition(client, config, eve, "ada@example.com", **sent)
    newcomer = {"firstName": "New", "lastName": "Comer", "email": "ada@example.com"}
    body = {"identity": newcomer, "effectiveDate": TODAY}
    answer = await client.post("/api/personnel-events/onboard", json=body, headers=sent)

    assert answer.status_code == 201
    assert await signs_in(db, "ada@example.com") == ada
    assert await signs_in(db, "eve@example.com") == eve


async def test_newcomer_with_a_new_e_mail_signs_in_with_it(client: httpx2.AsyncClient, db: Db) -> None:
    newcomer = {"firstName": "New", "lastName": "Comer", "email": "new@example.com"}
    body = {"identity": newcomer, "effectiveDate": TODAY}

    await client.post("/api/personnel-events/onboard", json=body, headers=await headers(db))

    assert await signs_in(db, "new@example.com") is not None


async def test_newcomer_of_a_supervisor_cannot_sign_in_until_the_email_is_confirmed(db: Db, ada: UUID) -> None:
    """Without this rule, a supervisor could enter an address of their own for a newcomer, and sign in as them."""
    await an_identity(db, "Bob", "Builder", supervisorId=str(ada))
    caller = await caller_of(db, ada)
    newcomer = {"firstName": "New", "lastName": "Comer", "email": "new@example.com", "supervisorId": str(ada)}

    await events.onboard(db, caller, {"identity": newcomer, "effectiveDate": TODAY}, facts())

    assert await signs_in(db, "new@example.com") is None
    await execute(db, "DELETE FROM unconfirmed_emails")
    assert await signs_in(db, "new@example.com") is not None


async def test_new_role_uses_the_confirmed_email(client: httpx2.AsyncClient, db: Db, config: Config, ada: UUID) -> None:
    await set_role(db, await an_identity(db, "Alan", "Turing"), Role.ADMINISTRATOR, "alan@example.com")
    await transition(client, config, ada, "eve@example.com", **await headers(db))

    await set_role(db, ada, Role.OPERATOR)

    assert [await signs_in(db, f"{name}@example.com") for name in ("ada", "eve")] == [ada, None]


@pytest.mark.parametrize(("scopes", "signed_in"), [((), False), (("identities:write",), True)])
async def test_event_lets_a_shared_mailbox_sign_in_only_with_identities_write(
    client: httpx2.AsyncClient, db: Db, config: Config, scopes: tuple[str, ...], signed_in: bool
) -> None:
    """Without this check, everyone who reads a shared mailbox could use the sign-in links that are sent to it."""
    mailbox = await an_identity(db, "Payroll", "Team", email="payroll@example.com", identityType="Shared")
    body = {"identityId": str(mailbox), "effectiveDate": TODAY, "identity": {"identityType": "Employee"}}

    await client.post("/api/personnel-events/role-transition", json=body, headers=await headers(db, *scopes))
    await let_the_worker_work(config)

    shown = (await client.get(f"/api/identities/{mailbox}")).json()
    assert (shown["type"], shown["emailAddress"]) == ("Employee", "payroll@example.com")
    assert await signs_in(db, "payroll@example.com") == (mailbox if signed_in else None)


async def test_operator_cannot_make_a_shared_mailbox_a_person(db: Db) -> None:
    mailbox = await an_identity(db, "Payroll", "Team", email="payroll@example.com", identityType="Shared")
    operator = await an_identity(db, "Otto", "Operator")
    await execute(db, "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Operator')", id=operator)
    body = {"identityId": str(mailbox), "effectiveDate": TODAY, "identity": {"identityType": "Employee"}}

    with pytest.raises(Invalid) as refused:
        await events.transition_role(db, await caller_of(db, operator), body, facts())

    assert [each.message for each in refused.value.problems] == [NOT_TYPE]
