"""Metrics for Prometheus: open to this machine, and to whoever has the token that was set for them."""

import hmac
from ipaddress import IPv6Address, ip_address

from litestar import Response, Router, get

from rolecall.core import clock
from rolecall.core.errors import Unauthorized
from rolecall.operate import metrics
from rolecall.web import limits
from rolecall.web.bodies import AnyRequest
from rolecall.web.services import Services

_FORMAT = "text/plain; version=0.0.4"
_FORWARDED = ("x-forwarded-for", "forwarded")


@get("/metrics", opt={"open": True})
async def tell_metrics(request: AnyRequest) -> Response[bytes]:
    services: Services = request.app.state.services
    now = clock.now()
    if not _is_local(request) and not _has_token(request, services.config.metrics_token):
        services.failures.count(request.client and request.client.host, limits.FAILED_AUTHENTICATIONS, now)
        raise Unauthorized
    await services.request_times.keep(services.pool)
    async with services.pool.connection() as db:
        told = metrics.exposition(await metrics.gather(db, now))
    return Response(told, media_type=_FORMAT)


def _is_local(request: AnyRequest) -> bool:
    """What a proxy on this machine passes on comes from elsewhere."""
    if request.client is None or any(name in request.headers for name in _FORWARDED):
        return False
    try:
        address = ip_address(request.client.host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def _has_token(request: AnyRequest, token: str | None) -> bool:
    given = request.headers.get("authorization", "")
    return token is not None and hmac.compare_digest(given.encode(), f"Bearer {token}".encode())


router = Router("/", route_handlers=[tell_metrics], include_in_schema=False)
