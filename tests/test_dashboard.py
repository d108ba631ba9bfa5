"""The dashboard: loopback only, our note and pictures in it, and what a real browser makes of it."""

from __future__ import annotations

import json
import logging
import sqlite3
import traceback
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.storages import BaseStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import Study
from optuna.trial import create_trial

import uhebo
from tests import browser
from tests.conftest import require
from tests.waiting import LIMIT_S
from uhebo.errors import InvalidInputError
from uhebo.report import Dashboard, ReportError, start_dashboard
from uhebo.report.dashboard import NOTE_HEADING, annotate, is_loopback
from uhebo.storage.places import open_storage

dashboard_module = require("optuna_dashboard", "pip install 'uhebo[dashboard]'")
pytestmark = pytest.mark.usefixtures("rough_importances")
optuna.logging.set_verbosity(optuna.logging.WARNING)

EVIL = "<img src=x onerror='window.hacked=1'>[x](javascript:alert(1))"


def small_study(storage: str | BaseStorage, name: str = "furnace") -> Study:
    def loss(x: float, y: float) -> float:
        return (x - 0.3) ** 2 + (y - 0.6) ** 2

    space = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
    return uhebo.minimize(loss, space, 14, seed=0, storage=storage, study_name=name).study


@contextmanager
def running(storage: Any, **options: Any) -> Iterator[Dashboard]:
    server = start_dashboard(storage, port=0, block=False, **options)
    try:
        yield server
    finally:
        server.stop()


def ask(url: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=LIMIT_S) as answer:
            return int(answer.status), answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return int(error.code), error.read().decode()


@pytest.fixture(params=["sqlite URL", "sqlite path", "journal file"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "journal file":
        path = tmp_path / "lab.journal"
        small_study(JournalStorage(JournalFileBackend(str(path))))
        return str(path)
    small_study(f"sqlite:///{tmp_path / 'lab.db'}")
    return f"sqlite:///{tmp_path / 'lab.db'}" if request.param == "sqlite URL" else str(tmp_path / "lab.db")


def test_note_and_pictures_are_in_the_dashboard(stored: str) -> None:
    with running(stored) as server:
        assert server.url.startswith("http://127.0.0.1:")
        status, text = ask(server.url + "api/studies")
        assert status == 200
        study_id = json.loads(text)["study_summaries"][0]["study_id"]
        detail = json.loads(ask(f"{server.url}api/studies/{study_id}")[1])
        assert NOTE_HEADING in detail["note"]["body"]
        assert "**Next:**" in detail["note"]["body"]
        assert "the model that suggests" in detail["note"]["body"]
        assert "importances is Optuna's" in detail["note"]["body"]
        drawn = {item["id"] for item in detail["plotly_graph_objects"]}
        assert {"uhebo-convergence", "uhebo-contour", "uhebo-slice_1"} <= drawn


def test_row_46_it_refuses_other_hosts_unless_told_and_then_warns(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    optuna.create_study(storage=url)
    for host in ("0.0.0.0", "", "::", "192.168.1.5", "example.org"):
        with pytest.raises(ReportError, match="no authentication"):
            start_dashboard(url, host, 0, block=False)
    with caplog.at_level(logging.WARNING, "uhebo"):
        start_dashboard(url, "0.0.0.0", 0, allow_remote=True, block=False).stop()
    assert "no authentication" in caplog.text


def test_loopback_names() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost")))
    assert not any(map(is_loopback, ("", "0.0.0.0", "::", "localhost.evil.example", "10.0.0.1", "127.0.0.1.evil")))


def test_row_46_it_listens_on_loopback_only_and_answers_no_foreign_name(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    optuna.create_study(storage=url)
    with running(url) as server:
        assert server.server.socket.getsockname()[0] == "127.0.0.1"
        assert ask(server.url + "api/studies")[0] == 200
        assert ask(server.url + "api/studies", Host="evil.example")[0] == 403
        assert ask(server.url + "api/studies", Origin="http://evil.example")[0] == 403


def test_the_users_own_note_stays_and_ours_is_not_doubled(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    study = small_study(url)
    dashboard_module.save_note(study, "Batch 7, *new* thermocouple")
    assert annotate(open_storage(url)) == ["furnace"]
    assert annotate(open_storage(url)) == ["furnace"]
    note = dashboard_module.get_note(optuna.load_study(study_name="furnace", storage=url))
    assert note.startswith("Batch 7, *new* thermocouple\n\n" + NOTE_HEADING)
    assert note.count(NOTE_HEADING) == 1


def test_a_study_that_cannot_be_diagnosed_does_not_stop_it(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    optuna.create_study(storage=url, study_name="five", directions=["minimize"] * 5)
    optuna.create_study(storage=url, study_name="empty")
    with caplog.at_level(logging.WARNING, "uhebo"):
        assert annotate(open_storage(url)) == ["empty"]
    assert "'five'" in caplog.text
    with pytest.raises(ReportError, match="no study 'three'"):
        annotate(open_storage(url), "three")


def test_a_taken_port_is_one_clear_error(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    optuna.create_study(storage=url)
    with running(url) as server, pytest.raises(ReportError, match="choose another port"):
        start_dashboard(url, port=int(server.server.server_address[1]), block=False)
    with pytest.raises(ReportError, match="choose another port"):
        start_dashboard(url, port=10**6, block=False)


def test_missing_and_foreign_files_are_refused_and_stay_as_they_are(tmp_path: Path) -> None:
    for where in (tmp_path / "no.db", f"sqlite:///{tmp_path / 'no.db'}"):
        with pytest.raises(InvalidInputError, match="there is no file"):
            start_dashboard(where, block=False)
    assert not (tmp_path / "no.db").exists()
    foreign = tmp_path / "foreign.db"
    connection = sqlite3.connect(foreign)
    connection.execute("create table furnace (t real)")
    connection.commit()
    connection.close()
    before = foreign.read_bytes()
    with pytest.raises(InvalidInputError, match="a database of something else"):
        start_dashboard(foreign, block=False)
    assert foreign.read_bytes() == before
    (tmp_path / "text.txt").write_text("not a journal\n")
    with pytest.raises(InvalidInputError, match="not a SQLite"):
        start_dashboard(tmp_path / "text.txt", block=False)


def test_row_45_a_password_in_the_url_is_in_no_error(caplog: pytest.LogCaptureFixture) -> None:
    for url in ("postgresql+nodriver://me:hunter2@127.0.0.1:1/db", "nosuch://me:hunter2@host/db?password=hunter2"):
        with pytest.raises(InvalidInputError) as caught:
            start_dashboard(url, block=False)
        assert "hunter2" not in "".join(traceback.format_exception(caught.value))
        assert "me:***@" in str(caught.value)
    assert "hunter2" not in caplog.text


def hostile_storage(path: Path) -> str:
    url = f"sqlite:///{path / 'evil.db'}"
    study = optuna.create_study(storage=url, study_name=f"study {EVIL}")
    space = {EVIL: FloatDistribution(0, 1), "kind": CategoricalDistribution([EVIL, "b"])}
    for i in range(12):
        params = {EVIL: (i + 0.5) / 12, "kind": (EVIL, "b")[i % 2]}
        study.add_trial(create_trial(params=params, distributions=space, value=(i / 12 - 0.4) ** 2))
    return url


def test_row_44_hostile_names_are_escaped_in_the_note(tmp_path: Path) -> None:
    url = hostile_storage(tmp_path)
    annotate(open_storage(url))
    study = optuna.load_study(study_name=f"study {EVIL}", storage=url)
    note = dashboard_module.get_note(study)
    assert "onerror" in note, "the name of the parameter is told"
    assert "<img" not in note
    assert "[x](javascript" not in note


@pytest.mark.browser
def test_the_dashboard_in_a_browser(tmp_path: Path) -> None:
    small_study(f"sqlite:///{tmp_path / 'lab.db'}")
    with running(tmp_path / "lab.db") as server, browser.chromium(tmp_path / "profile", 1400, 1200) as driver:
        for page, text in (("dashboard", "furnace"), ("dashboard/studies/1/note", "Diagnosis by uhebo")):
            driver.get(server.url + page)
            browser.wait_until(driver, f"document.body.innerText.includes({json.dumps(text)})")
        driver.get(server.url + "dashboard/studies/1")
        titles = "[...document.querySelectorAll('.gtitle')].map(e => e.textContent)"
        browser.wait_until(driver, f"{titles}.includes('Convergence') && {titles}.some(t => t.startsWith('Map of'))")
        assert [m for m in browser.console_errors(driver) if "favicon" not in m] == []
        assert browser.hosts_asked(driver) == {"127.0.0.1"}


@pytest.mark.browser
def test_row_44_hostile_names_run_nothing_in_the_dashboard(tmp_path: Path) -> None:
    url = hostile_storage(tmp_path)
    with running(url) as server, browser.chromium(tmp_path / "profile") as driver:
        driver.get(server.url + "dashboard/studies/1/note")
        browser.wait_until(driver, "document.body.innerText.includes('Diagnosis by uhebo')")
        assert driver.execute_script("return window.hacked") is None
        assert driver.execute_script("return document.querySelectorAll('img[src=x]').length") == 0
        assert driver.execute_script("return document.querySelectorAll('a[href^=\"javascript\"]').length") == 0
        assert browser.hosts_asked(driver) == {"127.0.0.1"}
