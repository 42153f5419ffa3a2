"""Test who cannot verify a request with an import or a token: who made it, is affected by it or carried it out."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from rolecall.access_requests import actions
from rolecall.access_requests.model import NewPrivilege
from rolecall.access_requests.permitted import PROVISIONED_IT
from rolecall.accounts.model import Access
from rolecall.application_imports import actions as imports
from rolecall.core import clock
from rolecall.core.caller import Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value
from rolecall.core.errors import Conflict
from rolecall.core.files import Upload, UploadedFile, Writing
from rolecall.core.roles import Role
from rolecall.tokens import actions as tokens
from tests.access_requests.people import a_person
from tests.builders import an_access_request, an_application, an_identity, facts
from tests.holdings import an_account
from tests.working import let_the_worker_work

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
USERS, MEMBERSHIPS = b"Username\nada\nbob\n", b"Username,Group\nada,Readers\nbob,Readers\n"


@pytest.fixture(autouse=True)
def noon() -> None:
    clock.travel_to(NOON)


@pytest.fixture
async def admin(db: Db) -> Caller:
    return await a_person(db, "Root", Role.ADMINISTRATOR)


@pytest.fixture
async def peter(db: Db, admin: Caller) -> Caller:
    return await a_person(db, "Peter", Role.PROVISIONER)


@pytest.fixture
async def ledger(db: Db, peter: Caller) -> UUID:
    grace = await a_person(db, "Grace", Role.REVIEWER)
    return await an_application(db, "Ledger", priority="High", ownerId=str(grace.id), provisionerIds=[str(peter.id)])


async def a_removal(db: Db, ledger: UUID, username: str = "ada", **given: Any) -> str:
    """Create an open request to take an account out of Posters; the next import shows that this was done."""
    ada = given.pop("identity_id", None) or await an_identity(db)
    await an_account(db, ledger, username, ada)
    gone = [NewPrivilege(header="Group", permission="Posters", requested_access=Access.NONE)]
    fields: dict[str, Any] = {"application_id": ledger, "identity_id": ada, "target_name": username, "privileges": gone}
    return str(await an_access_request(db, "Remove", now=NOON, **fields, **given))


async def upload(db: Db, config: Config, caller: Caller, ledger: UUID) -> None:
    clock.travel_to(LATER)
    files = []
    for name, content in (("Users", USERS), ("Memberships", MEMBERSHIPS)):
        group = await fetch_value(db, "SELECT id FROM file_groups WHERE name = %(name)s", name=name)
        writing = Writing(config.store)
        await writing.write(content)
        sha256 = await writing.finish()
        files.append(UploadedFile(str(group), f"{name.lower()}.csv", writing.path, len(content), sha256))
    await imports.upload_import(db, caller, Upload([], files), [str(ledger)], facts(now=LATER), config.store)
    await let_the_worker_work(config, LATER)


async def resolve(db: Db, caller: Caller, id: str) -> None:
    detail = await actions.resolve(db, caller, id, {}, facts(now=NOON))
    assert detail.status == "Resolved"


async def a_token_of(db: Db, owner: Caller | None, name: str) -> Caller:
    scopes = owner.scopes if owner else frozenset(Scope)
    made = await tokens.create_token(db, owner, {"name": name, "scopes": list(scopes)}, facts())
    return Caller(made.id, f"API Token - {name}", scopes)


async def status_of(db: Db, id: str) -> str:
    return str(await fetch_value(db, "SELECT status FROM access_requests WHERE id = %(id)s", id=id))


async def entries_of(db: Db, id: str) -> list[str]:
    return list(
        await fetch_value(
            db,
            """SELECT array_agg(content ORDER BY number) FROM activity
               WHERE item_id = %(id)s AND action = 'Not Verified'""",
            id=id,
        )
        or []
    )


async def test_upload_by_the_person_who_carried_out_a_request_does_not_verify_it(
    db: Db, config: Config, peter: Caller, ledger: UUID
) -> None:
    id = await a_removal(db, ledger)
    await resolve(db, peter, id)

    await upload(db, config, peter, ledger)
    await upload(db, config, peter, ledger)

    assert await status_of(db, id) == "Resolved"
    (entry,) = await entries_of(db, id)
    assert entry.endswith(
        "shows the requested access, but Peter Hopper, who carried out the request, supplied the data: "
        "another person must verify it"
    )


async def test_reason_is_given_again_after_the_request_is_resolved_again(
    db: Db, config: Config, peter: Caller, admin: Caller, ledger: UUID
) -> None:
    id = await a_removal(db, ledger)
    await resolve(db, peter, id)
    await upload(db, config, peter, ledger)
    afterwards = facts(now=LATER + timedelta(hours=1))
    await actions.reopen(db, admin, id, {}, afterwards)
    await actions.resolve(db, peter, id, {}, afterwards)

    await upload(db, config, peter, ledger)

    assert len(await entries_of(db, id)) == 2


async def test_reason_is_given_for_each_request(db: Db, config: Config, peter: Caller, ledger: UUID) -> None:
    ids = [await a_removal(db, ledger, username) for username in ("ada", "bob")]
    for id in ids:
        await resolve(db, peter, id)
        await upload(db, config, peter, ledger)

    assert [len(await entries_of(db, id)) for id in ids] == [1, 1]


async def test_upload_by_another_person_verifies_afterwards(
    db: Db, config: Config, peter: Caller, admin: Caller, ledger: UUID
) -> None:
    id = await a_removal(db, ledger)
    await resolve(db, peter, id)
    await upload(db, config, peter, ledger)

    await upload(db, config, admin, ledger)

    assert await status_of(db, id) == "Completed"


async def test_upload_by_the_person_who_carried_out_an_earlier_round_does_not_verify(
    db: Db, config: Config, peter: Caller, admin: Caller, ledger: UUID
) -> None:
    id = await a_removal(db, ledger)
    await resolve(db, peter, id)
    await actions.reopen(db, admin, id, {}, facts(now=NOON))
    await resolve(db, admin, id)

    await upload(db, config, peter, ledger)

    assert await status_of(db, id) == "Resolved"


async def test_rollback_by_the_person_who_carried_out_a_request_does_not_verify_it(
    db: Db, config: Config, peter: Caller, admin: Caller, ledger: UUID
) -> None:
    id = await a_removal(db, ledger)
    await upload(db, config, admin, ledger)
    number = await fetch_value(db, "SELECT max(number) FROM application_imports")
    await resolve(db, peter, id)

    await imports.roll_back(db, peter, ledger, {"importNumber": number}, facts(now=LATER))
    await let_the_worker_work(config, LATER)

    assert await fetch_value(db, "SELECT supplied_by FROM application_imports ORDER BY number DESC LIMIT 1") == peter.id
    assert await status_of(db, id) == "Resolved"


async def test_own_token_does_not_verify_what_its_owner_carried_out(
    db: Db, config: Config, admin: Caller, ledger: UUID
) -> None:
    own = await a_token_of(db, admin, "of the administrator")
    made_by_token = await a_token_of(db, own, "made with it")
    id = await a_removal(db, ledger)
    await resolve(db, admin, id)

    for token in (own, made_by_token):
        with pytest.raises(Conflict) as refused:
            await actions.verify(db, token, id, {}, facts())
        assert str(refused.value) == PROVISIONED_IT
        await upload(db, config, token, ledger)

    assert await status_of(db, id) == "Resolved"


async def test_owner_does_not_verify_what_their_token_carried_out(
    db: Db, config: Config, admin: Caller, ledger: UUID
) -> None:
    own = await a_token_of(db, admin, "of the administrator")
    id = await a_removal(db, ledger)
    await resolve(db, own, id)

    with pytest.raises(Conflict):
        await actions.verify(db, admin, id, {}, facts())
    await upload(db, config, admin, ledger)

    assert await status_of(db, id) == "Resolved"


async def test_upload_by_the_affected_person_does_not_verify_a_request(
    db: Db, config: Config, peter: Caller, admin: Caller, ledger: UUID
) -> None:
    olga = await a_person(db, "Olga", Role.OPERATOR)
    id = await a_removal(db, ledger, identity_id=olga.id)
    await resolve(db, peter, id)

    for supplier in (olga, await a_token_of(db, olga, "of the affected person")):
        await upload(db, config, supplier, ledger)

    assert await status_of(db, id) == "Resolved"
    (entry,) = await entries_of(db, id)
    assert entry.endswith(
        "but Olga Hopper, who made the request or is affected by it, supplied the data: another person must verify it"
    )
    await upload(db, config, admin, ledger)
    assert await status_of(db, id) == "Completed"


async def test_upload_by_the_reporter_does_not_verify_a_request(
    db: Db, config: Config, peter: Caller, admin: Caller, ledger: UUID
) -> None:
    own = await a_token_of(db, admin, "of the administrator")
    ids = [await a_removal(db, ledger, name, reporter=who) for name, who in (("ada", admin), ("bob", own))]
    for id in ids:
        await resolve(db, peter, id)
    unresolved = await a_removal(db, ledger, "cleo", reporter=admin)

    await upload(db, config, admin, ledger)

    assert [await status_of(db, id) for id in ids] == ["Resolved", "Resolved"]
    assert [len(await entries_of(db, id)) for id in (*ids, unresolved)] == [1, 1, 0]


async def test_token_verifies_by_an_upload_what_it_requested(
    db: Db, config: Config, peter: Caller, ledger: UUID
) -> None:
    token = await a_token_of(db, None, "a program")
    id = await a_removal(db, ledger, reporter=token)
    await resolve(db, peter, id)

    await upload(db, config, token, ledger)

    assert await status_of(db, id) == "Completed"


@pytest.mark.parametrize("has_owner", [True, False])
async def test_token_verifies_and_uploads_what_a_token_resolved(
    db: Db, config: Config, admin: Caller, ledger: UUID, has_owner: bool
) -> None:
    """One program may take a request through all its steps: docs/decisions/0102."""
    token = await a_token_of(db, admin if has_owner else None, "a program")
    id = await a_removal(db, ledger)
    await resolve(db, token, id)
    assert (await actions.verify(db, token, id, {}, facts())).status == "Completed"

    uploaded = await a_removal(db, ledger, "bob")
    await resolve(db, token, uploaded)
    await upload(db, config, token, ledger)

    assert await status_of(db, uploaded) == "Completed"
