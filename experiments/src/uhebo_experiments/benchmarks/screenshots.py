"""Pictures of the report, the live page and the terminal for the documentation: `python -m …benchmarks.screenshots`.

A made-up reaction with five factors, told by the shell as a laboratory would; same seed, same pictures, but for times.
Chromium, its driver and selenium are needed; PDF pages are drawn by Chromium too.
"""

import argparse
import base64
import datetime
import io
import json
import math
import os
import re
import shlex
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import optuna
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from uhebo.cli import main as uhebo
from uhebo.cli.live import line_of
from uhebo.optuna_.lease import Lease
from uhebo.workers.trials import SharedTrials

TARGET = Path("docs/figures")
SPACE = (
    "temperature=20:120", "catalyst=cat:Pd-C,Ni,Cu,Fe", "loading=float:0.5:5", "minutes=int:10:180", "pH=float:3:9",
)  # fmt: skip
UNITS = ("--unit", "temperature=°C", "--unit", "minutes=min", "--unit", "yield=%")
TRIALS, UNDER_WAY = 26, 3
BROKEN = 7
"""The trial whose bottle broke."""
NOISE = 0.6
FIRST = (1400, 745)
"""Width and height of the first screen."""
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage")
COMMANDS = ("best", "suggest", "diagnose")
"""What the picture of the terminal shows."""
BUDGET, DONE, EVERY_S = 60, 23, 6.0
"""Trials of the study that workers share, those done, and seconds between two that end."""
BUSY = ("node-1:4711", "node-1:4712", "node-2:3105", "node-3:8090")
"""Workers of that study, by machine and process."""
REFUSED = (
    "create five.db --param x=float:0:1" + "".join(f" --objective {name}:minimize" for name in "abcde"),
    "create mix.db --param x=float:0:1 --param y=float:0:1 --subject-to 'x + y == 1'",
    "create open.db --param x=float:0:inf",
)
"""Commands whose refusal a picture shows."""
COLUMNS, LINES = 116, 52
"""Of the terminal."""
TALL = 1500
"""Pixels shown of a long page."""
A4 = (794, 1123)
"""Pixels of a sheet at 96 per inch."""


def yielded(params: dict[str, Any], rng: np.random.Generator) -> float:
    """Per cent of a product that nobody makes."""
    heat = math.exp(-(((params["temperature"] - 82.0) / 35.0) ** 2))
    kind = {"Pd-C": 1.0, "Ni": 0.8, "Cu": 0.55, "Fe": 0.4}[params["catalyst"]]
    enough = (1.0 - math.exp(-params["loading"] / 1.2)) * (1.0 - math.exp(-params["minutes"] / 40.0))
    sour = 1.0 - 0.02 * (params["pH"] - 6.5) ** 2
    return float(65.0 * heat * kind * enough * sour + rng.normal(0.0, NOISE))


def shell(*args: str) -> str:
    """What a command prints; an error ends everything."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()) as messages, suppress(SystemExit):
        try:
            uhebo(args)
        except SystemExit as left:
            if left.code:
                raise RuntimeError(f"uhebo {' '.join(args)}: {messages.getvalue()}") from left
            raise
    return out.getvalue()


def refusal(command: str) -> str:
    """What it says as it refuses."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as messages, suppress(SystemExit):
        uhebo(shlex.split(command))
    return messages.getvalue().strip()


def furnace(file: str) -> None:
    """The study: suggested and told one by one, one failed, three under way."""
    options = [part for param in SPACE for part in ("--param", param)]
    shell("create", file, *options, "--objective", "yield:maximize", *UNITS, "--seed", "1")
    rng = np.random.default_rng(0)
    for _ in range(TRIALS):
        made = json.loads(shell("suggest", file, "--json"))[0]
        told = ["--failed"] if made["number"] == BROKEN else [f"yield={yielded(made['params'], rng):.2f}"]
        shell("tell", file, str(made["number"]), *told)
    shell("suggest", file, "-n", str(UNDER_WAY))


@contextmanager
def chromium() -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in FLAGS:
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


def screenshot(
    driver: Any, url: str, size: tuple[int, int], scheme: str = "light", whole: int = 0, media: str = ""
) -> bytes:
    """A PNG of a page at a width; `whole` is the most pixels of its height, if more than the first screen."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    driver.get(url)
    height = min(whole, driver.execute_script("return document.documentElement.scrollHeight")) if whole else size[1]
    clip = {"x": 0, "y": 0, "width": size[0], "height": height, "scale": 1}
    found = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    return base64.b64decode(found["data"])


def sheets(driver: Any) -> int:
    """How many sheets of A4 the page that is open prints on."""
    printed = driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"]
    return len(re.findall(rb"/Type\s*/Page[^s]", base64.b64decode(printed)))


def side_by_side(parts: Sequence[tuple[bytes, str]]) -> bytes:
    """Pictures in a row at one height, each with a line under it."""
    from PIL import Image, ImageDraw

    images = [Image.open(io.BytesIO(data)).convert("RGB") for data, _ in parts]
    height, gap, line = min(image.height for image in images), 18, 30
    images = [image.crop((0, 0, image.width, height)) for image in images]
    whole = Image.new("RGB", (sum(image.width + gap for image in images) + gap, height + line + gap), "#8b929a")
    pen, left = ImageDraw.Draw(whole), gap
    for image, (_, text) in zip(images, parts, strict=True):
        whole.paste(image, (left, gap))
        pen.text((left, height + gap + 5), text, fill="#ffffff", font_size=18)
        left += image.width + gap
    out = io.BytesIO()
    small = whole.resize((whole.width * 3 // 5, whole.height * 3 // 5), Image.Resampling.LANCZOS)
    small.quantize(255).save(out, "PNG", optimize=True)
    return out.getvalue()


def farm(file: str) -> None:
    """A study on which workers are busy: trials that ended one after the other, and some under way."""
    shell(
        "create",
        file,
        "--param",
        "lr=float:1e-4:0.1:log",
        "--param",
        "depth=int:2:12",
        "--trials",
        str(BUDGET),
        "--seed",
        "1",
    )
    study = optuna.load_study(study_name="farm", storage=f"sqlite:///{file}")
    now, rng = datetime.datetime.now(), np.random.default_rng(0)
    distributions = {"lr": FloatDistribution(1e-4, 0.1, log=True), "depth": IntDistribution(2, 12)}
    for number in range(DONE):
        tried = {"lr": 10 ** rng.uniform(-4, -1), "depth": int(rng.integers(2, 13))}
        value = (math.log10(tried["lr"]) + 2) ** 2 + (tried["depth"] - 6) ** 2 / 10 + 0.31
        ended = now - datetime.timedelta(seconds=EVERY_S * (DONE - number))
        began = ended - datetime.timedelta(seconds=20.0)
        state = TrialState.COMPLETE
        study.add_trial(FrozenTrial(number, state, value, began, ended, tried, distributions, {}, {}, {}, number))
    for name in BUSY:
        SharedTrials(study).take(Lease(name), BUDGET, lambda: False)


def terminal(commands: Sequence[tuple[str, Sequence[str]]]) -> str:
    """What commands print in a terminal, as SVG: each after the lines that a terminal would show while it ran."""
    from rich.console import Console
    from rich.text import Text

    def console() -> Any:
        return Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")

    printed, shown = console(), console()
    with patch("uhebo.cli.output._console", lambda: printed):
        for command, lines_of_it in commands:
            printed.print(f"[bold]$ uhebo {command}[/bold]", highlight=False)
            for line in lines_of_it:
                printed.print(line, markup=False, highlight=False)
            if not lines_of_it:
                shell(*shlex.split(command))
            printed.print()
    lines = printed.export_text(styles=True).splitlines()[:LINES]
    shown.print(Text.from_ansi("\n".join(lines)))
    drawn = str(shown.export_svg(title="uhebo"))
    # Nothing is fetched from outside.
    drawn = re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)
    return drawn.replace("Fira Code", "ui-monospace, DejaVu Sans Mono")


def live(file: str, look: Callable[[str], None]) -> None:
    """`uhebo watch` while `look` is given its address."""
    from uhebo.report.watch import Watching

    with patch.object(Watching, "wait", lambda running: look(running.url)):
        shell("watch", file, "--port", "0")


def make(target: Path) -> list[Path]:
    """All pictures; where they are."""
    target = target.resolve()
    written: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as folder, chromium() as driver:
        before = Path.cwd()
        os.chdir(folder)
        try:
            furnace("lab.db")
            shell("report", "lab.db", "-o", "report.html")
            page = Path("report.html").resolve().as_uri()
            written["report.png"] = screenshot(driver, page, FIRST)
            printed = screenshot(driver, page, (A4[0] - 98, A4[1]), whole=TALL, media="print")
            written["report-sizes.png"] = side_by_side([
                (screenshot(driver, page, (400, 900), whole=TALL), "400 pixels"),
                (screenshot(driver, page, (800, 900), "dark", whole=TALL), "800 pixels, dark"),
                (printed, f"print, {sheets(driver)} sheets of A4"),
            ])  # fmt: skip
            live("lab.db", lambda url: written.update({"watch.png": screenshot(driver, url, (1400, 1130))}))
            drawn = {"terminal.svg": terminal([(f"{command} lab.db", ()) for command in COMMANDS])}
            farm("farm.db")
            study = optuna.load_study(study_name="farm", storage="sqlite:///farm.db")
            working = ("worker --storage farm.db train:loss", (line_of(study, BUDGET),))
            drawn["workers.svg"] = terminal([working, ("status farm.db", ())])
            drawn["refused.svg"] = terminal([(command, (refusal(command),)) for command in REFUSED])
        finally:
            os.chdir(before)
    target.mkdir(parents=True, exist_ok=True)
    for name, data in written.items():
        (target / name).write_bytes(data)
    for name, drawing in drawn.items():
        (target / name).write_text(drawing, encoding="utf-8")
    return [target / name for name in (*written, *drawn)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=TARGET, help="folder of the pictures")
    warnings.simplefilter("ignore")
    for path in make(parser.parse_args().out):
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
