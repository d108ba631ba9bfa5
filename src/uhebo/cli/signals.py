"""How a command ends that is interrupted or terminated."""

EXIT_INTERRUPTED, EXIT_TERMINATED = 130, 143


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived, which ends a command as Ctrl-C does."""
