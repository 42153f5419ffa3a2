"""Read exports whose headers contain characters with a special meaning in patterns: bars and braces."""

from pathlib import Path

import pytest

from tests.file_shapes.test_exports import imported


@pytest.mark.parametrize("header", ["Status:String(Enabled|Disabled)", "status|state", "{Status}"])
def test_status_is_read_if_its_header_contains_bars_or_braces(tmp_path: Path, header: str) -> None:
    text = (
        f"User Name,Email,{header},Account Expiry Date\nada,ada@example.com,Enabled,\nbob,bob@example.com,Disabled,\n"
        "cy,cy@example.com,Enabled,2024-03-31\n"
    )

    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive) == ({"ada"}, {"bob", "cy"})
