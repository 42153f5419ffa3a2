import re

import httpx2
import pytest

from rolecall.web.edge import redacted

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"


async def correlation_id(client: httpx2.AsyncClient, **headers: str) -> str:
    answer = await client.get("/api/identities", headers=headers)
    assert answer.status_code == 200
    return str(answer.headers["x-correlation-id"])


async def test_every_response_has_its_own_correlation_id(client: httpx2.AsyncClient) -> None:
    ids = {await correlation_id(client) for _ in range(3)}

    assert len(ids) == 3
    assert all(re.fullmatch("[0-9a-f]{32}", id) for id in ids)


@pytest.mark.parametrize("traceparent", [f"00-{TRACE}-{SPAN}-01", f"01-{TRACE}-{SPAN}-00-more"])
async def test_traceparent_supplies_the_correlation_id(client: httpx2.AsyncClient, traceparent: str) -> None:
    assert await correlation_id(client, traceparent=traceparent) == TRACE


@pytest.mark.parametrize(
    "traceparent",
    [
        "",
        TRACE,
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01 <script>",
        "<script>alert(1)</script>",
    ],
)
async def test_invalid_traceparent_is_never_echoed(client: httpx2.AsyncClient, traceparent: str) -> None:
    id = await correlation_id(client, traceparent=traceparent, **{"X-Correlation-Id": "mine"})

    assert re.fullmatch("[0-9a-f]{32}", id)
    assert id != TRACE


async def test_error_body_repeats_the_correlation_id(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/nowhere", headers={"traceparent": f"00-{TRACE}-{SPAN}-01"})

    assert answer.headers["x-correlation-id"] == answer.json()["correlationId"] == TRACE


@pytest.mark.parametrize("path", ["/sign-in/hush", "//sign-in///hush", "/webhooks//callback/hush"])
def test_log_of_a_request_omits_the_secret_in_its_path(path: str) -> None:
    assert redacted(path) in ("/sign-in/…", "/webhooks/callback/…")
