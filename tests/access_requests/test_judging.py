"""Test what an import proves or contradicts about a request."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from rolecall.access_requests import queries
from rolecall.access_requests.judging import FinishedImport, Judgement, imported_state, judge, reappeared_access
from rolecall.access_requests.model import NewPrivilege
from rolecall.accounts.model import Access
from rolecall.applications.model import Content
from rolecall.core.db import Db, execute
from rolecall.core.ids import new_id
from tests.builders import an_access_request, an_application, an_identity
from tests.holdings import a_finished_import, an_account

CLOSE = NewPrivilege(header="Books", permission="Close", requested_access=Access.MODIFY)
NO_CLOSE = NewPrivilege(header="Books", permission="Close", requested_access=Access.NONE)
POSTER = NewPrivilege(header="Role", permission="Posters")
ALL = (Content.USERS, Content.GROUPS, Content.MEMBERSHIPS, Content.PERMISSIONS)


@pytest.fixture
async def ledger(db: Db) -> UUID:
    return await an_application(db, "Ledger")


async def a_request(db: Db, ledger: UUID, name: str, action: str = "Change", **fields: Any) -> UUID:
    fields = {"privileges": [], **fields}
    id = await an_access_request(db, action, application_id=ledger, target_name=name, **fields)
    await execute(db, "UPDATE privileges SET approved_access = requested_access WHERE request_id = %(id)s", id=id)
    return id


def a_run(ledger: UUID, number: int, files: tuple[Content, ...] = ALL) -> FinishedImport:
    names = {content: [f"{content.lower()}.csv"] for content in files}
    return FinishedImport(new_id(), number, ledger, datetime.now(UTC), "Ada", None, names)


async def findings(db: Db, ledger: UUID, number: int, *ids: UUID, files: tuple[Content, ...] = ALL) -> list[Judgement]:
    """Judge all requests by the same import, as the closed loop does."""
    requests = {request.id: request for request in await queries.details(db, ids)}
    state = await imported_state(db, a_run(ledger, number, files), list(requests.values()))
    return [judge(requests[id], state) for id in ids]


async def found(db: Db, ledger: UUID, number: int, id: UUID, files: tuple[Content, ...] = ALL) -> Judgement:
    (finding,) = await findings(db, ledger, number, id, files=files)
    return finding


async def two_groups(db: Db, ledger: UUID, run: int) -> None:
    """Create the groups Posters, which has the permission Close, and Others, which does not; `bo` is in both."""
    held = (("Books", "Close", "Modify", "None"),)
    await an_account(db, ledger, "bo", None, groups=("Posters", "Others"), permissions=held, run=run)
    await execute(
        db,
        """INSERT INTO assignments SELECT g.number, s.permission_number, s.access, s.from_import, NULL, ''
           FROM assignments s, groups g WHERE g.name = 'Posters' AND g.application_id = %(id)s""",
        id=ledger,
    )


async def a_group_request(db: Db, ledger: UUID, name: str, action: str = "Change", *asked: NewPrivilege) -> UUID:
    return await a_request(db, ledger, name, action, identity_id=None, privileges=list(asked))


async def test_group_is_judged_by_what_it_holds_itself(db: Db, ledger: UUID) -> None:
    wiki, run = await an_application(db, "Wiki"), await a_finished_import(db, ledger)
    await two_groups(db, ledger, run)
    await an_account(db, wiki, "bo", None, groups=("Wikis", "Posters"), run=run)
    names = ("Posters", "Others", "Wikis")
    ids = [await a_group_request(db, ledger, name, "Change", CLOSE) for name in names]

    proved, other, elsewhere = await findings(db, ledger, run, *ids)

    assert (proved.is_proved, proved.contents) == (True, {Content.GROUPS, Content.PERMISSIONS})
    assert other.contradictions == ["Others does not have Books Close"]
    assert elsewhere.contradictions == ["Wikis does not exist"]


async def test_group_that_an_import_no_longer_shows_is_gone(db: Db, ledger: UUID) -> None:
    run = await a_finished_import(db, ledger)
    await two_groups(db, ledger, run)
    later = await a_finished_import(db, ledger)
    await execute(
        db,
        """UPDATE group_versions SET until_import = %(run)s
           WHERE group_number = (SELECT number FROM groups WHERE name = 'Others')""",
        run=later,
    )
    ids = [await a_group_request(db, ledger, name, "Remove") for name in ("Posters", "Others")]

    still_there, gone = await findings(db, ledger, later, *ids)

    assert still_there.contradictions == ["Posters still exists"]
    assert gone.is_proved
    # The previous import still shows Others.
    assert (await found(db, ledger, run, ids[1])).contradictions == ["Others still exists"]


async def test_files_decide_only_about_their_own_content(db: Db, ledger: UUID) -> None:
    run = await a_finished_import(db, ledger)
    await two_groups(db, ledger, run)
    group = await a_group_request(db, ledger, "Others", "Change", CLOSE)
    whole_group = await a_group_request(db, ledger, "Others", "Remove")
    user = await a_request(db, ledger, "bo", "Change", privileges=[CLOSE])

    by_permissions = await found(db, ledger, run, group, (Content.PERMISSIONS,))
    assert by_permissions.contradictions == ["Others does not have Books Close"]
    assert by_permissions.contents == {Content.PERMISSIONS}
    for id in (group, whole_group):
        finding = await found(db, ledger, run, id, (Content.USERS,))
        assert (finding.contradictions, finding.undecided, finding.contents) == ([], True, set())
    assert (await found(db, ledger, run, whole_group, (Content.PERMISSIONS,))).undecided
    assert (await found(db, ledger, run, user, (Content.PERMISSIONS,))).undecided
    assert (await found(db, ledger, run, user, (Content.USERS, Content.PERMISSIONS))).is_proved


@pytest.mark.parametrize("state", ["is_active = false", "is_locked = true"])
async def test_account_that_cannot_be_used_counts_as_suspended(db: Db, ledger: UUID, state: str) -> None:
    run = await a_finished_import(db, ledger)
    for name in ("ada", "bo"):
        await an_account(db, ledger, name, None, run=run)
    await execute(
        db,
        f"""UPDATE account_versions SET {state}
            WHERE account_number = (SELECT number FROM accounts WHERE username = 'ada')""",
    )
    ids = [await a_request(db, ledger, name, "Suspend") for name in ("ada", "bo")]

    suspended, active = await findings(db, ledger, run, *ids)

    assert suspended.is_proved
    assert active.contradictions == ["bo is still active"]


async def test_account_is_judged_in_its_own_application_and_import(db: Db, ledger: UUID) -> None:
    wiki, run = await an_application(db, "Wiki"), await a_finished_import(db, ledger)
    await an_account(db, wiki, "ada", None, run=run)
    await an_account(db, ledger, "bo", None, run=run)
    later = await a_finished_import(db, ledger)
    await execute(db, "UPDATE account_versions SET until_import = %(run)s", run=later)
    ids = [await a_request(db, ledger, name, "Remove") for name in ("ada", "bo")]

    assert [each.contradictions for each in await findings(db, ledger, run, *ids)] == [[], ["bo still exists"]]
    assert [each.contradictions for each in await findings(db, ledger, later, *ids)] == [[], []]


async def test_removed_account_must_be_gone_or_disabled_even_if_its_access_is_gone(db: Db, ledger: UUID) -> None:
    first, ada = await a_finished_import(db, ledger), await an_identity(db)
    await an_account(db, ledger, "ada", ada, groups=("Posters",), run=first)
    whole = await a_request(db, ledger, "ada", "Remove", identity_id=ada)
    no_posters = NewPrivilege(header="Group", permission="Posters", requested_access=Access.NONE)
    named = await a_request(db, ledger, "ada", "Remove", identity_id=ada, privileges=[no_posters])
    second = await a_finished_import(db, ledger)
    await execute(db, "UPDATE memberships SET until_import = %(run)s", run=second)

    active, without_access = await findings(db, ledger, second, whole, named)
    requests = await queries.details(db, [whole, named])
    state = await imported_state(db, a_run(ledger, second), requests)
    reappeared = {request.id: reappeared_access(request, state) for request in requests}
    await execute(db, "UPDATE account_versions SET is_active = false")

    assert all(len(request.target.privileges) == 1 for request in requests)
    assert active.contradictions == ["ada still exists"]
    assert without_access.is_proved
    assert reappeared == {whole: ["ada still exists"], named: []}
    assert (await found(db, ledger, second, whole)).is_proved


async def test_only_an_add_is_judged_by_another_account_of_the_person(db: Db, ledger: UUID) -> None:
    run, ada = await a_finished_import(db, ledger), await an_identity(db)
    await an_account(db, ledger, "lovelace01", ada, is_active=False, run=run)
    await an_account(db, ledger, "lovelace02", ada, run=run)
    actions = ("Add", "Change")
    ids = [await a_request(db, ledger, "ada", action, identity_id=ada) for action in actions]

    added, changed = await findings(db, ledger, run, *ids)

    # If a person has several accounts, the Add is judged by the first in order of username.
    assert added.contradictions == ["ada is not active"]
    assert changed.contradictions == ["ada does not exist"]


async def test_membership_is_recognized_by_the_nomenclature_of_its_group(db: Db, ledger: UUID) -> None:
    run = await a_finished_import(db, ledger)
    await an_account(db, ledger, "ada", None, groups=("Posters",), run=run)
    await an_account(db, ledger, "bo", None, groups=("Others",), run=run)
    await execute(db, "UPDATE group_versions SET nomenclature = 'Role'")
    ids = [await a_request(db, ledger, name, privileges=[POSTER]) for name in ("ada", "bo")]

    member, other = await findings(db, ledger, run, *ids, files=(Content.USERS, Content.MEMBERSHIPS))

    assert (member.is_proved, member.contents) == (True, {Content.USERS, Content.MEMBERSHIPS})
    assert other.contradictions == ["bo does not have Role Posters"]
    assert (await found(db, ledger, run, ids[1], (Content.USERS, Content.PERMISSIONS))).undecided


async def test_group_of_another_application_does_not_make_a_privilege_a_membership(db: Db, ledger: UUID) -> None:
    wiki, run = await an_application(db, "Wiki"), await a_finished_import(db, ledger)
    await an_account(db, wiki, "ada", None, groups=("Posters",), run=run)
    await an_account(db, ledger, "ada", None, groups=("Others",), run=run)
    await execute(db, "UPDATE group_versions SET nomenclature = 'Role'")
    id = await a_request(db, ledger, "ada", privileges=[POSTER])

    finding = await found(db, ledger, run, id)

    assert finding.contents == {Content.USERS, Content.PERMISSIONS}


@pytest.mark.parametrize(("held", "back"), [("Deny", []), ("Grant", ["ada still has Books Close"])])
async def test_only_granted_access_has_reappeared(db: Db, ledger: UUID, held: str, back: list[str]) -> None:
    run = await a_finished_import(db, ledger)
    await an_account(db, ledger, "ada", None, permissions=(("Books", "Close", held, "None"),), run=run)
    other = NewPrivilege(header="Books", permission="Open", requested_access=Access.MODIFY)
    id = await a_request(db, ledger, "ada", privileges=[NO_CLOSE, other])
    (request,) = await queries.details(db, [id])

    assert reappeared_access(request, await imported_state(db, a_run(ledger, run), [request])) == back


async def test_change_that_removed_nothing_has_no_drift(db: Db, ledger: UUID) -> None:
    run = await a_finished_import(db, ledger)
    id = await a_request(db, ledger, "ada", privileges=[CLOSE])
    (request,) = await queries.details(db, [id])

    assert reappeared_access(request, await imported_state(db, a_run(ledger, run), [request])) == []


async def test_remove_that_lowered_access_has_no_drift(db: Db, ledger: UUID) -> None:
    run = await a_finished_import(db, ledger)
    await an_account(db, ledger, "ada", None, permissions=(("Books", "Close", "Grant", "None"),), run=run)
    lowered = NewPrivilege(header="Books", permission="Close", requested_access=Access.GRANT)
    id = await a_request(db, ledger, "ada", "Remove", privileges=[lowered])
    (request,) = await queries.details(db, [id])

    assert reappeared_access(request, await imported_state(db, a_run(ledger, run), [request])) == []


def test_import_is_named_with_the_files_that_decided(ledger: UUID) -> None:
    run = a_run(ledger, 7)

    assert run.named({Content.PERMISSIONS, Content.USERS}) == "Import 7 (users.csv, permissions.csv)"
    assert run.named(set()) == "Import 7"
