"""The OpenAPI document, made from the operations themselves."""

import re
from collections.abc import Iterator

import msgspec
from litestar import Litestar
from litestar.enums import HttpMethod
from litestar.routes import HTTPRoute

from rolecall.web.operations import Operation


class Route(msgspec.Struct, frozen=True):
    """A path as the document writes it, a method, and what is known of the operation there."""

    path: str
    method: str
    name: str
    tags: list[str]
    operation: Operation | None


def routes_of(app: Litestar) -> Iterator[Route]:
    """Every route that is served, OPTIONS apart."""
    for route in app.routes:
        for handler in route.route_handlers if isinstance(route, HTTPRoute) else ():
            for method in handler.http_methods - {HttpMethod.OPTIONS}:
                path = re.sub(r"\{(\w+):\w+\}", r"{\1}", route.path)
                tags = [tag for layer in handler.ownership_layers for tag in layer.tags or ()]
                yield Route(path, method, handler.handler_name, tags, handler.opt.get("operation"))
