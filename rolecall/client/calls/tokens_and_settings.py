"""Calls about tokens and settings."""

from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

from rolecall.client import answers
from rolecall.client.answers import Json, Page
from rolecall.client.calls import describe
from rolecall.client.calls.call import Call, Id


class SettingsChanges(TypedDict, total=False):
    custom_fields: Sequence[Json]
    approval_lead_days: int
    approval_policy: Sequence[Json]
    webhook_retention_days: int
    guard: Json
    single_handed: bool


def list_tokens() -> Call[Page[answers.Token]]:
    """List tokens, newest first."""
    return describe.get(Page[answers.Token], "/api/tokens")


def create_token(
    name: str, *, scopes: Sequence[str] | None = None, expires_in_days: int | None = 90
) -> Call[answers.TokenWithSecret]:
    """Create a token; it never expires if `expires_in_days` is None. The response contains its secret, only here."""
    body: Json = {"name": name, "expires_in_days": expires_in_days} | ({"scopes": scopes} if scopes else {})
    return describe.call("POST", answers.TokenWithSecret, "/api/tokens", body=body)


def revoke_token(token_id: Id) -> Call[None]:
    """Revoke a token, with effect on the next request."""
    return describe.call("DELETE", type(None), "/api/tokens/{}", token_id)


def get_settings() -> Call[Json]:
    """Show the settings."""
    return describe.get(dict[str, Any], "/api/settings")


def change_settings(**fields: Unpack[SettingsChanges]) -> Call[Json]:
    """Change the given settings."""
    return describe.call("PATCH", dict[str, Any], "/api/settings", body=fields)


def get_configuration() -> Call[Json]:
    """Show the configuration of the service, as a configuration file holds it."""
    return describe.get(dict[str, Any], "/api/configuration")


def plan_configuration(configuration: Json) -> Call[answers.ConfigurationChanges]:
    """Show what applying a configuration would change."""
    return Call(method="POST", path="/api/configuration/plan", answer=answers.ConfigurationChanges, body=configuration)


def apply_configuration(configuration: Json) -> Call[answers.ConfigurationChanges]:
    """Apply a configuration, all or nothing."""
    return Call(method="PUT", path="/api/configuration", answer=answers.ConfigurationChanges, body=configuration)
