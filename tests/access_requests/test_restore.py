"""Test that Restore gives back suspended access only once, and at most the access that is still approved."""

from typing import Any

import httpx2
import pytest

from rolecall.access_requests.enrichment import enrich
from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.access_requests.request_body import read_request
from rolecall.applications.queries import with_mentioned_applications
from rolecall.core.checking import Facts
from rolecall.core.db import Db, execute
from rolecall.identities.queries import with_mentioned_identities
from rolecall.settings.policy import Level, RequestAction
from tests.access_requests.fitting import Cast, a_ledger_cast, approvers, ask, asked, named, suspended
from tests.access_requests.walking import done
from tests.counting import counting
from tests.holdings import a_finished_import, a_rollback, an_account


@pytest.fixture
async def cast(db: Db) -> Cast:
    return await a_ledger_cast(db)


async def test_restore_of_access_that_was_not_suspended_is_rejected(client: httpx2.AsyncClient, cast: Cast) -> None:
    whole = await ask(client, cast, "Restore")
    one = await ask(client, cast, "Restore", named("Close", "Grant"))
    # A suspension that was not provisioned took nothing away.
    await ask(client, cast, "Suspend", named("Close"))
    waiting = await ask(client, cast, "Restore", named("Close"))

    assert whole["errors"] == [{"field": "action", "message": "ada is not suspended"}]
    not_suspended = [{"field": "privileges.0.access", "message": "Books Close of ada is not suspended"}]
    assert one["errors"] == waiting["errors"] == not_suspended


async def test_restore_gives_back_exactly_what_was_suspended(client: httpx2.AsyncClient, cast: Cast) -> None:
    await suspended(client, cast, named("Post"), named("Read"))

    more = await ask(client, cast, "Restore", named("Post", "Unrestricted"), named("Close", "Grant"), named("Read"))
    request = await ask(client, cast, "Restore")

    assert more["errors"] == [
        {"field": "privileges.0.access", "message": "Access must be Modify, the access that can be restored"},
        {"field": "privileges.1.access", "message": "Books Close of ada is not suspended"},
    ]
    assert asked(request) == [("Post", "Modify", "Modify"), ("Read", "Grant", "Grant")]


async def test_restore_looks_up_its_target_once(
    client: httpx2.AsyncClient, cast: Cast, clean_database: str, facts: Facts
) -> None:
    await suspended(client, cast)
    raw = {"applicationId": str(cast.ledger), "identityId": str(cast.ada), "privileges": [named("Post")]}

    async with counting(clean_database) as counts:
        known = await with_mentioned_identities(counts.db, facts, raw)
        known = await with_mentioned_applications(counts.db, known, raw)
        remove = await counts.of(read_request(counts.db, {**raw, "action": "Remove"}, known))
        restore = await counts.of(read_request(counts.db, {**raw, "action": "Restore"}, known))

    # The two additional statements read the suspensions, and the identity to check that it is active.
    assert restore == remove + 2


async def test_restore_outside_an_event_is_approved_like_an_add(client: httpx2.AsyncClient, cast: Cast) -> None:
    await suspended(client, cast)

    modest = await ask(client, cast, "Restore", named(" READ "))
    rest = await ask(client, cast, "Restore")

    assert (modest["status"], asked(modest)) == ("Pending", [("Read", "Grant", "Grant")])
    assert [name for name, _, _ in asked(rest)] == ["Clerks", "Close", "Post", "Void"]
    # The account has access with a high risk, so the owner must approve too.
    assert approvers(modest) == approvers(rest) == ["Bo Boss", "Olga Owner"]


async def test_restore_is_as_risky_as_the_account_that_it_enables(
    client: httpx2.AsyncClient, db: Db, cast: Cast
) -> None:
    """A carrier enables the account, and access that the Restore does not name comes back with it."""
    await suspended(client, cast, named("Read"))
    held = await ask(client, cast, "Restore", named("Read"))
    await execute(db, "UPDATE assignments SET until_import = from_import + 1")
    nothing = await ask(client, cast, "Restore", named("Read"))
    await done(client, held["id"], "cancel")
    alone = await ask(client, cast, "Restore", named("Read"))

    assert approvers(held) == ["Bo Boss", "Olga Owner"]
    assert "errors" in nothing
    assert approvers(alone) == ["Bo Boss"]


async def test_restore_is_as_risky_as_all_that_was_suspended(client: httpx2.AsyncClient, db: Db, cast: Cast) -> None:
    """An export may omit the access of disabled accounts."""
    await suspended(client, cast)
    await execute(db, "UPDATE assignments SET until_import = from_import + 1")

    assert approvers(await ask(client, cast, "Restore", named("Read"))) == ["Bo Boss", "Olga Owner"]


async def test_end_of_a_leave_is_as_risky_as_the_account_that_it_enables(db: Db, cast: Cast) -> None:
    asked_for = NewPrivilege(header="Books", permission="Read")
    of_ledger: Any = {"application_id": cast.ledger, "identity_id": cast.ada, "privileges": [asked_for]}

    news = [NewRequest(action=action, **of_ledger) for action in (RequestAction.RESTORE, RequestAction.CHANGE)]

    assert [new.risk() for new in await enrich(db, news)] == [Level.CRITICAL, Level.NONE]


async def test_addition_is_as_risky_as_a_disabled_account_that_it_enables(db: Db, cast: Cast) -> None:
    new = NewRequest(action=RequestAction.ADD, application_id=cast.ledger, identity_id=cast.ada)
    (active,) = await enrich(db, [new])
    await execute(db, "UPDATE account_versions SET is_active = false")
    (disabled,) = await enrich(db, [new])

    assert (active.risk(), disabled.risk()) == (Level.NONE, Level.CRITICAL)


async def test_access_that_was_restored_or_removed_cannot_be_restored(client: httpx2.AsyncClient, cast: Cast) -> None:
    await suspended(client, cast, named("Post"), named("Read"), named("Close"))
    restored = await ask(client, cast, "Restore", named("Post"))
    await ask(client, cast, "Remove", named("Close"))

    again = await ask(client, cast, "Restore", named("Post"))
    rest = await ask(client, cast, "Restore")
    await done(client, restored["id"], "cancel")
    after_cancel = await ask(client, cast, "Restore", named("Post"))

    assert again["errors"] == [{"field": "privileges.0.access", "message": "Books Post of ada is not suspended"}]
    assert asked(rest) == [("Read", "Grant", "Grant")]
    assert asked(after_cancel) == [("Post", "Modify", "Modify")]


async def test_everything_suspended_is_restored_in_the_order_it_was_suspended(
    client: httpx2.AsyncClient, db: Db, cast: Cast
) -> None:
    await an_account(db, cast.ledger, "bo", cast.bo, groups=("Posters",))
    await ask(client, cast, "Suspend", identityId=str(cast.bo))
    await suspended(client, cast, named("Post"))
    await suspended(client, cast, named("Close"), named("Read"))

    request = await ask(client, cast, "Restore")

    assert [name for name, *_ in asked(request)] == ["Post", "Close", "Read"]


async def test_privilege_is_restored_once_in_any_spelling(client: httpx2.AsyncClient, cast: Cast) -> None:
    await suspended(client, cast, named("Post"))

    answer = await ask(client, cast, "Restore", named("Post"), named("POST"))

    assert answer["errors"] == [{"field": "privileges", "message": "Privileges must not name a permission twice"}]


async def test_account_without_privileges_is_restored_once(client: httpx2.AsyncClient, db: Db, cast: Cast) -> None:
    refused = [{"field": "action", "message": "ada is not suspended"}]
    await execute(db, "DELETE FROM memberships")
    await execute(db, "DELETE FROM assignments")
    assert (await ask(client, cast, "Restore"))["errors"] == refused
    await suspended(client, cast)
    await ask(client, cast, "Change", named("Post", "Grant"))

    restored = await ask(client, cast, "Restore")
    assert (restored["status"], asked(restored)) == ("Pending", [])
    assert (await ask(client, cast, "Restore"))["errors"] == refused
    await done(client, restored["id"], "cancel")
    canceled = await ask(client, cast, "Restore")
    await done(client, canceled["id"], "cancel")
    await ask(client, cast, "Remove")
    assert (await ask(client, cast, "Restore"))["errors"] == refused


async def test_restore_gives_back_at_most_what_is_still_approved(client: httpx2.AsyncClient, cast: Cast) -> None:
    await suspended(client, cast, named("Post"), named("Close"), named("Read"))
    await ask(client, cast, "Change", named("Post", "Grant"))
    lowered = await ask(client, cast, "Change", named("Close", "Grant"))
    await done(client, lowered["id"], "respond", type="Approve", response="Approved", reviewerId=str(cast.bo))
    waiting = await ask(client, cast, "Change", named("Read", "Unrestricted"))

    more = await ask(client, cast, "Restore", named("Close", "Unrestricted"))
    rest = await ask(client, cast, "Restore")

    assert waiting["status"] == "Pending"
    assert more["errors"] == [
        {"field": "privileges.0.access", "message": "Access must be Grant, the access that can be restored"}
    ]
    assert [(name, given) for name, _, given in asked(rest)] == [
        ("Post", "Grant"),
        ("Close", "Grant"),
        ("Read", "Grant"),
    ]


async def test_access_that_was_approved_again_after_a_removal_can_be_restored(
    client: httpx2.AsyncClient, cast: Cast
) -> None:
    await suspended(client, cast, named("Read"))
    await ask(client, cast, "Remove", named("Read"))
    assert "errors" in await ask(client, cast, "Restore", named("Read"))
    given = await ask(client, cast, "Change", named("Read", "Unrestricted"))
    await done(client, given["id"], "respond", type="Approve", response="Approved", reviewerId=str(cast.bo))

    assert asked(await ask(client, cast, "Restore", named("Read")))[0][2] == "Grant"


async def test_pending_request_does_not_replace_the_last_approval_for_a_restore(
    client: httpx2.AsyncClient, cast: Cast
) -> None:
    await suspended(client, cast, named("Close"))
    lowered = await ask(client, cast, "Change", named("Close", "Grant"))
    await done(client, lowered["id"], "respond", type="Approve", response="Approved", reviewerId=str(cast.bo))
    waiting = await ask(client, cast, "Change", named("Close", "Modify"))

    assert waiting["status"] == "Pending"
    assert asked(await ask(client, cast, "Restore", named("Close")))[0][2] == "Grant"


async def test_access_of_a_removed_account_cannot_be_restored(client: httpx2.AsyncClient, db: Db, cast: Cast) -> None:
    await suspended(client, cast)
    # After the next import the suspended account holds no access.
    await execute(db, "DELETE FROM memberships")
    await execute(db, "DELETE FROM assignments")
    await ask(client, cast, "Remove")

    answer = await ask(client, cast, "Restore", named("Post"))

    assert answer["errors"] == [{"field": "privileges.0.access", "message": "Books Post of ada is not suspended"}]


async def test_access_is_not_restored_after_the_account_was_removed_with_other_access(
    client: httpx2.AsyncClient, db: Db, cast: Cast
) -> None:
    await suspended(client, cast, named("Post"))
    await execute(
        db,
        "DELETE FROM assignments WHERE permission_number = (SELECT number FROM permissions WHERE permission = 'Post')",
    )
    removal = await ask(client, cast, "Remove")

    answer = await ask(client, cast, "Restore", named("Post"))
    await done(client, removal["id"], "cancel")
    after_cancel = await ask(client, cast, "Restore", named("Post"))

    assert "Post" not in {name for name, _, _ in asked(removal)}
    assert answer["errors"] == [{"field": "privileges.0.access", "message": "Books Post of ada is not suspended"}]
    assert asked(after_cancel) == [("Post", "None", "Modify")]


@pytest.mark.parametrize("removed", [(), (named("Post"),)])
async def test_access_is_not_restored_if_a_removal_requested_before_the_suspension_is_completed_after_it(
    client: httpx2.AsyncClient, cast: Cast, removed: tuple[dict[str, str], ...]
) -> None:
    removal = await ask(client, cast, "Remove", *removed)
    await suspended(client, cast, named("Post"))
    pending = await ask(client, cast, "Restore", named("Post"))
    await done(client, removal["id"], "resolve")
    resolved = await ask(client, cast, "Restore", named("Post"))

    not_suspended = [{"field": "privileges.0.access", "message": "Books Post of ada is not suspended"}]
    assert pending["errors"] == resolved["errors"] == not_suspended


@pytest.mark.parametrize("removed", [(), (named("Post"),)])
async def test_access_is_not_restored_if_it_was_removed_after_the_import_that_the_suspension_read(
    client: httpx2.AsyncClient, cast: Cast, removed: tuple[dict[str, str], ...]
) -> None:
    removal = await ask(client, cast, "Remove", *removed)
    await done(client, removal["id"], "resolve")
    await suspended(client, cast, named("Post"))

    answer = await ask(client, cast, "Restore", named("Post"))

    assert answer["errors"] == [{"field": "privileges.0.access", "message": "Books Post of ada is not suspended"}]


async def test_access_can_be_restored_if_an_import_after_a_removal_still_had_it(
    client: httpx2.AsyncClient, db: Db, cast: Cast
) -> None:
    removal = await ask(client, cast, "Remove", named("Post"))
    await done(client, removal["id"], "resolve")
    await a_finished_import(db, cast.ledger)
    await suspended(client, cast, named("Post"))

    assert asked(await ask(client, cast, "Restore", named("Post"))) == [("Post", "Modify", "Modify")]


@pytest.mark.parametrize("kind", ["held", "rollback", "undone"])
async def test_access_is_not_restored_if_the_data_was_older_than_its_removal(
    client: httpx2.AsyncClient, db: Db, cast: Cast, kind: str
) -> None:
    """Test an import that was held until after the removal, a rollback, and an import that a rollback undid."""
    held = await a_finished_import(db, cast.ledger) if kind == "held" else None
    removal = await ask(client, cast, "Remove", named("Post"))
    await done(client, removal["id"], "resolve")
    if held:
        ended = "UPDATE application_imports SET build_end = clock_timestamp() WHERE number = %(number)s"
        await execute(db, ended, number=held)
    else:
        if kind == "undone":
            await a_finished_import(db, cast.ledger)
        await a_rollback(db, cast.ledger)
    await suspended(client, cast, named("Post"))

    answer = await ask(client, cast, "Restore", named("Post"))

    assert answer["errors"] == [{"field": "privileges.0.access", "message": "Books Post of ada is not suspended"}]


async def test_access_is_restored_after_a_suspension_that_an_earlier_restore_did_not_undo(
    client: httpx2.AsyncClient, cast: Cast
) -> None:
    await suspended(client, cast, named("Read"))
    earlier = await ask(client, cast, "Restore", named("Read"))
    second = await ask(client, cast, "Suspend", named("Read"), named("Post"))
    for reviewer in (cast.bo, cast.olga):
        await done(client, earlier["id"], "respond", type="Approve", response="Approved", reviewerId=str(reviewer))
    await done(client, earlier["id"], "resolve")
    await done(client, second["id"], "resolve")

    assert asked(await ask(client, cast, "Restore", named("Read"))) == [("Read", "Grant", "Grant")]


async def test_suspension_of_one_account_does_not_restore_another(
    client: httpx2.AsyncClient, db: Db, cast: Cast
) -> None:
    await an_account(db, cast.ledger, "ada.admin", cast.ada)
    await suspended(client, cast, named("Post"), targetName="ada")

    answer = await ask(client, cast, "Restore", named("Post"), targetName="ada.admin")

    assert answer["errors"][0]["message"] == "Books Post of ada.admin is not suspended"


async def test_suspended_group_can_be_restored(client: httpx2.AsyncClient, db: Db, cast: Cast) -> None:
    await execute(db, "UPDATE assignments SET holder_number = (SELECT number FROM groups)")
    await suspended(client, cast, named("Close"), group="Clerks")

    request = await ask(client, cast, "Restore", group="clerks")

    assert asked(request) == [("Close", "Unrestricted", "Unrestricted")]
    assert approvers(request)
