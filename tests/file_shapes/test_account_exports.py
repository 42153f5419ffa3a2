"""Read exports of accounts: who is active, which column is the login, and which rows are not accounts."""

from pathlib import Path

from tests.file_shapes.test_exports import imported, proposed


def test_account_is_active_only_if_all_states_say_so(tmp_path: Path) -> None:
    text = (
        "firstname,lastname,username,email,state,activated,suspended,account_locked\n"
        "Ada,Byron,ada,ada@x.com,ACTIVATED,true,false,false\nBob,Kahn,bob,bob@x.com,SUSPENDED,true,true,false\n"
        "Cy,Dee,cy,cy@x.com,STAGED,false,false,false\n"
    )

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"ada"}, {"bob", "cy"})


def test_states_that_disagree_become_a_question(tmp_path: Path) -> None:
    text = "username,enabled,suspended\nada,true,false\nbob,true,true\ncy,false,false\n"

    (question,) = proposed(tmp_path, users=text).files[0].contents[0].questions

    assert question.text.endswith("disagree about 1 row. Which column says who is active?")
    assert {(choice.key, choice.value) for choice in question.choices} == {
        ("Active", ""),
        ("Active", "enabled"),
        ("Active", "suspended"),
    }
    assert imported(tmp_path, users=text).active == {"ada"}


def test_logins_of_sql_server_are_read(tmp_path: Path) -> None:
    text = (
        "name,principal_id,type_desc,is_disabled,default_database_name\nsa,1,SQL_LOGIN,1,master\n"
        "CORP\\ada,260,WINDOWS_LOGIN,0,master\nCORP\\DBAs,261,WINDOWS_GROUP,0,master\n"
    )

    found = imported(tmp_path, logins=text)

    assert (found.active, found.inactive) == ({"CORP\\ada"}, {"sa"})
    assert "type_desc is WINDOWS_GROUP are not users" in str(proposed(tmp_path, logins=text).files[0].contents)


def test_user_profiles_of_ibm_i_are_read(tmp_path: Path) -> None:
    text = (
        '"UPUPRF","UPTEXT","UPSTAT","UPUSCL","UPGRPF"\n"ADAB","Ada Byron","*ENABLED","*USER","GRPPAY"\n'
        '"BOBK","Bob Kahn","*DISABLED","*SECOFR","*NONE"\n"CYD","Cy Dee","*ENABLED","*USER","GRPPAY"\n'
    )

    found = imported(tmp_path, profiles=text)

    assert (found.active, found.inactive) == ({"ADAB", "CYD"}, {"BOBK"})
    assert found.rows("users", "name") == ["Ada Byron", "Bob Kahn", "Cy Dee"]


def test_users_of_pingone_are_read(tmp_path: Path) -> None:
    text = (
        '{"_links": {"self": {"href": "x"}}, "_embedded": {"users": [{"id": "1", "username": "ada", "enabled": true, '
        '"name": {"given": "Ada", "family": "Byron"}, "email": "ada@x.com", "lifecycle": {"status": "ACCOUNT_OK"}}, '
        '{"id": "2", "username": "bob", "enabled": false, "name": {"given": "Bob", "family": "Kahn"}, '
        '"email": "bob@x.com", "lifecycle": {"status": "ACCOUNT_OK"}}]}, "count": 2}'
    )

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})
    assert found.rows("users", "name") == ["Ada Byron", "Bob Kahn"]


def test_users_of_duo_are_read(tmp_path: Path) -> None:
    text = (
        "username,alias1,email,realname,status,is_enrolled,last_login,groups\n"
        'ada,,ada@x.com,Ada Byron,active,True,2026-11-01T10:00:00+00:00,"VPN,Admins"\n'
        "bob,,bob@x.com,Bob Kahn,bypass,True,,VPN\ncy,,cy@x.com,Cy Dee,disabled,False,,\n"
    )

    (users, memberships) = proposed(tmp_path, users=text).files[0].contents

    assert [question.text for question in users.questions] == ["status: what does bypass mean?"]
    assert memberships.shape["split"] == {"groups": ","}


def test_employees_of_netsuite_are_read(tmp_path: Path) -> None:
    text = (
        "Internal ID,Name,Email,Role,Give Access,Inactive,Last Login Date\n"
        '5,Ada Byron,ada@x.com,"Administrator, A/P Clerk",Yes,No,11/1/2026 9:00 am\n'
        "6,Bob Kahn,bob@x.com,A/P Clerk,No,Yes,10/31/2026 9:00 pm\n7,Cy Dee,cy@x.com,Sales Rep,Yes,No,\n"
    )

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"ada@x.com", "cy@x.com"}, {"bob@x.com"})
    assert found.rows("users", "last_login") == ["2026-11-01T09:00:00Z", "2026-10-31T21:00:00Z", ""]
    assert ("ada@x.com", "A/P Clerk") in found.memberships


def test_users_of_zendesk_are_read(tmp_path: Path) -> None:
    text = (
        '{"users": [{"id": 1, "name": "Ada Byron", "email": "ada@x.com", "role": "admin", "active": true, '
        '"suspended": false}, {"id": 2, "name": "Bob Kahn", "email": "bob@x.com", "role": "agent", "active": true, '
        '"suspended": true}, {"id": 3, "name": "Cy Dee", "email": "cy@x.com", "role": "agent", "active": true, '
        '"suspended": false}], "next_page": null}'
    )

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"ada@x.com", "cy@x.com"}, {"bob@x.com"})


def test_locked_accounts_in_other_encodings_are_read(tmp_path: Path) -> None:
    tabs = "User ID\tFull name\tLocked\nada\tAda Byron\tNo\nbob\tBob Kähn\tYes\n".encode("utf-16")
    semicolons = (
        "sep=;\r\nBenutzer;Name;Kreditlimit;Gesperrt\r\nada;Ada Byron;1.234,50;nein\r\nbob;Bob Kähn;99,00;ja\r\n"
    )

    for content in (tabs, semicolons.encode("utf-8-sig")):
        found = imported(tmp_path, users=content)
        assert found.rows("users", "username", "is_locked") == [("ada", False), ("bob", True)]
    assert "1.234,50" in str(found.rows("users", "metadata"))


def test_other_columns_that_may_be_the_username_are_named(tmp_path: Path) -> None:
    rows = [
        f"{n}0{n},{n},{name},{name}@x.org,5550{n},{n}.50,Active\n" for n, name in enumerate(("ada", "bob", "cy"), 1)
    ]
    text = "".join(["Extension,ID,AuthID,Mail,Phone Number,Balance,Status\n", *rows])

    (part,) = proposed(tmp_path, users=text).files[0].contents

    assert "Username is Mail. Other columns with unique values: Extension, ID, AuthID" in part.statements


def test_numbers_beside_a_column_called_username_are_not_named(tmp_path: Path) -> None:
    text = "Username,ID,Alias,Status\nada,1,a,Active\nbob,2,b,Active\ncy,3,c,Active\n"

    (part,) = proposed(tmp_path, users=text).files[0].contents

    assert "Username is Username. Other columns with unique values: Alias" in part.statements
