"""Test that JSON nested too deeply is refused when it is decoded, not later in a recursive function."""

from typing import Any

import msgspec
import pytest

from rolecall.core.nested_json import DEEPEST_JSON, NestedTooDeeply, decode_nested


def nested(levels: int, opening: str = "[", closing: str = "]") -> str:
    return opening * levels + "1" + closing * levels


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_deepest_json_is_read(opening: str, closing: str) -> None:
    value: Any = decode_nested(nested(DEEPEST_JSON, opening, closing))

    assert msgspec.json.encode(value).decode() == nested(DEEPEST_JSON, opening, closing)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
@pytest.mark.parametrize("levels", [DEEPEST_JSON + 1, 600, 50_000])
def test_deeper_json_is_refused(opening: str, closing: str, levels: int) -> None:
    with pytest.raises(NestedTooDeeply):
        decode_nested(nested(levels, opening, closing))


def test_values_beside_each_other_are_not_levels() -> None:
    assert len(decode_nested("[" + "[1]," * 1_000 + "[1]]")) == 1_001
