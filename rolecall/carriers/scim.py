"""Change accounts and memberships on a SCIM 2.0 server (RFC 7644).

Each step can be repeated: a change that an earlier attempt made is not an error, because its response may have been
lost.
"""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from yarl import URL

from rolecall.carriers.model import (
    ALREADY_MEMBER,
    GONE,
    CannotCarryOut,
    Carrier,
    Step,
    StepVerb,
    TargetConnection,
    require_own,
)
from rolecall.core.json_paths import value_at
from rolecall.core.text import in_one_line
from rolecall.sources.http_client import SentAnswer, SourceHttp, open_http
from rolecall.sources.model import SourceAccess, SourceFailed
from rolecall.sources.rest import endpoint
from rolecall.sources.scim import resources_in

_USER = "urn:ietf:params:scim:schemas:core:2.0:User"
_PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
_SELECTED = re.compile(r"([^\[\]]+)\[([^=\]]+)=([^\]]*)\](?:\.(.+))?")
_GONE, _EXISTS = 404, 409
Resource = dict[str, Any]


@asynccontextmanager
async def connect(access: SourceAccess, carrier: Carrier) -> AsyncIterator[TargetConnection]:
    async with open_http(access) as http:
        yield ScimTarget(http, carrier)


class ScimTarget:
    def __init__(self, http: SourceHttp, carrier: Carrier) -> None:
        self._http, self._carrier, self.has_sent = http, carrier, False
        self._users = endpoint(http.root, carrier.accounts_path or "Users")
        self._groups = endpoint(http.root, carrier.groups_path or "Groups")
        self._username = carrier.account_attribute or "userName"
        self._group_name = carrier.group_attribute or "displayName"

    async def carry_out(self, step: Step, *, was_sent: bool) -> str:
        self.has_sent = False
        user = await self._found(self._users, self._username, step.account)
        match step.verb:
            case StepVerb.CREATE:
                return await self._create(step, user, was_sent=was_sent)
            case StepVerb.CHANGE:
                return await self._change(step, _required(user, step))
            case StepVerb.ENABLE:
                return await self._set_active(_required(user, step), active=True)
            case StepVerb.DISABLE:
                return await self._set_active(_required(user, step), active=False)
            case StepVerb.DELETE:
                # A missing account counts as deleted only if an earlier attempt sent the deletion; otherwise it may
                # have been renamed.
                return GONE if user is None and was_sent else await self._delete(_required(user, step))
            case StepVerb.ADD_MEMBER:
                return await self._add_member(step, _required(user, step))
            case StepVerb.REMOVE_MEMBER:
                return await self._remove_member(step, _required(user, step))

    async def _found(self, url: URL, attribute: str, name: str) -> Resource | None:
        """Return the resource with this name, or None. Compare the names, because a server may ignore filters.

        Raise CannotCarryOut if it is not clear which resource has the name, or if its id cannot be part of a URL.
        """
        # Exclude the members, because a group may have thousands.
        query = {"filter": f"{attribute} eq {json.dumps(name)}", "excludedAttributes": "members"}
        resources, total = resources_in((await self._http.get(url, query)).value)
        found = [each for each in resources if str(value_at(each, attribute)).casefold() == name.casefold()]
        if len(found) > 1 or total > len(found):
            raise CannotCarryOut(f"the server does not show which of its resources has the {attribute} {name}")
        if found and not _is_id(found[0].get("id")):
            raise CannotCarryOut(f"the server returns {name} without an id that can be part of a URL")
        return found[0] if found else None

    async def _create(self, step: Step, user: Resource | None, *, was_sent: bool) -> str:
        if user is None:
            answer = await self._send("POST", self._users, self._new_user(step))
            if answer.status != _EXISTS:
                _require_success(answer)
                return f"created with the id {_id_in(answer)}"
            # The account was created after the lookup above, or the lookup did not show it.
            user = _required(await self._found(self._users, self._username, step.account), step)
        if not user.get("active", True):
            raise CannotCarryOut(f"the account {step.account} exists and is disabled; a person must check whose it is")
        require_own(step, was_sent=was_sent)
        if not all(str(value_at(user, name)) == value for name, value in step.attributes.items()):
            raise CannotCarryOut(f"the account {step.account} exists with other attributes; it may be another person's")
        return "it already existed, with these attributes"

    def _new_user(self, step: Step) -> Resource:
        made: Resource = {"schemas": [_USER], "active": True}
        for path, value in {self._username: step.account, **step.attributes}.items():
            put_value(made, path, value)
        return made

    async def _change(self, step: Step, user: Resource) -> str:
        different = {name: value for name, value in step.attributes.items() if value_at(user, name) != value}
        if not different:
            return "nothing to change"
        operations = [{"op": "replace", "path": scim_path(name), "value": value} for name, value in different.items()]
        await self._patch(self._users / user["id"], operations)
        return f"changed {', '.join(sorted(different))}"

    async def _set_active(self, user: Resource, *, active: bool) -> str:
        state = "enabled" if active else "disabled"
        if user.get("active", True) is active:
            return f"it was already {state}"
        await self._patch(self._users / user["id"], [{"op": "replace", "path": "active", "value": active}])
        return state

    async def _delete(self, user: Resource) -> str:
        answer = await self._send("DELETE", self._users / user["id"])
        if answer.status == _GONE:
            return GONE
        _require_success(answer)
        return "deleted"

    async def _add_member(self, step: Step, user: Resource) -> str:
        group = await self._found(self._groups, self._group_name, step.group)
        if group is None:
            raise CannotCarryOut(f"the server has no group {step.group}")
        if user["id"] in await self._members(group):
            return ALREADY_MEMBER
        member = {"value": user["id"], "display": step.account}
        await self._patch(self._groups / group["id"], [{"op": "add", "path": "members", "value": [member]}])
        return "added"

    async def _remove_member(self, step: Step, user: Resource) -> str:
        group = await self._found(self._groups, self._group_name, step.group)
        if group is None:
            raise CannotCarryOut(f"the server has no group {step.group}")
        members = await self._members(group)
        path = f"members[value eq {json.dumps(user['id'])}]"
        answer = await self._send_patch(self._groups / group["id"], [{"op": "remove", "path": path}])
        if user["id"] in members:
            _require_success(answer)
            return "removed"
        # The removal was sent although the member is not listed, because many servers do not list all members.
        if not members and not _says_no_target(answer):
            _require_success(answer)
        return "it was not listed as a member; removed anyway" if answer.status < 300 else "it was not a member"

    async def _members(self, group: Resource) -> set[object]:
        """Return the ids of the members that the server lists."""
        answer = (await self._http.get(self._groups / group["id"], {"attributes": "members"})).value
        members = answer.get("members") if isinstance(answer, dict) else None
        listed = members if isinstance(members, list) else []
        return {each["value"] for each in listed if isinstance(each, dict) and isinstance(each.get("value"), str)}

    async def _patch(self, url: URL, operations: list[Resource]) -> None:
        _require_success(await self._send_patch(url, operations))

    async def _send_patch(self, url: URL, operations: list[Resource]) -> SentAnswer:
        return await self._send("PATCH", url, {"schemas": [_PATCH], "Operations": operations})

    async def _send(self, method: str, url: URL, body: object = None) -> SentAnswer:
        self.has_sent = True
        return await self._http.send(method, url, body)


def _is_id(id: object) -> bool:
    # The id becomes a segment of a URL: with `/` or as `..` it would address another resource.
    return isinstance(id, str) and "/" not in id and id.strip(".") != ""


def _required(user: Resource | None, step: Step) -> Resource:
    if user is None:
        raise CannotCarryOut(f"the server has no account {step.account}")
    return user


def _require_success(answer: SentAnswer) -> None:
    if answer.status >= 300:
        said = answer.value.get("detail") if isinstance(answer.value, dict) else None
        words = f": {in_one_line(str(said))[:200]}" if said else ""
        raise CannotCarryOut(f"the server refuses the change ({answer.status}){words}")


def _says_no_target(answer: SentAnswer) -> bool:
    """Return whether the server reports that there is no such member to remove."""
    return isinstance(answer.value, dict) and answer.value.get("scimType") == "noTarget"


def _id_in(answer: SentAnswer) -> str:
    id = answer.value.get("id") if isinstance(answer.value, dict) else None
    if not isinstance(id, str):
        # A temporary error: the retry finds the account that was created.
        raise SourceFailed("the server did not return the id of the new account")
    return id


def put_value(record: Resource, path: str, value: str) -> None:
    """Set a value at a path such as `name.givenName`, `emails[type=work].value` or `urn:…:User:department`."""
    if path.startswith("urn:"):
        # The schema, a URN, may contain dots; the name follows the last colon.
        schema, _, name = path.rpartition(":")
        record.setdefault(schema, {})[name] = value
        if schema not in record["schemas"]:
            record["schemas"].append(schema)
    elif selected := _SELECTED.fullmatch(path):
        name, key, wanted, rest = selected.groups()
        entries = record.setdefault(name, [])
        entry = next((each for each in entries if each.get(key) == wanted), None)
        if entry is None:
            entries.append(entry := {key: wanted})
        entry[rest or "value"] = value
    else:
        *outer, last = path.split(".")
        for name in outer:
            record = record.setdefault(name, {})
        record[last] = value


def scim_path(path: str) -> str:
    """Convert a path to SCIM syntax: `emails[type=work].value` becomes `emails[type eq "work"].value`."""
    selected = _SELECTED.fullmatch(path)
    if path.startswith("urn:") or not selected:
        return path
    name, key, wanted, rest = selected.groups()
    return f"{name}[{key} eq {json.dumps(wanted)}].{rest or 'value'}"
