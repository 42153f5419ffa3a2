"""Test that LDIF inside a document is read, or refused with the line that is not LDIF and what to do."""

from pathlib import Path

import pytest

from rolecall.application_imports.read.broken_file import BrokenFile
from tests.application_imports.reading import read_file
from tests.file_shapes.test_exports import imported, proposed

ENTRIES = (
    "dn: uid=ada,dc=x\nobjectClass: person\nuid: ada\ncn: Ada Byron\n\n"
    "dn: uid=bob,dc=x\nobjectClass: person\nuid: bob\ncn: Bob Kahn\n"
)


@pytest.mark.parametrize("fence", ["```", "```ldif", "~~~"])
@pytest.mark.parametrize("above", ["", "# Export\n\n", "version: 1\n"])
def test_code_block_around_ldif_is_not_part_of_it(tmp_path: Path, fence: str, above: str) -> None:
    found = imported(tmp_path, directory=f"{above}{fence}\n{ENTRIES}{fence[:3]}\n")

    assert found.active == {"ada", "bob"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"Here are the users:\n{ENTRIES}", "line 1: this line is above the first entry of the LDIF file; remove"),
        (f"# Export\n\nAll users, as of today\n\n{ENTRIES}", "line 3: this line is above the first entry"),
        (f"{ENTRIES}\nThat is all\n", "line 11: this line of the LDIF file does not have the form name: value"),
    ],
)  # fmt: skip
def test_text_around_ldif_is_refused_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    (file,) = proposed(tmp_path, directory=text).files
    assert problem in str(file.problem)

    with pytest.raises(BrokenFile) as broken:
        read_file(tmp_path, text, "users", columns={"uid": "Username"})
    assert problem.partition(": ")[2] in str(broken.value)


@pytest.mark.parametrize("text", ["login,note\nada,dn: x\nbob,\n", "name,role\ndn: x,Teller\nbob,Audit\n"])
def test_other_text_with_dn_is_not_ldif(tmp_path: Path, text: str) -> None:
    assert proposed(tmp_path, users=text).files[0].format == "CSV"
