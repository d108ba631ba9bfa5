"""A real headless Chromium for the tests that need to see a page, and what it saw: console, requests, downloads."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.conftest import require
from tests.waiting import LIMIT_S

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-default-apps", "--metrics-recording-only", "--no-default-browser-check", "--hide-scrollbars",
)  # fmt: skip
LOCAL = ("data", "blob", "file", "about", "chrome", "chrome-extension", "chrome-untrusted")
"""Schemes of URLs that no host is asked for; the last three are the browser's own, its new tab among them."""


def require_program(*names: str, how: str = "apt-get install chromium chromium-driver") -> str:
    """Path of the first of these programs there is, or skip with a message; with UHEBO_REQUIRE_ALL set, fail."""
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    message = f"{names[0]} is not installed: {how}"
    if os.environ.get("UHEBO_REQUIRE_ALL"):
        pytest.fail(message)
    pytest.skip(message)


@contextmanager
def chromium(profile: Path, width: int = 1200, height: int = 900) -> Iterator[Any]:
    """A selenium driver with an empty profile below `profile`; downloads land in `profile / "downloads"`."""
    binary, driver_path = require_program("chromium", "google-chrome"), require_program("chromedriver")
    webdriver = require("selenium.webdriver", "pip install 'uhebo[dev]'")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={profile / 'chromium'}", f"--window-size={width},{height}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    downloads = profile / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    service = webdriver.ChromeService(executable_path=driver_path)
    driver = webdriver.Chrome(options=options, service=service)
    try:
        driver.set_page_load_timeout(LIMIT_S)
        driver.set_script_timeout(LIMIT_S)
        driver.execute_cdp_cmd("Network.enable", {})
        driver.execute_cdp_cmd(
            "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(downloads), "eventsEnabled": False}
        )
        yield driver
    finally:
        driver.quit()


def console_errors(driver: Any) -> list[str]:
    """What the page complained about since the last call."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def hosts_asked(driver: Any) -> set[str]:
    """Hosts that the page sent a request to since the last call; files, data and blobs have none."""
    hosts = set()
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            url = urlsplit(message["params"]["request"]["url"])
            if url.scheme not in LOCAL:
                hosts.add(url.hostname or url.scheme)
    return hosts


def prefer(driver: Any, scheme: str, media: str = "") -> None:
    """Light or dark, screen or print, as the system would ask for it."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})


def resize(driver: Any, width: int, height: int) -> None:
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def open_report(driver: Any, path: Path, scheme: str = "light", media: str = "") -> None:
    """A report, once its script has run."""
    prefer(driver, scheme, media)
    driver.get(path.as_uri())
    wait_until(driver, "document.documentElement.dataset.ready !== undefined")


def wait_until(driver: Any, script: str, seconds: float = LIMIT_S) -> Any:
    """The value of a piece of JavaScript once it is true."""
    wait = require("selenium.webdriver.support.ui", "pip install 'uhebo[dev]'").WebDriverWait
    return wait(driver, seconds).until(lambda d: d.execute_script(f"return {script}"))
