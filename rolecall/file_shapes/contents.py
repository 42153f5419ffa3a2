"""Decide which contents a file feeds, and how each is read. Rules are ordered: the first that fits decides."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from rolecall.application_imports.read.secret_headers import looks_secret
from rolecall.applications.field_words import DATE_FIELDS, NO_ACCESS, NO_DATE, WORDS
from rolecall.applications.model import Content
from rolecall.core.text import fold
from rolecall.file_shapes.meanings import Meaning, assigned, is_inverted, meanings, names_of
from rolecall.file_shapes.profiles import Profile, profiles_of
from rolecall.file_shapes.recognize import Found

_LISTED = re.compile(r"group|role|team|apps?$|member|licen|entitle|orgs?$|organi[sz]ation|profile|permissionset", re.I)
_PLURAL = {"groups", "roles", "teams", "memberof", "memberships", "usergroups", "assignedroles", "assignedgroups"}
_MEMBERS = {"member", "members", "uniquemember", "memberuid", "users", "memberlist"}
_GROUP_CLASSES = {"group", "groupofnames", "groupofuniquenames", "posixgroup"}
_PREFIXED = re.compile(r"[A-Za-z_]+:(?=[^\s/])")
_CODED = re.compile(r"\w+#\S")
_LEAST_TICKED = 3
_PERSON = {"Name", "First Name", "Last Name", "Email", "Employee ID", "Active", "Last Login", "Password Changed"}
# Fields of people that systems do not have.
_EMPLOYED = {"Created", "Type", "Supervisor ID", "Office", "Title"}
# One-letter and local words for statuses; proposed with little confidence.
_GUESSED = {
    "a": "Yes", "e": "Yes", "act": "Yes", "ok": "Yes", "open": "Yes", "valid": "Yes", "onleave": "Yes", "leave": "Yes",
    "longtermleave": "Yes", "i": "No", "d": "No", "t": "No", "l": "No", "s": "No", "x": "No", "inact": "No",
    "term": "No", "susp": "No", "dis": "No", "quit": "No", "ended": "No", "offboarded": "No", "locked": "No",
}  # fmt: skip
_KINDS = {
    **dict.fromkeys(("fte", "fulltime", "parttime", "permanent", "regular", "staff", "internal"), "Employee"),
    **dict.fromkeys(("contractor", "consultant", "external", "contingent", "supplier", "partner"), "Vendor"),
    **dict.fromkeys(("intern", "temp", "trainee", "apprentice", "seasonal"), "Temporary"),
}
_IDENTITY_WORDS = {"Yes": "Active", "No": "Disabled"}


class Choice(msgspec.Struct, frozen=True):
    """An answer to a question; `key` of the shape gets `value`."""

    label: str
    key: str
    value: str


class Question(msgspec.Struct, frozen=True):
    """A question that the file does not answer."""

    text: str
    choices: list[Choice]


class Part(msgspec.Struct):
    """One content of a file: the fields of its columns and the shape that makes its rows."""

    content: Content
    fields: dict[str, Meaning]
    shape: dict[str, Any]
    confidence: float
    evidence: list[str]
    questions: list[Question] = []

    @property
    def columns(self) -> dict[str, str]:
        return {meaning.header: field for field, meaning in self.fields.items()}

    def origin(self, field: str) -> str | None:
        """Return the pattern or the column that gives a field."""
        pattern = self.shape.get("join", {}).get(field)
        return pattern or (f"{{{self.fields[field].header}}}" if field in self.fields else None)


class View(msgspec.Struct):
    """The rows of a file and the profiles of its columns, as input for the rules."""

    found: Found
    profiles: list[Profile]
    by_header: dict[str, Profile]

    def fields(self, content: Content, taken: Iterable[str] = ()) -> dict[str, Meaning]:
        return assigned(meanings(content, self.profiles), taken)

    def named(self, names: Iterable[str]) -> Profile | None:
        """Return the first column with one of these names."""
        wanted = set(names)
        return next((each for each in self.profiles if wanted & set(names_of(each.header))), None)


def view_of(found: Found) -> View:
    profiles = profiles_of(found.headers, found.rows, found.lists)
    return View(found, profiles, {profile.header: profile for profile in profiles})


def parts_of(view: View, content: Content | None = None) -> list[Part]:
    """Return the contents of a file; `content` is the one that a person chose."""
    rules: list[Callable[[View], list[Part]]] = [
        _people, _matrix, _sap_authorizations, _groups_with_members, _permissions, _memberships, _groups, _users,
    ]  # fmt: skip
    found = next(parts for rule in rules if (parts := rule(view)))
    if content and found[0].content != content:
        chosen = Part(content, view.fields(content), {}, 1.0, ["Chosen by a person"])
        found = _users(view) if content == Content.USERS else [chosen]
    return [_finished(view, part) for part in found]


def _finished(view: View, part: Part) -> Part:
    """Add what every content needs: structure, dates, words, and columns that are not kept."""
    part.shape = {**structure(view.found), **part.shape}
    _add_dates(view, part)
    _add_words(view, part)
    if part.content in (Content.USERS, Content.GROUPS):
        useless = [profile.header for profile in view.profiles if profile.is_useless]
        if useless:
            part.shape["ignore"] = useless
            part.evidence.append(f"{len(useless)} columns hold only names of classes and are not kept")
    secret = [profile.header for profile in view.profiles if looks_secret(profile.header)]
    if secret and part.content == Content.USERS:
        part.evidence.append(f"{', '.join(secret)} looks like a secret and is not kept")
    return part


def structure(found: Found) -> dict[str, Any]:
    """Return the keys of the shape that say where the rows are."""
    shape: dict[str, Any] = {}
    if found.format == "CSV":
        if found.header_line is None:
            shape["headers"] = found.headers
        elif found.header_line > 1:
            shape["headerLine"] = found.header_line
        if found.delimiter != "," or "headerLine" in shape or "headers" in shape:
            shape["delimiter"] = found.delimiter
        if found.merges:
            shape["mergeExtraFields"] = True
        if found.totals:
            shape["skipRowsWhere"] = [{"column": found.headers[0], "is": found.totals}]
    if found.records:
        shape["records"] = found.records
    return shape


# Rules


def _matrix(view: View) -> list[Part]:
    """A matrix: most columns are ticked or not, and the others name the rows."""
    ticked = [each for each in view.profiles if _is_ticked(each)]
    others = [each for each in view.profiles if each not in ticked and each.values]
    if len(ticked) < _LEAST_TICKED or len(ticked) <= len(others) or not others or len(others) > 5:
        return []
    kept = view.fields(Content.PERMISSIONS)
    fields = {field: meaning for field, meaning in kept.items() if meaning.header in {each.header for each in others}}
    if not {"Username", "Group", "Permission"} & fields.keys():
        first = others[0]
        fields["Username"] = Meaning(first.header, "Username", 0.5, "it names the rows of a matrix")
    across = "Group" if "Permission" in fields else "Permission"
    fields = {field: meaning for field, meaning in fields.items() if field not in (across, "Access")}
    if across == "Permission" and {"Username", "Group"} <= fields.keys():
        fields.pop("Group")
    unpivot = {"keep": [each.header for each in others], "headers": across, "cells": "Access"}
    words = ", ".join(dict.fromkeys(value for each in ticked for value in each.distinct))[:40]
    evidence = [f"{len(ticked)} columns hold only {words} or nothing: a matrix with a {across} in each header"]
    shape: dict[str, Any] = {"unpivot": unpivot}
    if "Username" in fields:
        shape["deriveUsers"] = True
    return [Part(Content.PERMISSIONS, fields, shape, 0.8, evidence)]


def _is_ticked(profile: Profile) -> bool:
    found = {fold(value) for value in profile.values}
    return profile.ticks and len(found - NO_ACCESS) <= 4 and not is_inverted(profile.header)


def _sap_authorizations(view: View) -> list[Part]:
    names = {name: each.header for each in view.profiles for name in names_of(each.header)}
    role = names.get("role") or names.get("agrname")
    value = names.get("value") or names.get("low")
    if not (role and value and {"object", "field"} <= names.keys()):
        return []
    chosen = {"Group": role, "Header": names["object"], "Section": names["field"], "Permission": value}
    why = "the columns are those of SAP AGR_1251"
    fields = {field: Meaning(header, field, 0.95, why) for field, header in chosen.items()}
    return [Part(Content.PERMISSIONS, fields, {}, 0.95, [f"{role}, object, field and value: {why}"])]


def _groups_with_members(view: View) -> list[Part]:
    """Groups with a column that lists their members."""
    members = view.named(_MEMBERS)
    naming = view.named(["cn", "group", "groupname", "name", "displayname", "role", "rolename", "team"])
    if members is None or naming is None or naming is members or members.separator is None:
        return []
    separator = members.separator
    name = Meaning(naming.header, "Group", 0.9, "it names a group whose members are listed")
    groups = {"Group": name, **{k: v for k, v in view.fields(Content.GROUPS, [naming.header]).items() if k != "Group"}}
    shape: dict[str, Any] = {"split": {members.header: separator}, "deriveUsers": True}
    fields = {"Group": name}
    if members.distinguished_names:
        shape["join"] = {"Username": f"{{{members.header}|rdn}}"}
    else:
        fields["Username"] = Meaning(members.header, "Username", 0.9, "it lists members")
    rest = {"ignore": [members.header]}
    condition = _classes(view, are_groups=True)
    evidence = [f"{members.header} lists the members of {naming.header}, {_said(separator)}"]
    parts = [Part(Content.GROUPS, groups, {**rest, **condition}, 0.85, list(evidence))]
    parts.append(Part(Content.MEMBERSHIPS, fields, {**shape, **condition}, 0.85, evidence))
    if condition:
        people = _users(view)
        people[0].shape |= _classes(view, are_groups=False)
        parts.append(people[0])
        shape.pop("deriveUsers")
        parts[1].shape.pop("deriveUsers", None)
    return parts


def _classes(view: View, *, are_groups: bool) -> dict[str, Any]:
    """Return the condition that separates groups from people in a directory export that has both."""
    column = view.named(["objectclass"])
    if column is None:
        return {}
    found = {fold(word) for value in column.distinct for word in re.findall(r"\w+", value)}
    groups = sorted(found & _GROUP_CLASSES)
    if not groups or not found & {"person", "inetorgperson", "user"}:
        return {}
    return {"skipRowsWhere": [{"column": column.header, "isNot" if are_groups else "is": groups}]}


def _permissions(view: View) -> list[Part]:
    fields = view.fields(Content.PERMISSIONS)
    if fields.get("Permission") is None or not {"Username", "Group"} & fields.keys():
        return []
    if _is_about_users(view):
        return []
    shape: dict[str, Any] = {}
    evidence = [f"{fields['Permission'].header} names permissions"]
    _share_column(view, fields, shape, evidence)
    if "Username" in fields and "Group" in fields and "join" not in shape:
        fields.pop("Group")
    permission = view.by_header[fields["Permission"].header]
    if separator := ("," if view.found.merges and permission is view.profiles[-1] else permission.separator):
        shape["split"] = {permission.header: separator}
        evidence.append(f"{permission.header} lists several, {_said(separator)}")
    _without_prefix(view, fields, shape, evidence)
    if "Username" in fields or "Username" in shape.get("join", {}):
        shape["deriveUsers"] = True
    return [Part(Content.PERMISSIONS, fields, shape, 0.85, evidence)]


def _is_about_users(view: View) -> bool:
    """Return whether each row is a person: several fields of people, and a unique key."""
    return len(_about_people(view)) >= 3 and any(each.is_unique and each.is_filled for each in view.profiles)


def _about_people(view: View) -> set[str]:
    """Return the fields of people that headers indicate."""
    return _PERSON & {field for field, meaning in view.fields(Content.USERS).items() if meaning.score > 0.5}


def _share_column(view: View, fields: dict[str, Meaning], shape: dict[str, Any], evidence: list[str]) -> None:
    """Users and groups in one column: another column says which of the two a row names."""
    holder = fields.get("Username") or fields.get("Group")
    kind = next(
        (each for each in view.profiles if any(n.endswith(("type", "kind")) for n in names_of(each.header))), None
    )
    if holder is None or kind is None:
        return
    users = [value for value in kind.distinct if "user" in value.lower() or "account" in value.lower()]
    groups = [value for value in kind.distinct if "group" in value.lower() or "role" in value.lower()]
    if len(users) != 1 or len(groups) != 1:
        return
    column = holder.header
    for field in ("Username", "Group"):
        fields.pop(field, None)
    shape["join"] = {
        "Username": f"{{{column}|when({kind.header}={users[0]})}}",
        "Group": f"{{{column}|when({kind.header}={groups[0]})}}",
    }
    evidence.append(f"{column} names users and groups; {kind.header} says which")


def _without_prefix(view: View, fields: dict[str, Meaning], shape: dict[str, Any], evidence: list[str]) -> None:
    holder = fields.get("Username")
    if holder is None:
        return
    values = view.by_header[holder.header].distinct
    if values and all(_PREFIXED.match(value) for value in values):
        fields.pop("Username")
        shape.setdefault("join", {})["Username"] = f"{{{holder.header}|after(:)}}"
        evidence.append(f"{holder.header} begins with a kind, such as {values[0]}: the name follows the colon")


def _memberships(view: View) -> list[Part]:
    fields = view.fields(Content.MEMBERSHIPS)
    if not {"Username", "Group"} <= fields.keys() or _is_about_users(view):
        return []
    username, group = (view.by_header[fields[field].header] for field in ("Username", "Group"))
    if len(view.profiles) > 5 and username.is_unique:
        return []
    if username.is_unique and username.is_filled and _about_people(view):
        return []
    evidence = [f"Each row pairs {username.header} with {group.header}"]
    shape: dict[str, Any] = {"deriveUsers": True}
    _add_list(group, fields, shape, evidence)
    _without_prefix(view, fields, shape, evidence)
    return [Part(Content.MEMBERSHIPS, fields, shape, 0.85, evidence)]


def _groups(view: View) -> list[Part]:
    fields = view.fields(Content.GROUPS)
    users = {field for field, meaning in view.fields(Content.USERS).items() if meaning.score > 0.5}
    if "Group" not in fields or users - {"Name", "Active"} or len(view.profiles) > 8:
        return []
    if not view.by_header[fields["Group"].header].is_unique:
        return []
    return [
        Part(Content.GROUPS, fields, {}, 0.7, [f"{fields['Group'].header} is unique, and no column is about people"])
    ]


def _people(view: View) -> list[Part]:
    """The people of an HR system: an employee ID, a name, and what only employers know."""
    fields = view.fields(Content.IDENTITIES)
    login = view.fields(Content.USERS).get("Username")
    employee = fields.get("Employee ID")
    if employee is None or not view.by_header[employee.header].is_unique or (login and login.score > 0.9):
        return []
    employed = _EMPLOYED & fields.keys()
    if not {"Created", "Type", "Supervisor ID"} & employed and len(employed) < 2:
        return []
    shape: dict[str, Any] = {}
    full = view.named(["name", "fullname", "displayname"])
    if not {"First Name", "Last Name"} <= fields.keys():
        if full is None:
            return []
        shape["join"] = {"First Name": f"{{{full.header}|first}}", "Last Name": f"{{{full.header}|last}}"}
        fields = {field: meaning for field, meaning in fields.items() if field not in shape["join"]}
    evidence = [f"{employee.header} is unique, and an HR system knows {', '.join(sorted(employed))}"]
    if title := fields.get("Title"):
        values = view.by_header[title.header].distinct
        if values and all(_CODED.match(value) for value in values):
            fields.pop("Title")
            shape.setdefault("join", {})["Title"] = f"{{{title.header}|after(#)}}"
            evidence.append(f"{title.header} begins with a code: the title follows the #")
    return [Part(Content.IDENTITIES, fields, shape, 0.75, evidence)]


def _users(view: View) -> list[Part]:
    fields = view.fields(Content.USERS)
    shape: dict[str, Any] = {}
    evidence: list[str] = []
    key = choose_username(view, fields, shape, evidence)
    part = Part(Content.USERS, fields, shape, 0.85 if key else 0.3, evidence)
    if key is None:
        text = "No column has a different value in every row. Which one names the account?"
        choices = [Choice(each.header, "Username", each.header) for each in view.profiles[:8]]
        part.questions = [Question(text, choices)]
    elif {"Name", "First Name", "Email"} & fields.keys():
        evidence.append(f"Columns of accounts: {', '.join(sorted(_PERSON & fields.keys()))}")
    if (active := fields.get("Active")) and is_inverted(active.header):
        shape["invert"] = ["Active"]
        evidence.append(f"{active.header} says the opposite of active")
    lists = [each for each in view.profiles if _lists_groups(each, fields)]
    _ask_for_header(view, part)
    return [part, *(_listed_memberships(part, each) for each in lists[:1] if key)]


def _ask_for_header(view: View, part: Part) -> None:
    for line in view.found.candidates[:1]:
        text = f"Line {line} looks like a header too. Set shape.headerLine or shape.skipLines"
        choices = [
            Choice(f"Line {line} is the header", "headerLine", str(line)),
            Choice(f"Leave line {line} out", "skipLines", "1"),
        ]
        part.questions = [*part.questions, Question(text, choices)]


def choose_username(
    view: View, fields: dict[str, Meaning], shape: dict[str, Any], evidence: list[str], known: str | None = None
) -> str | None:
    """Choose the column of usernames: `known`, the best by header, or another unique one. Return its header."""
    tried = [fields[field].header for field in ("Username", "Email", "Employee ID") if field in fields]
    ids = [
        each.header for each in view.profiles if names_of(each.header)[-1:] in (["id"], ["objectguid"], ["objectid"])
    ]
    names = [fields["Name"].header] if "Name" in fields else []
    logins = [each.header for each in view.profiles if each.logins == 1 and not each.numbers and not each.date_formats]
    for header in [known] if known else [*tried, *ids, *names, *logins]:
        profile = view.by_header[header]
        if not known and not (profile.is_unique and profile.is_filled):
            continue
        other = next((field for field, meaning in fields.items() if meaning.header == header), None)
        fields.pop("Username", None)
        if other not in (None, "Username"):
            shape["join"] = {"Username": f"{{{header}}}"}
            evidence.append(f"{header} is unique and serves as the username too")
        else:
            fields["Username"] = Meaning(header, "Username", 0.9, "it is filled and different in every row")
            if profile.emails == 1 and "Email" not in fields:
                shape["join"] = {"Email": f"{{{header}}}"}
                evidence.append(f"The usernames in {header} are e-mail addresses")
        return header
    return None


def _lists_groups(profile: Profile, fields: dict[str, Meaning]) -> bool:
    if profile.is_useless or not profile.values or profile.header in {meaning.header for meaning in fields.values()}:
        return False
    if looks_secret(profile.header) or not _LISTED.search(names_of(profile.header)[-1]):
        return False
    is_group = bool({"Group"} & assigned(meanings(Content.MEMBERSHIPS, [profile])).keys())
    repeats = len(profile.distinct) < len(profile.values)
    is_plural = names_of(profile.header)[-1] in _PLURAL
    is_named = is_group and (repeats or is_plural or profile.distinguished_names > 0.5)
    return profile.separator is not None or (is_named and not profile.numbers)


def _listed_memberships(users: Part, groups: Profile) -> Part:
    evidence = [f"{groups.header} names groups of the account"]
    shape: dict[str, Any] = {}
    fields: dict[str, Meaning] = {}
    if "Username" in users.fields:
        fields["Username"] = users.fields["Username"]
    else:
        shape["join"] = {"Username": users.shape["join"]["Username"]}
    fields["Group"] = Meaning(groups.header, "Group", 0.8, "its header names groups")
    _add_list(groups, fields, shape, evidence)
    if "split" not in shape and not groups.is_filled:
        shape["skipRowsWhere"] = [{"column": groups.header, "is": [""]}]
    return Part(Content.MEMBERSHIPS, fields, shape, 0.7, evidence)


def _add_list(groups: Profile, fields: dict[str, Meaning], shape: dict[str, Any], evidence: list[str]) -> None:
    if separator := groups.separator:
        shape["split"] = {groups.header: separator}
        example = next((value for value in groups.values if separator in value), groups.values[0])[:40]
        evidence.append(f"Several in one cell, {_said(separator)}: {example}")
    if groups.distinguished_names > 0.5:
        fields.pop("Group")
        shape.setdefault("join", {})["Group"] = f"{{{groups.header}|rdn}}"
        evidence.append("Groups are distinguished names; the first part names the group")


def _said(separator: str) -> str:
    names = {";": "a semicolon", ",": "a comma", "#": "#", "|": "a bar", "\n": "a line break"}
    return f"separated by {names[separator]}" if separator in names else "as a list"


# Values


def _add_dates(view: View, part: Part) -> None:
    for field in DATE_FIELDS:
        if (meaning := part.fields.get(field)) is None:
            continue
        column = view.by_header[meaning.header]
        formats = column.date_formats
        if words := [word for word in column.distinct if fold(word) in NO_DATE]:
            part.shape["blank"] = sorted({*part.shape.get("blank", []), *words})
            part.evidence.append(f"{meaning.header} has words for no date: {', '.join(words[:3])}")
        if {"day first", "month first"} <= set(formats) and "iso" not in formats:
            example = next(iter(view.by_header[meaning.header].values), "")
            text = f"{meaning.header}: is the day or the month first in {example}? Set shape.dates.{meaning.header}"
            choices = [
                Choice(f"{each.title()}", f"dates.{meaning.header}", each) for each in ("day first", "month first")
            ]
            part.questions = [*part.questions, Question(text, choices)]
        elif formats and "iso" not in formats:
            part.shape.setdefault("dates", {})[meaning.header] = formats[0]
            part.evidence.append(f"{meaning.header} has dates: {formats[0]}")


def _add_words(view: View, part: Part) -> None:
    """Propose values for unknown words, and add a question for each."""
    if kind := part.fields.get("Type"):
        known = {word: _KINDS.get(_letters(word)) for word in view.by_header[kind.header].distinct[:50]}
        if proposed := {word: value for word, value in known.items() if value and fold(word) not in WORDS["Type"]}:
            part.shape.setdefault("values", {})["Type"] = proposed
    for field in ("Active", "Status"):
        if (meaning := part.fields.get(field)) is None:
            continue
        unknown = [word for word in view.by_header[meaning.header].distinct if fold(word) not in WORDS[field]]
        for word in unknown[:12]:
            guess = _GUESSED.get(_letters(word))
            values = {"Yes": "Yes", "No": "No"} if field == "Active" else _IDENTITY_WORDS
            if guess:
                part.shape.setdefault("values", {}).setdefault(field, {})[word] = values[guess]
            said = f"Proposed: {values[guess]}." if guess else f"Set shape.values.{field}.{word}."
            text = f"{meaning.header}: what does {word} mean? {said}"
            names = {"Yes": f"{word} means active", "No": f"{word} means not active"}
            choices = [Choice(names[each], f"values.{field}.{word}", values[each]) for each in ("Yes", "No")]
            part.questions = [*part.questions, Question(text, choices)]


def _letters(word: str) -> str:
    return re.sub(r"[^a-z]", "", word.lower())
