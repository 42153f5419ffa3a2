from pathlib import Path

from litestar import Router
from litestar.static_files import create_static_files_router

from rolecall.console.screens import requests, signing_in

router = Router("/", route_handlers=[*signing_in.HANDLERS, *requests.HANDLERS], tags=["Console"])
static = create_static_files_router(
    "/static", [Path(__file__).parent / "static"], include_in_schema=False, tags=["Console"]
)
