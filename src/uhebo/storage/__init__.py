"""Where studies are kept: opening, locking, masking, explaining errors."""
