"""What a worker keeps in local files: results, and trials handed back, on their way to the database; a log of events.

Each is in a file before the database is told, and removed when the database has it: it survives its worker. The
writer holds a lock on its file. A file that is not locked is a dead worker's; any other worker that uses the folder for
the same study delivers it. JSON, one file per result; nothing else is read.
"""

import contextlib
import fcntl
import hashlib
import json
import logging
import math
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from optuna.storages import RDBStorage

from uhebo.errors import InvalidInputError
from uhebo.objective import Value

logger = logging.getLogger("uhebo")

MAX_BYTES = 1_000_000
"""Size of a file that is still read; results are far smaller."""
MOST = 2**63
"""Limit of the numbers that a database holds."""
OLD_S = 60.0
"""Age in seconds at which a file that was never finished is removed."""


@dataclass(frozen=True)
class Unsent:
    """A result that the database may not have yet."""

    trial_id: int
    number: int
    params: dict[str, Any]
    value: Value


@dataclass(frozen=True)
class HandedBack:
    """A trial that goes back to the queue, because its worker was told to end."""

    trial_id: int
    worker: str


def default_folder() -> Path:
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "uhebo" / "unsent"


class Spool:
    """The files of one study in a folder that may serve many."""

    def __init__(self, folder: Path, backend: RDBStorage, study_name: str) -> None:
        self.folder = folder
        url = backend.engine.url
        # No password in a file name or a file; a path is made absolute, or two folders' lab.db would be one.
        where = f"sqlite:{Path(url.database or '').absolute()}" if url.get_backend_name() == "sqlite" else repr(url)
        self._prefix = hashlib.sha256(f"{where}\n{study_name}".encode()).hexdigest()[:16]
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.NamedTemporaryFile(dir=folder) as probe:
                probe.write(b"room for a result")
        except OSError as error:
            raise InvalidInputError(
                f"the folder for unsent results, {folder}, cannot be written ({error.strerror}); give another: --spool"
            ) from error
        self._said: set[str] = set()

    @contextlib.contextmanager
    def keeping(self, unsent: Unsent | HandedBack) -> Iterator[None]:
        """The result, or the trial handed back, is on disk while the block runs, and stays there if the block fails.

        Where it cannot be written (a full disk, say) the block runs all the same: the database is what counts, and it
        may well be elsewhere.
        """
        path = self.folder / f"{self._prefix}-{unsent.trial_id}-{secrets.token_hex(4)}.json"
        part = path.with_suffix(".part")
        with contextlib.ExitStack() as stack:
            try:
                file = stack.enter_context(part.open("w", encoding="utf-8"))
                fcntl.flock(file, fcntl.LOCK_EX)
                json.dump(asdict(unsent), file)
                file.flush()
                part.rename(path)
            except OSError as error:
                self._say(
                    f"a result on its way to the database cannot be kept in {self.folder} "
                    f"({error.strerror}): it is lost if this process dies before the database has it"
                )
                with contextlib.suppress(OSError):
                    stack.close()
                with contextlib.suppress(OSError):
                    part.unlink(missing_ok=True)
            yield
            with contextlib.suppress(OSError):  # one that stays is delivered again, which changes nothing
                path.unlink(missing_ok=True)

    def deliver_orphans(self, deliver: Callable[[Unsent | HandedBack], bool]) -> None:
        """Hand over what dead workers left; `deliver` says whether the file is done with."""
        for path in sorted(self.folder.glob(f"{self._prefix}-*")):
            with contextlib.suppress(FileNotFoundError, BlockingIOError), path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused while its worker lives
                if path.suffix == ".part":  # a worker died while it wrote; or has not come to lock it yet
                    done = time.time() - path.stat().st_mtime > OLD_S
                else:
                    unsent = self._read(path, file)
                    done = unsent is not None and path.exists() and deliver(unsent)
                if done:
                    path.unlink(missing_ok=True)

    def _read(self, path: Path, file: IO[bytes]) -> Unsent | HandedBack | None:
        try:
            record = json.loads(file.read(MAX_BYTES))
            trial_id = int(record["trial_id"])
            if not 0 <= trial_id < MOST:
                raise ValueError("of no trial that a database holds")
            if "worker" in record:
                return HandedBack(trial_id, str(record["worker"]))
            number, told = int(record["number"]), record["value"]
            values = tuple(map(float, told)) if isinstance(told, list) else (float(told),)
            if not values or any(map(math.isnan, values)):
                raise ValueError("no value")
            return Unsent(trial_id, number, dict(record["params"]), values if len(values) > 1 else values[0])
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            self._say(f"{path} is not an unsent result ({error}); it is left where it is")
            return None

    def _say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            logger.warning(text)


class EventLog:
    """One line of JSON per event, written when the call returns, or nothing without a path.

    `{"at": …, "worker": …, "event": "took" | "returned" | "stored" | "failed" | "discarded" | …}`
    """

    def __init__(self, path: Path | None, worker: str) -> None:
        self._worker = worker
        # One write per line, appended: lines of several workers do not mix.
        self._file = None if path is None else path.open("ab", buffering=0)

    def write(self, event: str, **facts: Any) -> None:
        if self._file is None or self._file.closed:
            return
        line = {"at": round(time.time(), 3), "worker": self._worker, "event": event, **facts}
        try:
            self._file.write((json.dumps(line) + "\n").encode())
        except OSError as error:  # a full disk must not stand between a result and its database
            logger.warning(f"the log of events cannot be written ({error.strerror}); it ends here")
            self.close()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
