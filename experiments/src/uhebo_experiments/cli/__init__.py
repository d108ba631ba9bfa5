"""Commands that this package adds to the shell."""
