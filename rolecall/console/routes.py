from litestar import Response, Router, get
from litestar.datastructures import CacheControlHeader
from litestar.static_files import create_static_files_router

from rolecall.console.rendering import STATIC
from rolecall.console.screens import (
    access,
    access_models,
    accounts,
    applications,
    audit,
    carriers,
    conflicts,
    connecting,
    drafts,
    duties,
    events,
    exports,
    home,
    identities,
    imports,
    notification_settings,
    notifications,
    reports,
    request_work,
    requests,
    review_coverage,
    review_proof,
    review_templates,
    review_work,
    reviews,
    settings,
    signing_in,
    sources,
    stand_ins,
    webhooks,
)

SCREENS = (
    signing_in,
    sources,
    carriers,
    home,
    requests,
    request_work,
    review_coverage,
    reviews,
    review_templates,
    review_work,
    review_proof,
    events,
    identities,
    access,
    accounts,
    connecting,
    applications,
    drafts,
    imports,
    access_models,
    duties,
    conflicts,
    reports,
    webhooks,
    audit,
    exports,
    notification_settings,
    notifications,
    stand_ins,
    settings,
)
router = Router("/", route_handlers=[handler for each in SCREENS for handler in each.HANDLERS], tags=["Console"])


@get("/favicon.ico", include_in_schema=False, sync_to_thread=False, tags=["Console"])
def favicon() -> Response[bytes]:
    """Serve the icon at its default URL, for pages that do not link to it."""
    caching = {"Cache-Control": "max-age=86400"}
    return Response((STATIC / "icon.svg").read_bytes(), media_type="image/svg+xml", headers=caching)


icon = Router("/", route_handlers=[favicon])
static = create_static_files_router(
    "/static",
    [STATIC],
    # Do not set `immutable`: during an upgrade, an old process may serve the old file under the URL of the new one.
    cache_control=CacheControlHeader(max_age=3600),
    include_in_schema=False,
    tags=["Console"],
)
