"""Test `rolecall admin link`: a one-time link for a named person."""

import httpx2

from tests.cli.commands import Caller, Running, rolecall


def a_person(call: Caller, first: str, email: str) -> None:
    code, _, said = call("event", "onboard", "--first-name", first, "--last-name", "Link", "--email", email,
                "--effective-date", "2035-01-01")  # fmt: skip
    assert code == 0, said


def test_link_signs_in_the_named_person_once(called_service: Running, call: Caller) -> None:
    a_person(call, "Lena", "lena.link@example.com")

    made = rolecall("admin", "link", "LENA.link@example.com", "--data-dir", called_service.data_dir)
    link = made.stdout.strip()

    assert made.returncode == 0, made.stderr
    assert link.startswith(f"{called_service.url}/sign-in/")
    with httpx2.Client(follow_redirects=True) as browser:
        shown = browser.post(link)
        again = browser.post(link)
    assert "Welcome, Lena" in shown.text
    assert again.status_code == 401


def test_unknown_or_shared_e_mail_is_an_error(called_service: Running, call: Caller) -> None:
    for name in ("Tom", "Tim"):
        a_person(call, name, "twins.link@example.com")

    for email in ("twins.link@example.com", "unknown.link@example.com"):
        made = rolecall("admin", "link", email, "--data-dir", called_service.data_dir)

        assert made.returncode == 1
        assert made.stdout == ""
        assert f"No active person signs in with {email}, or several have this e-mail" in made.stderr
