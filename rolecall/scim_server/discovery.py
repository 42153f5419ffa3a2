"""Serve the discovery endpoints: features, resource types and schemas (RFC 7644, section 4)."""

from typing import Any

from rolecall.core.config import Config
from rolecall.scim_server.model import Resource, ScimError
from rolecall.scim_server.schema import CORE, ENDPOINTS, SCHEMAS, ResourceType

ROOT = "/scim/v2"
MOST_RESULTS = 1000
_OFF = {"supported": False}
_ON = {"supported": True}


def root_of(config: Config) -> str:
    return f"{config.base_url}{ROOT}"


def _meta(config: Config, kind: str, place: str) -> Resource:
    return {"resourceType": kind, "location": f"{root_of(config)}/{place}"}


def service_provider(config: Config) -> Resource:
    return {
        "schemas": [f"{CORE}ServiceProviderConfig"],
        "patch": _ON,
        # RFC 7643 requires the two limits even if the server does not support bulk operations.
        "bulk": {**_OFF, "maxOperations": 0, "maxPayloadSize": 0},
        "filter": {**_ON, "maxResults": MOST_RESULTS},
        "changePassword": _OFF,
        "sort": _OFF,
        "etag": _ON,
        # From RFC 9865. There is no `cursorTimeout`, because cursors do not expire.
        "pagination": {
            "cursor": True,
            "index": True,
            "defaultPaginationMethod": "index",
            "defaultPageSize": 100,
            "maxPageSize": MOST_RESULTS,
        },
        "authenticationSchemes": [
            {
                # Of the types in RFC 7643, section 5, only this one means a bearer token.
                "type": "oauthbearertoken",
                "name": "Bearer token",
                "description": "A SCIM token of the application, in the Authorization header",
                "primary": True,
            }
        ],
        "meta": _meta(config, "ServiceProviderConfig", "ServiceProviderConfig"),
    }


def resource_types(config: Config) -> list[Resource]:
    return [_described(kind, config) for kind in ENDPOINTS.values()]


def _described(kind: ResourceType, config: Config) -> Resource:
    return {
        "schemas": [f"{CORE}ResourceType"],
        "id": kind.kind,
        "name": kind.kind,
        "endpoint": f"/{kind.endpoint}",
        "schema": kind.urn,
        "schemaExtensions": [{"schema": urn, "required": False} for urn in kind.extensions],
        "meta": _meta(config, "ResourceType", f"ResourceTypes/{kind.kind}"),
    }


def schemas(config: Config) -> list[Resource]:
    return [
        {"schemas": [f"{CORE}Schema"], **schema, "meta": _meta(config, "Schema", f"Schemas/{schema['id']}")}
        for schema in SCHEMAS
    ]


_LISTS = {"ResourceTypes": resource_types, "Schemas": schemas}
DISCOVERY = ("ServiceProviderConfig", *_LISTS)


def discover(place: str, id: str, config: Config) -> tuple[list[Resource] | None, Any]:
    """Return either the resources of a list endpoint or the one requested document; the other value is None."""
    if place == "ServiceProviderConfig" and not id:
        return None, service_provider(config)
    found = _LISTS[place](config) if place in _LISTS else []
    if not id:
        return found, None
    one = next((each for each in found if str(each["id"]).lower() == id.lower()), None)
    if one is None:
        raise ScimError(f"There is no {place}/{id[:100]}", status=404)
    return None, one
