"""A journal file that a crash has left with half a line at its end: read up to it, and written to after it.

Optuna reads such a file up to the torn line, but writes the next entry on that same line, and so loses both.
"""

import json
import logging
import mmap
from pathlib import Path

from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock, JournalStorage

from uhebo.errors import InvalidInputError

logger = logging.getLogger("uhebo")

MAX_BYTES = 2_000_000_000
"""A journal is read as a whole; a larger one would fill the memory."""


def journal_storage(path: Path) -> JournalStorage:
    """Optuna's journal storage on a file that may have been torn."""
    if path.exists() and path.stat().st_size > MAX_BYTES:
        raise InvalidInputError(f"{path} is larger than {MAX_BYTES // 10**9} GB; copy the study into a database")
    # Absolute: the lock is a symbolic link, and one to a relative path in another folder would never be taken for old.
    path = path.absolute()
    return JournalStorage(JournalFileBackend(str(path), lock_obj=MendingLock(path)))


class MendingLock(JournalFileSymlinkLock):
    """Optuna's lock. Who holds it is the only writer, so half a line at the end is a dead process's: it goes.

    An entry counts as stored when its whole line is on disk, so nothing that was acknowledged is lost.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._path = path

    def acquire(self) -> bool:
        acquired = super().acquire()
        try:
            mend(self._path)
        except BaseException:
            self.release()
            raise
        return acquired


def mend(path: Path) -> int:
    """Make the file end with a whole line; the number of bytes cut off. For the holder of the lock only."""
    with path.open("r+b") as file:
        end = file.seek(0, 2)
        if not end:
            return 0
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            torn = text[text.rfind(b"\n") + 1 :]
        if not torn:
            return 0
        try:
            whole = isinstance(json.loads(torn), dict)
        except (ValueError, RecursionError):
            whole = False
        if whole:  # all of the entry is there but the end of its line
            file.seek(end)
            file.write(b"\n")
            return 0
        file.truncate(end - len(torn))
    logger.warning(f"{path.name} ended in half a line ({len(torn)} bytes), left by a crash: it was removed")
    return len(torn)
