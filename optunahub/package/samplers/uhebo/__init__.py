"""UHE-BO as an OptunaHub package: the sampler of the `uhebo` library under its own name."""

try:
    from uhebo import UHESampler
except ImportError as error:
    raise ImportError("this package needs uhebo: pip install uhebo") from error


__all__ = ["UHESampler"]
