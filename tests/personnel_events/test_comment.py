import httpx2

from rolecall.core.db import Db
from tests.builders import an_identity
from tests.personnel_events.bodies import EVENTS, created, day


async def test_comments_are_listed_in_order_with_their_author(client: httpx2.AsyncClient, db: Db) -> None:
    event = await created(client, "offboard", identityId=str(await an_identity(db)), effectiveDate=day(3))

    for content in ("First", "Second"):
        answer = await client.post(f"{EVENTS}/{event['id']}/comment", json={"content": content})
        assert answer.status_code == 200

    comments = answer.json()["comments"]
    assert [(comment["author"], comment["content"]) for comment in comments] == [
        ("API Token - tests", "First"),
        ("API Token - tests", "Second"),
    ]


async def test_comment_without_content_is_rejected(client: httpx2.AsyncClient, db: Db) -> None:
    event = await created(client, "offboard", identityId=str(await an_identity(db)), effectiveDate=day(3))

    for body in ({}, {"content": "  "}):
        answer = await client.post(f"{EVENTS}/{event['id']}/comment", json=body)
        assert answer.status_code == 400
        assert answer.json()["errors"] == [{"field": "content", "message": "Content is required"}]
