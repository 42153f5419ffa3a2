"""Test filters: every operator on stored resources, precedence, value paths, and limits against abuse."""

import asyncio

import pytest

from rolecall.core.db import Db, execute, fetch_value
from rolecall.scim_server.filters import DEEPEST_FILTER, LONGEST_FILTER, MOST_TERMS, matches, parse_filter
from tests.scim_server.pushing import ENTERPRISE, Pushing

WORK = {"type": "work", "value": "Ada@Example.com", "primary": True}
HOME = {"type": "home", "value": "ada@home.test"}
FOUND = {
    'userName eq "ADA"': ["ada"],
    'USERNAME Eq "ada"': ["ada"],
    'userName ne "ada"': ["bob", "eve"],
    'userName co "D"': ["ada"],
    'userName sw "A"': ["ada"],
    'userName ew "E"': ["eve"],
    'userName gt "ada"': ["bob", "eve"],
    'userName ge "bob"': ["bob", "eve"],
    'userName lt "bob"': ["ada"],
    'userName le "bob"': ["ada", "bob"],
    "title pr": ["ada"],
    "not (title pr)": ["bob", "eve"],
    "title eq null": ["bob", "eve"],
    "title ne null": ["ada"],
    'title ne "Countess"': ["bob", "eve"],
    'title co "_ount%"': [],
    'title co "ount"': ["ada"],
    "active eq true": ["ada", "eve"],
    "active eq False": ["bob"],
    'active eq "True"': ["ada", "eve"],
    "active ne true": ["bob"],
    'externalId eq "X-1"': ["ada"],
    'externalId eq "x-1"': [],
    'name.familyName eq "king"': ["ada"],
    'urn:ietf:params:scim:schemas:core:2.0:User:name.familyName eq "king"': ["ada"],
    'emails eq "ada@example.com"': ["ada"],
    'emails co "home.test"': ["ada"],
    'emails.value ew "example.com"': ["ada"],
    "emails pr": ["ada"],
    'emails[type eq "work"]': ["ada"],
    'emails[type eq "work" and value co "@example"]': ["ada"],
    'emails[type eq "home" and value co "@example"]': [],
    'emails[type eq "work"].value eq "ada@example.com"': ["ada"],
    'emails[type eq "home"].value eq "ada@example.com"': [],
    'emails[primary eq "True"].value sw "ada"': ["ada"],
    'emails[not (type eq "work")]': ["ada"],
    'emails[type ne "work" and primary eq null]': ["ada"],
    f'{ENTERPRISE}:department eq "Analysis"': ["ada"],
    f'{ENTERPRISE}:manager.value eq "m-1"': ["ada"],
    "urn:example:1.0:User:badge gt 6": ["ada"],
    "urn:example:1.0:User:badge eq 7.0": ["ada"],
    "urn:example:1.0:User:badge lt 7": [],
    'urn:example:1.0:User:badge eq "x"': [],
    'meta.created gt "2020-01-01T00:00:00Z"': ["ada", "bob", "eve"],
    'meta.lastModified lt "2020-01-01T00:00:00+02:00"': [],
    'userName eq "ada" or userName eq "bob" and active eq true': ["ada"],
    '(userName eq "ada" or userName eq "bob") and active eq true': ["ada"],
    'userName eq "bob" and not (active eq true or title pr)': ["bob"],
    'userName eq "a\\"; DROP TABLE scim_resources; --"': [],
    "nickName pr": [],
}


@pytest.fixture
async def people(push: Pushing) -> Pushing:
    name = {"givenName": "Ada", "familyName": "King"}
    more = {ENTERPRISE: {"department": "Analysis", "manager": {"value": "m-1"}}, "urn:example:1.0:User": {"badge": 7}}
    await push.user("ada", title="Countess", name=name, emails=[WORK, HOME], externalId="X-1", **more)
    await push.user("bob", active=False)
    await push.user("eve")
    return push


async def test_filters_find_matching_resources(people: Pushing) -> None:
    found = {filter: await people.names(filter) for filter in FOUND}

    assert found == FOUND


async def test_groups_are_found_by_name_and_by_member(people: Pushing) -> None:
    (ada,) = (await people.get('Users?filter=userName eq "ada"'))["Resources"]
    group = await people.group("Finance", ada)
    await people.group("Empty")
    filters = {
        'displayName eq "finance"': ["Finance"],
        f'members eq "{ada["id"]}"': ["Finance"],
        f'members.value eq "{ada["id"]}"': ["Finance"],
        f'members[value eq "{ada["id"]}"]': ["Finance"],
        f'id eq "{group["id"]}" and members eq "{ada["id"]}"': ["Finance"],
        f'members[value eq "{ada["id"]}" and type eq "Group"]': [],
        'members eq "ada"': [],
        "members pr": ["Finance"],
        "not (members pr)": ["Empty"],
        'id eq "ada"': [],
    }

    assert {filter: await people.names(filter, "Groups") for filter in filters} == filters


VALUES = [0, 1, 7, 7.5, True, False, "1", "7", "true", "x"]
COMPARED = [
    *(f"value {sign} {value}" for sign in ("eq", "ne") for value in ("1", "7.0", "true", "false", '"1"', '"True"')),
    "value gt 1", "value le 7", 'value gt "7"', 'value co "r"', "value eq null", "value ne null",
]  # fmt: skip


async def test_lists_are_filtered_alike_in_python_and_in_the_database(push: Pushing) -> None:
    for place, value in enumerate(VALUES):
        await push.user(str(place), tags=[{"value": value}])

    stored = {filter: await push.names(f"tags[{filter}]") for filter in COMPARED}

    terms = {filter: parse_filter(filter) for filter in COMPARED}
    assert stored == {
        filter: [str(place) for place, value in enumerate(VALUES) if matches(term, {"value": value})]
        for filter, term in terms.items()
    }


BROKEN = [
    "userName",
    "userName eq",
    'userName is "ada"',
    "userName eq ada",
    'userName eq "ada',
    '(userName eq "ada"',
    'userName eq "ada")',
    'emails[type eq "work"',
    'emails[emails[type eq "work"]]',
    "not userName pr",
    'and userName eq "ada"',
    "userName gt null",
    "active gt true",
    'meta.created co "2020"',
    'meta.created gt "yesterday"',
    'meta.location eq "x"',
    'userName eq "a\\u0000"',
    '"userName" eq "ada"',
    f'userName eq "{"a" * LONGEST_FILTER}"',
    "(" * (DEEPEST_FILTER + 2) + "userName pr" + ")" * (DEEPEST_FILTER + 2),
    " or ".join(["userName pr"] * (MOST_TERMS + 1)),
    "(" * 5000,
]


@pytest.mark.parametrize("number", range(len(BROKEN)))
async def test_broken_and_excessive_filters_are_refused(push: Pushing, number: int) -> None:
    answer = await push.send("POST", "Users/.search", {"filter": BROKEN[number]})

    assert answer.status_code == 400, answer.text
    assert answer.json()["scimType"] in ("invalidFilter", "invalidPath")


_WAITING = "SELECT count(*) FROM pg_locks WHERE relation = 'scim_resources'::regclass AND NOT granted"


async def test_slow_filters_do_not_take_all_connections(push: Pushing, db: Db) -> None:
    """The filters wait for a lock, to simulate slow filters."""
    everything, one = 'Users?filter=title co "x"', 'Users?filter=userName eq "ada" and title pr'
    async with asyncio.TaskGroup() as tasks:
        async with db.transaction():
            await execute(db, "LOCK TABLE scim_resources IN ACCESS EXCLUSIVE MODE")
            slow = [tasks.create_task(push.send("GET", everything)) for _ in range(2)]
            slow.append(tasks.create_task(push.send("GET", one)))
            while await fetch_value(db, _WAITING) < len(slow):
                pass
            refused = await push.send("GET", everything)
        statuses = [(await each).status_code for each in slow]

    assert (refused.status_code, refused.headers["retry-after"]) == (429, "10")
    assert statuses == [200, 200, 200]
