"""Check that the client covers every operation of the service, with the same response fields."""

import inspect
import re
from collections.abc import Iterator
from typing import Any, get_args, get_origin

import msgspec
import pytest

from rolecall.app import create_app
from rolecall.client import answers, calls
from rolecall.client.calls import Call
from rolecall.core.config import Config
from rolecall.reviews.shapes import ReviewItem
from rolecall.web.openapi import Route, routes_of
from rolecall.webhooks.payload import Payload, ReviewPayload

ROUTES = [route for route in routes_of(create_app(Config(database_url="postgresql://nowhere")).app) if route.operation]
FUNCTIONS = [
    function
    for name, function in inspect.getmembers(calls, inspect.isfunction)
    if function.__module__.startswith(f"{calls.__name__}.") and not name.startswith("_")
]


def described(function: Any) -> Call[Any]:
    given: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
            given[parameter.name] = [] if parameter.name in ("files", "events") else "x"
    call: Call[Any] = function(**given)
    return call


def route_of(call: Call[Any]) -> Route:
    def matches(route: Route) -> bool:
        pattern = re.sub(r"\\\{\w+\\\}", "x", re.escape(route.path))
        return route.method == call.method and re.fullmatch(pattern, call.path) is not None

    (route,) = filter(matches, ROUTES)
    return route


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_every_call_has_an_operation_with_the_same_response(function: Any) -> None:
    call = described(function)

    operation = route_of(call).operation

    assert operation
    assert set(call.query) <= {*(operation.query or ()), "page", "applicationId"}
    assert list(differences(call.answer, operation.answer)) == []


def test_every_operation_has_a_call() -> None:
    called = {(route.method, route.path) for route in map(route_of, map(described, FUNCTIONS))}

    # The client has no call for callbacks, because webhook receivers post to the URL directly.
    assert {(route.method, route.path) for route in ROUTES} - called == {("POST", "/webhooks/callback/{id}")}


def test_delivery_type_has_the_fields_that_the_service_sends() -> None:
    assert list(differences(answers.Delivery, Payload)) == ["event.subject"]
    assert list(differences(answers.Delivery, ReviewPayload)) == ["event.request"]
    assert list(differences(answers.ReviewItem, ReviewItem)) == []


def differences(ours: Any, theirs: Any, where: str = "") -> Iterator[str]:
    """Yield fields that only one side has, at any depth."""
    ours, theirs = struct_in(ours), struct_in(theirs)
    if ours is None or theirs is None:
        return
    mine = {field.encode_name: field.type for field in msgspec.structs.fields(ours)}
    yours = {field.encode_name: field.type for field in msgspec.structs.fields(theirs)}
    lenient = {"nomenclature"}  # The requests of a stage omit this field.
    yield from (f"{where}{name}" for name in (mine.keys() ^ yours.keys()) - lenient)
    for name in mine.keys() & yours.keys():
        yield from differences(mine[name], yours[name], f"{where}{name}.")


def struct_in(type: Any) -> Any:
    """Return the struct that a type is or contains, as a list item or an optional value."""
    if inspect.isclass(get_origin(type) or type) and issubclass(get_origin(type) or type, msgspec.Struct):
        return type
    return next(filter(None, map(struct_in, get_args(type))), None) if get_origin(type) is not dict else None
