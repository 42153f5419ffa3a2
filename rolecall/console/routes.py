from pathlib import Path

from litestar import Router
from litestar.static_files import create_static_files_router

from rolecall.console.screens import (
    access_models,
    applications,
    audit,
    events,
    home,
    identities,
    imports,
    requests,
    settings,
    signing_in,
    webhooks,
)

SCREENS = (
    signing_in,
    home,
    requests,
    events,
    identities,
    applications,
    imports,
    access_models,
    webhooks,
    audit,
    settings,
)
router = Router("/", route_handlers=[handler for each in SCREENS for handler in each.HANDLERS], tags=["Console"])
static = create_static_files_router(
    "/static", [Path(__file__).parent / "static"], include_in_schema=False, tags=["Console"]
)
