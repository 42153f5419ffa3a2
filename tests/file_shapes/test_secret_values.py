"""Test that columns of passwords are recognized by their values, where no header says so."""

from pathlib import Path

import msgspec
import pytest

from tests.file_shapes.test_exports import imported, proposed

SECRETS = [
    ("Passw0rd!", "Hunter2#x"),
    ("Passw0rd!", "summer"),
    ("$2b$12$EixZaYVK1fsbw1ZfbX3OXe", "$2b$12$KixZaYVK1fsbw1ZfbX3OXe"),
    ("{SSHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", "{SSHA}X6ph5Mm5Pz8GgiULbPgzG37mj9g="),
    ("5f4dcc3b5aa765d61d8327deb882cf99", "e10adc3949ba59abbe56e057f20f883e"),
    ("5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8", "7c4a8d09ca3762af61e59520943dc26494f8941b"),
]
# A blank header inside the header line, at its end, no field for the column in the header line, and no header at all.
LAYOUTS = [
    "username,email,,role\nada,ada@x.org,{0},Admin\nbob,bob@x.org,{1},Staff\n",
    "username,email,role,\nada,ada@x.org,Admin,{0}\nbob,bob@x.org,Staff,{1}\n",
    "username,email,role\nada,ada@x.org,Admin,{0}\nbob,bob@x.org,Staff,{1}\n",
    "ada,ada@x.org,{0},Admin\nbob,bob@x.org,{1},Staff\n",
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("secrets", SECRETS)
def test_passwords_without_a_header_are_neither_shown_nor_imported(
    tmp_path: Path, layout: str, secrets: tuple[str, str]
) -> None:
    text = layout.format(*secrets)

    proposal, found = proposed(tmp_path, users=text), imported(tmp_path, users=text)

    known = f"{msgspec.to_builtins(proposal)}{[delta.part().after.rows() for delta in found.deltas.values()]}"
    assert not any(secret in known for secret in secrets)
    assert "(password) looks like a secret and is not kept" in str(proposal.files[0].contents[0].evidence)
    assert "(password) looks like a secret and is not kept" in str(found.notes)
    assert found.active == {"ada", "bob"}


@pytest.mark.parametrize("values", [("SRV01$", "SRV02$"), ("Branch 7!", "Branch 8!"), ("A7!", "B8!"), ("x", "")])
def test_other_values_without_a_header_are_kept(tmp_path: Path, values: tuple[str, str]) -> None:
    text = "username,email,role,\nada,ada@x.org,Admin,{}\nbob,bob@x.org,Staff,{}\n".format(*values)

    found = imported(tmp_path, users=text)

    assert found.memberships == {("ada", "Admin"), ("bob", "Staff")}
    assert found.rows("users", "metadata")[0] == f'{{"Column 4":"{values[0]}"}}'


def test_digests_in_the_first_column_may_identify_accounts(tmp_path: Path) -> None:
    ids = "5f4dcc3b5aa765d61d8327deb882cf99", "e10adc3949ba59abbe56e057f20f883e"

    found = imported(tmp_path, users=f"{ids[0]},Ada Byron,ada@x.org\n{ids[1]},Bob Kahn,bob@x.org\n")

    assert found.active == {*ids}


@pytest.mark.parametrize("secrets", SECRETS[2:4])
def test_password_hashes_are_not_kept_whatever_the_header_is(tmp_path: Path, secrets: tuple[str, str]) -> None:
    text = "username,email,field7,role\nada,ada@x.org,{},Admin\nbob,bob@x.org,{},Staff\n".format(*secrets)

    proposal, found = proposed(tmp_path, users=text), imported(tmp_path, users=text)

    assert not any(secret in str(msgspec.to_builtins(proposal)) for secret in secrets)
    assert "field7 looks like a secret and is not kept" in proposal.files[0].contents[0].evidence
    assert found.rows("users", "metadata") == ["{}", "{}"]
    assert found.memberships == {("ada", "Admin"), ("bob", "Staff")}
