from datetime import timedelta
from uuid import UUID

import httpx2

from rolecall.accounts import matching
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db
from tests.application_imports.running import Imports
from tests.builders import an_application, an_identity
from tests.holdings import an_account

HEADER = "Username,Name,First Name,Last Name,Email,Employee ID\n"


async def matches(client: httpx2.AsyncClient, application: UUID) -> dict[str, tuple[str, str | None]]:
    items = (await client.get(f"/api/applications/{application}/accounts")).json()["items"]
    return {item["username"]: (item["match"], item["identityId"]) for item in items}


async def test_accounts_match_by_employee_id_then_email_then_name(
    client: httpx2.AsyncClient, config: Config, db: Db
) -> None:
    ada = await an_identity(db, "Ada", "Lovelace", email="ada@x.test")
    eve = await an_identity(db, "Ève", "Müller")
    await db.execute("UPDATE identities SET employee_id = 'E7' WHERE id = %s", (eve,))
    for _ in range(2):
        await an_identity(db, "John", "Smith")
    application = await an_application(db)

    await Imports(client, config).finish(
        application,
        {
            "Users": HEADER
            + "by-id,,,,ada@x.test,e7\n"
            + "by-mail,,,,ADA@X.TEST,\n"
            + "by-name,,ADA,LOVELACE,,\n"
            + "by-full-name,Ada Lovelace,,,,\n"
            + 'reversed,"MÜLLER, ève",,,,\n'
            + "disputed,,John,Smith,,\n"
            + "unknown,,Grace,Hopper,,\n"
        },
    )

    assert await matches(client, application) == {
        "by-id": ("Employee ID", str(eve)),
        "by-mail": ("Email", str(ada)),
        "by-name": ("Name", str(ada)),
        "by-full-name": ("Name", str(ada)),
        "reversed": ("Name", str(eve)),
        "disputed": ("Disputed", None),
        "unknown": ("Unmatched", None),
    }
    disputed = (await client.get(f"/api/applications/{application}/accounts", params={"match": "disputed"})).json()
    assert ([item["username"] for item in disputed["items"]], disputed["totalCount"]) == (["disputed"], 1)


async def test_dispute_names_the_people_whom_the_deciding_rule_finds(
    client: httpx2.AsyncClient, config: Config, db: Db
) -> None:
    grace, hedy = [await an_identity(db, name, "Team", email="team@x.test") for name in ("Grace", "Hedy")]
    smiths = [await an_identity(db, "John", "Smith") for _ in range(2)]
    application = await an_application(db)
    rows = "by-mail,,John,Smith,team@x.test,\nby-name,,John,Smith,,\nunknown,,Kai,Kim,,\n"
    await Imports(client, config).finish(application, {"Users": HEADER + rows})

    found = await matching.disputes(db, application, 2)

    assert [(each.username, [one.id for one in each.people]) for each in found] == [
        ("by-mail", [grace, hedy]),
        ("by-name", sorted(smiths)),
    ]
    assert [each.username for each in await matching.disputes(db, application, 1)] == ["by-mail"]


async def test_waiting_for_matching_ends_no_earlier_than_the_given_time_and_the_clock(db: Db) -> None:
    began = clock.now()
    later = began + timedelta(hours=1)

    assert await matching.wait_for_turns(db, began - timedelta(hours=1)) >= began
    assert await matching.wait_for_turns(db, later) == later


async def test_account_pages_by_match_are_exact_after_pins_and_identity_changes(
    client: httpx2.AsyncClient, config: Config, db: Db
) -> None:
    application = await an_application(db)
    lines = "".join(f"user{n:03},,,,user{n}@x.test,\n" for n in range(120))
    await an_identity(db, "Ada")
    await Imports(client, config).finish(application, {"Users": HEADER + lines})

    async def unmatched(page: int) -> tuple[list[str], int]:
        answer = await client.get(
            f"/api/applications/{application}/accounts", params={"match": "Unmatched", "page": page}
        )
        found = answer.json()
        return [item["username"] for item in found["items"]], found["totalCount"]

    names = [f"user{n:03}" for n in range(120)]
    assert await unmatched(3) == (names[100:], 120)
    first = (await client.get(f"/api/applications/{application}/accounts")).json()["items"][0]
    await client.put(f"/api/accounts/{first['id']}/match", json={"never": True})
    assert await unmatched(3) == (names[101:], 119)
    await an_identity(db, "Eve", email="user110@x.test")
    await matching.match_changed_identities(db, clock.now())
    assert await unmatched(3) == ([name for name in names[101:] if name != "user110"], 118)
    await client.delete(f"/api/accounts/{first['id']}/match")
    assert await unmatched(1) == (names[:50], 119)


async def test_imports_do_not_change_a_pin(client: httpx2.AsyncClient, config: Config, db: Db) -> None:
    imports = Imports(client, config)
    ada, bob = await an_identity(db, email="ada@x.test"), await an_identity(db, "Bob", "B")
    application = await an_application(db)
    await imports.finish(application, {"Users": HEADER + "a,,,,ada@x.test,\nb,,,,ada@x.test,\n"})
    a, b = (await client.get(f"/api/applications/{application}/accounts")).json()["items"]

    pinned = await client.put(f"/api/accounts/{a['id']}/match", json={"identityId": str(bob)})
    await client.put(f"/api/accounts/{b['id']}/match", json={"never": True})
    await imports.finish(application, {"Users": HEADER + "a,New,,,ada@x.test,\nb,New,,,ada@x.test,\n"})

    assert (pinned.status_code, pinned.json()["match"]) == (200, "Pinned")
    assert await matches(client, application) == {"a": ("Pinned", str(bob)), "b": ("Never", None)}

    unpinned = await client.delete(f"/api/accounts/{a['id']}/match")
    assert unpinned.status_code == 204
    assert (await matches(client, application))["a"] == ("Email", str(ada))


async def test_pin_requires_either_an_identity_or_never(client: httpx2.AsyncClient, config: Config, db: Db) -> None:
    ada = await an_identity(db)
    application = await an_application(db)
    await Imports(client, config).finish(application, {"Users": "Username\na\n"})
    (account,) = (await client.get(f"/api/applications/{application}/accounts")).json()["items"]
    path = f"/api/accounts/{account['id']}/match"

    for body in ({}, {"never": True, "identityId": str(ada)}, {"never": False}):
        assert (await client.put(path, json=body)).status_code == 400
    unknown = await client.put(f"/api/accounts/{ada}/match", json={"never": True})
    assert (unknown.status_code, unknown.json()["message"]) == (404, f"Account with id {ada} not found")


async def test_leaver_is_matched_by_employee_id_and_email_but_never_by_name(
    client: httpx2.AsyncClient, config: Config, db: Db
) -> None:
    gone = await an_identity(db, "Ada", "Lovelace", email="ada@x.test")
    namesake = await an_identity(db, "John", "Smith", email="john@x.test")
    other = await an_identity(db, "John", "Smith")
    await db.execute("UPDATE identities SET employee_id = 'E1', status = 'Removed' WHERE id = %s", (gone,))
    await db.execute("UPDATE identities SET status = 'Disabled' WHERE id = %s", (namesake,))
    application = await an_application(db)

    await Imports(client, config).finish(
        application,
        {
            "Users": HEADER
            + "by-id,,,,,E1\n"
            + "by-mail,,,,john@x.test,\n"
            + "by-name,,Ada,Lovelace,,\n"
            + "namesake,,John,Smith,,\n"
        },
    )

    expected = {
        "by-id": ("Employee ID", str(gone)),
        "by-mail": ("Email", str(namesake)),
        "by-name": ("Unmatched", None),
        "namesake": ("Name", str(other)),
    }
    assert await matches(client, application) == expected
    # Matching again after a change of identities gives the same result.
    await db.execute("UPDATE identities SET title = 'Gone', status = 'Disabled' WHERE id = %s", (gone,))
    await match_again(db)
    assert await matches(client, application) == expected


async def test_accounts_match_again_when_identities_change(client: httpx2.AsyncClient, config: Config, db: Db) -> None:
    application = await an_application(db)
    await Imports(client, config).finish(application, {"Users": HEADER + "a,,,,ada@x.test,\nj,,John,Smith,,\n"})
    first, second = await an_identity(db, "John", "Smith"), await an_identity(db, "John", "Smith")
    ada = await an_identity(db, email="Ada@x.test")

    await match_again(db)
    assert await matches(client, application) == {"a": ("Email", str(ada)), "j": ("Disputed", None)}

    await db.execute("UPDATE identities SET last_name = 'Doe', last_name_key = 'doe' WHERE id = %s", (first,))
    await db.execute("UPDATE identities SET email_address = '' WHERE id = %s", (ada,))
    await match_again(db)
    assert await matches(client, application) == {"a": ("Unmatched", None), "j": ("Name", str(second))}


async def match_again(db: Db) -> None:
    async with db.transaction():
        await matching.match_changed_identities(db, clock.now())


async def test_matches_are_counted_per_application(db: Db) -> None:
    ledger, wiki = await an_application(db, "Ledger"), await an_application(db, "Wiki")
    for application, usernames in ((ledger, ("ada", "bob")), (wiki, ("ada",))):
        for username in usernames:
            await an_account(db, application, username, None)

    assert [await matching.counts(db, application) for application in (ledger, wiki)] == [{"Pinned": 2}, {"Pinned": 1}]
