# SPDX-License-Identifier: Apache-2.0
"""Reads the site in a browser without a window: `browse.py <site> <chromium> <chromedriver> [<folder for pictures>]`. Prints a
line "passed: …" or "failed: …" for each check. The pages come from a server on 127.0.0.1 that ends with the program."""
import functools
import http.server
import pathlib
import sys
import threading
import time

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

LOOKED_AT = ["index", "docs/sorting", "docs/performance", "docs/choosing", "python/masu/index", "python/masu/topk", "python/masu/Histogram",
             "include/masu/index", "include/masu/topk.h", "docs/textbook", "search"]
PHONE = (390, 844)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Browser:
    def __init__(self, site, chromium, driver, pictures):
        self.site, self.pictures, self.failed = site, pictures, 0
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.base = f"http://127.0.0.1:{self.server.server_port}/"
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1000"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver))
        self.driver.set_page_load_timeout(60)

    def end(self):
        self.driver.quit()
        self.server.shutdown()

    def check(self, name, problems):
        problems = list(problems)
        print(f"{'failed' if problems else 'passed'}: {name}")
        print(*problems, sep="\n", end="\n" if problems else "", flush=True)
        self.failed += bool(problems)

    def script(self, text, *given):
        return self.driver.execute_script(text, *given)

    def open(self, page, base=None):
        self.driver.get(f"{base or self.base}{page}.html")

    def errors(self):
        """What the console has had to say since it was asked last."""
        return [f"{entry['level']}: {entry['message']}" for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def size(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def prefer(self, scheme):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def picture(self, page, name):
        if self.pictures:
            self.pictures.mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(str(self.pictures / f"{page.replace('/', '-')}-{name}.png"))

    def pages(self):
        return sorted(str(path.relative_to(self.site))[:-len(".html")] for path in self.site.rglob("*.html"))

    def renders(self):
        """Every page: a heading, its pictures, nothing from elsewhere, a silent console; and at a phone's width no more than it."""
        wrong = {"has a heading and its pictures": [], "loads from the site alone": [], "leaves the console silent": [],
                 "fits the width of a phone": []}
        self.size(*PHONE)
        for page in self.pages():
            self.open(page)
            heading, pictures, width, loaded = self.script("""
                const loaded = performance.getEntriesByType('resource').map(one => one.name);
                for (const image of document.images) image.loading = 'eager';
                return [document.querySelector('h1')?.innerText ?? '', [...document.images].filter(one => one.complete && !one.naturalWidth).length,
                        document.documentElement.scrollWidth, loaded];""")
            found = ["no heading"] * (not heading and page != "search") + [f"{pictures} pictures are missing"] * bool(pictures)
            wrong["has a heading and its pictures"] += [f"{page}: {one}" for one in found]
            wrong["loads from the site alone"] += [f"{page}: {one}" for one in loaded if not one.startswith((self.base, "data:"))]
            wrong["leaves the console silent"] += [f"{page}: {one}" for one in self.errors()]
            if width > PHONE[0]:
                wrong["fits the width of a phone"].append(f"{page}: {width} pixels")
        for name, problems in wrong.items():
            self.check(f"every page {name}", problems)

    def results(self, words, base=None):
        self.open("search", base)
        box = self.driver.find_elements(By.CSS_SELECTOR, "input[name=q]")
        box = next(one for one in box if one.is_displayed())
        box.send_keys(words, Keys.ENTER)
        WebDriverWait(self.driver, 30).until(lambda driver: driver.find_elements(By.CSS_SELECTOR, "#search-results li a"))
        time.sleep(1)
        return [one.get_attribute("href") for one in self.driver.find_elements(By.CSS_SELECTOR, "#search-results li a")]

    def search(self):
        self.size(1280, 1000)
        for name, base in (("a server", self.base), ("a folder", self.site.as_uri() + "/")):
            found = " ".join(self.results("topk", base))
            self.check(f"search finds topk, read from {name}",
                       [f"{page} is not among {found}" for page in ("python/masu/topk.html", "include/masu/topk.h.html") if page not in found])
            if base == self.base:
                self.check("search leaves the console silent", self.errors())
                self.picture("search-topk", "light")

    def colours(self):
        """How light the page and its text are, of 255."""
        return self.script("""
            const light = text => text.match(/[\\d.]+/g).slice(0, 3).reduce((sum, one) => sum + Number(one), 0) / 3;
            const style = getComputedStyle(document.body);
            return [light(style.backgroundColor), light(style.color)];""")

    def dark(self):
        seen = {}
        for scheme in ("light", "dark"):
            self.prefer(scheme)
            self.open("index")
            seen[scheme] = self.colours()
        (day, ink), (night, chalk) = seen["light"], seen["dark"]
        self.check("light or dark as the reader prefers", [f"{seen}"] * (not (day > 200 > 120 > ink and night < 60 and chalk > 150)))
        self.prefer("light")

    def keyboard(self):
        self.open("docs/sorting")
        focused = []
        for _ in range(12):
            self.script("return 0")
            webdriver.ActionChains(self.driver).send_keys(Keys.TAB).perform()
            focused.append(self.script("const one = document.activeElement; return (one.innerText || one.name || one.ariaLabel || '').trim();"))
        problems = [] if any("Skip" in one for one in focused) and "q" in focused else [f"the tabulator reaches {focused}"]
        self.check("the keyboard reaches the contents and the search", problems)

    def look(self):
        """Pictures of some pages for a person."""
        for name, scheme, size in (("light", "light", (1280, 1000)), ("dark", "dark", (1280, 1000)), ("phone", "light", PHONE), ("phone-dark", "dark", PHONE)):
            self.prefer(scheme)
            self.size(*size)
            for page in LOOKED_AT:
                self.open(page)
                self.picture(page, name)


def main(site, chromium, driver, pictures=None):
    browser = Browser(pathlib.Path(site).resolve(), chromium, driver, pictures and pathlib.Path(pictures))
    try:
        browser.renders()
        browser.search()
        browser.dark()
        browser.keyboard()
        if pictures:
            browser.look()
    finally:
        browser.end()
    return browser.failed


if __name__ == "__main__":
    sys.exit(bool(main(*sys.argv[1:])))
