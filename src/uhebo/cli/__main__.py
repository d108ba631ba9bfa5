"""`python -m uhebo.cli` is `uhebo`."""

from uhebo.cli import main

main()
