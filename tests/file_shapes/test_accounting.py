"""Test that a proposal accounts for every column exactly once, and that read and left-out rows add up."""

import csv
import io
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall.application_imports.read import formats
from rolecall.application_imports.read.access_signs import Sign
from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.column_uses import Fate
from rolecall.application_imports.read.pattern_words import pattern_in_words
from rolecall.application_imports.read.statements import STATED
from rolecall.applications.file_shape import FILTERS, FileShape
from rolecall.applications.model import Content
from rolecall.file_shapes.files.accounting import BESIDE
from rolecall.file_shapes.files.proposals import propose
from rolecall.file_shapes.shapes import ColumnAccount, FileProposal
from rolecall.file_shapes.tables.sample import Sample
from tests.application_imports.reading import read_files
from tests.file_shapes.test_export_files import EXPECTED, FOLDER
from tests.file_shapes.test_exports import proposed
from tests.file_shapes.test_samples import FOLDER as SAMPLES

EXPORTS = [FOLDER / name for name in EXPECTED]
REAL = sorted(path for path in SAMPLES.glob("*") if path.suffix != ".md")
ALL = [pytest.param(path, id=path.name) for path in (*EXPORTS, *REAL)]


def proposal_of(text: bytes, name: str = "export") -> tuple[FileProposal, dict[str, Any]]:
    found = propose([Sample(name, len(text), text)])
    return found.files[0], found.connector


def columns_of(text: str) -> dict[str, ColumnAccount]:
    file, _ = proposal_of(text.encode())
    assert file.problem is None
    return {column.header: column for column in file.columns}


@pytest.mark.parametrize("path", ALL)
def test_proposal_accounts_once_for_every_column_that_an_import_finds(path: Path) -> None:
    text = path.read_bytes()
    file, connector = proposal_of(text, path.name)
    if file.problem:
        pytest.skip("the file is refused")

    accounted = Counter((column.place, column.header) for column in file.columns)
    (group,) = connector["files"]
    sections = [group, *(group["shape"] or {}).get("contents", [])]

    assert set(accounted.values()) == {1}
    for part, section in zip(file.contents, sections, strict=True):
        shape = msgspec.convert(section["shape"] or {}, FileShape)
        if shape.records != file.records and part.place is None:
            continue
        found = formats.read(text, group["encoding"], shape, section["columns"]).headers
        assert {header for header in found if (part.place, header) not in accounted} == set()


@pytest.mark.parametrize("path", ALL)
def test_rows_that_are_read_and_left_out_add_up(path: Path, tmp_path: Path) -> None:
    text = path.read_bytes()
    file, connector = proposal_of(text, path.name)
    if file.problem:
        pytest.skip("the file is refused")

    try:
        found = read_files(tmp_path, connector["files"], {str(file.file_group): text})
    except BrokenFile:
        assert any(part.questions for part in file.contents)
        return

    for delta in found.deltas.values():
        if delta.group.is_derived:
            continue
        (reading,) = delta.readings()
        lines = delta.part().after.get_column("line").n_unique()
        assert min(reading.left_out.values(), default=0) >= 0
        assert reading.rows == reading.read + reading.rejected + sum(reading.left_out.values())
        # Repeated rows count as read, although they are merged.
        assert reading.read - delta.repeats <= lines <= reading.read


@pytest.mark.parametrize("path", ALL)
def test_every_content_has_statements_or_questions(path: Path) -> None:
    file, _ = proposal_of(path.read_bytes(), path.name)

    for part in file.contents:
        # The rows of some files cannot be read before a question is answered.
        assert part.statements or part.questions or not part.understood
        if part.understood and part.content == "users":
            assert any("as active" in line or "as not active" in line for line in part.statements)


def test_every_key_of_a_shape_has_a_statement() -> None:
    assert STATED.keys() == {field.name for field in msgspec.structs.fields(FileShape)}


_PEOPLE = [("ada", "Ada Byron", "Active"), ("bob", "Bob Kahn", "Inactive"), ("cy", "Cy Dee", "Active")]
_WORDS = st.sampled_from(["", "Yes", "No", "x", "A;B", "B", "Admin", "None", "7", "2026-01-02"])
# Generate one cell for each person: more data would only slow the generation down.
_CELLS = st.tuples(*[_WORDS] * len(_PEOPLE))
_HEADER = st.text("abcdefghijklmnopqrstuvwxyzÄß _-", min_size=3, max_size=20).map(str.strip)


@given(st.dictionaries(_HEADER, _CELLS, max_size=6))
def test_any_further_column_is_accounted_for(further: dict[str, tuple[str, ...]]) -> None:
    names = [f"{header} q{n}".strip() for n, header in enumerate(further)]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["login", "full name", "status", *names])
    for n, person in enumerate(_PEOPLE):
        writer.writerow([*person, *(cells[n] for cells in further.values())])

    found = columns_of(text.getvalue())

    assert [header for header in found if header in names] == names
    assert found["login"].becomes == found["status"].becomes == Fate.READ


@pytest.mark.parametrize(
    ("header", "cells", "sign"),
    [
        ("Super User", ["Yes", "No", "Yes", "No"], Sign.TICKS),
        ("Zones", ["N;S", "S", "N", ""], Sign.LIST),
        ("Jira", ["User", "None", "Admin", "User"], Sign.LEVELS),
        ("marks", ["[admin]", "[]", "[admin, audit]", "[audit]"], Sign.LIST),
        ("classes", ["RX~NOTES", "NOTES", "ORDERS~RX", "RX"], Sign.LIST),
        ("Tier", ["gold", "gold", "tin", "tin"], Sign.NAMES),
        ("Access Mode", ["Read-Write"] * 4, Sign.NAMES),
        ("Bundle", ["Meeting 500", "", "Meeting 500", ""], Sign.NAMES),
        ("Bundle", ["Everything that a whole team needs every day", "Basic"] * 2, Sign.NAMES),
        ("Bundles", ["All apps for teams with 20 GB,Stock", "All apps for teams with 20 GB", "", "Stock"], Sign.LIST),
        ("Inpatient Security Class", ["Nurse", "Doctor", "Pharmacist", "Nurse"], Sign.NAMES),
        ("OPRCLASS", ["ALLPAGES", "ALLPAGES", "BATCH", ""], Sign.NAMES),
        ("Security Question", ["Pet", "Street", "Pet", "School"], None),
        ("Bundle", ["Meeting 500"] * 4, None),
        (
            "Remarks of today",
            ["Asked twice, no answer until the end of May", "Left in May, came back", "", ""],
            None,
        ),
        ("MFA enabled", ["Yes", "No", "Yes", "No"], None),
        ("Department", ["Sales", "Sales", "IT", "IT"], None),
        ("Cost", ["7", "7", "8", "8"], None),
        ("Created", ["2026-01-02", "2026-01-02", "2026-01-03", "2026-01-03"], None),
        ("Remark", ["a", "b", "c", "d"], None),
        ("Archive", ["No", "No", "No", "No"], None),
    ],
)
def test_columns_that_may_contain_access_are_recognized(header: str, cells: list[str], sign: Sign | None) -> None:
    logins = ("ada", "bob", "cy", "dee")
    rows = "".join(f"{login}\tActive\t{cell}\n" for login, cell in zip(logins, cells, strict=True))

    assert columns_of(f"login\tstatus\t{header}\n{rows}")[header].may_be_access == sign


def test_another_list_may_be_access_but_another_name_of_the_group_is_not() -> None:
    found = columns_of(
        "login,status,Group,Group ID,Zones\nada,Active,A;B,1;2,N;S\nbob,Active,A,1,N\ncy,Inactive,B,2,S\n"
    )

    assert {header for header, column in found.items() if column.may_be_access} == {"Zones"}


def test_columns_that_look_like_secrets_are_shown_without_examples() -> None:
    found = columns_of("login,status,Pwd Hash\nada,Active,81dc9bdb\nbob,Inactive,d8578edf\n")["Pwd Hash"]

    assert (found.becomes, found.how, found.examples) == (Fate.IGNORED, "it looks like a secret", [])


@pytest.mark.parametrize(
    "text",
    [
        "user,PIN,Active\nada,4471,Yes\nbob,9021,No\n",
        '[{"user": "ada", "pins": [{"pin": "4471"}]}, {"user": "bob", "pins": [{"pin": "9021"}]}]',
        "dn: uid=ada\nuid: ada\nuserPassword: 4471\n\ndn: uid=bob\nuid: bob\nuserPassword: 9021\n",
    ],
)
def test_first_lines_of_a_file_are_shown_without_secrets(text: str) -> None:
    file, _ = proposal_of(text.encode())
    shown = "\n".join(file.raw)

    assert ("ada" in shown, "4471" in shown, "9021" in shown, shown.count("•••")) == (True, False, False, 2)


@pytest.mark.parametrize(
    "text",
    [
        'user,password,Active\nada,"hush""x",Yes\nbob,hush2,No\n',
        f"user,note,password,Active\nada,{'n' * 380},hush_and_more_that_is_cut_off,Yes\nbob,x,hush2,No\n",
        r'[{"user": "ada", "keys": [{"id": 1, "password": "a\"hush"}]}, {"user": "bob", "tokens": ["hush"]}]',
        '[{"user": "ada", "x": [{"apiKey": {"v": "hush"}}]}, {"user": "bob", "x": []}]',
        'user;attributes;Active\nada;{"password":"hush1"};Yes\nbob;{"password":"hush2"};No\n',
        "Export by admin password=hush\nuser,dept,Active\nada,x,Yes\nbob,y,No\ncyd,y,No\n",
    ],
)
def test_secrets_are_shown_nowhere_in_a_proposal(text: str) -> None:
    file, _ = proposal_of(text.encode())

    assert "ada" in "\n".join(file.raw)
    assert "hush" not in str(msgspec.to_builtins(file))


def test_refused_text_is_quoted_without_secrets() -> None:
    file, _ = proposal_of(b"user=ada password=hush active=yes\nuser=bob password=hush active=no\n")

    assert "such as user=ada password=•••" in str(file.problem)


def test_secrets_inside_objects_are_not_shown() -> None:
    text = (
        '{"settings": {"apiKey": "hush"}, "users": [{"login": "ada", "keys": [{"id": "k1", "password": "hush"}]},'
        ' {"login": "bob", "keys": [{"id": "k2", "password": "hush"}]}]}'
    )

    file, _ = proposal_of(text.encode())

    assert "hush" not in str(file.columns)


def test_nested_lists_and_members_beside_the_records_are_accounted_for() -> None:
    text = (
        '{"tenant": "acme", "owner": {"login": "zoe"}, "total": 2, "users": ['
        '{"login": "ada", "active": true, "teams": [{"name": "ops", "role": "lead"}], "repos": [{"slug": "pay"}]},'
        '{"login": "bob", "active": false, "teams": [{"name": "ops", "role": "member"}], "repos": []}]}'
    )

    found = columns_of(text)

    assert {header: column.becomes for header, column in found.items()} == {
        "login": Fate.READ,
        "active": Fate.READ,
        "teams": Fate.READ,
        "teams[].role": Fate.NOT_READ,
        "repos": Fate.KEPT,
        "repos[].slug": Fate.KEPT,
        "teams[].name": Fate.READ,
        "tenant": Fate.NOT_READ,
        "owner": Fate.NOT_READ,
    }
    assert [header for header, column in found.items() if column.place == BESIDE] == ["tenant", "owner"]
    assert {header for header, column in found.items() if column.may_be_access} == {"teams[].role", "repos[].slug"}


def test_statements_count_the_rows_that_are_left_out(tmp_path: Path) -> None:
    text = "login,status,groups\nada,Active,A;B\nbob,Inactive,\ncy,Active,B\nTotal,3,\n"

    users, memberships = proposed(tmp_path, users=text).files[0].contents

    assert "4 rows give 3 accounts" in users.statements
    assert "1 of 4 rows left out, because login is Total" in users.statements
    assert "status is read as follows: Active (2) as active; Inactive (1) as not active" in users.statements
    assert "1 of 4 rows left out, because groups is blank" in memberships.statements


def test_statements_are_in_plain_words_and_count_accounts(tmp_path: Path) -> None:
    both = proposed(tmp_path, users="login,active,suspended\nada,true,false\nbob,true,true\n").files[0].contents[0]
    one = proposed(tmp_path, groups="Role,Description\nApprover,Approves payments\n").files[0].contents[0]
    grants = "user,mail,role\nada,a@x.org,A\nada,a@x.org,B\nbob,b@x.org,A\nbob,b@x.org,C\n"
    users = proposed(tmp_path, grants=grants).files[0].contents[0]

    assert any(said.startswith("active and suspended is read as follows: ") for said in both.statements)
    assert "1 row gives 1 group" in one.statements
    assert "No column says who is active: all 2 accounts are read as active" in users.statements
    assert not any("No column says who is active" in said for said in users.evidence)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("{Login Access|else(-)} {Inactive|else(-)}", "Login Access and Inactive"),
        ("{User End Date|past(%d-%b-%y)}", "User End Date (only if the date is before today)"),
        ("{first|lower}.{last}", "first (in lowercase), “.” and last"),
        ("{name|when(type=user)|after(:)}", "name (only if type is user, the text after :)"),
        ("{Left|past(iso)|as(No)|or(Status)}", "Left (only if the date is before today, as No, or else Status)"),
    ],
)
def test_patterns_are_described_in_plain_words(pattern: str, words: str) -> None:
    assert pattern_in_words(pattern) == words


def test_every_filter_is_described_in_plain_words() -> None:
    for name, takes in FILTERS.items():
        argument = "type=user" if name in ("when", "unless") else "x"
        assert "|" not in pattern_in_words(f"{{login|{name}{f'({argument})' if takes else ''}}}")


def test_row_that_counts_the_cells_above_is_not_an_account(tmp_path: Path) -> None:
    rows = "Ada Byron;ADA;Write;Read;-\nBob Kahn;BOB;Read;-;Admin\nCy Dee;CY;Read;Write;n/a\n"
    text = f"Employee;User ID;Create;Approve;Limits\n{rows}Users with access;3;2;2;2\n"

    file = proposed(tmp_path, matrix=text).files[0]

    assert "The last row is a total and is left out: Users with access" in file.evidence
    assert not [column.header for column in file.columns if column.may_be_access]
    assert {row["username"] for part in file.contents for row in part.understood} == {"ADA", "BOB", "CY"}
    permissions = next(part for part in file.contents if part.content == Content.PERMISSIONS)
    assert {(row["permission"], row["value"]) for row in permissions.understood if row["username"] == "ADA"} == {
        ("Create", "Write"),
        ("Approve", "Read"),
    }


def test_column_with_one_value_in_all_rows_is_not_the_permission(tmp_path: Path) -> None:
    rows = "ADA,Clerk,Payables,Standard\nADA,Manager,Ledger,Standard\nBOB,Clerk,Payables,Standard\n"
    file = proposed(tmp_path, grants=f"User Name,Responsibility Name,Application,Security Group\n{rows}").files[0]

    read = {column.header: column.how for column in file.columns}

    assert "Permission" in read["Responsibility Name"]
    assert "Permission" not in read["Security Group"]


def test_status_is_recognized_by_its_values_alone(tmp_path: Path) -> None:
    rows = "ada;Ada Byron;ACTIF\nbob;Bob Kahn;DÉSACTIVÉ\ncy;Cy Dee;ACTIF\nd;Dee Fox;PARTI\n"
    (users,) = proposed(tmp_path, users=f"login;Nom;Etat du compte\n{rows}").files[0].contents

    assert {column.header for column in users.columns if column.field == "Active"} == {"Etat du compte"}
    assert [question.text for question in users.questions] == ["Etat du compte: what does PARTI mean?"]
