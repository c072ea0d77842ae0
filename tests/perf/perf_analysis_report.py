"""A report of 30,000 answers in a browser: SONIC-O1's size, 4,958 items and six models.

How long until the first page can be used, until a filter shows its items, and until an item is
open. Beside it, in the same browser, a page that loads the same data in one file, as a report
without chunks would: what chunks save is the ratio.

Run: python -m tests.perf.perf_analysis_report
"""

import os
import random
import shutil
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import sync_playwright

from analysis.report.site import write_report
from analysis.report.source import open_source
from cache.store import Store
from score.output import write
from score.scoring import score
from tests.perf.perf_score_whole import MODELS, fill, make_items
from tests.perf.prose import writer

MB = 1_000_000
TIMES = 5
#: Sets a control, and says after how many milliseconds the list and the count are the new ones.
_FILTER = """([id, value]) => new Promise((resolve) => {
    const count = document.getElementById('count'), control = document.getElementById(id);
    const began = performance.now();
    new MutationObserver((_, seen) => {
        seen.disconnect();
        requestAnimationFrame(() => resolve(performance.now() - began));
    }).observe(count, { childList: true, characterData: true, subtree: true });
    control.value = value;
    control.dispatchEvent(new Event(control.tagName === 'SELECT' ? 'change' : 'input'));
})"""
FILTERS = [
    ("task", "localization"),
    ("run", "m3"),
    ("topic", "05_Topic"),
    ("status", "scored"),
    ("error", "too_late"),
    ("q", "001"),
    ("metric", "localization:tiou"),
    ("max", "10"),
    ("order", "spread"),
]


def make_site(root):
    write_prose, rng = writer(random.Random(0)), random.Random(1)
    items = make_items(write_prose, rng)
    with Store(root / "store", create=True) as store:
        fill(store, items, write_prose, rng)
        write(score(store, items, [f"m{n}" for n in range(MODELS)]), root / "scores")
    began = time.process_time()
    with open_source(root / "scores", root / "store", None) as source:
        made = write_report(replace(source, items={item.id: item for item in items}), root / "site")
    print(f"written in {time.process_time() - began:.0f} s of CPU: {made.n_answers} answers, "
          f"{made.n_bytes / MB:.0f} MB in {made.n_files} files")  # fmt: skip
    largest = max((root / "site").rglob("*.*"), key=lambda path: path.stat().st_size)
    print(f"largest file: {largest.name}, {largest.stat().st_size / MB:.2f} MB (limit 5)")
    return root / "site"


def make_whole(site, out):
    """The same page with all data in one file that it loads at first."""
    shutil.copytree(site, out)
    data = sorted((out / "data").glob("*.js"))
    (out / "data" / "whole.js").write_bytes(b"".join(path.read_bytes() for path in data))
    page = out / "answers.html"
    script = '<script src="static/load.js"></script>'
    text = page.read_text()
    assert script in text
    page.write_text(text.replace(script, script + '\n<script src="data/whole.js"></script>'))
    return out


def opened(browser, address, ready):
    """Median seconds until a page of a fresh browser window can be used."""
    times = []
    for _ in range(TIMES):
        context = browser.new_context()
        page = context.new_page()
        began = time.perf_counter()
        page.goto(address)
        page.wait_for_selector(ready)
        times.append(time.perf_counter() - began)
        context.close()
    return statistics.median(times)


def main():
    print("load of the machine, over its processors:", os.getloadavg()[0] / os.cpu_count())
    with tempfile.TemporaryDirectory() as folder:
        site = make_site(Path(folder))
        whole = make_whole(site, Path(folder) / "whole")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            measure(browser, site, whole)
            browser.close()


def measure(browser, site, whole):
    ready = "body[data-ready]"
    overview = opened(browser, (site / "index.html").as_uri(), "#headline")
    chunks = opened(browser, (site / "answers.html").as_uri(), ready)
    one_file = opened(browser, (whole / "answers.html").as_uri(), ready)
    print(f"overview usable after {overview:.2f} s, answers after {chunks:.2f} s (limit 2)")
    print(f"all data in one file: {one_file:.2f} s, {one_file / chunks:.1f} times as long")
    page = browser.new_context().new_page()
    page.goto((site / "answers.html").as_uri())
    page.wait_for_selector(ready)
    for id_, value in FILTERS:
        first = page.evaluate(_FILTER, [id_, value])
        shown = page.inner_text("#count")
        times = []
        for _ in range(TIMES):
            page.evaluate(_FILTER, [id_, ""])
            times.append(page.evaluate(_FILTER, [id_, value]))
        again = statistics.median(times)
        print(f"filter {id_} = {value}: {first:.0f} ms, again {again:.0f} (limit 200)  {shown}")
    began = time.perf_counter()
    page.locator("#list a").nth(7).click()
    page.wait_for_selector("#item .answer")
    print(f"an item is open after {time.perf_counter() - began:.2f} s")


if __name__ == "__main__":
    main()
