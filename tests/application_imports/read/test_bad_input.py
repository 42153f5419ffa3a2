"""Test files that cannot be read as they are: a message says what was found and, if possible, which key to set."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.ldif import read_ldif
from tests.application_imports.reading import Outcome, Text, read_file
from tests.file_shapes.test_exports import proposed


def archive() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        made.writestr("users.csv", "Username\nada\n")
    return out.getvalue()


WIDE = ",".join(f"c{n}" for n in range(120_000))
MATRIX = "\n".join(
    [",".join(["Role", *(f"p{n}" for n in range(1_000))]), *(f"r{n}" + ",Y" * 1_000 for n in range(1_000))]
)


@pytest.mark.parametrize(
    ("text", "content", "shape", "message"),
    [
        (archive(), "users", {}, "the file is a ZIP archive with users.csv inside; unpack it"),
        (b"%PDF-1.7 x", "users", {}, "the file is a PDF; export the list as CSV, XLSX, JSON, LDIF or Parquet"),
        (b" \n", "users", {}, "the file is empty"),
        (f"{WIDE}\n{WIDE}\n", "users", {}, "there are 120,000 columns, but at most 20,000 are read; check shape.del"),
        ("Report,March\nUsername,Name\nada,Ada\n", "users", {}, "line 2 looks like the header; set shape.header"),
        ("Staff\n\nUsername,x\nada,1\n", "users", {}, "line 3 looks like the header; set shape.headerLine: 3"),
        ("Report,,\nUsername,Name,x\nada,Ada,1\n", "users", {}, "set shape.headerLine if the header is another line"),
        (MATRIX, "permissions", {}, "and 971 more. It looks like a matrix: set shape.unpivot"),
        ("Username\nada\n", "users", {"split": {"teams": ";"}}, "shape.split names the column teams, which the file"),
        ("Username\nada\n", "users", {"join": {"Name": "{a}"}}, "shape.join names the column a"),
        ("Username\nada\n", "users", {"headerLine": 9}, "the file ends before line 9; set shape.headerLine"),
        (
            "Username,Last Login\nada,03/04/2024\nbob,05/06/2024\n", "users", {},
            "Last Login has dates such as 0",
        ),
        (
            "Username,Last Login\nada,03/04/2024\n", "users", None,
            "03/04/2024, in which day and month are ambiguous; set shape.dates.Last Login to day first or month first",
        ),
        (
            "Username,Last Login\nada,13/04/2024\nbob,05/16/2024\n", "users", {},
            "Last Login has dates with the day first (13/04/2024) and with the month first (05/16/2024); export them",
        ),
        (
            "Username,Last Login\nada,13/04/2024\nbob,05/16/2024\n", "users", None,
            "set shape.dates.Last Login to day first or month first and lose the others",
        ),
        ('{"a": [{"Username": "x"}],\n"b": [{"Username": "y"}]}', "users", {}, "the lists a, b; name one in shape.rec"),
        ('{"a": []}', "users", {"records": "b"}, "shape.records names b, which is not a list of records; there are a"),
        ("Username,Active\nada,perhaps\n", "users", {}, "Active is perhaps: expected True/False"),
        (
            "P,a\nread,Y\n", "permissions", {"unpivot": {"keep": ["P", "a"], "headers": "Group"}},
            "shape.unpivot keeps every column of the file",
        ),
    ],
)  # fmt: skip
def test_file_is_refused_with_advice(
    tmp_path: Path, text: Text, content: str, shape: dict[str, Any] | None, message: str
) -> None:
    with pytest.raises(BrokenFile) as refused:
        read_file(tmp_path, text, content, shape=shape)

    assert message in str(refused.value)
    assert len(str(refused.value)) < 1_000


@pytest.mark.parametrize(
    ("text", "content", "fields"),
    [
        ("Employee ID,First Name,Last Name\n7,Ada,Byron\n7,Bob,Kahn\n", "identities", "Employee ID"),
        ("Username,Permission,Access\nada,read,Grant\nada,read,Deny\n", "permissions", "Username and Permission"),
        ("Group,Permission,Access\nops,read,Grant\nops,read,Deny\n", "permissions", "Group and Permission"),
    ],
)
def test_repeated_row_is_rejected_with_the_names_of_fields(
    tmp_path: Path, text: Text, content: str, fields: str
) -> None:
    with pytest.raises(BrokenFile, match=f"line 3: line 2 has the same {fields} with other values"):
        read_file(tmp_path, text, content)


def test_matrix_with_a_million_cells_is_read(tmp_path: Path) -> None:
    found = read_file(tmp_path, MATRIX, "permissions", columns={"Role": "Group"}, shape={"unpivot": {"keep": ["Role"]}})

    assert found.deltas[next(iter(found.deltas))].after.height == 1_000_000


def deep(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


@pytest.mark.parametrize("levels", [70, 600, 980])
@pytest.mark.parametrize("layout", ["[{}, {}]", "{}\n{}", '{{"users": [{}, {}]}}'])
def test_records_nested_too_deeply_are_refused(tmp_path: Path, layout: str, levels: int) -> None:
    records = [f'{{"username": "{user}", "roles": {deep(levels)}}}' for user in ("ada", "bob")]

    with pytest.raises(BrokenFile, match="nested too deeply"):
        read_file(tmp_path, layout.format(*records), "users")


@pytest.mark.parametrize("levels", [70, 600, 980])
def test_object_nested_too_deeply_in_a_cell_is_one_value(tmp_path: Path, levels: int) -> None:
    quoted = deep(levels).replace('"', '""')

    found = read_file(tmp_path, f'username,group\nada,"{quoted}"\n', "memberships", shape={"split": {"group": "json"}})

    assert [user for user, _ in found.memberships] == ["ada"]


def users(folder: Path, text: Text, **group: Any) -> Outcome:
    return read_file(folder, text, "users", **group)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('Username,Teams\nada,"[""a"",""b""]"\n', 'Teams looks like JSON (["a","b"]); set shape.split.Teams: json'),
        ("Username,State\nada,Active\nbob,Suspended\n", "State (Active, Suspended) looks like the status of accounts"),
        ("Username,Active\nada,\nbob,No\n", "Active is blank in 1 row; accounts without a status are taken as active"),
        ("Username,Last Login\nada,Never\n", "Last Login: 1 value not recognized as a date (Never)"),
        ("Username,Last Login\nada,23/04/2024\n", "read day first, because 23/04/2024 cannot start with the month"),
        ("Username,Name\nada,Ad\xe9\n".encode("latin-1"), "it is read as windows-1252; set encoding if"),
        ("Username,Name\nada,Ad\xe9\n".encode("utf-16-le"), "it is read as utf-16-le"),
        (
            "Username\nadmin\nadmin\u200b\nadmin\u202e\n",
            "Username has 2 names with invisible characters (admin\\u200b, admin\\u202e); 2 names look the same as",
        ),
        ("Username\nb\u200dob\nada\n", "Username has 1 name with invisible characters (b\\u200dob). Check these"),
        ("Username,api_token,Password Last Set\nada,x,y\n", "api_token looks like a secret and is not kept; name it"),
        ("Username,api_token,pin\nada,x,y\n", "api_token, pin look like secrets and are not kept; name them in"),
    ],
)  # fmt: skip
def test_log_names_columns_that_need_a_shape(tmp_path: Path, text: Text, message: str) -> None:
    found = users(tmp_path, text)

    assert any(message in note for note in found.notes), found.notes


@pytest.mark.parametrize("shape", [{"invert": ["Active"]}, {"values": {"Active": {"": "No"}}}])
def test_log_does_not_report_a_blank_status_that_the_shape_maps(tmp_path: Path, shape: dict[str, Any]) -> None:
    assert not any("is blank" in note for note in users(tmp_path, "Username,Active\nada,\nb,No\n", shape=shape).notes)


@pytest.mark.parametrize(
    ("encoding", "names"),
    [
        ("cp850", ["Jürgen Müller", "Karl Groß"]), ("cp852", ["Žižka", "Łukasz Wójcik"]),
        ("windows-1250", ["Łukasz Wójcik", "Jiří Dvořák"]), ("windows-1251", ["Иван Петров", "Ольга Сидорова"]),
        ("windows-1253", ["Νίκος Παπαδόπουλος", "Ελένη"]), ("koi8-r", ["Ольга Сидорова"]),
        ("cp866", ["Ольга Сидорова"]),
        ("mac-roman", ["Éloïse Lefèvre", "Jörg"]), ("shift_jis", ["山田 タロウ", "鈴木 はなこ"]),
        ("euc_jp", ["山田 タロウ", "鈴木 はなこ"]), ("gb18030", ["张伟", "王芳"]), ("big5", ["陳小明"]),
        ("euc_kr", ["김민수"]),
    ],
)  # fmt: skip
def test_message_names_the_encoding_that_fits(tmp_path: Path, encoding: str, names: list[str]) -> None:
    text = "".join(["Username,Name\n", *(f"user{n},{name}\n" for n, name in enumerate(names))]).encode(encoding)

    with pytest.raises(BrokenFile) as refused:
        users(tmp_path, text)
    proposal = proposed(tmp_path, users=text)

    assert f"it looks like {encoding} ({names[0].split()[0]}): set encoding to {encoding}" in str(refused.value)
    assert users(tmp_path, text, encoding=encoding).rows("users", "name") == names
    assert proposal.connector["files"][0]["encoding"] == encoding
    assert f"Encoding {encoding}, detected from the bytes" in proposal.files[0].evidence[0]


def test_damaged_utf8_is_not_taken_for_another_encoding(tmp_path: Path) -> None:
    with pytest.raises(BrokenFile, match="byte 0x81 is not UTF-8; save the file as UTF-8, or name its encoding"):
        users(tmp_path, "Username,Name\nada,Jürgen\n".encode() + b"bob,Bo\x81b\n")


@pytest.mark.parametrize("separator", [";", "#", "|"])
def test_log_names_lists_of_groups(tmp_path: Path, separator: str) -> None:
    found = read_file(tmp_path, f"Username,Group\nada,a{separator}b\n", "memberships")

    assert f'set shape.split.Group: "{separator}"' in found.notes[0]


@pytest.mark.parametrize(
    ("header", "secret"),
    [
        ("password", True), ("Initial password [passwordProfile] Required", True), ("userPassword", True),
        ("unicodePwd", True), ("SSN", True), ("api_key", True), ("Account Password", True), ("pwd_hash", True),
        ("manager_token", True), ("PasswordLastSet", False), ("password_enabled", False), ("pwdLastSet", False),
        ("PasswordNeverExpires", False), ("badPwdCount", False), ("Hashtag", False), ("session", False),
        # Databases and SAP.
        ("BCODE", True), ("OCOD3", True), ("PASSCODE", True), ("PWDSALTEDHASH", True), ("PWDHISTORY", True),
        ("authentication_string", True), ("SPARE4", True), ("rolpassword", True), ("USERPASS", True),
        ("PWDCHGDATE", False), ("PWDSTATE", False), ("PWDINITIAL", False), ("CODVN", False),
        ("password_expired", False),
        # Directories.
        ("krbPrincipalKey", True), ("krbExtraData", True), ("sambaNTPassword", True), ("ipaNTHash", True),
        ("authPassword", True), ("ms-Mcs-AdmPwd", True), ("pwdHistory", True), ("supplementalCredentials", True),
        ("krbPrincipalName", False), ("krbPasswordExpiration", False), ("pwdAccountLockedTime", False),
        # Web applications.
        ("reset_password_token", True), ("unlock_token", True), ("otp_seed", True), ("totp_secret", True),
        ("recovery_codes", True), ("private_key", True), ("apikey", True), ("pin", True), ("salt", True),
        ("user_activation_key", True), ("One-Time Password", True), ("Last password", True), ("ExchangePassword", True),
        ("credentials.password", True), ("credentials.userName", False), ("token_expires_at", False),
        ("reset_password_sent_at", False), ("totp_enabled", False), ("Spinning", False), ("Passport country", False),
        # Other languages.
        ("Kennwort", True), ("Initialpasswort", True), ("mot de passe", True), ("Contraseña", True), ("Senha", True),
        ("Wachtwoord", True), ("Hasło", True), ("Şifre", True), ("Пароль", True), ("パスワード", True), ("密码", True),
        ("비밀번호", True), ("Kennwort läuft ab", False), ("Letzte Kennwortänderung", False),
        ("Date de modification du mot de passe", False), ("Último cambio de contraseña", False),
    ],
)  # fmt: skip
def test_secret_columns_are_not_kept(tmp_path: Path, header: str, secret: bool) -> None:
    text = f"Username,{header}\nada,value1\n"

    found, kept = users(tmp_path, text), users(tmp_path, text, shape={"keep": [header]})

    assert ("value1" in found.rows("users", "metadata")[0]) is not secret
    assert "value1" in kept.rows("users", "metadata")[0]


@pytest.mark.parametrize(
    ("format", "text", "expected"),
    [
        ("day first", "03/04/2024 9:05 pm", "2024-04-03T21:05:00Z"),
        ("month first", "3/4/24", "2024-03-04T00:00:00Z"),
        ("year first", "2020-01-28-16.55.07.000000", "2020-01-28T16:55:07Z"),
        ("epoch", "1580230507", "2020-01-28T16:55:07Z"),
        ("epoch ms", "1580230507000", "2020-01-28T16:55:07Z"),
        ("windows", "132247041070000000", "2020-01-28T16:55:07Z"),
        ("ldap", "20200128165507.0Z", "2020-01-28T16:55:07Z"),
        ("%Y%m%d", "20200128", "2020-01-28T00:00:00Z"),
        ("%d.%m.%y %H:%M", "28.01.20 16:55", "2020-01-28T16:55:00Z"),
        (None, "28-Jan-2020", "2020-01-28T00:00:00Z"),
        (None, "Jan 28, 2020 4:55 PM", "2020-01-28T16:55:00Z"),
        (None, "2020/1/28", "2020-01-28T00:00:00Z"),
        (None, "2020-01-28 16:55:07", "2020-01-28T16:55:07Z"),
        (None, "no_information", ""),
    ],
)
def test_dates_are_returned_in_iso_format(tmp_path: Path, format: str | None, text: str, expected: str) -> None:
    shape = {"dates": {"Last Login": format}} if format else {}

    found = users(tmp_path, f'Username,Last Login\nada,"{text}"\n', shape=shape)

    assert found.rows("users", "last_login") == [expected]


def test_lines_around_the_header_and_totals_are_left_out(tmp_path: Path) -> None:
    without = users(
        tmp_path,
        "Report\n1;Ada\n2;Bob\nTotal;2\n",
        shape={
            "headers": ["Username", "Name"],
            "skipLines": 1,
            "skipRowsWhere": [{"column": "Username", "is": "total"}],
        },
    )
    below = users(tmp_path, "sep=|\nUsername|Name|\nada|Ada|\n")

    assert without.rows("users", "line", "username") == [(2, "1"), (3, "2")]
    assert below.rows("users", "line", "name", "metadata") == [(3, "Ada", "{}")]


def test_pattern_with_text_between_columns_needs_all_its_values(tmp_path: Path) -> None:
    shape = {"join": {"Username": "{f|initial|lower}.{l|lower}", "Name": "{f} {m} {l}"}}

    found = users(tmp_path, "f,m,l\nAda,,Byron\nBob,,\n", shape=shape, allowRejects=True)

    assert found.rows("users", "username", "name") == [("a.byron", "Ada Byron")]
    assert [reject.reason for reject in found.deltas[next(iter(found.deltas))].rejects] == ["Username is blank"]


def test_footer_lines_are_skipped_by_their_first_words(tmp_path: Path) -> None:
    text = "Username,Name,Email\nada,Ada,a@x.com\nGenerated by Bob 11/2/2026\nGenerated twice,,\n"

    found = users(tmp_path, text, shape={"skipRowsWhere": [{"column": "Username", "startsWith": "generated"}]})

    assert found.active == {"ada"}


def test_shape_maps_any_other_word(tmp_path: Path) -> None:
    text = "Username,Ended\nada,\nbob,2024-01-01\ncyd,still here\n"
    shape = {"values": {"Active": {"Still here": "Yes", "*": "No"}}}

    found = users(tmp_path, text, columns={"Ended": "Active"}, shape=shape)

    assert (found.active, found.inactive) == ({"ada", "cyd"}, {"bob"})


@pytest.mark.timeout(60)
def test_many_values_of_an_attribute_are_read() -> None:
    text = "dn: cn=all\n" + "".join(f"member: uid=user{n}\n" for n in range(150_000))

    ((_, entry),) = read_ldif(text)

    members = entry["member"]
    assert isinstance(members, list)
    assert len(members) == 150_000
