"""Test exports with trailers, legends and notes below their rows."""

from pathlib import Path

import pytest

from tests.file_shapes.test_exports import imported, proposed

_USERS = "User ID,User Name,Status,Department\nada,Ada Byron,Active,IT\nbob,Bob Cray,Disabled,HR\n"


@pytest.mark.parametrize(
    "line",
    [
        '"TRAILER","2","RECORDS",',
        "Footer,2,users,",
        "R = read; W = write,,,",
        "Nur zur internen Verwendung,,,",
    ],
)
def test_line_below_the_rows_is_not_an_account(tmp_path: Path, line: str) -> None:
    found = imported(tmp_path, users=f"{_USERS}{line}\n")

    assert (found.active, found.inactive) == ({"ada"}, {"bob"})
    (file,) = proposed(tmp_path, users=f"{_USERS}{line}\n").files
    assert any("left out" in each for each in (*file.evidence, *file.contents[0].statements))


@pytest.mark.parametrize("login", ["summers", "totalis", "counter", "eofman"])
def test_account_whose_login_begins_like_a_total_is_read(tmp_path: Path, login: str) -> None:
    text = f"Login,Name,Email\nada,Ada Byron,ada@example.com\n{login},Sam Poe,sam@example.com\n"

    assert imported(tmp_path, users=text).active == {"ada", login}
