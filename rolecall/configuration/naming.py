"""Replace the names in an entry of a configuration with ids, and report names that match no record."""

from typing import Any

from rolecall.configuration import queries
from rolecall.core.checking import Json
from rolecall.core.db import Db
from rolecall.core.errors import Problem
from rolecall.identities import finding

# For each field with names of people: the field of the action for their ids.
_PEOPLE = {"owner": "ownerId", "identity": "identityId"}
_LISTS_OF_PEOPLE = {
    "provisioners": "provisionerIds",
    "recipients": "recipientIds",
    "entitlementOwners": "entitlementOwnerIds",
    "identities": "identityIds",
}
# For each field with names of records: the field of the action for their ids, their section, and the word for a record.
_RECORDS = {"application": ("applicationId", "applications", "application"), "without": ("without", "duties", "duty")}
_LISTS_OF_RECORDS = {
    "conflicts": ("conflicts", "duties", "duty"),
    "applications": ("applicationIds", "applications", "application"),
    "accessModels": ("modelIds", "accessModels", "access model"),
}
_TABLES = {"accessModels": "access_models"}
_PARTS = ("review", "scope", "fallback")
_LISTS_OF_PARTS = ("approvalPolicy", "access", "stages")
_ENTRY_WORDS = (
    {field: word for word, field in {**_PEOPLE, **_LISTS_OF_PEOPLE}.items()}
    | {field: word for word, (field, *_) in {**_RECORDS, **_LISTS_OF_RECORDS}.items()}
    | {"entitlementIds": "entitlements"}
)


def in_entry(place: str, field: str) -> str:
    """Convert the name of a field in an action's body to its path in the configuration: `ownerId` becomes `owner`."""
    words = [_ENTRY_WORDS.get(word, word) for word in field.split(".")]
    return ".".join([place, *words])


def names_in(raw: Json, section: str) -> list[Any]:
    """Return the names of the entries in order; None for an entry without a name."""
    entries = raw.get(section)
    names = [
        entry.get("name") if isinstance(entry, dict) else None
        for entry in (entries if isinstance(entries, list) else ())
    ]
    return [name.strip() if isinstance(name, str) else name for name in names]


class Naming:
    """Resolve the names in one configuration; new problems are appended to `problems`."""

    def __init__(self, db: Db, raw: Json, problems: list[Problem]) -> None:
        self.db, self.raw, self.problems = db, raw, problems
        self._unsound = [problem.field for problem in problems]

    def is_sound(self, place: str) -> bool:
        """Return whether validation found no problem at this place or below it."""
        return not any(field == place or field.startswith(f"{place}.") for field in self._unsound)

    async def with_ids(self, place: str, entry: Json) -> Json:
        """Replace names with ids, as the action expects, and report unknown names."""
        given: Json = {}
        for field, value in entry.items():
            own = f"{place}.{field}"
            if field in _PEOPLE:
                given[_PEOPLE[field]] = await self._person(own, value)
            elif field in _RECORDS and isinstance(value, str):
                name, section, what = _RECORDS[field]
                given[name] = await self._named(own, section, what, value)
            elif isinstance(value, list):
                given |= await self._list(own, field, value)
            elif field in _PARTS and isinstance(value, dict):
                given[field] = await self.with_ids(own, value)
            else:
                given[field] = value
        return given

    async def _list(self, place: str, field: str, values: list[Any]) -> Json:
        places = [(f"{place}.{n}", value) for n, value in enumerate(values)]
        if field in _LISTS_OF_PEOPLE:
            return {_LISTS_OF_PEOPLE[field]: _found([await self._person(*each) for each in places])}
        if field in _LISTS_OF_RECORDS:
            name, section, what = _LISTS_OF_RECORDS[field]
            return {name: _found([await self._named(own, section, what, value) for own, value in places])}
        if field == "entitlements":
            return {"entitlementIds": _found([await self._entitlement(*each) for each in places])}
        if field in _LISTS_OF_PARTS:
            parts = [await self.with_ids(own, part) for own, part in places if isinstance(part, dict)]
            # Leave out parts whose application is unknown: the unknown name is reported already.
            return {field: [part for part in parts if part.get("applicationId", "") is not None]}
        return {field: values}

    async def _person(self, place: str, name: object) -> str | None:
        if not isinstance(name, str) or not self.is_sound(place):
            return None
        # Accept only confirmed e-mails: otherwise anyone who may change addresses could impersonate another person.
        fits, name = await finding.meant_by_confirmed(self.db, name), name.strip()
        if len(fits) == 1:
            return str(fits[0].id)
        unknown = f"No identity has the name, confirmed e-mail, employee ID or id {name}"
        self.problems.append(Problem(place, finding.several(name, fits) if fits else unknown))
        return None

    async def _named(self, place: str, section: str, what: str, name: object) -> str | None:
        """Return the id of the record with this name, or None. Report a name that is neither stored nor in the file."""
        if not isinstance(name, str) or not self.is_sound(place):
            return None
        name = name.strip()
        if found := (await queries.ids_by_name(self.db, _TABLES.get(section, section), [name])).get(name):
            return str(found)
        # If the file has an entry with this name, the problem is in that entry and is reported there.
        if name not in names_in(self.raw, section):
            advice = f"correct the name, or add the {what} to the file"
            self.problems.append(Problem(place, f"No {what} is named {name}; {advice}"))
        return None

    async def _entitlement(self, place: str, entry: object) -> str | None:
        if not isinstance(entry, dict) or not self.is_sound(place):
            return None
        application = await self._named(f"{place}.application", "applications", "application", entry.get("application"))
        if application is None:
            return None
        if found := await queries.entitlement_id(self.db, application, entry):
            return str(found)
        if entry.get("group"):
            what, remedy = f"group {entry['group']}", "correct the name"
        else:
            named = " / ".join(filter(None, (entry.get(part) for part in ("header", "section", "permission"))))
            what, remedy = f"permission {named or 'without a name'}", "correct its header, section or name"
        self.problems.append(Problem(place, f"{entry['application']} has no {what}; {remedy}, or import it first"))
        return None


def _found(ids: list[str | None]) -> list[str]:
    return [id for id in ids if id]
