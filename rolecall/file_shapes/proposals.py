"""Propose a connector for several files together: the values of one file may decide what a column of another means."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from rolecall.application_imports.read.columns import ALIASES
from rolecall.application_imports.read.json_pages import missing_pages
from rolecall.application_imports.read.secret_headers import secret_headers
from rolecall.applications.file_shape import JSON
from rolecall.applications.model import Content, same_header
from rolecall.core.secret_names import mask_text
from rolecall.file_shapes.accounting import account_beside, account_for, examples_of, sections_of
from rolecall.file_shapes.by_template import choose_group, fits, parts_by, with_questions
from rolecall.file_shapes.capitals import ask_for_capitals, ask_for_capitals_of_groups
from rolecall.file_shapes.contents import parts_of
from rolecall.file_shapes.directory import people_in
from rolecall.file_shapes.group_names import ask_for_group_names
from rolecall.file_shapes.headers import known_words
from rolecall.file_shapes.held_by_users import read_roles_as_permissions
from rolecall.file_shapes.holders import agree_on_username
from rolecall.file_shapes.nulls import without_nulls
from rolecall.file_shapes.parts import Part, View, view_of
from rolecall.file_shapes.realms import ask_for_granted_accounts
from rolecall.file_shapes.recognize import recognize
from rolecall.file_shapes.references import (
    ask_for_ended_groups,
    ask_for_ids,
    ask_for_inner_groups,
    ask_for_names,
    ask_for_references,
)
from rolecall.file_shapes.refusals import check_is_about_access
from rolecall.file_shapes.sample import Sample
from rolecall.file_shapes.sample_table import Decided, SampleTable, Unreadable, raw_without_secrets
from rolecall.file_shapes.shapes import (
    ColumnAccount,
    ColumnProposal,
    ContentProposal,
    FileProposal,
    ProposalDetail,
)
from rolecall.file_shapes.understood import state_unlisted, understood_by

# Keys of shapes whose lists are merged when several files share a file group.
_UNITED = ("ignore", "openQuestions")
_HOLDERS = (Content.MEMBERSHIPS, Content.PERMISSIONS)


class ReadFile(msgspec.Struct):
    """The working state of one file while a connector is proposed."""

    sample: Sample
    view: View | None = None
    parts: list[Part] = []
    problem: str | None = None
    group: str | None = None
    # Further sheets or lists of the same file: those that are read, and those that are not.
    others: list["ReadFile"] = []
    left: list["ReadFile"] = []


class Chosen(Decided, frozen=True):
    """The decisions of a person about a file and its first content."""

    content: Content | None = None


class Template(msgspec.Struct, frozen=True):
    """A connector template to read files with, instead of a proposal."""

    name: str
    vendor: str
    files: list[dict[str, Any]]
    # Whether the template is used only if each file has all columns of one of its file groups. If a file does not, a
    # proposal is made for all files without the template.
    must_fit: bool = False


def propose(
    samples: Sequence[Sample],
    chosen: Mapping[str, Chosen] = MappingProxyType({}),
    template: Template | None = None,
) -> ProposalDetail:
    """Propose a connector for the files. `chosen` maps file names to decisions that override the proposal."""
    files = [_read(sample, chosen.get(sample.name, Chosen())) for sample in samples]
    _name_missing_pages(files)
    if template and template.must_fit and not all(file.view and fits(file.view, template.files) for file in files):
        template = None
    if template:
        groups = _by_template(files, template)
    else:
        _choose_others(files)
        every = [each for file in files for each in (file, *file.others)]
        _agree_on_usernames(every)
        _agree_on_groups(every)
        _leave_out_repeats(every)
        _ask_for_doubts(files, every)
        groups = _groups(files)
    connector = {"name": "Files", "vendor": template.vendor if template else "", "files": groups}
    is_source = any(group["content"] == Content.IDENTITIES for group in groups)
    shown = [_shown(file) for file in files]
    read = [each for file in files for each in (file, *file.others) if not file.problem]
    state_unlisted([(part.content, part.shape, part.understood) for each in read for part in each.parts])
    return ProposalDetail(connector, is_source, shown)


def _ask_for_doubts(files: Sequence[ReadFile], every: Sequence[ReadFile]) -> None:
    """Ask about usernames and groups, with what all contents say about them. `every` has the sheets and lists too."""
    viewed = [(each.view, each.parts) for each in every if each.view]
    for view, parts in viewed:
        ask_for_capitals(view, parts)
        ask_for_capitals_of_groups(view, parts)
    ask_for_references(viewed)
    ask_for_granted_accounts(viewed)
    ask_for_inner_groups(viewed)
    ask_for_ended_groups(viewed)
    for view, parts in viewed:
        ask_for_group_names(view, parts)
    for file in files:
        unread = [(_place(each), each.view) for each in file.left if each.view]
        for view, parts in [(each.view, each.parts) for each in (file, *file.others) if each.view]:
            ask_for_names(view, parts, unread)


def _read(sample: Sample, chosen: Chosen) -> ReadFile:
    try:
        first, *others = [view_of(without_nulls(found)) for found in recognize(sample, chosen)]
        # By choosing a content, a person decides that the file is about access.
        if chosen.content is None:
            check_is_about_access(first)
    except Unreadable as error:
        return ReadFile(sample, problem=str(error))
    if not first.table.rows:
        return ReadFile(sample, first, problem="there is a header but no row; export the file with its data")
    further = [ReadFile(sample, view, parts_of(view)) for view in others if view.table.rows]
    return ReadFile(sample, first, parts_of(first, chosen.content), others=further)


def _name_missing_pages(files: Sequence[ReadFile]) -> None:
    """Put a warning first in the evidence if the files are only some pages of a list."""
    tables = [file.view.table for file in files if file.view and file.view.table.page]
    missing = missing_pages([table.page for table in tables if table.page])
    for table in tables if missing else ():
        why = f"This looks like one page of several, because {missing}"
        table.evidence.insert(0, f"{why}. Export all pages: an import removes records that the files do not have")


def _choose_others(files: Sequence[ReadFile]) -> None:
    """Read further contents from other sheets and lists, if no file has them yet; list unread ones in the evidence."""
    taken = {part.content for file in files for part in file.parts}
    for file in files:
        kept, left = [], []
        for other in file.others:
            assert other.view
            new = [part for part in other.parts if part.content not in taken]
            is_sure = known_words(other.view.table.headers) > 1 and not other.view.table.is_doubtful
            if file.parts[0].content == Content.IDENTITIES or not is_sure or new != other.parts:
                left.append(other)
                continue
            taken.update(part.content for part in new)
            kept.append(other)
        file.others, file.left = kept, left
        if file.view:
            found = file.view.table
            read = {found.sheet, *(other.view.table.sheet for other in kept if other.view)}
            unread = [name for name in found.sheets if name not in read] if found.sheet else []
            found.evidence += [*map(_read_too, kept), *_not_read(left, unread), *_inner_lists(found)]
            found.beside |= _left_beside(left, unread)


def _read_too(other: ReadFile) -> str:
    contents = " and ".join(part.content for part in other.parts)
    return f"{_place(other)} gives {contents}"


def _not_read(others: Sequence[ReadFile], sheets: Sequence[str]) -> list[str]:
    if not others and not sheets:
        return []
    lists = [f"{_place(each)} ({len(each.view.table.rows):,})" for each in others if each.view and not sheets]
    named = ", ".join([*lists, *(f"sheet {name}" for name in sheets)])
    return [f"Not read: {named}. Choose one of them to read it instead, or import it as a separate application"]


def _left_beside(others: Sequence[ReadFile], sheets: Sequence[str]) -> dict[str, str]:
    """Map the sheets and lists that are not read to their first headers, as far as these are known."""
    left = {_place(each): ", ".join(each.view.table.headers[:5]) for each in others if each.view}
    return {**{f"sheet {name}": "" for name in sheets}, **left}


def _inner_lists(found: SampleTable) -> list[str]:
    """Describe the lists inside records that could be read instead."""
    inner = [path for path in found.choices if path.startswith(f"{found.records or ''}[].")]
    return [f"Each record has lists inside: {', '.join(inner[:5])}. Choose one to read its entries"] if inner else []


def _place(file: ReadFile) -> str:
    assert file.view
    found = file.view.table
    return found.name or (f"sheet {found.sheet}" if found.sheet else f"list {found.records or 'of the file'}")


def _by_template(files: Sequence[ReadFile], template: Template) -> list[dict[str, Any]]:
    """Assign each file to a file group of the template.

    A group without a file becomes optional, and a group with several files accepts several.
    """
    for file in files:
        if file.view is None:
            continue
        # A template decides what is read, so other sheets and lists are not read.
        file.view.table.beside |= _left_beside(file.others, [])
        file.others = []
        group = choose_group(file.view, template.files)
        file.group = group["name"] if group else None
        file.parts = parts_by(file.view, group, template.name) if group else []
        if group is None:
            wanted = ", ".join(each["name"] for each in template.files)
            file.problem = f"no file group of the template {template.name} has its columns ({wanted}); choose another"
    given = [file.group for file in files]
    asking = [_asking(group, files) for group in template.files]
    return [
        {
            **group,
            "isOptional": group["isOptional"] or group["name"] not in given,
            "isMultiple": group["isMultiple"] or given.count(group["name"]) > 1,
        }
        for group in asking
    ]


def _asking(group: dict[str, Any], files: Sequence[ReadFile]) -> dict[str, Any]:
    """Return a file group with the questions about its files: those of the first file that has any."""
    read = [file.parts for file in files if file.group == group["name"]]
    parts = next((parts for parts in read if any(part.questions for part in parts)), [])
    return with_questions(group, parts) if parts else group


def _agree_on_usernames(files: Sequence[ReadFile]) -> None:
    """Read usernames from the column that memberships and permissions refer to."""
    named = {
        value for file in files for part in file.parts if part.content in _HOLDERS for value in _usernames(file, part)
    }
    for file in files:
        for part in file.parts:
            if part.content != Content.USERS or file.view is None or not named:
                continue
            if agree_on_username(people_in(file.view)[0], part, named):
                for other in file.parts:
                    if other is not part and other.content in _HOLDERS:
                        _follow_username(part, other)


def _usernames(file: ReadFile, part: Part) -> set[str]:
    """Return the usernames that a content refers to, without prefixes.

    Return an empty set if the file itself lists the users.
    """
    assert file.view
    origin, header = part.origin("Username"), part.holder
    profile = file.view.by_header.get(header or "")
    # The host or domain beside a login says nothing about the columns of other files.
    is_joined = "}@{" in (origin or "")
    if profile is None or is_joined or any(other.content == Content.USERS for other in file.parts):
        return set()
    separator = part.shape.get("split", {}).get(header)
    is_text = separator not in (None, JSON)
    values = [each for value in profile.distinct for each in (value.split(separator) if is_text else [value])]
    if "|rdn" in (origin or ""):
        return {value.partition("=")[2].partition(",")[0] for value in values}
    return {value.partition(":")[2] if "after(:)" in (origin or "") else value.strip() for value in values}


def _agree_on_groups(files: Sequence[ReadFile]) -> None:
    """Read the names of groups from the column that memberships refer to, for example a path."""
    named = {
        value
        for file in files
        for part in file.parts
        if part.content == Content.MEMBERSHIPS and file.view
        for header in part.columns_of_groups
        for value in file.view.by_header[header].distinct
    }
    for file in files:
        for part in file.parts:
            if part.content != Content.GROUPS or file.view is None or not named or "Group" not in part.fields:
                continue
            group = part.fields["Group"]
            fits = [each for each in file.view.profiles if each.is_unique and named.intersection(each.distinct)]
            if fits and not named.intersection(file.view.by_header[group.header].distinct):
                why = "the memberships name its values"
                part.fields = {field: each for field, each in part.fields.items() if each.header != fits[0].header}
                part.fields["Group"] = msgspec.structs.replace(group, header=fits[0].header, evidence=why)
                if fits[0].is_opaque:
                    ask_for_ids(part, fits[0].header, group.header)


def _follow_username(users: Part, other: Part) -> None:
    other.fields.pop("Username", None)
    other.shape.get("join", {}).pop("Username", None)
    if "Username" in users.fields:
        other.fields["Username"] = users.fields["Username"]
    else:
        other.shape.setdefault("join", {})["Username"] = users.shape["join"]["Username"]


def _leave_out_repeats(files: Sequence[ReadFile]) -> None:
    """Drop each content after the first of its file if it is the first content of this or of another file.

    If no content has permissions, roles of accounts become permissions and are not dropped.
    Derive users only if no content lists them, and from one content only.
    """
    own = {file.parts[0].content for file in files if file.parts}
    has_permissions = any(part.content == Content.PERMISSIONS for file in files for part in file.parts)
    for file in files:
        if Content.MEMBERSHIPS in own and not has_permissions:
            has_permissions = any(map(read_roles_as_permissions, file.parts[1:]))
        file.parts = [part for i, part in enumerate(file.parts) if i == 0 or part.content not in own]
    if any(part.content == Content.USERS for file in files for part in file.parts):
        for file in files:
            for part in file.parts:
                part.shape.pop("deriveUsers", None)
    _derive_once(files)


def _derive_once(files: Sequence[ReadFile]) -> None:
    """Derive users from only one of the contents that could give them, preferably from memberships."""
    deriving = [part for file in files for part in file.parts if part.shape.get("deriveUsers")]
    deriving.sort(key=lambda part: part.content != Content.MEMBERSHIPS)
    for part in deriving[1:]:
        part.shape.pop("deriveUsers")


def _groups(files: Sequence[ReadFile]) -> list[dict[str, Any]]:
    """Return the file groups. Files with the same first content share one; report a file whose columns do not fit."""
    groups: dict[Content, dict[str, Any]] = {}
    for file in files:
        if not file.parts:
            continue
        group = _group(file)
        content = file.parts[0].content
        known = groups.get(content)
        if known is None:
            file.group = group["name"]
            groups[content] = group
        elif _merge(known, group):
            file.group = known["name"]
        else:
            file.problem = (
                f"another file already has {content}, in other columns; import it as a separate application, "
                "or give both files the same columns"
            )
    return list(groups.values())


def _group(file: ReadFile) -> dict[str, Any]:
    assert file.view
    first, *others = [*file.parts, *(part for other in file.others for part in other.parts)]
    for part in (first, *others):
        if part.questions:
            part.shape["openQuestions"] = [question.text for question in part.questions]
    shape: dict[str, Any] = dict(first.shape)
    if others:
        shape["contents"] = [{"content": part.content, "columns": part.columns, "shape": part.shape} for part in others]
    return {
        "name": first.content.title(),
        "content": first.content,
        "isOptional": False,
        "isMultiple": False,
        "columns": first.columns,
        "encoding": file.view.table.encoding,
        "allowRejects": False,
        # Set a shape for nested names: without one, nested objects do not become columns.
        "shape": shape if shape or any("." in header for header in first.columns) else None,
    }


def _merge(known: dict[str, Any], other: dict[str, Any]) -> bool:
    """Merge a second file group into a known one if one mapping fits both, and return whether it does."""
    shapes = [
        {key: value for key, value in (each["shape"] or {}).items() if key not in _UNITED} for each in (known, other)
    ]
    if shapes[0] != shapes[1] or known["encoding"] != other["encoding"]:
        return False
    if known["columns"] != other["columns"]:
        columns = {**_without_aliases(known["columns"]), **_without_aliases(other["columns"])}
        # A mapping cannot read one field from two columns.
        if len(set(columns.values())) < len(columns):
            return False
        known["columns"] = columns
    both = {key: [each for one in (known, other) for each in (one["shape"] or {}).get(key, [])] for key in _UNITED}
    known["shape"] = {**shapes[0], **{key: list(dict.fromkeys(each)) for key, each in both.items() if each}} or None
    known["isMultiple"] = True
    return True


def _without_aliases(columns: dict[str, str]) -> dict[str, str]:
    """Return a mapping without headers that are names or aliases of their field, because they need no mapping."""
    names = {field: {same_header(name) for name in (field, *ALIASES.get(field, ()))} for field in columns.values()}
    return {header: field for header, field in columns.items() if same_header(header) not in names[field]}


def _shown(file: ReadFile) -> FileProposal:
    found = file.view.table if file.view else None
    return FileProposal(
        name=file.sample.name,
        size=file.sample.size,
        problem=file.problem,
        format=found.format if found else None,
        encoding=(found.encoding or "utf-8") if found else None,
        delimiter=found.delimiter if found else None,
        header_line=found.header_line if found else None,
        evidence=_evidence(found) if found else [],
        file_group=file.group,
        contents=[_content(each, part, is_first=each is file) for each in (file, *file.others) for part in each.parts],
        columns=[] if file.problem else _accounts(file),
        raw=raw_without_secrets(found) if found else [],
        sheet=found.sheet if found else None,
        sheets=found.sheets if found else [],
        records=found.records if found else None,
        lists=found.choices if found else [],
    )


def _accounts(file: ReadFile) -> list[ColumnAccount]:
    """Return the columns and other parts of a file, with what becomes of each."""
    found: list[ColumnAccount] = []
    for read in (file, *file.others):
        assert read.view
        parts = [(part.content, {"columns": part.columns, "shape": part.shape}) for part in read.parts]
        sections = sections_of(parts, read.view.table.records)
        found += account_for(read.view, sections, None if read is file else _place(read))
    assert file.view
    paths = {part.shape["records"]: part.content for part in file.parts if "records" in part.shape}
    return [*found, *account_beside(file.view.table.beside, paths)]


def _evidence(found: SampleTable) -> list[str]:
    more = [f"The last row is a total and is left out: {found.totals[0]}"] if found.totals else []
    if found.candidates:
        more.append(f"Other lines that could be the header: {', '.join(map(str, found.candidates))}")
    return [*map(mask_text, (*found.evidence, *more))]


def _content(file: ReadFile, part: Part, *, is_first: bool) -> ContentProposal:
    assert file.view
    fields = {meaning.header: meaning for meaning in part.fields.values()}
    secret = set(secret_headers([each.header for each in file.view.profiles], []))
    ignored = secret.union(part.shape.get("ignore", []))
    columns = []
    for profile in file.view.profiles:
        meaning = fields.get(profile.header)
        columns.append(
            ColumnProposal(
                profile.header,
                meaning.field if meaning else None,
                round(meaning.score, 2) if meaning else 0.0,
                meaning.evidence if meaning else _use_in_patterns(part, profile.header),
                profile.header in ignored,
                [] if profile.header in secret else examples_of(profile.distinct),
            )
        )
    section = {"columns": part.columns, "shape": part.shape}
    table = file.view.table
    found = part.understood = understood_by(file.sample, table.format, table.encoding, part.content, section)
    return ContentProposal(
        part.content,
        part.confidence,
        part.evidence,
        columns,
        part.shape,
        part.questions,
        found.rows,
        None if is_first else _place(file),
        found.statements,
    )


def _use_in_patterns(part: Part, header: str) -> str:
    """Describe which fields are built from a column that is not a field itself."""
    joins: dict[str, str] = part.shape.get("join", {})
    unpivot = part.shape.get("unpivot", {})
    if header in unpivot.get("columns", []):
        return f"{unpivot['cells']} is read from it, and from other columns"
    signs = (f"{{{header}|", f"{{{header}}}", f"|or({header})")
    built = [field for field, pattern in joins.items() if any(sign in pattern for sign in signs)]
    return f"{' and '.join(built)} is built from it" if built else ""
