"""Run calls and their retries step by step, without a network."""

from typing import Any

import msgspec
import pytest

from rolecall.client import Conflict, Failed, Invalid, NotAllowed, NotFound, TooMany, Unavailable, calls
from rolecall.client.flows import Flow, Item, Lost, Outcome, Pause, Reply, Request, T, each, perform

ANSWER = Reply(200, b'{"approvalLeadDays": 7}', "c", "")
OUTAGE = Reply(503, b'{"error": "unavailable", "message": "The database is unreachable"}', "c", "5")


def follow(flow: Flow[T], *outcomes: Outcome) -> tuple[T, list[Request], list[float]]:
    """Run a flow with these outcomes of its requests; return its result, its requests and its pauses."""
    told, requests, pauses = iter(outcomes), [], []
    step = next(flow)
    while True:
        try:
            if isinstance(step, Pause):
                pauses.append(step.seconds)
                step = flow.send(None)
            else:
                requests.append(step)
                step = flow.send(next(told))
        except StopIteration as done:
            return done.value, requests, pauses


def test_lost_write_is_retried_with_the_same_idempotency_key() -> None:
    write = calls.change_settings(approval_lead_days=7)

    answer, requests, pauses = follow(perform(write, 30), Lost("reset"), Lost("refused"), ANSWER)

    assert answer == {"approvalLeadDays": 7}
    assert len({request.headers["Idempotency-Key"] for request in requests}) == 1
    assert len({request.headers["traceparent"] for request in requests}) == 1
    assert len(pauses) == 2
    assert pauses[0] < pauses[1]


def test_each_write_has_its_own_idempotency_key() -> None:
    write = calls.change_settings(approval_lead_days=7)

    keys = {follow(perform(write, 30), ANSWER)[1][0].headers["Idempotency-Key"] for _ in range(2)}

    assert len(keys) == 2


def test_outage_is_retried_after_the_requested_delay() -> None:
    _, _, pauses = follow(perform(calls.get_settings(), 30), OUTAGE, ANSWER)

    assert pauses == [5]


def test_retries_stop_after_the_patience_period() -> None:
    with pytest.raises(Unavailable) as failed:
        follow(perform(calls.get_settings(), 12), *[OUTAGE] * 9)
    assert str(failed.value) == "The database is unreachable"

    with pytest.raises(Unavailable, match="unreachable: refused") as lost:
        follow(perform(calls.get_settings(), 0), Lost("refused"))
    assert len(lost.value.correlation_id) == 32


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, NotAllowed),
        (403, NotAllowed),
        (404, NotFound),
        (409, Conflict),
        (413, Invalid),
        (429, TooMany),
        (500, Failed),
        (502, Failed),
    ],
)
def test_errors_are_typed_and_not_retried(status: int, error: type[Failed]) -> None:
    reply = Reply(status, b'{"error": "x", "message": "No"}', "4bf92f3577b34da6a3ce929d0e0e4736", "7")

    with pytest.raises(error, match="No") as raised:
        follow(perform(calls.get_settings(), 30), reply)

    assert type(raised.value) is error
    assert raised.value.correlation_id == "4bf92f3577b34da6a3ce929d0e0e4736"
    assert not isinstance(raised.value, TooMany) or raised.value.retry_after == 7


def test_response_without_json_is_reported_by_its_status() -> None:
    with pytest.raises(Failed, match="status 502"):
        follow(perform(calls.get_settings(), 30), Reply(502, b"<html>Bad gateway", "", ""))


def test_validation_error_lists_its_fields() -> None:
    problem = {"field": "name", "message": "Name is required"}
    body = msgspec.json.encode({"error": "validation_error", "message": "Broken", "errors": [problem]})

    with pytest.raises(Invalid) as raised:
        follow(perform(calls.get_settings(), 30), Reply(400, body, "c", ""))

    assert [msgspec.to_builtins(problem) for problem in raised.value.problems] == [problem]


def test_next_page_is_fetched_only_when_needed() -> None:
    def a_page(number: int) -> Reply:
        item: dict[str, Any] = {"id": "0192e4a0-7c1e-7000-8000-000000000001", "kind": "API Token"}
        item |= {"name": f"token {number}", "createdDate": "2026-12-01T00:00:00Z", "expiresOn": None}
        item |= {"lastUsedOn": None, "revokedOn": None}
        item |= {"scopes": [], "owner": None, "refusedScopes": [], "news": True}
        listed = {"items": [item], "totalCount": 2, "page": number, "pageSize": 1}
        return Reply(200, msgspec.json.encode({**listed, "totalPages": 2}), "c", "")

    flow = each(calls.list_tokens(), 30)

    first = next(flow)
    assert isinstance(first, Request)
    item = flow.send(a_page(1))
    assert isinstance(item, Item)
    assert item.value.name == "token 1"
    second = next(flow)
    assert isinstance(second, Request)
    assert (first.query["page"], second.query["page"]) == ("1", "2")
    flow.send(a_page(2))
    assert list(flow) == []
