import pytest

from rolecall.core.errors import NotFound


@pytest.mark.parametrize(
    ("resource", "shown"),
    [("ReviewItem", "Review item"), ("SCIM token", "SCIM token"), ("AccessRequest", "AccessRequest")],
)
def test_not_found_message_writes_the_type_in_words_unless_the_specification_uses_one_word(
    resource: str, shown: str
) -> None:
    assert str(NotFound(resource, 7)) == f"{shown} with id 7 not found"
