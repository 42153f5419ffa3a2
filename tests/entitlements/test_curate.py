from typing import Any

import httpx2
import pytest

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.notifications.queries import newest_first
from tests.builders import a_token, an_application, an_identity
from tests.entitlements.test_list import a_ledger, entitlement, listed, names
from tests.nesting import give, refresh, some_groups
from tests.reports.reporting import a_report, rows_of


async def curate(client: httpx2.AsyncClient, id: str, **fields: Any) -> Any:
    answer = await client.patch(f"/api/entitlements/{id}", json=fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_curated_fields_are_stored_and_imports_do_not_change_them(client: httpx2.AsyncClient, db: Db) -> None:
    ledger = await a_ledger(db)
    greta = await an_identity(db, "Greta", "Das")
    id = (await entitlement(client, "Approve"))["id"]

    said = await curate(
        client, id, displayName="Approve wires", explanation="Releases money.", ownerId=str(greta),
        riskRating="High", isPrivileged=True, tags=["SOX", "Treasury"],
    )  # fmt: skip
    run = await some_groups(db, ledger, {})
    await execute(db, "UPDATE permission_versions SET until_import = %(run)s WHERE risk_rating = 'Critical'", run=run)
    await execute(
        db,
        """INSERT INTO permission_versions SELECT permission_number, %(run)s, NULL, 'New words', 'Moderate'
           FROM permission_versions WHERE risk_rating = 'Critical'""",
        run=run,
    )
    await refresh(db, ledger, run)
    kept = (await client.get(f"/api/entitlements/{id}")).json()

    assert (kept["description"], kept["importedRiskRating"]) == ("New words", "Moderate")
    for found in (said, kept):
        assert (found["displayName"], found["explanation"]) == ("Approve wires", "Releases money.")
        assert (found["riskRating"], found["isPrivileged"], found["tags"]) == ("High", True, ["SOX", "Treasury"])
        assert (found["owner"], found["formerOwner"]) == ({"id": str(greta), "name": "Greta Das"}, None)
    for filters in ({"tag": "SOX"}, {"isPrivileged": "true"}, {"ownerId": str(greta)}, {"riskRating": "High"}):
        assert "Approve" in names(await listed(client, **filters)), filters


async def test_only_given_fields_change_and_blank_values_clear_them(client: httpx2.AsyncClient, db: Db) -> None:
    await a_ledger(db)
    greta = await an_identity(db, "Greta", "Das")
    id = (await entitlement(client, "Approve"))["id"]
    await curate(client, id, explanation="Releases money.", ownerId=str(greta), riskRating="Low", tags=["SOX"])

    unchanged = await curate(client, id, isPrivileged=True)
    cleared = await curate(client, id, explanation="", ownerId="", riskRating="", tags=[])

    assert (unchanged["explanation"], unchanged["riskRating"], unchanged["tags"]) == ("Releases money.", "Low", ["SOX"])
    assert (cleared["explanation"], cleared["owner"], cleared["riskRating"]) == ("", None, "Critical")
    assert (cleared["tags"], cleared["isPrivileged"]) == ([], True)


async def test_curated_rating_overrides_the_imported_rating_everywhere(client: httpx2.AsyncClient, db: Db) -> None:
    ledger = await a_ledger(db)
    ada = await fetch_value(db, "SELECT id FROM identities")
    await curate(client, (await entitlement(client, "Approve"))["id"], riskRating="Moderate")

    [there] = (await client.get(f"/api/identities/{ada}/access")).json()["applications"]
    body = {"action": "Add", "applicationId": str(ledger), "identityId": str(ada),
            "privileges": [{"header": "Group", "permission": "Wire approvers", "access": "Grant"}]}  # fmt: skip
    asked = (await client.post("/api/access-requests", json=body)).json()

    rated = {entry["permission"]: entry["riskRating"] for entry in there["accounts"][0]["access"]}
    assert rated == {"Clerks": "Moderate", "Wire approvers": "Moderate", "Approve": "Moderate", "Close": "Low"}
    assert asked["target"]["privileges"][0]["permission"]["riskRating"] == "Moderate"
    assert (await entitlement(client, "Clerks"))["riskRating"] == "Moderate"


async def test_owner_who_leaves_is_replaced_by_the_owner_of_the_application(client: httpx2.AsyncClient, db: Db) -> None:
    ledger = await a_ledger(db)
    greta, omar = await an_identity(db, "Greta", "Das"), await an_identity(db, "Omar", "Santos")
    await client.patch(f"/api/applications/{ledger}", json={"ownerId": str(omar)})
    id = (await entitlement(client, "Approve"))["id"]
    await curate(client, id, ownerId=str(greta))
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=greta)

    found = (await client.get(f"/api/entitlements/{id}")).json()

    assert found["owner"] == {"id": str(omar), "name": "Omar Santos"}
    assert found["formerOwner"] == {"id": str(greta), "name": "Greta Das"}
    [entry, *_] = (await client.get("/api/audit-events", params={"entityId": id})).json()["items"]
    assert (entry["before"], entry["after"]) == ({"actingOwnerId": str(greta)}, {"actingOwnerId": str(omar)})
    notices = await fetch_rows(db, "SELECT identity_id, kind, item_id FROM notifications")
    assert notices == [(omar, "Ownership", ledger)]
    await execute(db, "UPDATE identities SET status = 'Active' WHERE id = %(id)s", id=greta)
    [entry, *_] = (await client.get("/api/audit-events", params={"entityId": id})).json()["items"]
    assert (entry["before"], entry["after"]) == ({"actingOwnerId": str(omar)}, {"actingOwnerId": str(greta)})


async def test_administrators_are_notified_of_a_leavers_entitlements_if_the_application_has_no_owner(
    client: httpx2.AsyncClient, db: Db
) -> None:
    ledger = await a_ledger(db)
    greta, root = await an_identity(db, "Greta", "Das"), await an_identity(db, "Root", "Admin")
    await execute(db, "INSERT INTO console_roles VALUES (%(id)s, 'Administrator')", id=root)
    await curate(client, (await entitlement(client, "Approve"))["id"], ownerId=str(greta))
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=greta)

    notices = await fetch_rows(db, "SELECT identity_id, kind, item_id FROM notifications")

    assert notices == [(root, "Ownership", ledger)]


async def test_filter_by_owner_finds_the_owner_that_the_list_shows(client: httpx2.AsyncClient, db: Db) -> None:
    ledger = await a_ledger(db)
    greta, omar = await an_identity(db, "Greta", "Das"), await an_identity(db, "Omar", "Santos")
    await client.patch(f"/api/applications/{ledger}", json={"ownerId": str(omar)})
    await curate(client, (await entitlement(client, "Approve"))["id"], ownerId=str(greta))
    await curate(client, (await entitlement(client, "Close"))["id"], ownerId=str(omar))
    before = [names(await listed(client, ownerId=str(id))) for id in (greta, omar)]

    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=greta)

    assert before == [["Approve"], ["Close"]]
    for moment in ({}, {"asOf": "1"}):
        assert names(await listed(client, ownerId=str(omar), **moment)) == ["Approve", "Close"]
        assert names(await listed(client, ownerId=str(greta), **moment)) == []


async def test_owner_who_has_left_can_be_kept_but_not_newly_chosen(client: httpx2.AsyncClient, db: Db) -> None:
    await a_ledger(db)
    greta = await an_identity(db, "Greta", "Das")
    approve, close = (await entitlement(client, "Approve"))["id"], (await entitlement(client, "Close"))["id"]
    await curate(client, approve, ownerId=str(greta))
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=greta)

    kept = await curate(client, approve, ownerId=str(greta), tags=["SOX"])
    answer = await client.patch(f"/api/entitlements/{close}", json={"ownerId": str(greta)})

    assert kept["formerOwner"]["name"] == "Greta Das"
    assert answer.status_code == 400
    assert answer.json()["errors"] == [{"field": "ownerId", "message": "Owner ID must be the ID of an active person"}]


async def test_every_change_is_audited_with_before_and_after(client: httpx2.AsyncClient, db: Db) -> None:
    await a_ledger(db)
    id = (await entitlement(client, "Approve"))["id"]
    await curate(client, id, explanation="Old")
    await curate(client, id, explanation="New")

    [entry, *_] = (await client.get("/api/audit-events", params={"action": "Curate entitlement"})).json()["items"]

    assert (entry["entity"]["kind"], entry["entity"]["id"]) == ("Entitlement", id)
    assert (entry["before"], entry["after"]) == ({"explanation": "Old"}, {"explanation": "New"})


async def test_reading_scope_does_not_allow_curating(client: httpx2.AsyncClient, db: Db) -> None:
    await a_ledger(db)
    id = (await entitlement(client, "Approve"))["id"]
    reader = (await a_token(db, "reader", scopes=["applications:read"])).secret

    answer = await client.patch(
        f"/api/entitlements/{id}", json={"explanation": "x"}, headers={"Authorization": f"Bearer {reader}"}
    )

    assert answer.status_code == 403


async def a_rename(client: httpx2.AsyncClient, db: Db) -> tuple[str, str]:
    """Create a group that the first import calls Wire approvers and the second Payment approvers; return both ids."""
    ledger = await a_ledger(db)
    old = (await entitlement(client, "Wire approvers"))["id"]
    run = await some_groups(db, ledger, {"Payment approvers": "", "Clerks": "Payment approvers"})
    await execute(
        db,
        """UPDATE group_versions SET until_import = %(run)s
           WHERE group_number = (SELECT number FROM groups WHERE name = 'Wire approvers')""",
        run=run,
    )
    await execute(
        db,
        """UPDATE memberships SET until_import = %(run)s
           WHERE group_number = (SELECT number FROM groups WHERE name = 'Wire approvers')""",
        run=run,
    )
    await execute(
        db,
        """INSERT INTO memberships SELECT a.number, g.number, %(run)s, NULL FROM accounts a, groups g
           WHERE a.username = 'bo' AND g.name = 'Payment approvers'""",
        run=run,
    )
    await refresh(db, ledger, run)
    return old, (await entitlement(client, "Payment approvers"))["id"]


async def test_renamed_group_keeps_its_explanation_and_history(client: httpx2.AsyncClient, db: Db) -> None:
    old, new = await a_rename(client, db)
    await curate(client, old, explanation="May release money.")
    alone = (await client.get(f"/api/entitlements/{new}/history")).json()

    joined = await curate(client, new, sameAs=old)

    assert joined["explanation"] == "May release money."
    assert joined["sameAs"] == {"id": old, "name": "Wire approvers"}
    assert joined["firstSeen"] == (await client.get(f"/api/entitlements/{old}")).json()["firstSeen"]
    history = (await client.get(f"/api/entitlements/{new}/history")).json()
    assert (alone["totalCount"], history["totalCount"]) == (2, 4)
    former = (await client.get(f"/api/entitlements/{old}")).json()
    assert former["renamedTo"] == {"id": new, "name": "Payment approvers"}
    assert (await curate(client, new, sameAs=""))["sameAs"] is None


async def test_linking_a_former_name_fills_only_empty_curated_fields(client: httpx2.AsyncClient, db: Db) -> None:
    old, new = await a_rename(client, db)
    greta = await an_identity(db, "Greta", "Das")
    await curate(
        client, old, explanation="May release money.", ownerId=str(greta), isPrivileged=True, riskRating="Critical",
        tags=["Old"], displayName="Wires",
    )  # fmt: skip
    await curate(client, new, tags=["SOX"], displayName="Payments")

    joined = await curate(client, new, sameAs=old)
    cleared = await curate(client, new, sameAs=old, explanation="")
    again = await curate(client, new, sameAs=old)

    assert (joined["owner"]["name"], joined["explanation"]) == ("Greta Das", "May release money.")
    assert (joined["isPrivileged"], joined["riskRating"]) == (True, "Critical")
    assert (joined["tags"], joined["displayName"]) == (["SOX"], "Payments")
    # Fields are copied only when the former name is first set.
    assert (cleared["explanation"], again["explanation"]) == ("", "")


async def test_denied_permission_does_not_raise_the_rating_of_a_group(client: httpx2.AsyncClient, db: Db) -> None:
    ledger = await an_application(db, "Ledger")
    run = await some_groups(db, ledger, {"Clerks": ""})
    await give(db, ledger, "Clerks", "Approve", run, access="Deny", risk="Critical")
    await give(db, ledger, "Clerks", "Read", run, risk="Low")

    assert (await entitlement(client, "Clerks"))["riskRating"] == "Low"
    assert await fetch_value(db, "SELECT group_risk(number) FROM groups") == "Low"


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("itself", "The former entitlement must not be this entitlement or one of its later names"),
        ("present", "The former entitlement must be one that the last import no longer shows"),
        ("permission", "The former entitlement must be a group of Ledger"),
        ("unknown", "Entitlement with id 00000000-0000-4000-8000-000000000000 not found"),
        ("nonsense", "Same as must be a GUID"),
    ],
)
async def test_former_name_must_be_a_group_that_is_gone_from_the_same_application(
    client: httpx2.AsyncClient, db: Db, what: str, message: str
) -> None:
    _, new = await a_rename(client, db)
    other = {
        "itself": new,
        "present": (await entitlement(client, "Clerks"))["id"],
        "permission": (await entitlement(client, "Close"))["id"],
        "unknown": "00000000-0000-4000-8000-000000000000",
        "nonsense": "nonsense",
    }[what]

    answer = await client.patch(f"/api/entitlements/{new}", json={"sameAs": other, "riskRating": "Awful"})

    assert answer.status_code == 400
    assert {"field": "sameAs", "message": message} in answer.json()["errors"]
    assert "riskRating" in {problem["field"] for problem in answer.json()["errors"]}


async def test_former_names_cannot_form_a_cycle(client: httpx2.AsyncClient, db: Db) -> None:
    old, new = await a_rename(client, db)
    await curate(client, new, sameAs=old)
    await execute(db, "UPDATE entitlements SET is_present = false WHERE id = %(id)s", id=new)

    answer = await client.patch(f"/api/entitlements/{old}", json={"sameAs": new})

    assert answer.status_code == 400


async def test_group_inherits_the_curated_rating_of_the_group_above_it(client: httpx2.AsyncClient, db: Db) -> None:
    ledger = await an_application(db, "Directory")
    run = await some_groups(db, ledger, {"Domain admins": "", "Helpdesk": "Domain admins"})
    await give(db, ledger, "Helpdesk", "Reset", run, risk="Low")

    await curate(client, (await entitlement(client, "Domain admins"))["id"], riskRating="Critical")

    assert (await entitlement(client, "Helpdesk"))["riskRating"] == "Critical"


async def test_console_form_with_empty_fields_keeps_the_fields_of_the_former_name(
    client: httpx2.AsyncClient, db: Db
) -> None:
    old, new = await a_rename(client, db)
    greta = await an_identity(db, "Greta", "Das")
    await curate(client, old, explanation="Releases money.", ownerId=str(greta), isPrivileged=True, tags=["Old"])
    await curate(client, new, tags=["SOX"], riskRating="High")

    # The form in the console sends all fields, even empty ones.
    joined = await curate(client, new, sameAs=old, explanation="", ownerId="", isPrivileged=False, tags=["SOX"])
    cleared = await curate(client, new, sameAs=old, explanation="")

    assert (joined["explanation"], joined["owner"]["name"]) == ("Releases money.", "Greta Das")
    assert (joined["isPrivileged"], joined["tags"], joined["riskRating"]) == (True, ["SOX"], "High")
    assert (cleared["explanation"], cleared["owner"]["name"]) == ("", "Greta Das")


async def test_all_names_of_an_entitlement_share_its_curated_fields(client: httpx2.AsyncClient, db: Db) -> None:
    old, new = await a_rename(client, db)
    ledger = await fetch_value(db, "SELECT id FROM applications")
    await execute(
        db, "UPDATE application_imports SET build_end = '2026-03-01T00:00:00Z'::timestamptz + number * interval '1 day'"
    )
    then = {"asOf": str(await fetch_value(db, "SELECT min(number) FROM application_imports"))}
    await curate(client, new, sameAs=old)
    await curate(client, new, isPrivileged=True, riskRating="Moderate", explanation="Releases money.")
    report = await a_report(client, "access", "Privileged", filters={"privileged": True})

    assert names(await listed(client, **then, isPrivileged="true")) == ["Wire approvers"]
    assert names(await listed(client, **then, riskRating="Moderate", kind="Group")) == ["Wire approvers"]
    assert len(await rows_of(client, report["id"], **then)) == 2
    assert (await curate(client, old, explanation="Changed."))["explanation"] == "Changed."
    assert (await client.get(f"/api/entitlements/{new}")).json()["explanation"] == "Changed."
    await curate(client, new, sameAs="")
    former = (await client.get(f"/api/entitlements/{old}")).json()
    assert (former["isPrivileged"], former["explanation"], former["application"]["id"]) == (False, "", str(ledger))


async def test_linked_rename_is_not_reported_as_changed_access(client: httpx2.AsyncClient, db: Db) -> None:
    old, new = await a_rename(client, db)
    await execute(db, "UPDATE application_imports SET build_end = now() - interval '30 days' WHERE number = 1")
    since = {"from": str(await fetch_value(db, "SELECT (now() - interval '10 days')::date"))}
    report = await a_report(client, "access-changes", "Changes", filters={**since, "kind": "Group"})
    apart = await rows_of(client, report["id"])

    await curate(client, new, sameAs=old)

    assert {row["change"] for row in apart} == {"Gained", "Lost"}
    assert await rows_of(client, report["id"]) == []


@pytest.mark.parametrize(("role", "link"), [(None, "/applications/{}"), ("Reviewer", "/access?applicationId={}")])
async def test_notification_links_to_a_page_that_the_owner_may_open(
    client: httpx2.AsyncClient, db: Db, config: Config, role: str | None, link: str
) -> None:
    """Only roles that see every record may open the catalogue."""
    ledger = await a_ledger(db)
    greta, omar = await an_identity(db, "Greta", "Das"), await an_identity(db, "Omar", "Santos")
    await client.patch(f"/api/applications/{ledger}", json={"ownerId": str(omar)})
    await curate(client, (await entitlement(client, "Approve"))["id"], ownerId=str(greta))
    if role:
        await execute(db, "INSERT INTO console_roles VALUES (%(id)s, %(role)s)", id=omar, role=role)

    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=greta)

    [item] = (await newest_first(db, omar, 1, config, clock.now())).items
    assert item.link == link.format(ledger)
