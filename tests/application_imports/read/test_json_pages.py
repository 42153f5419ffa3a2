"""Test pages of a list that an API returns in several responses: missing pages, and several pages in one file."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.application_imports.reading import Outcome, Text, read_file, read_files
from tests.file_shapes.test_exports import imported, proposed

ADA, BOB = {"userName": "ada", "active": True}, {"userName": "bob", "active": False}
ASIDE: dict[str, dict[str, Any]] = {
    "SCIM": {"totalResults": 250, "itemsPerPage": 2, "startIndex": 1},
    "SCIM as text": {"totalResults": "250"},
    "Zendesk": {"count": 212, "next_page": "https://example.com/users?page=2"},
    "Graph": {"@odata.context": "x", "@odata.nextLink": "https://example.com/users?$skiptoken=x"},
    "Google": {"kind": "admin#directory#users", "nextPageToken": "Q0FV"},
    "AWS": {"NextToken": "Q0FV"},
    "AWS of old": {"IsTruncated": True, "Marker": "x"},
    "Salesforce": {"totalSize": 2, "done": False, "nextRecordsUrl": "/query/01g-2000"},
    "Slack": {"ok": True, "response_metadata": {"next_cursor": "dXNlcg=="}},
    "Atlassian": {"size": 2, "limit": 2, "isLastPage": False, "start": 0},
    "Spring": {"page": {"totalElements": 2, "totalPages": 3, "number": 0}},
    "links": {"links": {"next": {"href": "https://example.com/2"}, "self": {"href": "https://example.com/1"}}},
    "Kubernetes": {"kind": "List", "metadata": {"continue": "abc"}},
}
WHOLE: dict[str, dict[str, Any]] = {
    "SCIM": {"totalResults": 2, "itemsPerPage": 100},
    "Zendesk": {"count": 2, "next_page": None, "previous_page": None},
    "Salesforce": {"totalSize": 2, "done": True},
    "Slack": {"ok": True, "response_metadata": {"next_cursor": ""}},
    "Atlassian": {"size": 2, "isLastPage": True},
    "Spring": {"page": {"totalElements": 2, "totalPages": 1}},
    "links": {"links": {"next": {"href": None}}},
    "Kubernetes": {"kind": "List", "metadata": {"continue": "", "resourceVersion": "1201"}},
}
COLUMNS = {"userName": "Username"}


def page(*records: dict[str, Any], **aside: Any) -> str:
    return json.dumps({**aside, "users": list(records)})


def missing(found: Outcome) -> list[str | None]:
    return [delta.missing for delta in found.deltas.values()]


@pytest.mark.parametrize("aside", ASIDE.values(), ids=ASIDE.keys())
def test_one_page_of_several_is_recognized(tmp_path: Path, aside: dict[str, Any]) -> None:
    text = page(ADA, BOB, **aside)

    found = read_file(tmp_path, text, "users", columns=COLUMNS)
    (file,) = proposed(tmp_path, users=text).files

    assert missing(found) != [None]
    assert "it looks like one page of several" in found.notes[-1]
    assert file.evidence[0].startswith("This looks like one page of several, because")


@pytest.mark.parametrize("aside", WHOLE.values(), ids=WHOLE.keys())
def test_whole_list_is_not_mistaken_for_a_page(tmp_path: Path, aside: dict[str, Any]) -> None:
    text = page(ADA, BOB, **aside)

    assert missing(read_file(tmp_path, text, "users", columns=COLUMNS)) == [None]
    assert "one page" not in str(proposed(tmp_path, users=text).files[0].evidence)


def test_files_with_all_pages_are_the_whole_list(tmp_path: Path) -> None:
    group = {"name": "Users", "content": "users", "isMultiple": True, "columns": COLUMNS}
    first, last = page(ADA, nextLink="x", totalResults=2), page(BOB, nextLink="", totalResults=2)

    both = read_files(tmp_path, [group], {"Users": [first, last]})
    one = read_files(tmp_path, [group], {"Users": [first]})

    assert (missing(both), both.active) == ([None], {"ada"})
    assert "totalResults is 2, but the number of records is 1" in str(missing(one))


DOCUMENTS = {
    "pages on lines": f"{page(ADA, next='x')}\n{page(BOB, next=None)}\n",
    "an empty page": f"{page(ADA)}\n{page(BOB)}\n{page()}\n",
    "pages in several lines": "\n".join(json.dumps({"users": [each], "count": 2}, indent=2) for each in (ADA, BOB)),
    "lists": json.dumps([ADA], indent=1) + json.dumps([BOB]),
    "records in several lines": "\n".join(json.dumps(each, indent=2) for each in (ADA, BOB)),
}


@pytest.mark.parametrize("text", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_records_of_several_documents_are_read_together(tmp_path: Path, text: Text) -> None:
    found = imported(tmp_path, users=text)

    assert (found.active, found.inactive, missing(found)) == ({"ada"}, {"bob"}, [None])


def test_path_to_the_records_is_followed_in_each_document(tmp_path: Path) -> None:
    text = "".join(json.dumps({"d": {"people": [each], "total": 3}}) for each in (ADA, BOB))

    found = read_file(tmp_path, text, "users", columns=COLUMNS, shape={"records": "d.people"})

    assert found.rows("users", "username") == ["ada", "bob"]
    assert "total is 3, but the number of records is 2" in str(missing(found))


def test_lists_inside_json_lines_are_not_pages(tmp_path: Path) -> None:
    lines = [{**each, "groups": [{"display": f"group of {each['userName']}"}]} for each in (ADA, BOB)]

    found = imported(tmp_path, users="\n".join(map(json.dumps, lines)))

    assert found.memberships == {("ada", "group of ada"), ("bob", "group of bob")}
