"""Define the proposal for one content of a file, and the view of the file that the rules use."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from rolecall.applications.file_shape import columns_in, separated_by
from rolecall.applications.model import Content
from rolecall.file_shapes.columns.header_names import names_of, words_of
from rolecall.file_shapes.columns.header_words import HELD
from rolecall.file_shapes.columns.meanings import Meaning, assigned, by_header, meanings
from rolecall.file_shapes.columns.profiles import Profile, profiles_of
from rolecall.file_shapes.shapes import OpenQuestion, ProposedChoice, Understood
from rolecall.file_shapes.tables.sample_table import SampleTable

# The confidence in a content that is assumed because no rule recognizes the file.
DOUBTFUL = 0.3
_FEW = 0.2
_GUESSED = 0.45
_OTHERWISE = re.compile(r"\|or\((.*)\)\}$")
# A name and a login in brackets, as in Ada Byron (abyron).
_BEHIND_NAME = {
    "()": r"[^\W\d][^@(]* \([^\s()]+\)",
    "<>": r"[^\W\d][^@<]* <[^\s<>]+>",
    "[]": r"[^\W\d][^@\[]* \[[^\s\[\]]+\]",
}
# The signs between a realm, such as a database or a domain, and a login.
_AFTER_REALM = (".", "\\", "/", ":")
_PREFIXED = re.compile(r"[A-Za-z_]+:(?=[^\s/])")


class Part(msgspec.Struct):
    """One content of a file: the fields of its columns, and the shape that its rows are read with."""

    content: Content
    fields: dict[str, Meaning]
    shape: dict[str, Any]
    confidence: float
    evidence: list[str]
    questions: list[OpenQuestion] = []
    understood: Understood = msgspec.field(default_factory=Understood)

    def ask(self, text: str, *choices: ProposedChoice) -> None:
        self.questions = [*self.questions, OpenQuestion(text, [*choices])]

    def skip_rows(self, *conditions: dict[str, Any]) -> None:
        if conditions:
            self.shape["skipRowsWhere"] = [*self.shape.get("skipRowsWhere", []), *conditions]

    def ignore(self, headers: Iterable[str]) -> None:
        if ignored := list(dict.fromkeys([*self.shape.get("ignore", []), *headers])):
            self.shape["ignore"] = ignored

    @property
    def columns(self) -> dict[str, str]:
        return {meaning.header: field for field, meaning in self.fields.items()}

    def origin(self, field: str) -> str | None:
        """Return the pattern that a field is built from; for a mapped column, its name in braces."""
        pattern = self.shape.get("join", {}).get(field)
        return pattern or (f"{{{self.fields[field].header}}}" if field in self.fields else None)

    @property
    def holder(self) -> str | None:
        """Return the last column in the pattern of the username or, without a pattern, the column mapped to it."""
        if pattern := self.shape.get("join", {}).get("Username"):
            return columns_in(pattern)[-1]
        return self.fields["Username"].header if "Username" in self.fields else None

    @property
    def columns_of_groups(self) -> list[str]:
        """Return the column that is mapped to Group, or else the columns that are unpivoted."""
        several: list[str] = self.shape.get("unpivot", {}).get("columns", [])
        return [self.fields["Group"].header] if "Group" in self.fields else several

    def source(self, field: str) -> str | None:
        """Return the column of a field, or else the fallback at the end of its pattern, `|or(column)`, or else None."""
        if field in self.fields:
            return self.fields[field].header
        return fallback_in(self.shape.get("join", {}).get(field, ""))


def fallback_in(pattern: str) -> str | None:
    """Return the fallback column at the end of a pattern, as in `|or(column)`; None if there is none."""
    otherwise = _OTHERWISE.search(pattern)
    return otherwise[1] if otherwise else None


class View(msgspec.Struct):
    """The rows of a file and the profiles of its columns, as input for the rules."""

    table: SampleTable
    profiles: list[Profile]
    by_header: dict[str, Profile]

    def fields(self, content: Content, taken: Iterable[str] = ()) -> dict[str, Meaning]:
        found = assigned(meanings(content, self.profiles), taken)
        if content in (Content.USERS, Content.IDENTITIES):
            self._complete_names(found)
        self._use_whole_login(found)
        if {"Name", "First Name", "Last Name"} <= found.keys() and found["Name"].score < _GUESSED:
            # In a file with first and last names, another column that looks like names contains something else.
            del found["Name"]
        return found

    def fields_of_groups(self, name: Meaning) -> dict[str, Meaning]:
        """Return the fields of groups whose names are in the column of `name`."""
        others = self.fields(Content.GROUPS, [name.header])
        return {"Group": name, **{field: each for field, each in others.items() if field != "Group"}}

    def _complete_names(self, fields: dict[str, Meaning]) -> None:
        """Read a Name column with single words as the missing first or last name, if the file has the other one."""
        column = self.named(["name", "nome"])
        missing = {"First Name", "Last Name"} - fields.keys()
        if column is None or len(missing) != 1 or column.names > _FEW:
            return
        if "Name" in fields and fields["Name"].header == column.header:
            del fields["Name"]
        if column.header not in {meaning.header for meaning in fields.values()}:
            (field,) = missing
            other = "first" if field == "Last Name" else "last"
            fields[field] = Meaning(
                column.header, field, 0.7, f"{by_header(column.header, 'Name')}, beside a column of {other} names"
            )

    def _use_whole_login(self, fields: dict[str, Meaning]) -> None:
        """Read a unique name such as `sales.app` as the username, if logins repeat because each realm has its own."""
        login = self.by_header[fields["Username"].header] if "Username" in fields else None
        if login is None or login.is_unique or not login.is_filled:
            return
        taken = {meaning.header for meaning in fields.values()}
        for profile in self.profiles:
            realms = _realms(profile, login) if profile.is_unique and profile.header not in taken else None
            realm = next((each for each in self.profiles if realms and each.cells == realms), None)
            if realm and realm.header not in taken:
                why = f"it has {login.header} with {realm.header}, and is different in every row"
                fields["Username"] = Meaning(profile.header, "Username", fields["Username"].score, why)
                return

    def without(self, headers: Sequence[str]) -> "View":
        """Return the view without some columns."""
        left = set(headers)
        profiles = [each for each in self.profiles if each.header not in left]
        return View(self.table, profiles, {each.header: each for each in profiles})

    @property
    def is_list_of_accounts(self) -> bool:
        """Return whether the rows are read from a JSON list called users, accounts or the like."""
        words = words_of((self.table.records or "").removesuffix("[]").rpartition(".")[2])
        return bool(words & _ACCOUNTS) and not words & HELD

    def named(self, names: Iterable[str]) -> Profile | None:
        """Return the first column with one of these names.

        Prefer columns with values, then columns whose main name is one of these.
        """
        wanted = set(names)
        found = [each for each in self.profiles if wanted & set(names_of(each.header))]
        found.sort(key=lambda each: (not each.values, wanted.isdisjoint(names_of(each.header)[:1])))
        return found[0] if found else None


# Words in names of lists of accounts in JSON.
_ACCOUNTS = {"user", "users", "account", "accounts", "people", "employees", "persons", "logins"}


def _realms(names: Profile, logins: Profile) -> list[str] | None:
    """Return the realm before each login, such as `sales` in `sales.app`; None if some name is not of this form."""
    pairs = list(zip(names.cells, logins.cells, strict=True))
    if not all(name.endswith(login) and name[: -len(login)][-1:] in _AFTER_REALM for name, login in pairs if login):
        return None
    return [name[: -len(login) - 1] for name, login in pairs if login]


def view_of(table: SampleTable) -> View:
    profiles = profiles_of(table.headers, table.rows, table.lists, table.addresses)
    return View(table, profiles, {profile.header: profile for profile in profiles})


def add_list(groups: Profile, fields: dict[str, Meaning], shape: dict[str, Any], evidence: list[str]) -> None:
    if separator := groups.separator:
        shape["split"] = {groups.header: separator}
        lists = [value for value in groups.values if separator in value] or groups.values
        example = f": {lists[0][:40]}" if lists else ""
        evidence.append(f"A cell may list several groups, {separated_by(separator)}{example}")
    if groups.distinguished_names:
        fields.pop("Group")
        shape.setdefault("join", {})["Group"] = f"{{{groups.header}|rdn}}"
        evidence.append("Groups are distinguished names; the first part names the group")


def without_prefix(view: View, fields: dict[str, Meaning], shape: dict[str, Any], evidence: list[str]) -> None:
    holder = fields.get("Username")
    if holder is None:
        return
    values = view.by_header[holder.header].distinct
    if values and all(_PREFIXED.match(value) for value in values):
        fields.pop("Username")
        shape.setdefault("join", {})["Username"] = f"{{{holder.header}|after(:)}}"
        evidence.append(f"Values of {holder.header} have a prefix, as in {values[0]}; the username follows the colon")
    elif filters := login_behind_name(values):
        fields.pop("Username")
        shape.setdefault("join", {})["Username"] = f"{{{holder.header}{filters}}}"
        evidence.append(f"{holder.header} has the login after the name, such as {values[0]}")


def login_behind_name(values: Sequence[str]) -> str:
    """Return the filters that read the login in values such as `Ada Byron (abyron)`, or an empty string."""
    for brackets, pattern in _BEHIND_NAME.items():
        if values and all(re.fullmatch(pattern, value) for value in values):
            return f"|after({brackets[0]})|before({brackets[1]})"
    return ""
