"""Each screen in a real browser: accessible in light and dark, never wider than a telephone."""

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
# Files and fragments.
NOT_PAGES = ("/log", ".csv", ".jsonl", "{file:str}", "/sign-in/{id:str}")
SHOWN = {path for method, path in SCREENS.keys() - PROVIDER if method == "GET" and not path.endswith(NOT_PAGES)}
# What a screen shows at other times; somebody else's record, a page that is not there.
STATES = {
    "/access-models/{id:str}?tab=simulation",
    "/events/new?type=Absence",
    "/requests?asks=Approve",
    "/search?q=a",
    "/sign-in/used-already",
    "/nowhere",
    f"/requests/{MISSING}",
}
PAGES = sorted(SHOWN - {"/people"} | TABS | STATES)
# One row of a table is like another.
FEWER_ROWS = "document.querySelectorAll('tbody tr:nth-child(n+4)').forEach((row) => row.remove())"
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1440, "height": 900}


# In parts, so that two cores share them.
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(3))
async def test_no_screen_breaks_a_rule_of_accessibility_or_scrolls_sideways(scripted: Visit, part: int) -> None:
    """All rules in light, and contrast again in dark; the long form checks everything in both, wide and narrow."""
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
def test_continuous_integration_never_goes_without_a_browser(
    monkeypatch: pytest.MonkeyPatch, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.delenv("ROLECALL_BROWSER", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CI", ci)

    with pytest.raises(outcome, match="make browser"):
        need_browser()


@pytest.mark.parametrize(("names", "kilobytes"), [("console.css", 15), ("console.js htmx.min.js", 25)])
def test_what_a_page_loads_is_small(names: str, kilobytes: int) -> None:
    static = Path(rolecall.__file__).parent / "console" / "static"

    assert sum(len(gzip.compress((static / name).read_bytes())) for name in names.split()) < kilobytes * 1024


@pytest.mark.parametrize("path", ["/requests/{id:str}", "/identities/{id:str}"])
async def test_paper_shows_the_record_alone_black_on_white(scripted: Visit, path: str) -> None:
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
