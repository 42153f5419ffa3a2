"""Test nested groups: their parents and cycles, and effective access, compared with a naive walk of the graph."""

from uuid import UUID

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolecall.accounts import queries
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from tests.builders import an_application, an_identity
from tests.holdings import an_account
from tests.nesting import give, only_groups, some_groups, ways_up

NAMES = [f"G{n}" for n in range(7)]
GRAPHS = st.fixed_dictionaries({name: st.sampled_from(["", "Nowhere", *NAMES]) for name in NAMES})
MEMBERS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)
GIVERS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True)

RATINGS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["Low", "High", "Critical"]), max_size=4)


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(parents=GRAPHS, joined=MEMBERS, givers=GIVERS)
async def test_effective_access_equals_a_naive_walk_of_the_groups(
    db: Db, parents: dict[str, str], joined: list[str], givers: list[str]
) -> None:
    ledger = await an_application(db, f"Ledger {await fetch_value(db, 'SELECT count(*) FROM applications')}")
    run = await some_groups(db, ledger, parents)
    for name in givers:
        await give(db, ledger, name, f"Permission of {name}", run)
    await an_account(db, ledger, "ada", None, groups=tuple(joined), run=run)
    account = await fetch_value(db, "SELECT id FROM accounts WHERE application_id = %(id)s", id=ledger)

    ways = [(group, [*path]) for name in joined for group, path in ways_up(parents, name).items()]
    groups = [(m.group, m.path) for m in await queries.memberships(db, [account])]
    permissions = [(h.permission, h.path) for h in await queries.permissions_held(db, [account])]
    assert sorted(groups) == sorted(ways)
    assert sorted(permissions) == sorted((f"Permission of {g}", [*path, g]) for g, path in ways if g in givers)
    for name in NAMES:
        assert await members_below(db, ledger, name) == sorted(
            (below, ways_up(parents, below)[name]) for below in NAMES if name in ways_up(parents, below)
        )


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(parents=GRAPHS, given_by=RATINGS, curated=RATINGS)
async def test_ratings_computed_for_all_groups_equal_those_computed_one_by_one(
    db: Db, parents: dict[str, str], given_by: dict[str, str], curated: dict[str, str]
) -> None:
    ledger = await an_application(db, f"Ledger {await fetch_value(db, 'SELECT count(*) FROM applications')}")
    run = await some_groups(db, ledger, parents)
    for name, risk in given_by.items():
        await give(db, ledger, name, f"Permission of {name}", run, risk=risk)
    for name, risk in curated.items():
        await execute(
            db,
            """INSERT INTO curations (entitlement_id, risk_rating, changed_on)
               SELECT id, %(risk)s, now() FROM groups WHERE application_id = %(application)s AND name = %(name)s""",
            application=ledger, name=name, risk=risk,
        )  # fmt: skip
    await execute(
        db, "SELECT rate_groups(array_agg(number)) FROM groups WHERE application_id = %(id)s AND name = ANY(%(names)s)",
        id=ledger, names=[*given_by, *curated],
    )  # fmt: skip

    rows = await fetch_rows(
        db,
        """SELECT name, risk_rating, group_risk(number) FROM entitlements
           WHERE kind = 'Group' AND application_id = %(id)s""",
        id=ledger,
    )

    assert len(rows) == len(NAMES)
    assert [(name, stored) for name, stored, _ in rows] == [(name, rule) for name, _, rule in rows]


async def members_below(db: Db, application_id: UUID, name: str) -> list[tuple[str, list[str]]]:
    rows = await fetch_rows(
        db,
        """SELECT b.name, group_names(w.path) FROM groups g CROSS JOIN groups_below(g.number, now_import()) AS w
           JOIN groups b ON b.number = w.number WHERE g.application_id = %(id)s AND g.name = %(name)s""",
        id=application_id,
        name=name,
    )
    return sorted(rows)


SPELLINGS = ["Ops", "OPS", "ops", "Dev", "dev"]
SHOWN = st.dictionaries(st.sampled_from(SPELLINGS), st.sampled_from(["", "oPS", "DEV", *SPELLINGS]), max_size=5)


def found_parents(shown: dict[str, str], ever: list[str]) -> dict[str, str]:
    """Return the parent of each group of one import, or "" if the parent is not in that import.

    If several groups match the name of the parent ignoring case, an exact match wins, then the oldest group.
    """
    by_age = [name for name in ever if name in shown]

    def parent(named: str) -> str:
        fits = [name for name in by_age if name.lower() == named.lower()]
        return named if named in fits else next(iter(fits), "")

    return {name: parent(named) for name, named in shown.items()}


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(imports=st.lists(SHOWN, min_size=1, max_size=4))
async def test_parent_must_be_a_group_in_the_same_import(db: Db, imports: list[dict[str, str]]) -> None:
    ledger = await an_application(db, f"Ledger {await fetch_value(db, 'SELECT count(*) FROM applications')}")
    runs = [await only_groups(db, ledger, shown) for shown in imports]
    ever = list(dict.fromkeys(name for shown in imports for name in shown))

    for run, shown in zip(runs, imports, strict=True):
        above = await fetch_rows(
            db,
            """SELECT g.name, a.name, group_names(w.path) FROM groups g
               CROSS JOIN LATERAL groups_above(ARRAY[g.number], %(run)s) AS w JOIN groups a ON a.number = w.above
               WHERE g.application_id = %(id)s AND w.above <> g.number""",
            id=ledger,
            run=run,
        )
        below = await fetch_rows(
            db,
            """SELECT b.name, g.name, group_names(w.path) FROM groups g
               CROSS JOIN LATERAL groups_below(g.number, %(run)s) AS w JOIN groups b ON b.number = w.number
               WHERE g.application_id = %(id)s AND w.number <> g.number""",
            id=ledger,
            run=run,
        )
        parents = found_parents(shown, ever)
        ways = [(name, up, path) for name in shown for up, path in ways_up(parents, name).items() if up != name]
        assert sorted(above) == sorted(below) == sorted(ways)
    current = await fetch_rows(
        db,
        """SELECT c.name, p.name FROM current_parents(ARRAY[%(id)s::uuid]) AS l
           JOIN groups c ON c.number = l.child JOIN groups p ON p.number = l.parent""",
        id=ledger,
    )
    assert dict(current) == {name: up for name, up in found_parents(imports[-1], ever).items() if up}


async def test_removed_group_has_holders_only_as_of_an_earlier_import(client: httpx2.AsyncClient, db: Db) -> None:
    ledger = await an_application(db, "Ledger")
    first = await only_groups(db, ledger, {"Top": "", "Mid": "Top", "Low": "Mid"})
    await an_account(db, ledger, "ada", None, groups=("Low",), run=first)
    await only_groups(db, ledger, {"Top": "", "Low": "Mid"})
    mid = await fetch_value(db, "SELECT id FROM groups WHERE name = 'Mid'")
    low = await fetch_value(db, "SELECT id FROM groups WHERE name = 'Low'")

    now = (await client.get(f"/api/entitlements/{mid}")).json()
    then = (await client.get(f"/api/entitlements/{mid}/holders", params={"asOf": str(first)})).json()

    assert (now["holders"]["accounts"], now["isPresent"]) == (0, False)
    assert (await client.get(f"/api/entitlements/{mid}/holders")).json()["items"] == []
    assert [item["path"] for item in then["items"]] == [["Low"]]
    assert (await client.get(f"/api/entitlements/{low}")).json()["parents"] == []


async def test_a_cycle_of_groups_is_reported_for_every_group_in_it(db: Db) -> None:
    ledger = await an_application(db, "Ledger")
    await some_groups(db, ledger, {"A": "B", "B": "C", "C": "B"})

    rows = await fetch_rows(db, "SELECT name, group_names(group_cycle(number, now_import())) FROM groups ORDER BY name")

    assert rows == [("A", []), ("B", ["B", "C"]), ("C", ["C", "B"])]


async def test_parent_is_found_by_exact_name_or_else_ignoring_case(db: Db) -> None:
    ledger = await an_application(db, "Ledger")
    await some_groups(db, ledger, {"staff": "", "STAFF": "", "A": "STAFF", "B": "Staff", "Ops": "", "C": "OPS"})

    rows = await fetch_rows(
        db,
        """SELECT c.name, p.name FROM groups c CROSS JOIN LATERAL parents_of(c.number) AS l
           JOIN groups p ON p.number = l.parent ORDER BY 1""",
    )

    assert rows == [("A", "STAFF"), ("B", "staff"), ("C", "Ops")]


async def test_nested_access_begins_when_the_last_link_of_its_path_appears(db: Db) -> None:
    ledger = await an_application(db, "Ledger")
    first = await some_groups(db, ledger, {"Wire approvers": "", "Clerks": "", "Treasury": "Wire approvers"})
    await give(db, ledger, "Wire approvers", "Approve", first)
    await an_account(db, ledger, "ada", None, groups=("Clerks",), run=first)
    nested = await some_groups(db, ledger, {"Clerks": "Treasury"})
    # Another import of the same link does not change when the access began.
    await some_groups(db, ledger, {"Clerks": "Treasury"})
    account = await fetch_value(db, "SELECT id FROM accounts")

    [held] = await queries.permissions_held(db, [account])

    assert (held.path, held.from_import) == (["Clerks", "Treasury", "Wire approvers"], nested)
    assert await queries.permissions_held(db, [account], first) == []


async def test_nested_access_has_its_path_its_direct_group_and_its_risk_rating(
    client: httpx2.AsyncClient, db: Db
) -> None:
    ada = await an_identity(db)
    ledger = await an_application(db, "Ledger")
    run = await some_groups(db, ledger, {"Wire approvers": "", "Clerks": "Wire approvers"})
    await give(db, ledger, "Wire approvers", "Approve", run, risk="High")
    await an_account(db, ledger, "ada", ada, groups=("Clerks",), run=run)

    [there] = (await client.get(f"/api/identities/{ada}/access")).json()["applications"]

    assert [(e["permission"], e["group"], e["path"]) for e in there["accounts"][0]["access"]] == [
        ("Clerks", "", []),
        ("Wire approvers", "Clerks", ["Clerks"]),
        ("Approve", "Clerks", ["Clerks", "Wire approvers"]),
    ]
    assert [e["riskRating"] for e in there["accounts"][0]["access"]] == ["High"] * 3


@pytest.mark.parametrize("length", [100])
async def test_nesting_deeper_than_64_groups_is_ignored(db: Db, length: int) -> None:
    ledger = await an_application(db, "Ledger")
    run = await some_groups(db, ledger, {f"G{n:03}": f"G{n + 1:03}" for n in range(length)})
    await an_account(db, ledger, "ada", None, groups=("G000",), run=run)

    assert len(await queries.memberships(db, [await fetch_value(db, "SELECT id FROM accounts")])) == 65
