"""Test which unread columns are reported because they may contain access."""

import pytest

from rolecall.application_imports.read.access_signs import Sign, sign_of_access


@pytest.mark.parametrize(
    ("header", "cells"),
    [
        ("Default Template", ["ED NURSE", "CPOE FULL", "ED NURSE", "SECURITY ADMIN"]),
        ("Linked Sub-Templates", ["ED NURSE;CHARGE NURSE", "CPOE FULL", "SECURITY ADMIN;CHRONICLES UPDATE"]),
        ("groname", ["dba", "etl", "analysts", "analysts", "finance_ro"]),
        ("Course", ["Biology", "Art", "Biology"]),
    ],
)
def test_names_below_a_word_about_access_may_be_access(header: str, cells: list[str]) -> None:
    assert sign_of_access(header, cells) in (Sign.NAMES, Sign.LIST)


@pytest.mark.parametrize("header", ["Office", "Default Language"])
def test_names_below_another_word_are_not_reported(header: str) -> None:
    assert sign_of_access(header, ["Berlin", "Wien", "Berlin"]) is None
