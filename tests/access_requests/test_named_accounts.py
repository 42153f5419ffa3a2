"""Test that a request can name an account of its identity, or a new name that looks like no other account."""

from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core.db import Db, fetch_rows
from rolecall.core.text import skeleton_table, skeletons
from tests.access_requests.walking import PATH
from tests.builders import an_application, an_identity
from tests.holdings import an_account, remove_account


@pytest.fixture
async def ledger(db: Db) -> UUID:
    return await an_application(db, "Ledger")


@pytest.fixture
async def ada(db: Db) -> UUID:
    boss = await an_identity(db, "Bo", "Boss")
    return await an_identity(db, "Ada", "Lovelace", supervisorId=str(boss))


async def ask(client: httpx2.AsyncClient, ledger: UUID, ada: UUID, name: str, action: str = "Add") -> Any:
    body = {"action": action, "applicationId": str(ledger), "identityId": str(ada), "targetName": name}
    return (await client.post(PATH, json=body)).json()


@pytest.mark.parametrize(
    "name",
    [
        "\u0430ino.costa",
        "AIN\u039f.COSTA",
        "aino.costa.",
        "aino.costa\u2024",
        "\uff41ino.c0sta",
        "\u0391\u0399\u039d\u039f.costa",
    ],
    ids=["cyrillic", "greek capital", "dot", "one dot leader", "wide letter and digit", "greek word"],
)
async def test_name_that_looks_like_another_account_is_refused(
    client: httpx2.AsyncClient, db: Db, ledger: UUID, ada: UUID, name: str
) -> None:
    await an_account(db, ledger, "aino.costa", await an_identity(db, "Aino", "Costa"))

    answer = await ask(client, ledger, ada, name)

    message = "Target name looks like account aino.costa: name that account exactly"
    assert answer["errors"] == [{"field": "targetName", "message": message}]


async def test_name_of_a_removed_account_or_of_another_application_is_accepted(
    client: httpx2.AsyncClient, db: Db, ledger: UUID, ada: UUID
) -> None:
    aino = await an_identity(db, "Aino", "Costa")
    await an_account(db, ledger, "gone", aino)
    await an_account(db, await an_application(db, "Wiki"), "elsewhere", aino)
    await remove_account(db, ledger, "gone")

    assert [(await ask(client, ledger, ada, name))["target"]["name"] for name in ("gone", "elsewhere")] == [
        "gone",
        "elsewhere",
    ]


async def test_own_account_is_found_although_another_looks_like_it(
    client: httpx2.AsyncClient, db: Db, ledger: UUID, ada: UUID
) -> None:
    await an_account(db, ledger, "ada1", ada)
    await an_account(db, ledger, "adal", await an_identity(db, "Adal", "Bert"))

    assert (await ask(client, ledger, ada, "ada1"))["target"]["name"] == "ada1"
    assert (await ask(client, ledger, ada, "ADA1"))["target"]["name"] == "ada1"
    assert (await ask(client, ledger, ada, "ada2"))["target"]["name"] == "ada2"


async def test_own_account_is_found_ignoring_case_in_any_alphabet(
    client: httpx2.AsyncClient, db: Db, ledger: UUID, ada: UUID
) -> None:
    await an_account(db, ledger, "\u041c\u0430\u0440\u0438\u044f", ada)

    answer = await ask(client, ledger, ada, "\u043c\u0430\u0440\u0438\u044f")

    assert answer["target"]["name"] == "\u041c\u0430\u0440\u0438\u044f"


@pytest.mark.parametrize("name", ["svc-backup", " SVC-Backup "])
@pytest.mark.parametrize("action", ["Add", "Change", "Restore"])
async def test_unmatched_account_cannot_be_given_access(
    client: httpx2.AsyncClient, db: Db, ledger: UUID, ada: UUID, action: str, name: str
) -> None:
    await an_account(db, ledger, "svc-backup", None)

    answer = await ask(client, ledger, ada, name, action)

    reason = "matches no identity: match it first. Until then it can only be suspended or removed"
    assert answer["errors"] == [{"field": "targetName", "message": f"Account svc-backup {reason}"}]


@pytest.mark.parametrize("action", ["Suspend", "Remove"])
async def test_supervisor_of_a_chosen_identity_does_not_approve_for_an_unmatched_account(
    client: httpx2.AsyncClient, db: Db, ledger: UUID, ada: UUID, action: str
) -> None:
    """If the supervisor approved, the caller could choose the approver by choosing the identity."""
    rule = {"type": "Approve", "reason": "The supervisor approves", "responder": "Supervisor", "actions": [action]}
    assert (await client.patch("/api/settings", json={"approvalPolicy": [rule]})).status_code == 200
    await an_account(db, ledger, "svc-backup", None)
    await an_account(db, ledger, "ada", ada)

    unmatched = await ask(client, ledger, ada, "svc-backup", action)
    own = await ask(client, ledger, ada, "ada", action)

    assert (unmatched["status"], unmatched["target"]["name"]) == ("Pending", "svc-backup")
    assert [_approver(request) for request in (unmatched, own)] == ["Administrators", "Bo Boss"]


def _approver(request: Any) -> str:
    (approve,) = [each for each in request["requirements"] if each["type"] == "Approve"]
    return str(approve["rules"][0]["responses"][0]["reviewer"]["name"])


async def test_database_and_python_make_the_same_skeletons(db: Db) -> None:
    """If this fails after a change to core/text.py, add a migration with the new username_skeleton and its index."""
    written, alike = skeleton_table()
    names = [*(f"a{c}z" for c in written), "AINO.Costa..", "user10", "\uff21DA", "z\u00f6e"]

    rows = await fetch_rows(
        db,
        "SELECT username_skeleton(n) FROM unnest(%(names)s::text[]) WITH ORDINALITY AS t (n, i) ORDER BY i",
        names=names,
    )

    assert len(written) == len(alike)
    assert [(name, found) for name, (found,) in zip(names, rows, strict=True) if found not in skeletons(name)] == []
