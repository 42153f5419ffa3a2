from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core.db import Db, fetch_rows
from tests.application_imports.running import Imports
from tests.builders import an_application, an_identity

HR = {"name": "HR file", "vendor": "Rolecall", "files": [{"name": "People", "content": "identities"}]}
HEADER = "Employee ID,First Name,Last Name,Email,Title,Supervisor ID,Custom Field 3\n"
ADA = "E1,Ada,Lovelace,ada@x.test,Analyst,E2,blue\n"
CHARLES = "E2,Charles,Babbage,cb@x.test,Director,,\n"


async def hr(db: Db) -> UUID:
    return await an_application(db, "HR", isIdentitySource=True, connector=HR)


async def people(client: httpx2.AsyncClient) -> dict[str, dict[str, Any]]:
    items = (await client.get("/api/identities")).json()["items"]
    return {item["firstName"]: item for item in items}


async def test_identities_are_created_in_any_order_of_rows(
    imports: Imports, client: httpx2.AsyncClient, db: Db
) -> None:
    run = await imports.finish(await hr(db), {"People": HEADER + ADA + CHARLES})

    found = await people(client)
    assert run["metrics"]["users"] == {"total": 2, "new": 2, "altered": 0, "removed": 0}
    assert found["Ada"]["supervisorName"] == "Babbage, Charles"
    assert (found["Ada"]["emailAddress"], found["Ada"]["title"], found["Ada"]["status"]) == (
        "ada@x.test",
        "Analyst",
        "Active",
    )
    assert (await fetch_rows(db, "SELECT custom_fields FROM identities WHERE employee_id = 'E1'"))[0][0] == {
        "3": "blue"
    }


async def test_only_fields_that_the_source_changed_are_updated(
    imports: Imports, client: httpx2.AsyncClient, db: Db
) -> None:
    application = await hr(db)
    await imports.finish(application, {"People": HEADER + ADA + CHARLES})
    await db.execute("UPDATE identities SET title = 'Countess' WHERE employee_id = 'E1'")

    run = await imports.finish(application, {"People": HEADER + ADA.replace("Ada,", "Augusta,") + CHARLES})

    found = (await people(client))["Augusta"]
    assert run["metrics"]["users"] == {"total": 2, "new": 0, "altered": 1, "removed": 0}
    assert found["title"] == "Countess"


async def test_changed_names_get_new_sort_keys(imports: Imports, client: httpx2.AsyncClient, db: Db) -> None:
    application = await hr(db)
    await imports.finish(application, {"People": HEADER + ADA + CHARLES})

    await imports.finish(application, {"People": HEADER + ADA.replace("Lovelace", "Älteste") + CHARLES})

    assert list(await people(client)) == ["Ada", "Charles"]


async def test_person_missing_from_the_file_is_removed_and_reactivated_on_return(
    imports: Imports, client: httpx2.AsyncClient, db: Db
) -> None:
    application = await hr(db)
    await imports.finish(application, {"People": HEADER + ADA + CHARLES})
    first_seen = (await people(client))["Ada"]["firstSeenDate"]

    await imports.finish(application, {"People": HEADER + CHARLES})
    gone = (await people(client))["Ada"]
    await imports.finish(application, {"People": HEADER + ADA + CHARLES})
    back = (await people(client))["Ada"]

    assert gone["status"] == "Removed"
    assert gone["inactivatedDate"]
    assert (back["status"], back["inactivatedDate"], back["firstSeenDate"]) == ("Active", None, first_seen)
    assert back["id"] == gone["id"]


async def test_unknown_supervisors_and_cycles_are_logged(imports: Imports, db: Db) -> None:
    lost = "E3,Grace,Hopper,,,E9,\n"

    run = await imports.finish(
        await hr(db), {"People": HEADER + ADA + CHARLES.replace(",Director,,", ",Director,E1,") + lost}
    )

    assert "Supervisor E9 of E3 is not known" in run["log"]
    assert "Supervisors form a cycle: E1 → E2 → E1" in run["log"]


async def test_cycle_is_logged_when_it_forms_and_when_a_person_below_it_changes(imports: Imports, db: Db) -> None:
    application = await hr(db)
    circle = ADA + CHARLES.replace(",Director,,", ",Director,E1,")
    below, aside = "E3,Grace,Hopper,,Admiral,E1,\n", "E4,Alan,Turing,,Reader,E5,\nE5,Alonzo,Church,,,,\n"
    files = [
        circle + below + aside,
        circle + below + aside.replace("Reader", "Dean"),
        circle + below,
        circle + below.replace("Admiral", "Captain"),
    ]

    logs = [(await imports.finish(application, {"People": HEADER + file}))["log"] for file in files]

    assert [log.count("Supervisors form a cycle: E1 → E2 → E1") for log in logs] == [1, 0, 0, 1]


async def test_log_names_some_unknown_supervisors_and_counts_all(imports: Imports, db: Db) -> None:
    lost = "".join(f"E{n},Grace,Hopper,,,X{n},\n" for n in range(10, 1022))

    run = await imports.finish(await hr(db), {"People": HEADER + lost})

    assert run["log"].count(" is not known") == 10
    assert "Supervisor X10 of E10 is not known" in run["log"]
    assert "Further unknown supervisors: 1,002" in run["log"]


async def test_onboarded_person_is_found_by_email(imports: Imports, client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_identity(db, "Ada", "Lovelace", email="ADA@x.test")

    await imports.finish(await hr(db), {"People": HEADER + ADA + CHARLES})

    assert (await people(client))["Ada"]["id"] == str(id)


async def test_identity_source_can_be_rolled_back(imports: Imports, client: httpx2.AsyncClient, db: Db) -> None:
    application = await hr(db)
    first = await imports.finish(application, {"People": HEADER + ADA + CHARLES})
    await imports.finish(application, {"People": HEADER + CHARLES.replace("Director", "Inventor")})

    answer = await client.post(f"/api/applications/{application}/rollback", json={"importNumber": first["number"]})
    await imports.work()

    found = await people(client)
    assert answer.status_code == 201
    assert (found["Ada"]["status"], found["Charles"]["title"]) == ("Active", "Director")


async def test_spaces_around_values_are_removed(imports: Imports, client: httpx2.AsyncClient, db: Db) -> None:
    long = "t" * 256
    row = f'E1 ," Ada  May\t",\u00a0Lovelace ," ada@x.test "," {long} ",,"  blue"\n'

    await imports.finish(await hr(db), {"People": HEADER + row})

    [ada] = (await client.get("/api/identities")).json()["items"]
    assert (ada["firstName"], ada["lastName"], ada["emailAddress"]) == ("Ada  May", "Lovelace", "ada@x.test")
    assert ada["title"] == long
    assert await fetch_rows(db, "SELECT employee_id, custom_fields FROM identities") == [("E1", {"3": "blue"})]


async def test_own_supervisor_in_a_file_is_ignored_and_logged(
    imports: Imports, client: httpx2.AsyncClient, db: Db
) -> None:
    run = await imports.finish(await hr(db), {"People": HEADER + ADA + CHARLES.replace(",Director,,", ",Director,E2,")})

    found = await people(client)
    assert (found["Ada"]["supervisorName"], found["Charles"]["supervisorName"]) == ("Babbage, Charles", "")
    assert "E2 is their own supervisor in the file; no supervisor is set" in run["log"]
    assert "is not known" not in run["log"]
    assert "circle" not in run["log"]


async def test_person_who_becomes_their_own_supervisor_loses_the_previous_one(
    imports: Imports, client: httpx2.AsyncClient, db: Db
) -> None:
    application = await hr(db)
    await imports.finish(application, {"People": HEADER + ADA + CHARLES})

    await imports.finish(application, {"People": HEADER + ADA.replace(",E2,", ",E1,") + CHARLES})

    assert (await people(client))["Ada"]["supervisorName"] == ""


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("\u200b\u2060", "line 2: First Name is blank"),
        ('"Ada\x1bByron"', "line 2: First Name must not contain control characters"),
        ('"Ada\u2028Byron"', "line 2: First Name must not contain control characters"),
    ],
)
async def test_names_must_be_visible_and_without_control_characters(
    imports: Imports, db: Db, name: str, reason: str
) -> None:
    run = await imports.run(await hr(db), {"People": HEADER + ADA.replace("Ada", name)})

    assert run["status"] == "Failed"
    assert reason in run["log"]
