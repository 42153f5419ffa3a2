"""Describe the calls about carriers."""

from collections.abc import Mapping, Sequence
from typing import Unpack

from rolecall.client import answers
from rolecall.client.answers import Json
from rolecall.client.calls import describe
from rolecall.client.calls.describe import Call, Id
from rolecall.client.calls.sources import SourceFields

_PATH = "/api/applications/{}/carrier"


class CarrierFields(SourceFields, total=False):
    mode: str
    account_name: str
    attributes: Json
    changed_attributes: Sequence[str]
    on_remove: str
    accounts_path: str
    account_attribute: str
    name_attribute: str
    object_classes: Sequence[str]
    active_attribute: str
    active_value: str
    inactive_value: str
    groups_path: str
    group_attribute: str
    member_attribute: str
    member_value: str
    steps_per_minute: int
    removals_per_hour: int


def get_carrier(application_id: Id) -> Call[answers.Carrier]:
    """Get an application's carrier, its last steps, and the requests that are waiting, held or left to people."""
    return describe.get(answers.Carrier, _PATH, application_id)


def put_carrier(application_id: Id, kind: str, url: str, **fields: Unpack[CarrierFields]) -> Call[answers.Carrier]:
    """Set the carrier of an application, which carries out approved requests."""
    body: Mapping[str, object] = {"kind": kind, "url": url, **fields}
    return describe.call("PUT", answers.Carrier, _PATH, application_id, body=body)


def delete_carrier(application_id: Id) -> Call[None]:
    """Remove the carrier of an application and its stored secret; its open requests are left to people."""
    return describe.call("DELETE", type(None), _PATH, application_id)


def preview_carrier(application_id: Id, access_request_id: Id) -> Call[answers.CarrierPreview]:
    """Preview the steps that the carrier would send for a request; nothing is sent."""
    return describe.post(
        answers.CarrierPreview, f"{_PATH}/preview", application_id, access_request_id=str(access_request_id)
    )


def release_carrier(application_id: Id, *, access_request_ids: Sequence[str] | None = None) -> Call[answers.Carrier]:
    """Release requests that the brake holds: the given ones, or all of them."""
    return describe.post(answers.Carrier, f"{_PATH}/release", application_id, access_request_ids=access_request_ids)


def carry_out(application_id: Id, access_request_id: Id) -> Call[answers.Carrier]:
    """Give the carrier an open request, for example one that it left to a person."""
    return describe.post(
        answers.Carrier, f"{_PATH}/carry-out", application_id, access_request_id=str(access_request_id)
    )
