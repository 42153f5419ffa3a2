from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import httpx2
import pytest

from rolecall.access_requests import actions, moving
from rolecall.access_requests.permitted import OWN_REQUEST
from rolecall.core.caller import Caller
from rolecall.core.db import Db, fetch_rows
from rolecall.core.errors import Conflict
from tests.access_requests.walking import a_cast, a_request_that_is, body_of, detail_of, do, done, events_of
from tests.builders import an_access_request, an_application, an_identity, facts
from tests.stand_ins.standing_in import caller_of

VERBS = ["respond", "assign", "resolve", "verify", "reopen", "snooze", "resume", "cancel", "comment"]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("id", ["00000000-0000-7000-8000-000000000000", "seven"])
async def test_verb_on_an_unknown_request_is_not_found(client: httpx2.AsyncClient, verb: str, id: str) -> None:
    answer = await do(client, id, verb)

    assert answer.status_code == 404
    assert answer.json()["message"] == f"AccessRequest with id {id} not found"


async def test_verb_accepts_a_missing_body(client: httpx2.AsyncClient, db: Db) -> None:
    id = await a_request_that_is(client, db, "Open", await a_cast(db))

    answer = await client.post(f"/api/access-requests/{id}/resolve")

    assert answer.status_code == 200
    assert answer.json()["status"] == "Resolved"


async def test_comment_sent_with_a_verb_is_part_of_the_event(client: httpx2.AsyncClient, db: Db) -> None:
    id = await a_request_that_is(client, db, "Open", await a_cast(db))

    await done(client, id, "resolve", comment="Ticket 4711")

    (comment,) = (await events_of(db, id))[-1]["request"]["comments"]
    assert (comment["author"], comment["content"]) == ("API Token - tests", "Ticket 4711")


@pytest.mark.parametrize(
    ("status", "verb"),
    [
        ("Open", "assign"),
        ("Open", "snooze"),
        ("Open", "resolve"),
        ("Resolved", "verify"),
        ("Resolved", "reopen"),
        ("Snoozed", "resume"),
        ("Pending", "cancel"),
        ("Pending", "reject"),
    ],
)
async def test_comment_can_be_given_with_every_verb(client: httpx2.AsyncClient, db: Db, status: str, verb: str) -> None:
    cast = await a_cast(db)
    id = await a_request_that_is(client, db, status, cast)
    path, body = body_of(verb, cast)

    request = await done(client, id, path, **body, comment="Ticket 4711")

    assert [comment["content"] for comment in request["comments"]] == ["Ticket 4711"]


async def test_verb_checks_the_status_of_its_own_request(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    ids = {status: await a_request_that_is(client, db, status, cast) for status in ("Open", "Canceled", "Snoozed")}

    refused = await do(client, ids["Canceled"], "snooze", until="2099-01-01")
    resumed = await done(client, ids["Snoozed"], "resume")
    snoozed = await done(client, ids["Open"], "snooze", until="2099-01-01")

    assert refused.json()["message"] == "An access request that is Canceled cannot be snoozed"
    assert (resumed["status"], snoozed["status"]) == ("Open", "Snoozed")


async def test_activity_of_a_verb_is_never_earlier_than_previous_activity(client: httpx2.AsyncClient, db: Db) -> None:
    """A verb's time is taken before it waits for the lock, so it may be earlier than the last entry's time."""
    id = await an_access_request(db, now=datetime(2099, 1, 1, tzinfo=UTC))

    request = await done(client, id, "cancel", comment="A pity")

    times = [entry["createdDate"] for entry in (request["activity"][-1], request["comments"][-1])]
    assert [*times, request["canceledOn"]] == ["2099-01-01T00:00:00Z"] * 3


@pytest.mark.parametrize("comment", ["", " \n", "\u200b"])
async def test_blank_comment_sent_with_a_verb_is_ignored(client: httpx2.AsyncClient, db: Db, comment: str) -> None:
    id = await a_request_that_is(client, db, "Open", await a_cast(db))

    request = await done(client, id, "resolve", comment=comment)

    assert (request["status"], request["comments"]) == ("Resolved", [])


async def test_comment_is_allowed_in_any_status_and_does_not_change_it(client: httpx2.AsyncClient, db: Db) -> None:
    id = await a_request_that_is(client, db, "Canceled", await a_cast(db))
    before = await detail_of(client, id)

    after = await done(client, id, "comment", content="A pity")

    assert [comment["content"] for comment in after.pop("comments")] == ["A pity"]
    assert after.pop("status") == "Canceled"
    assert after.items() <= before.items()


async def test_comment_without_content_is_rejected(client: httpx2.AsyncClient, db: Db) -> None:
    id = await a_request_that_is(client, db, "Pending", await a_cast(db))

    answer = await do(client, id, "comment", content="  ")

    assert answer.json()["errors"] == [{"field": "content", "message": "Content is required"}]


async def test_assignee_must_be_an_active_identity(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    id = await a_request_that_is(client, db, "Pending", cast)
    nobody = str(uuid4())
    await db.execute("UPDATE identities SET status = 'Disabled' WHERE id = %s", (cast.peter,))

    missing = await do(client, id, "assign")
    unknown = await do(client, id, "assign", assigneeId=nobody)
    disabled = await do(client, id, "assign", assigneeId=cast.peter)
    assigned = await done(client, id, "assign", assigneeId=cast.grace)

    assert missing.json()["errors"] == [{"field": "assigneeId", "message": "Assignee ID is required"}]
    assert unknown.json()["errors"] == [{"field": "assigneeId", "message": f"Identity with id {nobody} not found"}]
    assert disabled.json()["errors"] == [
        {"field": "assigneeId", "message": "Peter Naur is Disabled; assign an active person"}
    ]
    assert assigned["assignee"] == {"id": cast.grace, "name": "Grace Hopper"}
    assert assigned["activity"][-1]["content"] == "Assigned to Grace Hopper"


async def test_request_can_be_snoozed_only_until_a_future_time(client: httpx2.AsyncClient, db: Db) -> None:
    id = await a_request_that_is(client, db, "Open", await a_cast(db))
    past = (datetime.now(UTC) - timedelta(minutes=1)).isoformat()

    early = await do(client, id, "snooze", until=past)
    snoozed = await done(client, id, "snooze", until="2099-01-01")

    assert early.json()["errors"] == [{"field": "until", "message": "Until must be in the future"}]
    assert snoozed["activity"][-1]["content"] == "Snoozed until 2099-01-01T00:00:00Z"


@pytest.mark.parametrize(("status", "verb"), [("Open", actions.resolve), ("Resolved", actions.verify)])
async def test_affected_person_cannot_decide_their_own_request(
    client: httpx2.AsyncClient, db: Db, status: str, verb: object
) -> None:
    cast = await a_cast(db)
    id = await a_request_that_is(client, db, status, cast)
    before = await detail_of(client, id)
    ada = Caller(UUID(cast.ada), "Ada Lovelace", frozenset())

    with pytest.raises(Conflict, match=OWN_REQUEST):
        await verb(db, ada, id, {}, facts())  # type: ignore[operator]

    assert await detail_of(client, id) == before


async def test_response_is_recorded_for_the_person_who_resolves_and_for_no_other_reviewer(db: Db) -> None:
    peter, quinn, sam = [await an_identity(db, *name.split()) for name in ("Peter Naur", "Quinn Day", "Sam Else")]
    application = await an_application(db, provisionerIds=[str(peter), str(quinn)])

    async def resolved_by(person: UUID) -> list[tuple[str, str]]:
        id = await an_access_request(db, "Remove", application_id=application)
        async with db.transaction():
            await moving.resolve(db, [id], await caller_of(db, person), datetime.now(UTC))
        return await fetch_rows(
            db,
            """SELECT reviewer_name, response FROM responses
               WHERE request_id = %(id)s AND type = 'Resolve' ORDER BY position""",
            id=id,
        )

    assert await resolved_by(quinn) == [("Peter Naur", "Pending"), ("Quinn Day", "Approved")]
    assert await resolved_by(sam) == [("Peter Naur", "Pending"), ("Quinn Day", "Pending"), ("Sam Else", "Approved")]
