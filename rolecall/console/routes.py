from litestar import Router
from litestar.datastructures import CacheControlHeader
from litestar.static_files import create_static_files_router

from rolecall.console.rendering import STATIC
from rolecall.console.screens import (
    access,
    access_models,
    accounts,
    applications,
    audit,
    conflicts,
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
    home,
    requests,
    review_coverage,
    reviews,
    review_templates,
    review_work,
    review_proof,
    events,
    identities,
    access,
    accounts,
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
static = create_static_files_router(
    "/static",
    [STATIC],
    # Not immutable: during an upgrade, a process of the old version may serve the URL of the new file.
    cache_control=CacheControlHeader(max_age=3600),
    include_in_schema=False,
    tags=["Console"],
)
