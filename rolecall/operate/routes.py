"""Serve metrics for Prometheus to programs on this machine, and to callers with `ROLECALL_METRICS_TOKEN`."""

import hmac
from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

from litestar import Response, Router, get

from rolecall.core import clock
from rolecall.core.config import Network
from rolecall.core.errors import Unauthorized
from rolecall.operate import metrics
from rolecall.web import limits
from rolecall.web.bodies import AnyRequest
from rolecall.web.proxies import is_among
from rolecall.web.services import Services

# Prometheus identifies its text format by this version.
_FORMAT = "text/plain; version=0.0.4"
# Headers that proxies add. A request with one of them does not count as local.
_PROXIED = {
    "cdn-loop",
    "client-ip",
    "forwarded",
    "true-client-ip",
    "via",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-host",
    "x-real-ip",
}
_PROXIED_BEGIN = (
    "x-forwarded",
    "x-original-",
    "x-envoy-",
    "x-amz",
    "x-azure-",
    "x-cloud-",
    "cf-",
    "fastly-",
    "akamai-",
)


@get("/metrics")
async def serve_metrics(request: AnyRequest) -> Response[bytes]:
    services: Services = request.app.state.services
    now = clock.now()
    if not _is_local(request, services.config.trusted_proxies) and not _has_token(
        request, services.config.metrics_token
    ):
        services.failures.count(request.client and request.client.host, limits.FAILED_AUTHENTICATIONS, now)
        raise Unauthorized
    # Include all requests that this process has answered; other processes add theirs every few seconds.
    await services.request_times.keep(services.pool)
    async with services.pool.connection() as db:
        told = metrics.exposition(await metrics.gather(db, now))
    return Response(told, media_type=_FORMAT)


def _is_local(request: AnyRequest, proxies: Sequence[Network]) -> bool:
    """Return whether a program on this machine, other than a proxy, sent the request."""
    if request.client is None or is_among(request.client.host, proxies) or any(map(_is_of_a_proxy, request.headers)):
        return False
    # Prevent DNS rebinding: a site whose name resolves to this machine sends its own name as Host.
    return _is_loopback(request.client.host) and _is_loopback(_name(request.headers.getall("host", [])))


def _is_of_a_proxy(header: str) -> bool:
    return header.lower() in _PROXIED or header.lower().startswith(_PROXIED_BEGIN)


def _name(hosts: Sequence[str]) -> str:
    """Return the host without its port, or "" if it is missing, repeated or invalid."""
    if len(hosts) != 1 or "@" in hosts[0]:
        return ""
    try:
        parts = urlsplit(f"//{hosts[0]}")
        # Reading an invalid port raises ValueError; `hostname` alone would accept `127.0.0.1:evil.example`.
        return parts.hostname or "" if parts.port is None or parts.port else ""
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    # A dual-stack socket reports IPv4 clients as ::ffff:127.0.0.1, which Python 3.11 does not count as loopback.
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def _has_token(request: AnyRequest, token: str | None) -> bool:
    given = request.headers.get("authorization", "")
    return token is not None and hmac.compare_digest(given.encode(), f"Bearer {token}".encode())


router = Router("/", route_handlers=[serve_metrics], include_in_schema=False)
