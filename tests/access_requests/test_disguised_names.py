"""Test requests with names that are not in the catalogue but look like access that a rule keeps apart."""

from uuid import UUID

import httpx2
import pytest

from rolecall.core.db import Db
from tests.access_requests.test_separation import URL
from tests.builders import an_application, an_identity
from tests.duties.separating import a_duty, a_rule, finish_again
from tests.holdings import a_finished_import, an_account

SPELLINGS = ["Approve wire", "approve  wire", "Approve\u00a0wire", "Approve\u200b wire", "\u0410pprove wire"]


async def keep_wires_apart(db: Db) -> None:
    enter = await a_duty(db, "Enter", {"header": "Wires", "permission": "Enter wire"})
    approve = await a_duty(db, "Approve", {"header": "Wires", "permission": "Approve wire"})
    await a_rule(db, "Enter and approve", enter, approve, response="Block")


async def ask(client: httpx2.AsyncClient, bank: UUID, who: UUID, **privilege: str) -> httpx2.Response:
    target = {"applicationId": str(bank), "identityId": str(who)}
    return await client.post(URL, json={"action": "Add", **target, "privileges": [privilege]})


@pytest.mark.parametrize("name", SPELLINGS)
async def test_permission_is_not_mistaken_for_a_group_in_an_application_without_groups(
    client: httpx2.AsyncClient, db: Db, name: str
) -> None:
    bank, ann, bea = await an_application(db, "Bank"), await an_identity(db, "Ann"), await an_identity(db, "Bea")
    run = await a_finished_import(db, bank)
    await an_account(db, bank, "ann", ann, permissions=(("Wires", "Enter wire", "Grant", "High"),), run=run)
    await an_account(db, bank, "bea", bea, permissions=(("Wires", "Approve wire", "Grant", "High"),), run=run)
    await finish_again(db, run)
    await keep_wires_apart(db)

    answer = await ask(client, bank, ann, header="Group", permission=name)

    assert answer.status_code == 400, answer.text
    (problem,) = answer.json()["errors"]
    assert problem["message"].endswith("is not known in Bank; did you mean Wires Approve wire?")
    assert (await ask(client, bank, ann, header="Group", permission="Tellers")).status_code == 201


@pytest.mark.parametrize("header", ["Wires", "", "Group", " w\u0456res"])
@pytest.mark.parametrize("name", SPELLINGS)
async def test_name_that_no_import_has_shown_is_compared_by_appearance(
    client: httpx2.AsyncClient, db: Db, header: str, name: str
) -> None:
    bank, ann = await an_application(db, "Bank"), await an_identity(db, "Ann")
    await keep_wires_apart(db)
    await ask(client, bank, ann, header="Wires", permission="Enter wire")

    refused = await ask(client, bank, ann, header=header, permission=name)
    allowed = await ask(client, bank, ann, header="Cheques", permission=name)

    assert (refused.status_code, allowed.status_code) == (400, 201), refused.text
