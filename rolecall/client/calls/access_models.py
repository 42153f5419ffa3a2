"""Calls about access models."""

from collections.abc import Sequence
from typing import TypedDict, Unpack

from rolecall.client import answers
from rolecall.client.answers import Json, Page
from rolecall.client.calls import describe
from rolecall.client.calls.call import Call, Id


class ModelFields(TypedDict, total=False):
    description: str
    owner_id: Id
    enabled: bool
    conditions: Sequence[Sequence[Json]]
    access: Sequence[Json]


class ModelChanges(ModelFields, total=False):
    name: str


def list_models() -> Call[Page[answers.AccessModelItem]]:
    """List access models by name."""
    return describe.get(Page[answers.AccessModelItem], "/api/access-models")


def get_model(model_id: Id) -> Call[answers.AccessModel]:
    """Show an access model: its committed version and its draft."""
    return describe.get(answers.AccessModel, "/api/access-models/{}", model_id)


def create_model(name: str, **fields: Unpack[ModelFields]) -> Call[answers.AccessModel]:
    """Draft an access model; nothing takes effect before it is committed."""
    return describe.call("POST", answers.AccessModel, "/api/access-models", body={"name": name, **fields})


def change_model(model_id: Id, **fields: Unpack[ModelChanges]) -> Call[answers.AccessModel]:
    """Change the given fields in the draft of an access model."""
    return describe.call("PATCH", answers.AccessModel, "/api/access-models/{}", model_id, body=fields)


def list_members(model_id: Id) -> Call[Page[answers.Identity]]:
    """List the identities that the committed model matches."""
    return describe.get(Page[answers.Identity], "/api/access-models/{}/members", model_id)


def simulate_model(model_id: Id, *, page: int = 1) -> Call[answers.Simulation]:
    """Simulate committing the draft: who would gain and lose which access."""
    return describe.post(answers.Simulation, "/api/access-models/{}/simulate", model_id, page=page)


def commit_model(model_id: Id, *, allow_unknown: bool = False) -> Call[answers.AccessModel]:
    """Commit the draft as the next version; it takes effect at once.

    `allow_unknown` commits names of groups and permissions that the applications do not have.
    """
    return describe.post(answers.AccessModel, "/api/access-models/{}/commit", model_id, allow_unknown=allow_unknown)
