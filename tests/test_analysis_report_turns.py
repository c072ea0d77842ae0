"""Dialogues, odd intervals, long names and bad addresses, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.report.site import make_report
from tests.browsed import Open, launched, opened_item, visiting
from tests.reported import Folders, assistant_folders, huge_folders


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folders = assistant_folders(tmp_path_factory.mktemp("dialogues"))
    make_report(folders.scores, folders.scores.with_name("site"), store=folders.store)
    return folders.scores.with_name("site")


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    folders = huge_folders(tmp_path_factory.mktemp("huge"))
    make_report(folders.scores, folders.scores.with_name("site"), store=folders.store)
    return folders


@pytest.fixture(scope="module")
def browser(site: Path, huge: Folders) -> Iterator[Any]:
    # The reports are there first: judges run an event loop, and Playwright holds the thread's.
    assert site.is_dir()
    assert huge.scores.is_dir()
    with launched() as opened:
        yield opened


@pytest.fixture
def visit(browser: Any, site: Path) -> Iterator[Open]:
    with visiting(browser, site) as opened:
        yield opened


def test_a_turn_shows_what_was_asked_and_said_before_it(visit: Open) -> None:
    page = visit("answers.html#item=assistant/signs-seg3&run=beta")
    opened_item(page)
    earlier = page.get_by_role("heading", name="Earlier turns").locator("..")
    turns = earlier.locator(".dialogue > li").all_inner_texts()
    assert len(turns) == 2
    assert turns[0].startswith("turn 1: A raised arm means")
    assert "Turn 1. The cup is red." in turns[0]
    assert turns[1].startswith("turn 2: (The user puts a hand on the hip.)")
    assert "Turn 2." in turns[1]
    # Of the run that was asked for only.
    assert "alpha" not in turns[0]


def test_the_turns_of_a_dialogue_are_linked(visit: Open) -> None:
    page = visit("answers.html#item=assistant/signs-seg2&run=beta")
    opened_item(page)
    turns = page.get_by_role("navigation", name="Turns of the dialogue")
    assert turns.locator("li").all_inner_texts() == ["turn 1", "turn 2", "turn 3"]
    assert turns.locator("[aria-current]").inner_text() == "turn 2"
    turns.get_by_role("link", name="turn 3").click()
    page.wait_for_function(
        "() => document.getElementById('item-title').textContent === 'assistant/signs-seg3'"
    )
    assert "run=beta" in page.evaluate("location.hash")
    alone = visit("answers.html#item=assistant/bottles")
    opened_item(alone)
    assert alone.locator(".turns, .dialogue").count() == 0


def test_a_name_of_400_letters_makes_no_page_wider(visit: Open) -> None:
    for width in (360, 1200):
        for address in ("answers.html#item=assistant/signs-seg2", "index.html"):
            page = visit(address, viewport={"width": width, "height": 800})
            if "item=" in address:
                opened_item(page)
            assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    number = page.locator("#assistant tbody tr").nth(1).locator("td").first.bounding_box()
    assert number["x"] + number["width"] < 1000


def test_an_empty_interval_is_not_reversed(visit: Open, huge: Folders) -> None:
    page = visit(f"answers.html#item={huge.items[2].id}", folder=huge.scores.with_name("site"))
    opened_item(page)
    times = page.locator(".timeline .times").all_inner_texts()
    assert "0:05–0:05 (empty)" in times
    assert page.locator(".timeline .reversed").count() == 0


def test_the_badge_of_an_answer_says_how_its_metrics_ended(visit: Open, huge: Folders) -> None:
    page = visit(f"answers.html#item={huge.items[1].id}", folder=huge.scores.with_name("site"))
    opened_item(page)
    badges = page.locator(".answer > header .badge").all_inner_texts()
    assert badges == ["partly unparsed", "read"]
    assert page.locator(".answer > header .badge.good").count() == 1


@pytest.mark.parametrize("sort", ["-1:down", "99:up", "x:down", ":", "1.5:up", "0", "__proto__"])
def test_a_bad_address_of_the_overview_is_ignored(visit: Open, sort: str) -> None:
    page = visit(f"index.html#sort=assistant:{sort}&reading=odd&by=mood")
    names = page.locator("#assistant tbody th").all_inner_texts()
    assert [name.split()[0] for name in names] == ["alpha", "beta"]
    assert page.locator("#assistant td .scored-only").first.is_visible()


def test_a_bad_address_of_the_answers_is_ignored(visit: Open) -> None:
    metric = "metric=assistant:answer_judge:lexical"
    page = visit(f"answers.html#page=1.5&min=odd&max=1e999&order=constructor&{metric}")
    assert page.locator("#count").inner_text() == "13 of 13 items, 26 answers"
    assert page.locator("#list li").count() == 13
