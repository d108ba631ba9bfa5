"""Optuna reads its migration scripts anew for every database that is opened: a third of the time of a small test."""

from __future__ import annotations

from alembic.config import Config
from alembic.script import ScriptDirectory


def read_once() -> None:
    """From now on they are read once in this process, and in those forked from it."""
    read = ScriptDirectory.from_config
    known: dict[str | None, ScriptDirectory] = {}

    def once(config: Config) -> ScriptDirectory:
        place = config.get_main_option("script_location")
        if place not in known:
            known[place] = read(config)
        return known[place]

    setattr(ScriptDirectory, "from_config", once)  # noqa: B010
