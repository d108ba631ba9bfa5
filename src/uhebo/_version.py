"""The version, as the installation has it: it comes from git tags, by way of the package's metadata.

Looked up when first asked for, because `importlib.metadata` takes longer to load than the rest of `import uhebo`.
"""

FALLBACK = "0.1.0.dev0"
"""Of a source tree that was never installed, and of a build without git; pyproject.toml has the same word."""


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import metadata

    try:
        version = metadata.version("uhebo")
    except metadata.PackageNotFoundError:
        version = FALLBACK
    globals()["__version__"] = version
    return version
