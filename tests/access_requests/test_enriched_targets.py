"""Test which account or group a new request is about."""

from uuid import UUID

import httpx2

from rolecall.access_requests.enrichment import enrich
from rolecall.access_requests.model import NewRequest
from rolecall.core.db import Db, execute
from rolecall.settings.policy import RequestAction
from tests.access_requests.enriching import created
from tests.access_requests.walking import PATH
from tests.builders import an_application, an_identity
from tests.holdings import a_finished_import, an_account


async def test_active_account_is_preferred_as_the_target(client: httpx2.AsyncClient, db: Db) -> None:
    ledger, ada = await an_application(db), await an_identity(db)
    await an_account(db, ledger, "ada-old", ada, is_active=False)
    await an_account(db, ledger, "ada-new", ada)
    await an_account(db, ledger, "zoe", await an_identity(db, "Zoe"))

    by_default = await created(client, ledger, identityId=str(ada))
    by_name = await created(client, ledger, identityId=str(ada), targetName="ada-old")

    assert by_default["target"]["name"] == "ada-new"
    assert by_name["target"]["name"] == "ada-old"


async def test_group_target_shows_its_nomenclature_and_metadata(client: httpx2.AsyncClient, db: Db) -> None:
    ledger = await an_application(db)
    await an_account(db, ledger, "ada01", await an_identity(db), groups=("Clerks",))
    await db.execute("UPDATE group_versions SET nomenclature = 'Role', metadata = '{\"Level\": \"2\"}'")

    request = await created(client, ledger, group="Clerks", privileges=[{"header": "Books", "permission": "Post"}])

    assert request["target"]["nomenclature"] == "Role"
    assert request["target"]["metadata"] == [{"key": "Level", "value": "2"}]


async def test_account_of_another_identity_is_rejected_as_target(client: httpx2.AsyncClient, db: Db) -> None:
    ledger, ada = await an_application(db), await an_identity(db)
    await an_account(db, ledger, "zoe", await an_identity(db, "Zoe"))
    asked = {"applicationId": str(ledger), "identityId": str(ada)}

    refused = await client.post(PATH, json={"action": "Nonsense", **asked, "targetName": "zoe"})
    unknown = await created(client, ledger, identityId=str(ada), targetName="ada.new")

    assert refused.status_code == 400
    assert [problem["field"] for problem in refused.json()["errors"]] == ["action", "targetName"]
    taken = "Account zoe belongs to another identity; name an account of this identity"
    assert refused.json()["errors"][1]["message"] == taken
    assert unknown["target"]["name"] == "ada.new"


Target = tuple[UUID, UUID | None, str | None]


async def end_versions(db: Db, run: int) -> None:
    """Replace the version of every account and group with one that has other metadata, as an import would."""
    for table in ("account_versions", "group_versions"):
        await execute(db, f"UPDATE {table} SET until_import = %(run)s", run=run)
        await execute(
            db,
            f"""INSERT INTO {table} SELECT (jsonb_populate_record(v, jsonb_build_object(
                    'from_import', %(run)s::int, 'until_import', NULL, 'metadata', '{{"of": "now"}}'::jsonb))).*
                FROM {table} v WHERE v.until_import = %(run)s""",
            run=run,
        )


async def test_target_is_the_named_account_or_group_or_the_identitys_account(db: Db) -> None:
    ledger, wiki = await an_application(db, "Ledger"), await an_application(db, "Wiki")
    ada, bo = await an_identity(db), await an_identity(db, "Bo", "Boss")
    run = await a_finished_import(db, ledger)
    await an_account(db, ledger, "ada01", ada, is_active=False, groups=("Posters", "Others"), run=run)
    await an_account(db, ledger, "ada02", ada, run=run)
    await an_account(db, ledger, "ada03", ada, run=run)
    await an_account(db, wiki, "ada", ada, groups=("Wikis",), run=run)
    await an_account(db, ledger, "bo", bo, run=run)
    await end_versions(db, await a_finished_import(db, ledger))
    for table, key in (("account_versions", "account_number"), ("group_versions", "group_number")):
        await execute(
            db,
            f"""UPDATE {table} v SET metadata = jsonb_build_object('of', h.name) FROM (
                    SELECT number, username::text AS name FROM accounts UNION ALL SELECT number, name::text FROM groups
                ) AS h WHERE h.number = v.{key} AND v.until_import IS NULL""",
        )
    # Remove a group and an account.
    await execute(
        db,
        """UPDATE group_versions SET until_import = from_import + 1
           WHERE group_number = (SELECT number FROM groups WHERE name = 'Others') AND until_import IS NULL""",
    )
    await execute(
        db,
        """UPDATE account_versions SET until_import = from_import + 1
           WHERE account_number = (SELECT number FROM accounts WHERE username = 'ada03') AND until_import IS NULL""",
    )
    asked: list[Target]
    asked = [(ledger, ada, None), (ledger, ada, "ada01"), (wiki, ada, None), (ledger, bo, None), (ledger, ada, "bo")]
    asked += [(ledger, None, "Posters"), (wiki, None, "Wikis")]
    unknown: list[Target] = [
        (wiki, bo, None),
        (wiki, ada, "ada01"),
        (ledger, ada, "Posters"),
        (ledger, ada, "ada03"),
    ]
    groups: list[Target] = [(ledger, None, "Wikis"), (ledger, None, "ada02"), (ledger, None, "Others")]
    news = [
        NewRequest(action=RequestAction.CHANGE, application_id=application, identity_id=identity, target_name=name)
        for application, identity, name in asked + unknown + groups
    ]

    found = [(new.target_name, dict(new.metadata).get("of"), new.target_risk) for new in await enrich(db, news)]

    names = ["ada02", "ada01", "ada", "bo", "bo", "Posters", "Wikis"]
    assert found[:7] == [(name, name, "None") for name in names]
    assert found[7:11] == [(name, None, "None") for name in ("Bo Boss", "ada01", "Posters", "ada03")]
    assert found[11:] == [(name, None, "Critical") for name in ("Wikis", "ada02", "Others")]
