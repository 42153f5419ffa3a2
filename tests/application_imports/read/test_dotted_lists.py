"""Read printed lists of properties with dots between name and value."""

import pytest

from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.dotted_lists import is_dotted_list, read_dotted_list

_TITLE = "5770SS1 V7R4M0        User Profile Listing       Page    1\nSystem name . . . . . . . :   PROD\n\n"
_ADA = "User profile . . . . :   ADA\n  Status . . . . . . :   *ENABLED\n"
_BOB = "User profile . . . . :   BOB\n  Status . . . . . . :   *DISABLED\n"
_LIST = "  Special authority  :   *NONE\n".replace("authority  :", "authority . . . :")
_TOTAL = "Number of profiles . . :   2\n          * * *  E N D  O F  L I S T I N G  * * *\n"


def test_records_are_read_without_titles_and_totals() -> None:
    text = f"{_TITLE}{_ADA}  Special authority  . . . :   *JOBCTL\n                               *SAVSYS\n\n\f\n"
    text += f"{_TITLE}{_BOB}{_LIST}\n{_TOTAL}"

    assert is_dotted_list(text.encode())
    assert [record for _, record in read_dotted_list(text)] == [
        {"User profile": "ADA", "Status": "*ENABLED", "Special authority": ["*JOBCTL", "*SAVSYS"]},
        {"User profile": "BOB", "Status": "*DISABLED", "Special authority": "*NONE"},
    ]


def test_record_continues_after_a_page_break() -> None:
    text = f"{_ADA}  Text . . . :   Ada\n\n{_TITLE}{_BOB}\n{_TITLE}  Text . . . :   Bob\n"

    assert [record["Text"] for _, record in read_dotted_list(text)] == ["Ada", "Bob"]


def test_damaged_record_fails_with_its_line() -> None:
    with pytest.raises(BrokenFile) as broken:
        list(read_dotted_list(f"{_ADA}\n{_BOB}garbage\n"))

    assert broken.value.line == 4


@pytest.mark.parametrize("text", ["a,b\n1,..\n\n2,..\n", f"{_TITLE}{_ADA}", "Name . . :   x\n\nName . . :   y\n"])
def test_other_texts_are_not_lists_with_dots(text: str) -> None:
    assert not is_dotted_list(text.encode())
