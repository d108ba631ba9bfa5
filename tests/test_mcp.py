"""The door for assistants, by the SDK's own client: read-only unless told otherwise, and the shell's words."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.conftest import require
from tests.shell import Shell
from tests.waiting import LIMIT_S, wait_for
from uhebo.cli.mcp import study_server
from uhebo.errors import MissingExtraError

sdk = require("mcp", "pip install 'uhebo[mcp]'")
anyio = require("anyio", "pip install 'uhebo[mcp]'")
pytestmark = pytest.mark.usefixtures("rough_importances")

LOOKING = {"status", "history", "best", "diagnose", "predict"}
CHANGING = {"suggest", "tell", "skip"}
ENVIRONMENT = dict(os.environ)
"""The client passes on a few variables only, by itself."""


@pytest.fixture
def lab(shell: Shell) -> Shell:
    shell(
        "create", "lab.db", "--param", "x=0.0:1.0", "--param", "kind=cat:a,b", "--direction", "maximize", "--seed", "1"
    )
    rows = [f"{i / 10},{'ab'[i % 2]},{1 - (i / 10 - 0.4) ** 2 + 0.1 * (i % 2)}" for i in range(11)]
    shell("tell", "lab.db", "--csv", shell.write("known.csv", "\n".join(["x,kind,value", *rows])))
    return shell


def talk(server: Any, story: Callable[[Any], Awaitable[None]]) -> None:
    async def run() -> None:
        async with sdk.Client(server, read_timeout_seconds=LIMIT_S) as client:
            await story(client)

    anyio.run(run)


async def call(client: Any, tool: str, **given: Any) -> dict[str, Any]:
    """What a tool gives; it must not fail."""
    result = await client.call_tool(tool, given)
    assert not result.is_error, result.content
    found: dict[str, Any] = result.structured_content
    return found


async def refusal(client: Any, tool: str, **given: Any) -> str:
    result = await client.call_tool(tool, given)
    assert result.is_error
    return str(result.content[0].text)


def test_without_write_it_only_shows(lab: Shell) -> None:
    before = lab.json("history", "lab.db")
    best = lab.json("best", "lab.db")["number"]

    async def story(client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == LOOKING
        assert all(tool.annotations.read_only_hint and len(tool.description) > 40 for tool in tools.values())
        status = await call(client, "status")
        assert set(status["parameters"]) == {"x", "kind"}
        assert status["direction"] == "maximize"
        assert (await call(client, "history", last=3))["trials"] == before[-3:]
        assert (await call(client, "best"))["number"] == best
        found = await call(client, "diagnose")
        assert found["verdict"] in ("trust", "caution", "do not trust")
        assert found["commands"]
        assert "calibration" not in found, "long tables are left out"
        expected = await call(client, "predict", params={"x": 0.45, "kind": "b"})
        assert 0.9 < expected["expected"]["value"]["mean"] < 1.2
        assert "outside the space" in await refusal(client, "predict", params={"x": 4.5, "kind": "b"})
        assert "kind is missing" in await refusal(client, "predict", params={"x": 0.5})
        assert "no settings" in await refusal(client, "predict", params={})
        assert "last" in await refusal(client, "history", last=0)

    talk(study_server("lab.db"), story)
    assert lab.json("history", "lab.db") == before


def test_an_assistant_runs_a_study_over_standard_input_and_output(lab: Shell) -> None:
    async def story(client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == LOOKING | CHANGING
        assert not any(tools[name].annotations.read_only_hint for name in CHANGING)
        made = (await call(client, "suggest", count=3))["suggestions"]
        assert [each["number"] for each in made] == [11, 12, 13]
        assert (await call(client, "tell", number=11, values=1.5, note="by hand"))["finished"] == 12
        await call(client, "tell", number=12, failed=True)
        await call(client, "skip", number=13, reason="the bottle was empty")
        assert (await call(client, "best"))["number"] == 11
        assert "11" in await refusal(client, "tell", number=11, values=1.6)
        assert "no trial" in await refusal(client, "tell", number=99, values=1.6)
        assert "count" in await refusal(client, "suggest", count=1000)

    arguments = ["-m", "uhebo.cli", "mcp", "lab.db", "--write"]
    talk(sdk.StdioServerParameters(command=sys.executable, args=arguments, cwd=str(lab.folder), env=ENVIRONMENT), story)
    states = [trial["state"] for trial in lab.json("history", "lab.db")[11:]]
    assert states == ["finished", "failed", "skipped"]


def test_over_http_it_answers_this_machine_only(lab: Shell) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/mcp"
    command = [sys.executable, "-m", "uhebo.cli", "mcp", "lab.db", "--http", str(port)]
    with subprocess.Popen(command, cwd=lab.folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            wait_for(lambda: process.poll() is not None or _answer(url) is not None)
            assert process.poll() is None
            assert _answer(url, Host="evil.example") in (403, 421)
            assert _answer(url, Origin="http://evil.example") == 403

            async def story(client: Any) -> None:
                assert {tool.name for tool in (await client.list_tools()).tools} == LOOKING

            talk(url, story)
        finally:
            process.terminate()
            process.communicate()


def _answer(url: str, **headers: str) -> int | None:
    request = urllib.request.Request(url, b"{}", {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return int(error.code)
    except OSError:
        return None


def test_several_objectives_are_told_and_diagnosed_by_name(shell: Shell) -> None:
    shell("create", "two.db", "--param", "x=0.0:1.0", "--objective", "yield:maximize", "--objective", "cost:minimize")

    async def story(client: Any) -> None:
        for i in range(3):
            await call(client, "suggest")
            await call(client, "tell", number=i, values={"yield": float(i), "cost": i * i + 1.0})
        assert set(await call(client, "diagnose")) == {"yield", "cost"}
        assert (await call(client, "history"))["trials"][1]["values"] == {"yield": 1.0, "cost": 2.0}

    talk(study_server("two.db", write=True), story)


def test_what_is_wrong_is_said_at_the_start(lab: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "there is no file" in lab.refuses("mcp", "none.db")
    assert "--http" in lab.refuses("mcp", "lab.db", "--http", "0")
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    with pytest.raises(MissingExtraError, match=r"uhebo\[mcp\]"):
        study_server("lab.db")
