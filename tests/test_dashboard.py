"""The dashboard and the live page: loopback only, what they show, and what a real browser makes of them."""

from __future__ import annotations

import json
import logging
import sqlite3
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
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
from tests.shell import Shell
from tests.waiting import LIMIT_S
from uhebo.errors import InvalidInputError
from uhebo.report import ReportError, Serving, start_dashboard
from uhebo.report.dashboard import NOTE_HEADING, annotate
from uhebo.report.serve import is_loopback
from uhebo.report.watch import SHELL_ONLY, WITHOUT, Watch, Watching
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
def running(storage: Any, **options: Any) -> Iterator[Serving]:
    server = start_dashboard(storage, port=0, block=False, **options)
    try:
        yield server
    finally:
        server.stop()


def ask(url: str, data: bytes | None = None, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=LIMIT_S) as answer:
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
        assert {"uhebo-convergence", "uhebo-map", "uhebo-slice_1"} <= drawn


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


# --- the page that follows a study ------------------------------------------------------------------------------------


def watched(shell: Shell, monkeypatch: pytest.MonkeyPatch, body: Callable[[Watching], None], *options: str) -> None:
    """`uhebo watch`, with `body` in place of waiting for Ctrl-C."""
    shell("create", "lab.db", "--param", "x=0.0:1.0", "--param", "y=0.0:1.0", "--objective", "loss:minimize",
          "--constraint", "load <= 3", "--seed", "1")  # fmt: skip
    rows = [f"{x},{y},{(x - 0.3) ** 2 + y},{x + y}" for x, y in ((i % 4 / 4, i // 4 / 3) for i in range(12))]
    shell("tell", "lab.db", "--csv", shell.write("known.csv", "\n".join(["x,y,loss,load", *rows])))
    shell("suggest", "lab.db", "-n", "2")
    monkeypatch.setattr(Watching, "wait", body)
    shell("watch", "lab.db", "--port", "0", *options)
    assert "http://127.0.0.1:" in shell.err


def post(running: Watching, sent: dict[str, str], **headers: str) -> tuple[int, str]:
    return ask(f"{running.serving.url}tell", urllib.parse.urlencode(sent).encode(), **headers)


def test_the_live_page_is_told_values_only_with_the_key(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def body(running: Watching) -> None:
        url, key = running.serving.url, running.watch.key
        assert running.serving.server.socket.getsockname()[0] == "127.0.0.1"
        status, page = ask(running.url)
        assert status == 200
        assert "Can the model be trusted?" in page
        assert key in page
        assert page.count("<form") == 2
        without = ask(url)[1]
        assert key not in without
        assert "<input" not in without
        assert ask(url, Host="evil.example")[0] == 403
        assert ask(f"{url}state", Origin="http://evil.example")[0] == 403
        assert ask(f"{url}other")[0] == 404
        told = {"number": "12", "what": "tell", "value-0": "0.5", "value-1": "1.0"}
        assert post(running, told)[0] == 403
        assert post(running, {**told, "key": "guess"})[0] == 403
        told["key"] = key
        assert post(running, told, Origin="http://a.example")[0] == 403
        assert post(running, {**told, "value-1": ""}) == (400, f"not stored: a value is missing; {WITHOUT}")
        said = post(running, {**told, "value-0": "abc"})
        assert said == (400, f"not stored: loss is 'abc', expected a number; {WITHOUT}")
        assert "write 23.9, without the unit" in post(running, {**told, "value-0": "23.9 %"})[1]
        for wrong in ("nan", "--failed", ""):
            status, answer = post(running, {**told, "value-0": wrong})
            assert (status, SHELL_ONLY.search(answer.replace("'--failed'", ""))) == (400, None), answer
        assert "no trial 99" in post(running, {**told, "number": "99"})[1]
        assert post(running, {**told, "number": "x"})[0] == 400
        assert post(running, {"key": key, "note": "x" * 20_000})[0] == 413
        assert post(running, told) == (200, "trial 12: stored")
        assert post(running, {"number": "13", "what": "failed", "key": key}) == (200, "trial 13: stored")

    watched(shell, monkeypatch, body)
    trials = shell.json("history", "lab.db")
    assert (trials[12]["value"], trials[12]["feasible"], trials[13]["state"]) == (0.5, True, "failed")


def test_a_trial_that_was_not_run_is_skipped_from_the_live_page(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def body(running: Watching) -> None:
        page = ask(running.url)[1]
        assert page.count('value="skipped"') == page.count("Was not run</button>") == 2
        sent = {"number": "13", "what": "skipped", "value-0": "", "value-1": ""}
        assert post(running, sent)[0] == 403
        sent["key"] = running.watch.key
        assert post(running, sent) == (200, "trial 13: stored as not run")
        assert post(running, sent) == (200, "trial 13 was skipped already")
        assert post(running, {**sent, "number": "99"}) == (400, "not stored: there is no trial 99")
        status, answer = post(running, {**sent, "number": "3"})
        assert status == 400
        assert "only a trial without a value can be skipped" in answer
        told = {**sent, "number": "12", "what": "tell", "value-0": "0.5", "value-1": "1"}
        assert post(running, told)[0] == 200
        again = post(running, {**told, "value-0": "0.7"})
        assert again == (400, "not stored: trial 12 is finished already with value 0.5")

    watched(shell, monkeypatch, body)
    assert shell.json("history", "lab.db")[13]["state"] == "skipped"
    loaded = optuna.load_study(study_name=None, storage="sqlite:///lab.db")
    assert [(each.trial, each.what) for each in uhebo.changes(loaded)] == [(13, "skip")]


def test_a_storage_that_fails_is_one_sentence_in_the_page(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: Any) -> None:
        raise OSError("disk I/O error")

    def body(running: Watching) -> None:
        sent = {"number": "13", "what": "skipped", "key": running.watch.key}
        monkeypatch.setattr("uhebo.report.watch.skip", gone)
        status, answer = post(running, sent)
        assert status == 503
        assert answer.startswith("not stored: ")
        assert "disk" in answer

    watched(shell, monkeypatch, body)


def test_a_live_page_that_only_shows(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def body(running: Watching) -> None:
        assert "key" not in running.url
        assert "<input" not in ask(f"{running.serving.url}?key={running.watch.key}")[1]
        sent = {"number": "12", "what": "tell", "value-0": "0.5", "value-1": "1", "key": running.watch.key}
        assert post(running, sent)[0] == 403

    watched(shell, monkeypatch, body, "--read-only")
    assert shell.json("history", "lab.db")[12]["state"] == "waiting"


def test_a_page_that_cannot_be_renewed_stays(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    studies: list[Study] = [optuna.create_study()]

    def load() -> Study:
        if not studies:
            raise RuntimeError("the database is busy")
        return studies.pop()

    watch = Watch(load, "lab.db")
    watch.refresh()
    page = watch.pages[False]
    assert "No trial has finished" in page
    waits = iter((False, True))
    watch.asked = time.monotonic()
    monkeypatch.setattr(watch.ended, "wait", lambda _: next(waits))
    with caplog.at_level(logging.WARNING, "uhebo"):
        watch.follow()
    assert "the database is busy" in caplog.text
    assert watch.pages[False] == page


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with browser.chromium(tmp_path_factory.mktemp("browser"), 1400, 1200) as opened:
        yield opened


@pytest.mark.browser
def test_the_live_page_in_a_browser(shell: Shell, monkeypatch: pytest.MonkeyPatch, driver: Any) -> None:
    def body(running: Watching) -> None:
        driver.get(running.url)
        browser.wait_until(driver, "document.querySelectorAll('.plot svg').length > 3")
        top = "document.querySelector('.badge').getBoundingClientRect().bottom"
        assert driver.execute_script(f"return {top}") < 400, "the verdict is in sight"
        driver.execute_script("document.getElementById('trials').open = true")
        driver.find_element("id", "value-13-0").send_keys("0.2")  # half typed while the page is renewed
        for field, text in (("value-12-0", "0,125"), ("value-12-1", "1.5")):
            driver.find_element("id", field).send_keys(text)
        driver.find_element("css selector", "#tell-12 button[value=tell]").click()
        browser.wait_until(driver, "document.getElementById('tell-12') === null")
        assert "13 finished" in driver.find_element("css selector", "header p").text
        assert driver.execute_script("return document.getElementById('trials').open")
        assert driver.find_element("id", "value-13-0").get_attribute("value") == "0.2"
        field = driver.find_element("id", "value-13-0")
        field.clear()
        field.send_keys("abc")
        driver.find_element("id", "value-13-1").send_keys("1")
        driver.find_element("css selector", "#tell-13 button[value=tell]").click()
        answer = "document.querySelector('#tell-13 .answer').textContent"
        browser.wait_until(driver, f"{answer}.startsWith('not stored')")
        assert "“Was not run”" in driver.execute_script(f"return {answer}")
        assert SHELL_ONLY.search(driver.execute_script(f"return {answer}")) is None
        for entry in driver.get_log("browser"):  # an answer of 400 is told in the console
            assert "400 (Bad Request)" in entry["message"], entry
        driver.find_element("css selector", "#tell-13 button[value=skipped]").click()
        browser.wait_until(driver, "document.querySelector('header').innerText.includes('skipped')")
        assert driver.execute_script("return document.querySelectorAll('form').length") == 0
        # Told elsewhere: the page follows.
        uhebo.restore(optuna.load_study(study_name=None, storage="sqlite:///lab.db"), 13)
        browser.wait_until(driver, "document.getElementById('tell-13') !== null")
        assert browser.console_errors(driver) == []
        assert browser.hosts_asked(driver) == {"127.0.0.1"}

    watched(shell, monkeypatch, body)
    browser.wait_until(driver, "document.getElementById('live').innerText.startsWith('Not live')")
    driver.get("about:blank")
    browser.console_errors(driver)
    browser.hosts_asked(driver)


@pytest.mark.browser
def test_the_dashboard_in_a_browser(tmp_path: Path, driver: Any) -> None:
    small_study(f"sqlite:///{tmp_path / 'lab.db'}")
    with running(tmp_path / "lab.db") as server:
        for page, text in (("dashboard", "furnace"), ("dashboard/studies/1/note", "Diagnosis by uhebo")):
            driver.get(server.url + page)
            browser.wait_until(driver, f"document.body.innerText.includes({json.dumps(text)})")
        driver.get(server.url + "dashboard/studies/1")
        titles = "[...document.querySelectorAll('.gtitle')].map(e => e.textContent)"
        browser.wait_until(driver, f"{titles}.includes('Progress') && {titles}.some(t => t.startsWith('Map of'))")
        assert [m for m in browser.console_errors(driver) if "favicon" not in m] == []
        assert browser.hosts_asked(driver) == {"127.0.0.1"}


@pytest.mark.browser
def test_row_44_hostile_names_run_nothing_in_the_dashboard(tmp_path: Path, driver: Any) -> None:
    url = hostile_storage(tmp_path)
    with running(url) as server:
        driver.get(server.url + "dashboard/studies/1/note")
        browser.wait_until(driver, "document.body.innerText.includes('Diagnosis by uhebo')")
        assert driver.execute_script("return window.hacked") is None
        assert driver.execute_script("return document.querySelectorAll('img[src=x]').length") == 0
        assert driver.execute_script("return document.querySelectorAll('a[href^=\"javascript\"]').length") == 0
        assert browser.hosts_asked(driver) == {"127.0.0.1"}
