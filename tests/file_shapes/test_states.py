"""Read from all relevant columns who is active and which grants apply."""

from pathlib import Path

import pytest

from rolecall.applications.model import Content
from rolecall.file_shapes.choices import AS_PROPOSED
from rolecall.file_shapes.draft_answers import answer
from rolecall.file_shapes.files.proposals import Chosen, propose
from rolecall.file_shapes.tables.sample import sample_of
from tests.application_imports.reading import Outcome, read_files
from tests.file_shapes.test_exports import imported, proposed


def asked(folder: Path, **files: str) -> list[str]:
    return [each.text for part in proposed(folder, **files).files[0].contents for each in part.questions]


def locked(found: Outcome) -> set[str]:
    return {username for username, is_locked in found.rows("users", "username", "is_locked") if is_locked}


@pytest.mark.parametrize(
    ("header", "on", "off"),
    [
        ("Disabled", "false", "true"),
        ("suspended", "no", "yes"),
        ("Inactive", "N", "Y"),
        ("Block sign in", "No", "Yes"),
        ("Enabled", "Yes", "No"),
        ("user.active", "true", "false"),
    ],
)
def test_state_beside_memberships_and_permissions_is_read(tmp_path: Path, header: str, on: str, off: str) -> None:
    rows = f"ada,{on},Fin\nada,{on},Ops\nbob,{off},Fin\n"

    for held in ("Group", "Permission"):
        found = imported(tmp_path, export=f"Login,{header},{held}\n{rows}")
        assert (found.active, found.inactive) == ({"ada"}, {"bob"})


def test_state_is_read_although_each_user_has_one_permission(tmp_path: Path) -> None:
    text = "Account,Name,Locked,Permissions\nada,Ada Byron,No,read|write\nbob,Bob Kahn,Yes,read\n"

    found = imported(tmp_path, export=text)

    assert locked(found) == {"bob"}
    assert found.rows("users", "name") == ["Ada Byron", "Bob Kahn"]
    assert found.rows("permissions", "section", "permission") == [("", "read"), ("", "write"), ("", "read")]


def test_account_is_active_only_if_every_state_column_says_so(tmp_path: Path) -> None:
    text = (
        "login,active,suspended,archived\nada,true,false,false\nbob,true,true,false\ncy,true,,true\ndee,false,false,\n"
    )

    assert imported(tmp_path, users=text).active == {"ada"}
    (part,) = proposed(tmp_path, users=text).files[0].contents
    assert "Active only if all of them say so" in str(part.questions)
    assert {column.header for column in part.columns if column.evidence == "Active is built from it"} == {
        "active",
        "suspended",
        "archived",
    }


@pytest.mark.parametrize(
    ("header", "active", "inactive"),
    [
        ("Active", ["7", "9"], ["8"]),
        ("Status", ["7", "9"], ["8"]),
        ("Terminated", ["8"], ["7", "9"]),
        ("Inactive", ["8"], ["7", "9"]),
    ],
)
def test_ticked_status_of_people_is_read(tmp_path: Path, header: str, active: list[str], inactive: list[str]) -> None:
    text = (
        f"Employee ID,First Name,Last Name,Title,Supervisor ID,{header}\n"
        "7,Ada,Byron,Head,,x\n8,Bob,Kahn,Clerk,7,\n9,Cy,Dee,Clerk,7,x\n"
    )

    found = imported(tmp_path, people=text)

    people = found.rows("identities", "employee_id", "status")
    assert [id for id, status in people if status == "Active"] == active
    assert [id for id, status in people if status == "Disabled"] == inactive


def test_blank_column_of_states_makes_nobody_inactive(tmp_path: Path) -> None:
    assert imported(tmp_path, users="Login,Name,Active\nada,Ada,\nbob,Bob,\n").inactive == set()
    people = "Employee ID,First Name,Last Name,Title,Supervisor ID,Status\n7,Ada,Byron,Head,,\n8,Bob,Kahn,Clerk,7,\n"
    assert imported(tmp_path, people=people).rows("identities", "status") == ["Active", "Active"]


def test_state_that_differs_only_in_later_rows_is_read(tmp_path: Path) -> None:
    """The state differs only after the 2,000 rows of the sample."""
    rows = "".join(f"user{n},true,false\n" for n in range(3_000))

    found = imported(tmp_path, users=f"login,enabled,suspended\n{rows}late,true,true\n")

    assert found.inactive == {"late"}


@pytest.mark.parametrize(
    ("header", "past"),
    [
        ("AccountExpirationDate", "31/12/2024"),
        ("accountExpires", "132000000000000000"),
        ("expires_at_time", "2025-12-31 00:00:00.000 -0700"),
        ("Gültig bis", "31.12.2024"),
        ("deleted_at", "2025-01-02T08:00:00Z"),
    ],
)
def test_account_is_inactive_after_its_end_date(tmp_path: Path, header: str, past: str) -> None:
    for state, on, off in (("Enabled", "True", "False"), ("disabled", "false", "true")):
        text = f"login,{state},{header}\nada,{on},\nbob,{on},{past}\ncy,{off},\n"
        found = imported(tmp_path, users=text)
        assert (found.active, found.inactive) == ({"ada"}, {"bob", "cy"})


def test_zero_is_not_a_date_of_deletion(tmp_path: Path) -> None:
    text = '[{"username": "ada", "delete_at": 0}, {"username": "bob", "delete_at": 1600000000000}]'

    assert imported(tmp_path, users=text).inactive == {"bob"}


def test_numeric_statuses_become_questions(tmp_path: Path) -> None:
    text = "login,user_status\nada,0\nbob,0\ncy,1\n"

    assert imported(tmp_path, users=text).active == {"ada", "bob"}
    assert asked(tmp_path, users=text) == [
        "user_status: what does 0 mean? Proposed: active.",
        "user_status: what does 1 mean? Proposed: not active.",
    ]


def test_blank_status_becomes_a_question(tmp_path: Path) -> None:
    text = "login,status\nada,Active\nbob,Inactive\ncy,Active\ndee,\n"

    assert asked(tmp_path, users=text) == ["status is blank in 1 row. Does a blank cell mean active?"]


@pytest.mark.parametrize(
    ("header", "on", "off"),
    [("Granted", "Yes", "No"), ("Assignment Status", "Active", "Expired"), ("Status", "Active", "Disabled")],
)
def test_grants_that_ended_are_left_out(tmp_path: Path, header: str, on: str, off: str) -> None:
    text = f"User,Role,{header}\nada,Admin,{on}\nada,Audit,{off}\nbob,Audit,{off}\n"

    found = imported(tmp_path, export=text)

    assert found.memberships == {("ada", "Admin")}
    assert found.active == {"ada", "bob"}


def test_eligible_assignments_become_a_question(tmp_path: Path) -> None:
    text = "User,Role,Assignment State\nada,Admin,Active\nbob,Audit,Eligible\n"

    assert asked(tmp_path, export=text) == ["Assignment State: do rows with Eligible give access?"]


def test_state_that_only_grants_can_have_is_not_that_of_the_account(tmp_path: Path) -> None:
    text = "user,role,state\nAda Byron,clerk,Active\nAda Byron,buyer,Active\nBob Kahn,clerk,Requested\n"

    assert asked(tmp_path, export=text) == ["state: do rows with Requested give access?"]
    assert imported(tmp_path, export=text).active == {"Ada Byron", "Bob Kahn"}


def test_contradicting_states_of_an_account_are_rejected(tmp_path: Path) -> None:
    text = "User Name,Full Name,Groups,Enabled\nada,Ada Byron,Fin,Yes\nbob,Bob Kahn,Fin,No\nada,Ada Dup,Ops,No\n"

    with pytest.raises(Exception, match="line 2 has the same Username with other values"):
        imported(tmp_path, export=text)


@pytest.mark.parametrize(
    ("header", "yes", "no"),
    [
        ("state_desc", "GRANT", "DENY"),
        ("Type", "Allow", "Deny"),
        ("Grant or Deny", "Grant", "Deny"),
        ("Deny", "0", "1"),
    ],
)
def test_denial_is_never_a_grant(tmp_path: Path, header: str, yes: str, no: str) -> None:
    text = f"User,Permission,{header}\nada,read,{yes}\nbob,write,{no}\n"

    found = imported(tmp_path, export=text)

    assert found.rows("permissions", "username", "access") == [("ada", "Grant"), ("bob", "Deny")]


def test_excluded_sap_roles_are_left_out(tmp_path: Path) -> None:
    text = "MANDT,AGR_NAME,UNAME,FROM_DAT,TO_DAT,EXCLUDE\n100,Z_AP,ADA,20200101,99991231,\n"
    text += "100,Z_AR,BOB,20200101,99991231,X\n"

    assert imported(tmp_path, agr=text).memberships == {("ADA", "Z_AP")}


def test_connector_also_reads_a_later_file_that_repeats_an_account(tmp_path: Path) -> None:
    """Columns about grants must not become account data, even if each account occurs once in the first file."""
    text = "Assignment,Username,IsActive,Permission\n1,ada,true,read\n2,bob,false,read\n"
    connector = proposed(tmp_path, export=text).connector["files"]

    found = read_files(tmp_path, connector, {connector[0]["name"]: f"{text}3,ada,true,write\n"})

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})
    assert len(found.permissions) == 3


def test_aligned_list_with_commas_is_read(tmp_path: Path) -> None:
    text = (
        "\nName      SamAccountName Enabled DistinguishedName\n----      -------------- ------- -----------------\n"
        "Ada Byron abyron            True CN=Ada Byron,OU=F,DC=x\n"
        "Bob Kahn  bkahn            False CN=Bob Kahn,OU=F,DC=x\n"
    )

    found = imported(tmp_path, users=text.encode("utf-16"))

    assert (found.active, found.inactive) == ({"abyron"}, {"bkahn"})


def test_users_are_derived_from_a_chosen_content(tmp_path: Path) -> None:
    text = "Account,Name,Role\nada,Ada Byron,Admin\nbob,Bob Kahn,Audit\n"
    path = tmp_path / "export"
    path.write_text(text)

    found = propose([sample_of(path, "export")], {"export": Chosen(content=Content.MEMBERSHIPS)})

    assert found.connector["files"][0]["shape"]["deriveUsers"] is True


def test_disabled_feature_is_not_the_state_of_the_account(tmp_path: Path) -> None:
    text = "Username,Enabled,Disabled Multifactor\nada,1,1\nbob,0,0\ncy,1,0\n"

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"ada", "cy"}, {"bob"})


@pytest.mark.parametrize(
    ("header", "cells", "question", "pattern"),
    [
        ("Admin Locked", ("No", "Yes"), "Admin Locked is Yes for 1 account", "{Admin Locked|unless(Admin Locked=No)}"),
        (
            "Lockout Time",
            ("0", "2026-11-02"),
            "Lockout Time is 2026-11-02 for 1",
            "{Lockout Time|unless(Lockout Time=0)",
        ),
        ("Lock Reason", ("", "Too many tries"), "Lock Reason is Too many tries for 1", "{Lock Reason|as(Yes)}"),
    ],
)
def test_lock_that_is_not_read_is_asked_about(
    tmp_path: Path, header: str, cells: tuple[str, str], question: str, pattern: str
) -> None:
    first = "Locked," if header == "Admin Locked" else ""
    rows = [f"{name},Active,{'No,' if first else ''}{cell}\n" for name, cell in zip(("ada", "bob"), cells, strict=True)]

    (part,) = proposed(tmp_path, users="".join([f"Login,Status,{first}{header}\n", *rows])).files[0].contents

    (asked,) = part.questions
    assert asked.text.startswith(question)
    assert asked.choices[0].value.startswith(pattern.removesuffix("}"))


def test_either_of_two_locks_is_read_after_the_answer(tmp_path: Path) -> None:
    text = "Login,Status,Locked,Admin Locked\nada,Active,No,No\nbob,Active,Yes,No\ncy,Active,No,Yes\n"
    proposal = proposed(tmp_path, users=text)
    (section,) = proposal.connector["files"]
    (asked,) = proposal.files[0].contents[0].questions

    answer(section, asked.choices[0])

    assert locked(read_files(tmp_path, [section], {section["name"]: text})) == {"bob", "cy"}


def test_columns_about_the_number_of_locks_and_privileges_to_lock_are_no_locks(tmp_path: Path) -> None:
    text = "Login,Name,Status,Lock Count,Lock Policy\nada,Ada Byron,Active,0,Strict\nbob,Bob Kahn,Active,3,Strict\n"

    assert asked(tmp_path, users=text) == []


def test_feature_that_is_enabled_is_no_status_of_accounts(tmp_path: Path) -> None:
    text = "Login,Name,Disable,VM Enabled,Voicemail Enabled\nada,Ada Byron,0,1,1\nbob,Bob Kahn,1,1,1\ncy,Cy Dee,0,0,0\n"

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"ada", "cy"}, {"bob"})


@pytest.mark.parametrize(
    ("headers", "states"),
    [
        ("address,city,state,zip,blocked", ("California", "Texas")),
        ("street,city,state,zip,blocked", ("CA", "TX")),
        ("street,city,state,zip,is_blocked", ("Jalisco", "Sonora")),
        ("street,city,state,zip,blocked", ("", "")),
        ("billing_address,billing_city,billing_state,billing_zip,blocked", ("Elbonia", "Sylvania")),
    ],
)
@pytest.mark.parametrize("blocked", [("false", "true"), ("false", "false")])
def test_state_of_an_address_is_no_status(
    tmp_path: Path, headers: str, states: tuple[str, str], blocked: tuple[str, str]
) -> None:
    rows = zip(("ada", "bob"), states, blocked, strict=True)
    lines = "".join(f"{login},1 Rd,Elm,{state},90001,{is_blocked}\n" for login, state, is_blocked in rows)
    text = f"username,{headers}\n{lines}"

    assert asked(tmp_path, users=text) == []
    assert imported(tmp_path, users=text).active == ({"ada"} if "true" in blocked else {"ada", "bob"})


def test_state_in_an_object_with_a_city_is_no_status(tmp_path: Path) -> None:
    text = (
        '[{"username": "ada", "email": "a@x.org", "address": {"city": "Elm", "state": "Hesse"}, "locked": false},'
        ' {"username": "bob", "email": "b@x.org", "address": {"city": "Oak", "state": "Tasmania"}, "locked": true}]'
    )

    assert asked(tmp_path, users=text) == []
    assert locked(imported(tmp_path, users=text)) == {"bob"}


def test_unknown_state_beside_a_city_is_asked_for_once(tmp_path: Path) -> None:
    text = "username,city,state\nada,Elm,Jalisco\nbob,Oak,Sonora\n"

    (question,) = proposed(tmp_path, users=text).files[0].contents[0].questions
    assert question.text == (
        "state is read as part of an address, because of the columns beside it. Does it say who is active? "
        "No other column does."
    )
    assert [choice.value for choice in question.choices] == [AS_PROPOSED, "state"]


@pytest.mark.parametrize("states", [("active", "blocked"), ("A", "X"), ("1", "2"), ("Onboarded", "Offboarded")])
def test_state_with_words_for_a_status_beside_a_city_is_the_status(tmp_path: Path, states: tuple[str, str]) -> None:
    (part,) = (
        proposed(tmp_path, users=f"login,city,state\nada,Elm,{states[0]}\nbob,Oak,{states[1]}\n").files[0].contents
    )

    assert [column.header for column in part.columns if column.field == "Active"] == ["state"]


@pytest.mark.parametrize(
    "header", ["END_EFFECTIVE_DT_TM", "END_EFFECTIVE_DATE", "EXPIRATION_DTM", "VALID_TO_DT", "ENDED_DT", "EFF_END_TS"]
)
@pytest.mark.parametrize("past", ["2023-02-12 10:11:12", "12-FEB-2023 10:11:12", "12-FEB-2023"])
def test_accounts_are_inactive_after_a_last_day_in_the_notation_of_a_database(
    tmp_path: Path, header: str, past: str
) -> None:
    later = past.replace("2023", "2100")
    text = f"username,full name,email,{header}\nada,Ada Byron,a@x.com,{later}\nbob,Bob Kahn,b@x.com,{past}\n"

    found = imported(tmp_path, export=text)

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})


def test_dates_of_sending_are_not_last_days(tmp_path: Path) -> None:
    text = "username,full name,email,SEND_DT\nada,Ada Byron,a@x.com,2023-02-12\nbob,Bob Kahn,b@x.com,2023-02-13\n"

    assert imported(tmp_path, export=text).active == {"ada", "bob"}


def test_only_columns_of_names_are_offered_as_username(tmp_path: Path) -> None:
    text = "owner,full name,email,enabled,active_since\nada,Ada Byron,,yes,2020-01-01\nada,Bob Kahn,,no,2021-01-01\n"

    questions = [each for part in proposed(tmp_path, export=text).files[0].contents for each in part.questions]

    offered = [choice.value for each in questions for choice in each.choices if choice.key == "Username"]
    assert not {"enabled", "active_since"}.intersection(offered)


def test_decision_of_a_review_is_not_a_state(tmp_path: Path) -> None:
    text = "user_id,email,revoke_status,dormancy_review_status\nada,a@x.org,KEEP,clean\nbob,b@x.org,OFFBOARD,dormant\n"

    assert asked(tmp_path, users=text) == []
    assert imported(tmp_path, users=text).active == {"ada", "bob"}


def test_feature_that_no_account_has_is_not_the_status(tmp_path: Path) -> None:
    text = "login,name,isNAREnabled,userStatus\nada,Ada Byron,false,Active\nbob,Bob Kahn,false,Closed\n"

    found = imported(tmp_path, users=text)

    assert asked(tmp_path, users=text) == []
    assert (found.active, found.inactive) == ({"ada"}, {"bob"})
