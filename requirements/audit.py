"""Known vulnerabilities of the versions in requirements/ci.txt: by pip-audit, else by what PyPI says.

    python requirements/audit.py

pip-audit asks for the advisories of each version. A mirror of PyPI may have only those of a project's latest release:
then pins at the latest release are looked up there and the others are listed as not looked up. The exit code is 0 only
if every pin for this Python was looked up and none has a known vulnerability; 1 if one has; 3 if some are not known.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from packaging.requirements import Requirement

LOCK = Path(__file__).parent / "ci.txt"
UNKNOWN = "could not be audited"


def pins() -> dict[str, str]:
    """Name -> version, of the lines that hold for this Python."""
    lines = [line for line in LOCK.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    wanted = [Requirement(line) for line in lines]
    return {
        requirement.name: next(iter(requirement.specifier)).version
        for requirement in wanted
        if requirement.marker is None or requirement.marker.evaluate()
    }


def latest(name: str) -> tuple[str, list[str]] | None:
    """Latest release of a project and its advisories, None where PyPI does not answer."""
    try:
        with urllib.request.urlopen(f"https://pypi.org/pypi/{name}/json", timeout=60) as answer:
            page = json.load(answer)
        return str(page["info"]["version"]), [str(entry["id"]) for entry in page["vulnerabilities"]]
    except (urllib.error.URLError, OSError, ValueError, KeyError):
        return None


def main() -> int:
    locked = pins()
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as chosen:
        chosen.write("".join(f"{name}=={version}\n" for name, version in locked.items()))
        chosen.flush()
        command = ["-m", "pip_audit", "--strict", "--no-deps", "--disable-pip", "--progress-spinner=off", "-r"]
        done = subprocess.run([sys.executable, *command, chosen.name], capture_output=True, text=True, check=False)
    if done.returncode == 0 or UNKNOWN not in done.stderr:
        print(done.stdout + done.stderr)
        return done.returncode
    print(f"pip-audit has no advisories by version here: {done.stderr.strip().splitlines()[-1]}")
    found = {name: latest(name) for name in locked}
    bad = {name: page[1] for name, page in found.items() if page and page[0] == locked[name] and page[1]}
    not_known = [name for name, page in found.items() if page is None or page[0] != locked[name]]
    print(f"{len(locked) - len(not_known)} of {len(locked)} pins are the latest release")
    print(f"known vulnerabilities of these: {bad or 'none'}")
    print("not looked up: " + (", ".join(f"{name} {locked[name]}" for name in not_known) or "none"))
    return 1 if bad else 3 if not_known else 0


if __name__ == "__main__":
    sys.exit(main())
