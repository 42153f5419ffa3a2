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


def routes_of(app: Litestar) -> list[Route]:
    """Every route that is served, OPTIONS apart, in an order of its own: Litestar's differs from run to run."""
    found = (route for route in app.routes if isinstance(route, HTTPRoute))
    return sorted((one for route in found for one in _methods_of(route)), key=lambda one: (one.path, one.method))


def _methods_of(route: HTTPRoute) -> Iterator[Route]:
    path = re.sub(r"\{(\w+):\w+\}", r"{\1}", route.path)
    for handler in route.route_handlers:
        tags = [tag for layer in handler.ownership_layers for tag in layer.tags or ()]
        for method in handler.http_methods - {HttpMethod.OPTIONS}:
            yield Route(path, method, handler.handler_name, tags, handler.opt.get("operation"))
