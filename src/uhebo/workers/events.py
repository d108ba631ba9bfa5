"""What a worker did, outside the database: one line of JSON per event, on disk when the call returns."""

from __future__ import annotations

import json
import logging
import os
import time
from pathlib import Path
from typing import Any

logger = logging.getLogger("uhebo")


class EventLog:
    """`{"at": …, "worker": …, "event": "took" | "returned" | "stored" | "failed" | "discarded" | …}`, or nothing."""

    def __init__(self, path: Path | None, worker: str) -> None:
        self._worker = worker
        # One write per line, appended: lines of several workers do not mix.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._file = None if path is None else os.open(path, flags, 0o644)

    def write(self, event: str, **facts: Any) -> None:
        if self._file is None:
            return
        line = {"at": round(time.time(), 3), "worker": self._worker, "event": event, **facts}
        try:
            os.write(self._file, (json.dumps(line) + "\n").encode())
            os.fsync(self._file)
        except OSError as error:  # a full disk must not stand between a result and its database
            logger.warning(f"the log of events cannot be written ({error.strerror}); it ends here")
            self.close()

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
