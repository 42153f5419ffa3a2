from datetime import UTC, datetime
from ipaddress import ip_network

import httpx2
import msgspec
import pytest

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.web import limits
from rolecall.web.proxies import sender
from tests.asgi import serving

INSIDE = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


@pytest.mark.parametrize(
    ("peer", "forwarded", "asked_by"),
    [
        ("10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "1.2.3.4, 198.51.100.7, 10.0.0.2", "198.51.100.7"),
        ("fd00::1", "2001:db8::7", "2001:db8::7"),
        ("10.0.0.1", "10.0.0.9", "10.0.0.9"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "somebody", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.7, <script>", "10.0.0.1"),
        ("203.0.113.5", "198.51.100.7", "203.0.113.5"),
    ],
)
def test_client_is_the_nearest_address_that_is_not_a_trusted_proxy(peer: str, forwarded: str, asked_by: str) -> None:
    assert sender(peer, forwarded, INSIDE) == asked_by


async def failures_until_refused(client: httpx2.AsyncClient) -> int:
    """Send requests without a token, each with a new claimed address; count those before the first rate-limited one."""
    clock.travel_to(datetime(2030, 1, 1, tzinfo=UTC))
    for n in range(limits.FAILED_AUTHENTICATIONS + 2):
        headers = {"X-Forwarded-For": f"198.51.100.{n % 250}", "Forwarded": f"for=198.51.100.{n % 250}"}
        if (await client.get("/api/identities", headers=headers)).status_code == 429:
            break
    return n


async def test_forged_forwarding_header_does_not_bypass_the_limit(
    config: Config, anonymous: httpx2.AsyncClient
) -> None:
    assert await failures_until_refused(anonymous) == limits.FAILED_AUTHENTICATIONS


async def test_clients_behind_a_trusted_proxy_have_separate_limits(config: Config) -> None:
    trusting = msgspec.structs.replace(config, trusted_proxies=(ip_network("127.0.0.0/8"),))
    async with serving(trusting) as client:
        assert await failures_until_refused(client) == limits.FAILED_AUTHENTICATIONS + 1
