"""Test in a real browser that every screen is accessible in light and dark mode, and fits a phone."""

import gzip
import os
from pathlib import Path

import axe_playwright_python
import pytest
from playwright.async_api import expect

import rolecall
from tests.console.browser.conftest import Visit, need_browser
from tests.console.test_roles import MISSING, PROVIDER, SCREENS
from tests.console.test_screens import address
from tests.figures import measured

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
TABS = {f"/applications/{{id:str}}?tab={tab}" for tab in ("connector", "imports", "permissions")}
# Endings of the paths of downloads, fragments and the printable report, which are not pages of the console.
FILES = ("/log", "/run", ".csv", ".jsonl", "{file:str}", "/export/{id:str}", "/evidence", "/report")
NOT_PAGES = (*FILES, "/sign-in/{id:str}")
SHOWN = {path for method, path in SCREENS.keys() - PROVIDER if method == "GET" and not path.endswith(NOT_PAGES)}
# Additional states of screens, such as a page that does not exist.
STATES = {
    "/access-models/{id:str}?tab=simulation",
    "/events/new?type=Absence",
    "/requests?asks=Approve",
    "/reviews/{id:str}/work?by=access",
    "/search?q=a",
    "/sign-in/used-already",
    "/nowhere",
    f"/requests/{MISSING}",
}
PAGES = sorted(SHOWN - {"/people"} | TABS | STATES)
# Check only the first rows of a table, because all rows have the same structure.
FEWER_ROWS = "document.querySelectorAll('tbody tr:nth-child(n+4)').forEach((row) => row.remove())"
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1440, "height": 900}


# Split the screens into parts, so that each part has its own timeout.
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(3))
async def test_every_screen_is_accessible_and_does_not_scroll_sideways(scripted: Visit, part: int) -> None:
    """Check all rules in light mode and contrast in dark mode, on a phone.

    ROLECALL_BROWSER_LONG checks all rules in both modes, and also the desktop size.
    """
    page, problems = scripted.page, list[str]()
    everything = "ROLECALL_BROWSER_LONG" in os.environ
    for path in PAGES[part::3]:
        where = address(path, scripted.site.company)
        for size in (DESK, PHONE) if everything else (PHONE,):
            await page.set_viewport_size(size)  # type: ignore[arg-type]
            await scripted.go(where)
            wide = await page.evaluate("document.documentElement.scrollWidth")
            problems += [f"{path} is {wide} wide"] if wide > size["width"] else []
            await page.evaluate(FEWER_ROWS)
            await page.evaluate(AXE)
            for scheme in ("light", "dark"):
                await page.emulate_media(color_scheme=scheme)
                rules = {"type": "tag", "values": STANDARDS}
                if scheme == "dark" and not everything:
                    rules = {"type": "rule", "values": ["color-contrast"]}
                broken = await page.evaluate("rules => axe.run({runOnly: rules, resultTypes: ['violations']})", rules)
                problems += [
                    f"{path} {scheme} {size['width']}: {each['id']} {node['html'][:120]} {node['failureSummary'][:200]}"
                    for each in broken["violations"]
                    for node in each["nodes"][:2]
                ]

    assert not problems, "\n".join(problems)
    measured(f"{len(PAGES[part::3])} screens")


@pytest.mark.parametrize(("ci", "outcome"), [("1", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_missing_browser_fails_in_continuous_integration_and_skips_elsewhere(
    monkeypatch: pytest.MonkeyPatch, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.delenv("ROLECALL_BROWSER", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CI", ci)

    with pytest.raises(outcome, match="make browser"):
        need_browser()


@pytest.mark.parametrize(("names", "kilobytes"), [("console.css", 15), ("console.js htmx.min.js", 25)])
def test_static_files_stay_below_their_size_limits(names: str, kilobytes: int) -> None:
    static = Path(rolecall.__file__).parent / "console" / "static"

    assert sum(len(gzip.compress((static / name).read_bytes())) for name in names.split()) < kilobytes * 1024


@pytest.mark.parametrize("path", ["/requests/{id:str}", "/identities/{id:str}"])
async def test_print_shows_only_the_record_in_black_on_white(scripted: Visit, path: str) -> None:
    page = scripted.page
    await page.emulate_media(media="print", color_scheme="dark")
    await scripted.go(address(path, scripted.site.company))

    await expect(page.locator("h1")).to_be_visible()
    for part in (".side", ".search", "button", "form"):
        assert not [part for one in await page.locator(part).all() if await one.is_visible()]
    colors = await page.evaluate(
        "() => { const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]; }"
    )
    assert colors == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
