"""The trial log as frozen values."""
