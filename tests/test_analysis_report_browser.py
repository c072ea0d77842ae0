"""A report in a real browser: opened from disk, used by mouse and keyboard, read by machines.

Every test also holds that nothing was asked of the network and that the console stayed empty.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis.report.site import make_report
from bench.item import IntervalReference
from tests.browsed import Open, launched, opened_item, visiting
from tests.reported import HOSTILE, HOSTILE_MODEL, LONG, Folders, demo_folders, many_folder

MB = 1_000_000


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return demo_folders(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def site(folders: Folders) -> Path:
    out = folders.scores.with_name("site")
    make_report(folders.scores, out, store=folders.store)
    return out


@pytest.fixture(scope="module")
def browser(site: Path) -> Iterator[Any]:
    # The report is there first: judges run an event loop, and Playwright holds the thread's.
    assert site.is_dir()
    with launched() as opened:
        yield opened


@pytest.fixture
def visit(browser: Any, site: Path) -> Iterator[Open]:
    with visiting(browser, site) as opened:
        yield opened


def column(page: Any, table: str, at: int = 1) -> list[str]:
    """The texts of a table's column that can be seen."""
    cells = page.locator(f"#{table} tbody tr > :nth-child({at})")
    return [text.split()[0] for text in cells.all_inner_texts()]


def counted(page: Any) -> str:
    text: str = page.locator("#count").inner_text()
    return text


def choose(page: Any, name: str, value: str) -> None:
    page.select_option(f"#{name}", value)


def expect_count(page: Any, text: str) -> None:
    page.wait_for_function(
        "text => document.getElementById('count').textContent === text", arg=text
    )


def test_a_heading_sorts_the_leaderboard_and_the_address_keeps_it(visit: Open) -> None:
    page = visit("index.html")
    assert column(page, "headline") == ["alpha", "beta"]
    heading = page.locator("#headline").get_by_role("button", name="Multiple choice: Accuracy")
    heading.click()
    page.wait_for_function("() => location.hash.includes('sort')")
    assert column(page, "headline") == ["alpha", "beta"]
    heading.click()
    page.wait_for_selector("#headline th[aria-sort=ascending]")
    assert column(page, "headline") == ["beta", "alpha"]
    again = visit("index.html" + page.evaluate("location.hash"))
    assert column(again, "headline") == ["beta", "alpha"]


def test_a_leaderboard_is_sorted_by_keyboard(visit: Open) -> None:
    page = visit("index.html")
    page.locator("#choice th button").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#choice th:first-child[aria-sort=ascending]")
    page.keyboard.press("Space")
    page.wait_for_selector("#choice th:first-child[aria-sort=descending]")
    assert column(page, "choice") == ["beta", "alpha"]


def test_both_readings_can_be_seen(visit: Open) -> None:
    page = visit("index.html")
    left_out = column(page, "choice", 2)
    page.get_by_label("count as wrong").check()
    page.wait_for_selector("body.reading-failures-as-wrong")
    as_wrong = column(page, "choice", 2)
    assert as_wrong[0] == left_out[0] == "100.0"
    assert float(as_wrong[1]) < float(left_out[1])
    assert column(visit("index.html#reading=failures-as-wrong"), "choice", 2) == as_wrong


def test_slices_are_chosen_by_attribute_and_metric(visit: Open) -> None:
    page = visit("index.html")
    choose(page, "by", "relation")
    choose(page, "slice-metric", "Temporal localization: Recall at 0.5, %")
    page.wait_for_function("() => location.hash.includes('by=relation')")
    shown = page.locator("[data-by]:visible caption")
    assert shown.all_inner_texts() == ["Temporal localization: Recall at 0.5, %, by relation"]


def test_a_count_of_failures_leads_to_the_answers_behind_it(visit: Open) -> None:
    page = visit("index.html")
    row = page.locator("#endings tbody tr", has_text="beta").filter(has_text="localization")
    links = row.locator("a").evaluate_all("all => all.map((a) => [a.getAttribute('href'), a.text])")
    row = page.locator("#error-types tbody tr", has_text="beta").filter(has_text="strict")
    links += row.locator("a").evaluate_all(
        "all => all.map((a) => [a.getAttribute('href'), a.text])"
    )
    assert len(links) >= 6
    for address, n in links:
        assert counted(visit(address)).endswith(f", {n} answers")


def test_answers_are_filtered_by_each_of_their_attributes(visit: Open, folders: Folders) -> None:
    page = visit("answers.html")
    n = len(folders.items)
    assert counted(page) == f"{n} of {n} items, {2 * n} answers"
    errors = pl.read_parquet(folders.scores / "errors.parquet").filter(pl.col("run") == "beta")
    early = errors.filter(pl.col("error_type") == "too_early")["item"].n_unique()
    predictions = pl.read_parquet(folders.scores / "predictions.parquet")
    failed = predictions.filter(pl.col("status").cast(pl.String) == "infra_failed")
    topic = "06_Emergency_Response_Scenarios"
    in_topic = sum(item.topic == topic for item in folders.items)
    choices = len(folders.named("choice"))
    scores = pl.read_parquet(folders.scores / "scores.parquet").filter(
        pl.col("metric") == "accuracy"
    )
    wrong = len(scores.filter(pl.col("value") == 0))
    for filters, items, answers in [
        ({"task": "choice"}, choices, 2 * choices),
        ({"topic": topic}, in_topic, 2 * in_topic),
        ({"run": "alpha"}, n, n),
        ({"model": HOSTILE_MODEL}, n, n),
        ({"status": "infra_failed"}, failed["item"].n_unique(), len(failed)),
        ({"run": "beta", "error": "too_early"}, early, early),
    ]:
        for name, value in filters.items():
            choose(page, name, value)
        expect_count(page, f"{items} of {n} items, {answers} answers")
        page.click("#clear")
        expect_count(page, f"{n} of {n} items, {2 * n} answers")
    choose(page, "metric", "choice:accuracy")
    page.fill("#max", "0")
    expect_count(page, f"{wrong} of {n} items, {wrong} answers")
    page.fill("#max", "")
    page.fill("#q", "summary/")
    choose(page, "metric", "")
    expect_count(page, f"9 of {n} items, 18 answers")


def test_items_can_be_ordered_by_score_and_by_how_far_runs_differ(visit: Open) -> None:
    page = visit("answers.html#metric=choice:accuracy&order=spread")
    assert "50.0 %" in page.locator("#list li").first.inner_text()
    choose(page, "order", "high")
    page.wait_for_function(
        "() => document.querySelector('#list li').textContent.includes('100.0 %')"
    )


def test_an_address_leads_to_its_item_and_back_leads_out_again(visit: Open) -> None:
    page = visit("answers.html#task=localization&item=localization/01/001/0-36/0/002")
    assert opened_item(page) == "localization/01/001/0-36/0/002"
    assert page.locator("#list a[aria-current=true]").count() == 1
    page.get_by_role("button", name="Next item").click()
    page.wait_for_function(
        "() => document.getElementById('item-title').textContent.endsWith('0/003')"
    )
    page.go_back()
    page.wait_for_function(
        "() => document.getElementById('item-title').textContent.endsWith('0/002')"
    )
    assert page.locator("#task").input_value() == "localization"


def test_the_list_beside_an_item_is_the_page_that_has_it(visit: Open, folders: Folders) -> None:
    page = visit(f"answers.html#item={folders.items[-1].id}")
    opened_item(page)
    assert page.locator("#page").inner_text() == "page 2 of 2"
    current = page.locator("#list a[aria-current=true]")
    assert folders.items[-1].id in current.inner_text()
    page.wait_for_function("() => document.getElementById('found').scrollTop > 0")


def test_an_address_of_no_item_says_so(visit: Open) -> None:
    page = visit("answers.html#item=choice/99")
    assert page.locator("#item").inner_text() == "There is no such item in this report."


def test_a_records_key_leads_to_the_items_that_it_answers(visit: Open, folders: Folders) -> None:
    item = folders.named("choice")[3].id
    page = visit(f"answers.html#item={item}")
    opened_item(page)
    page.locator(".answer .key a").first.click()
    expect_count(page, f"1 of {len(folders.items)} items, 1 answers")
    assert item in page.locator("#list").inner_text()


def test_intervals_lie_at_their_place_on_the_segment(visit: Open, folders: Folders) -> None:
    item = folders.named("localization")[0]
    assert isinstance(item.reference, IntervalReference)
    assert item.clip.segment is not None
    page = visit(f"answers.html#item={item.id}")
    opened_item(page)
    length = item.clip.segment.end_s - item.clip.segment.start_s
    rows = page.locator(".timeline li")
    expected = [(item.reference.start_s, item.reference.end_s)] * 2 + [(18.0, 27.0)]
    assert rows.count() == len(expected)
    for at, (start, end) in enumerate(expected):
        track = rows.nth(at).locator(".track").bounding_box()
        bar = rows.nth(at).locator(".bar").bounding_box()
        left = (bar["x"] - track["x"]) / track["width"] * length + item.clip.segment.start_s
        width = bar["width"] / track["width"] * length
        # Two pixels of a track of some hundred, for its border.
        tolerance = 2.5 / track["width"] * length
        assert left == pytest.approx(start, abs=tolerance)
        assert width == pytest.approx(end - start, abs=tolerance)


def test_an_interval_outside_the_segment_is_said_to_be_after_it(
    visit: Open, folders: Folders
) -> None:
    answers = pl.read_parquet(folders.scores / "predictions.parquet").filter(
        pl.col("run") == "beta"
    )
    far = answers.filter(pl.col("start_s") > 1e5)["item"][0]
    turned = answers.filter(pl.col("start_s") > pl.col("end_s"))["item"][0]
    page = visit(f"answers.html#item={far}")
    opened_item(page)
    assert page.locator(".timeline .outside").inner_text() == "after ▸"
    page = visit(f"answers.html#item={turned}")
    opened_item(page)
    assert "(reversed)" in page.locator(".timeline").inner_text()
    assert page.locator(".timeline .bar.reversed").count() == 1


def test_an_item_shows_question_reference_answers_and_every_verdict(
    visit: Open, folders: Folders
) -> None:
    item = folders.named("choice")[1]
    page = visit(f"answers.html#item={item.id}")
    opened_item(page)
    shown = page.locator("#item").inner_text()
    assert item.question in shown
    assert all(option in shown for option in item.options)
    right = page.locator(".options .right").inner_text()
    assert "reference" in right
    assert "alpha" in right
    answer = page.get_by_role("article", name="Answer of alpha")
    verdicts = answer.locator(".verdicts > li").all_inner_texts()
    assert [text.split()[0] for text in verdicts] == ["lexical", "strict"]
    assert all("10" in text and "a formula" in text for text in verdicts)


def test_the_player_begins_at_the_segment_and_its_file_is_there(
    visit: Open, folders: Folders, site: Path
) -> None:
    item = next(i for i in folders.items if i.clip.segment and i.clip.segment.start_s > 0)
    page = visit(f"answers.html#item={item.id}")
    opened_item(page)
    source = page.locator("video").get_attribute("src")
    link, _, stretch = source.partition("#t=")
    assert [float(end) for end in stretch.split(",")] == [
        item.clip.segment.start_s,
        item.clip.segment.end_s,
    ]
    assert (site / link).is_file()
    page.wait_for_function("() => document.querySelector('video').readyState >= 1")
    assert page.evaluate("document.querySelector('video').duration") > 10


def test_a_hostile_answer_is_text_and_nothing_else(visit: Open, folders: Folders) -> None:
    item = folders.named("choice")[0].id
    page = visit(f"answers.html#item={item}")
    opened_item(page)
    answer = page.locator("article.answer").nth(1)
    said = json.loads(answer.locator(".said").first.text_content())
    assert said["rationale"] == HOSTILE
    assert page.evaluate("window.harmed") is None
    assert page.locator("img, iframe, #item script").count() == 0
    assert HOSTILE_MODEL in answer.inner_text()


def test_a_text_of_a_megabyte_is_begun_and_shown_whole_on_demand(
    visit: Open, folders: Folders
) -> None:
    item = folders.named("summary")[0].id
    page = visit(f"answers.html#item={item}&run=beta")
    opened_item(page)
    said = page.locator("article.answer").first.locator(".said").first
    assert len(said.text_content()) < 30_000
    page.get_by_role("button", name="Show all").first.click()
    page.wait_for_function(
        "length => document.querySelector('.answer .said').textContent.length > length",
        arg=len(LONG),
    )
    assert json.loads(said.text_content())["summary_detailed"] == LONG


def test_an_item_is_opened_by_keyboard_and_gets_the_focus(visit: Open) -> None:
    page = visit("answers.html")
    page.locator("#clear").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert opened_item(page) == "summary/01/001"
    page.wait_for_function("() => document.activeElement.id === 'item-title'")


def test_a_narrow_screen_shows_the_list_or_the_item_and_the_way_back(visit: Open) -> None:
    page = visit("answers.html", viewport={"width": 360, "height": 740})
    page.locator("#list a").nth(2).click()
    opened_item(page)
    assert not page.locator("#list").is_visible()
    page.get_by_role("button", name="Back to the list").click()
    page.wait_for_selector("#list li:nth-child(3) a:focus")
    assert not page.locator("#detail").is_visible()


def test_every_control_has_a_name_for_screen_readers(visit: Open) -> None:
    unnamed = """() => [...document.querySelectorAll('a, button, select, input, video, audio')]
        .filter((one) => one.checkVisibility())
        .filter((one) => !one.textContent.trim() && !one.ariaLabel && !(one.labels || []).length)
        .map((one) => one.outerHTML)"""
    for address in ("index.html", "answers.html#item=localization/01/001/0-36/0/001"):
        page = visit(address)
        if "item=" in address:
            opened_item(page)
        assert page.evaluate(unnamed) == []
        assert page.locator("html[lang=en]").count() == 1
        assert page.locator("main").count() == 1
        assert page.locator("h1").count() == 1
        assert page.evaluate("[...document.querySelectorAll('table')].every((t) => t.caption)")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_of_texts_have_contrast_in_light_and_dark(visit: Open, scheme: str) -> None:
    page = visit("index.html", color_scheme=scheme)
    colours = page.evaluate(
        """() => { const of = getComputedStyle(document.documentElement);
        return Object.fromEntries(['paper', 'panel', 'ink', 'soft', 'link', 'warm', 'good', 'bad']
            .map((name) => [name, of.getPropertyValue('--' + name).trim()])); }"""
    )
    grounds = [_luminance(colours.pop(name)) for name in ("paper", "panel")]
    assert (grounds[0] < 0.1) == (scheme == "dark")
    for name, colour in colours.items():
        for ground in grounds:
            low, high = sorted([ground, _luminance(colour)])
            # WCAG 2.2, 1.4.3.
            assert (high + 0.05) / (low + 0.05) >= 4.5, (name, colour)


def _luminance(colour: str) -> float:
    """Relative luminance of ``#rgb`` or ``#rrggbb`` (WCAG 2.2)."""
    digits = colour.lstrip("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(
    "address", ["index.html", "answers.html#item=localization/01/001/0-36/0/001"]
)
def test_a_narrow_screen_scrolls_in_one_direction_only(visit: Open, address: str) -> None:
    page = visit(address, viewport={"width": 360, "height": 740})
    if "item=" in address:
        opened_item(page)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 360


def test_the_overview_can_be_read_without_javascript(visit: Open) -> None:
    page = visit("index.html", java_script_enabled=False)
    assert column(page, "choice") == ["alpha", "beta"]


def test_thirty_thousand_answers_are_filtered_and_opened(visit: Open, tmp_path: Path) -> None:
    made = make_report(many_folder(tmp_path), tmp_path / "site")
    assert made.n_answers == 30_000
    files = [path for path in (tmp_path / "site").rglob("*") if path.is_file()]
    assert max(path.stat().st_size for path in files) < 5 * MB
    page = visit("answers.html", folder=tmp_path / "site")
    assert counted(page) == "3,000 of 3,000 items, 30,000 answers"
    assert page.locator("#list li").count() == 50
    choose(page, "run", "run-7")
    expect_count(page, "3,000 of 3,000 items, 3,000 answers")
    choose(page, "status", "unparsed")
    expect_count(page, "300 of 3,000 items, 300 answers")
    page.get_by_role("button", name="After").click()
    page.wait_for_function("() => document.getElementById('page').textContent === 'page 2 of 6'")
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.locator("#list a").last.click()
    last = opened_item(page)
    assert last == page.locator("#list li").last.locator(".snippet").inner_text()
    assert [name for name in loaded if "data/chunk-" in name] == loaded
    assert len(loaded) == 1
