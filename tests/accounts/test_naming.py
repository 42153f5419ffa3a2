"""Test the lookup of permissions, groups and accounts by names that people write in requests and access models."""

from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.accounts.model import PermissionName
from rolecall.accounts.naming import look_up_permissions
from rolecall.core.db import Db, execute
from tests.builders import an_application, an_identity
from tests.counting import counting
from tests.holdings import an_account

REQUESTS, MODELS = "/api/access-requests", "/api/access-models"
# The names in the application; the last two differ only in case.
HELD = (("Books", "Post", "Modify", "High"), ("Books", "Read", "Grant", "None"), ("Books", "read", "Grant", "None"))


@pytest.fixture
async def ledger(db: Db) -> UUID:
    application = await an_application(db)
    ada = await an_identity(db, "Ada", supervisorId=str(await an_identity(db, "Grace")))
    await an_account(db, application, "ada01", ada, groups=("Clerks", "Auditors", "auditors"), permissions=HELD)
    return application


async def asked(client: httpx2.AsyncClient, application: UUID, *names: tuple[str, str]) -> httpx2.Response:
    people = (await client.get("/api/identities/search", params={"q": "Ada"})).json()["items"]
    privileges = [{"header": header, "permission": permission, "access": "Grant"} for header, permission in names]
    body = {"action": "Change", "applicationId": str(application), "identityId": people[0]["id"]}
    return await client.post(REQUESTS, json={**body, "privileges": privileges})


def summarized(answer: httpx2.Response) -> list[tuple[str, str, str]]:
    assert answer.status_code == 201, answer.text
    return [
        (each["permission"]["header"], each["permission"]["permission"], each["initialAccess"])
        for each in answer.json()["target"]["privileges"]
    ]


def problems(answer: httpx2.Response) -> dict[str, str]:
    assert answer.status_code == 400, answer.text
    return {problem["field"]: problem["message"] for problem in answer.json()["errors"]}


@pytest.mark.parametrize(
    ("header", "permission"),
    [
        ("  Books", "Post\u00a0"),
        ("Books", "ＰＯＳＴ"),
        ("Books", "Po\u200bst"),
        ("", "Post"),
        ("", "post"),
    ],
)
async def test_permission_is_found_despite_spaces_unicode_form_or_missing_header(
    client: httpx2.AsyncClient, ledger: UUID, header: str, permission: str
) -> None:
    answer = await asked(client, ledger, (header, permission))

    assert summarized(answer) == [("Books", "Post", "Modify")]
    assert answer.json()["target"]["privileges"][0]["permission"]["riskRating"] == "High"


async def test_repeated_and_no_break_spaces_in_names_are_ignored(
    client: httpx2.AsyncClient, db: Db, ledger: UUID
) -> None:
    await execute(db, "UPDATE permissions SET permission = 'Post  entries' WHERE permission = 'Post'")
    await execute(db, "UPDATE groups SET name = 'Über Clerks' WHERE name = 'Clerks'")

    answer = await asked(client, ledger, ("Books", "post\u00a0entries"), ("Group", "über  clerks"))
    decomposed = await asked(client, ledger, ("Group", "U\u0308ber Clerks"))

    assert summarized(answer) == [("Books", "Post  entries", "Modify"), ("Group", "Über Clerks", "Grant")]
    assert summarized(decomposed) == [("Group", "Über Clerks", "Grant")]


async def test_unknown_name_is_rejected_with_the_nearest_names(client: httpx2.AsyncClient, ledger: UUID) -> None:
    names = [("Books", "Post."), ("Books", "Pots"), ("Group", "Clerk"), ("", "Read"), ("Sales", "Invoices")]

    answer = await asked(client, ledger, *names)

    assert problems(answer) == {
        "privileges.0.permission": "Permission Books Post. is not known in Payroll; did you mean Books Post?",
        "privileges.1.permission": "Permission Books Pots is not known in Payroll; did you mean Books Post?",
        "privileges.2.permission": "Group Clerk is not known in Payroll; did you mean Clerks?",
        "privileges.3.permission": "Permission Read is not known in Payroll",
        "privileges.4.permission": "Permission Sales Invoices is not known in Payroll",
    }


async def test_group_that_is_the_target_of_a_request_must_exist(
    client: httpx2.AsyncClient, db: Db, ledger: UUID
) -> None:
    body = {"action": "Remove", "group": "Clerkz"}
    refused = await client.post(REQUESTS, json={**body, "applicationId": str(ledger), "scheduledStart": "soon"})
    elsewhere = await client.post(REQUESTS, json={**body, "applicationId": str(await an_application(db, "Mail"))})

    assert problems(refused) == {
        "scheduledStart": "Scheduled start must be an ISO 8601 date or date-time",
        "group": "Group Clerkz is not known in Payroll; did you mean Clerks?",
    }
    assert elsewhere.json()["target"]["name"] == "Clerkz"


async def test_any_name_is_accepted_and_rated_critical_if_nothing_was_imported(
    client: httpx2.AsyncClient, db: Db, ledger: UUID
) -> None:
    bare = await an_application(db, "Bare")
    await execute(db, "UPDATE permission_versions SET until_import = from_import + 1")

    answers = [
        await asked(client, bare, ("Books", "Anything"), ("Group", "Anyone")),
        # This application has imported groups but no permissions.
        await asked(client, ledger, ("Books", "Anything")),
    ]
    group = await asked(client, ledger, ("Group", "Anyone"))

    for answer in answers:
        summarized(answer)
        ratings = {each["permission"]["riskRating"] for each in answer.json()["target"]["privileges"]}
        assert ratings == {"Critical"}
        assert len(answer.json()["requirements"][0]["rules"]) == 2
    assert problems(group) == {"privileges.0.permission": "Group Anyone is not known in Payroll"}


@pytest.mark.parametrize("name", [" zoe.costa", "ZOE.COSTA", "zoe.costa\u00a0", "zoe\u200b.costa", "ｚoe.costa"])
async def test_account_is_found_in_another_spelling(
    client: httpx2.AsyncClient, db: Db, ledger: UUID, name: str
) -> None:
    zoe, ada = await an_identity(db, "Zoe"), await an_identity(db, "Ann")
    await an_account(db, ledger, "Zoe.Costa", zoe)
    body = {"action": "Add", "applicationId": str(ledger), "targetName": name}

    refused = await client.post(REQUESTS, json={**body, "identityId": str(ada)})
    own = await client.post(REQUESTS, json={**body, "identityId": str(zoe)})

    assert problems(refused) == {
        "targetName": "Account Zoe.Costa belongs to another identity; name an account of this identity"
    }
    assert own.json()["target"]["name"] == "Zoe.Costa"


async def test_case_is_ignored_in_accented_and_non_latin_names(
    client: httpx2.AsyncClient, db: Db, ledger: UUID
) -> None:
    ada = await an_identity(db, "Ann")
    for username, asked_for in (("Åsa", "åsa"), ("иван", "ИВАН"), ("Øyvind", "øyvind"), ("Νίκος", "ΝΊΚΟΣ")):
        await an_account(db, ledger, username, await an_identity(db, username))
        body = {"action": "Add", "applicationId": str(ledger), "identityId": str(ada), "targetName": asked_for}
        assert problems(await client.post(REQUESTS, json=body)) == {
            "targetName": f"Account {username} belongs to another identity; name an account of this identity"
        }


async def test_account_of_another_person_is_rejected_even_if_an_own_account_differs_only_by_case(
    client: httpx2.AsyncClient, db: Db, ledger: UUID
) -> None:
    zoe, ann = await an_identity(db, "Zoe"), await an_identity(db, "Ann")
    await an_account(db, ledger, "costa", zoe)
    await an_account(db, ledger, "COSTA", ann)
    body = {"action": "Add", "applicationId": str(ledger), "identityId": str(ann)}

    own = await client.post(REQUESTS, json={**body, "targetName": "COSTA"})
    other = await client.post(REQUESTS, json={**body, "targetName": "costa"})

    assert own.json()["target"]["name"] == "COSTA"
    taken = "Account costa belongs to another identity; name an account of this identity"
    assert problems(other) == {"targetName": taken}


async def test_request_names_are_matched_ignoring_case(client: httpx2.AsyncClient, ledger: UUID) -> None:
    answer = await asked(client, ledger, ("BOOKS", "post"), ("group", "CLERKS"))

    assert summarized(answer) == [("Books", "Post", "Modify"), ("Group", "Clerks", "Grant")]


async def test_exact_spelling_wins_and_ambiguous_spelling_is_rejected(client: httpx2.AsyncClient, ledger: UUID) -> None:
    groups = [("Group", "auditors"), ("Group", "AUDITORS")]

    answer = await asked(client, ledger, ("Books", "read"), ("Books", "Read"), groups[0])
    several = await asked(client, ledger, ("Books", "READ"), groups[1])

    assert summarized(answer) == [
        ("Books", "read", "Grant"),
        ("Books", "Read", "Grant"),
        ("Group", "auditors", "Grant"),
    ]
    assert problems(several) == {
        "privileges.0.permission": (
            "Permission Books READ is not known in Payroll; did you mean Books Read or Books read?"
        ),
        "privileges.1.permission": "Group AUDITORS is not known in Payroll; did you mean Auditors or auditors?",
    }


async def test_removed_entries_are_not_matched(client: httpx2.AsyncClient, db: Db, ledger: UUID) -> None:
    await execute(
        db,
        """UPDATE permission_versions SET until_import = from_import + 1
           WHERE permission_number = (SELECT number FROM permissions WHERE permission = 'read')""",
    )

    assert summarized(await asked(client, ledger, ("Books", "READ"))) == [("Books", "Read", "Grant")]


async def test_names_are_looked_up_only_in_the_application_of_the_request(
    client: httpx2.AsyncClient, db: Db, ledger: UUID
) -> None:
    other = await an_application(db, "Other")

    assert summarized(await asked(client, other, ("BOOKS", "post"))) == [("BOOKS", "post", "None")]


async def test_two_spellings_of_one_permission_are_rejected_as_duplicates(
    client: httpx2.AsyncClient, ledger: UUID
) -> None:
    answer = await asked(client, ledger, ("Books", "Post"), ("Books", "POST"))

    assert answer.status_code == 400
    assert answer.json()["errors"] == [
        {"field": "privileges", "message": "Privileges must not name a permission twice"}
    ]


async def test_group_that_is_the_target_of_a_request_gets_its_stored_spelling(
    client: httpx2.AsyncClient, ledger: UUID
) -> None:
    body = {"action": "Change", "applicationId": str(ledger), "group": "clerks"}
    answer = await client.post(REQUESTS, json={**body, "privileges": [{"header": "Books", "permission": "Post"}]})

    assert (answer.status_code, answer.json()["target"]["name"]) == (201, "Clerks")


async def test_approved_access_may_spell_a_privilege_as_the_request_did(
    client: httpx2.AsyncClient, ledger: UUID
) -> None:
    request = (await asked(client, ledger, ("BOOKS", "post"), ("Books", "Read"))).json()
    reviewer = request["requirements"][0]["rules"][0]["responses"][0]["reviewer"]["id"]
    body = {"type": "Approve", "response": "Approved", "reviewerId": reviewer}
    lowered = {"header": "BOOKS", "permission": "post", "access": "None"}
    path = f"{REQUESTS}/{request['id']}/respond"

    twice = await client.post(path, json={**body, "approvedAccess": [lowered, {**lowered, "header": "Books"}]})
    answer = await client.post(path, json={**body, "approvedAccess": [lowered]})

    assert [each["field"] for each in twice.json()["errors"]] == ["approvedAccess.1"]
    assert answer.status_code == 200, answer.text


async def test_model_names_are_matched_ignoring_case(client: httpx2.AsyncClient, ledger: UUID) -> None:
    permissions = [{"header": "books", "permission": name} for name in ("POST", "READ", "Void")]
    access: dict[str, Any] = {
        "applicationId": str(ledger),
        "groups": ["CLERKS", "AUDITORS", "Nobody"],
        "permissions": permissions,
    }

    made = await client.post(MODELS, json={"name": "Clerks", "access": [access]})

    assert made.status_code == 201, made.text
    (drafted,) = made.json()["draft"]["access"]
    assert drafted["groups"] == ["Clerks", "AUDITORS", "Nobody"]
    names = [(each["header"], each["permission"]) for each in drafted["permissions"]]
    assert names == [("Books", "Post"), ("books", "READ"), ("books", "Void")]

    access |= {"groups": ["Clerks", "clerks"], "permissions": [*permissions, {"header": "Books", "permission": "Post"}]}
    changed = await client.patch(f"{MODELS}/{made.json()['id']}", json={"access": [access]})
    assert changed.json()["errors"] == [
        {"field": "access.0.groups", "message": "Groups must not name a group twice"},
        {"field": "access.0.permissions", "message": "Permissions must not name a permission twice"},
    ]


async def test_every_name_of_a_large_model_is_found(client: httpx2.AsyncClient, db: Db, ledger: UUID) -> None:
    names = [f"Task {n}" for n in range(1000)]
    await execute(
        db,
        """WITH made AS (INSERT INTO permissions (application_id, header, section, permission)
                         SELECT %(ledger)s, 'Tasks', '', name FROM unnest(%(names)s::text[]) AS name RETURNING number)
           INSERT INTO permission_versions SELECT number, 1, NULL, '', 'None' FROM made""",
        ledger=ledger,
        names=names,
    )
    permissions = [{"header": "TASKS", "permission": name.upper()} for name in names]

    made = await client.post(
        MODELS, json={"name": "Clerks", "access": [{"applicationId": str(ledger), "permissions": permissions}]}
    )

    assert [each["permission"] for each in made.json()["draft"]["access"][0]["permissions"]] == names


async def test_number_of_queries_does_not_depend_on_the_number_of_applications(
    db: Db, ledger: UUID, clean_database: str
) -> None:
    others = [await an_application(db, f"Application {n}") for n in range(3)]
    unknown = PermissionName("Books", "", "Nowhere")

    async with counting(clean_database) as counts:
        one = await counts.of(look_up_permissions(counts.db, [(ledger, unknown)]))
        many = await counts.of(look_up_permissions(counts.db, [(id, unknown) for id in (ledger, *others)]))

    assert one == many
