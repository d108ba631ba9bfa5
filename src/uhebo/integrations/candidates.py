"""Candidates of a search over estimators: how they are written, the folds they are scored on, those that failed.

`scipy.stats` distributions that are uniform, in the logarithm or among integers are ranges. Any other one is searched
through its quantiles: the study has a parameter `quantile(NAME)`, and the estimator gets the value at that quantile.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from uhebo.errors import InvalidInputError
from uhebo.space import Float, When, as_distributions
from uhebo.space.declare import is_unfrozen

Results = dict[str, Any]
"""What scikit-learn calls `cv_results_`."""
TAILS = (0.001, 0.999)
"""Quantiles between which a distribution is searched: it may have no ends, or ends that it never takes on."""


@dataclass(frozen=True)
class Candidates:
    """A space as uhebo writes it, with the distributions of those parameters that are searched through quantiles."""

    space: dict[str, Any]
    quantiles: dict[str, tuple[str, Any]]
    """Parameter of the study -> parameter of the estimator and its distribution."""

    @classmethod
    def of(cls, space: Any, param_distributions: Any) -> "Candidates":
        """From one of the two arguments of a search; the second has scikit-learn's meaning of a tuple."""
        if (space is None) == (param_distributions is None):
            both = "are both given; drop one" if space is not None else "are both missing; give one"
            raise InvalidInputError(f"space and param_distributions {both}")
        given = param_distributions if space is None else space
        if not isinstance(given, Mapping):
            raise InvalidInputError(
                f"{'param_distributions' if space is None else 'space'} is {given!r}; expected one dict, such as "
                "{'C': uhebo.Float(0.01, 100, log=True)}; uhebo.When writes a parameter that only some candidates have"
            )
        if space is None:
            given = {name: _choices(name, each) for name, each in given.items()}
        found: dict[str, Any] = {}
        quantiles = {}
        for name, each in given.items():
            plain = each.parameter if isinstance(each, When) else each
            if not _needs_quantiles(name, plain):
                found[name] = each
                continue
            shown = f"quantile({name})"
            quantiles[shown] = (name, plain)
            found[shown] = When(each.condition, Float(*TAILS)) if isinstance(each, When) else Float(*TAILS)
        return cls(found, quantiles)

    def params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters of the estimator, from those of a trial."""
        return dict(self._param(name, value) for name, value in params.items())

    def _param(self, name: str, value: Any) -> tuple[str, Any]:
        if name not in self.quantiles:
            return name, value
        name, distribution = self.quantiles[name]
        found = float(distribution.ppf(value))
        return name, int(found) if hasattr(distribution, "pmf") else found

    def names(self) -> list[str]:
        """Parameters of the estimator."""
        return [self.quantiles[name][0] if name in self.quantiles else name for name in self.space]


def _choices(name: str, given: Any) -> Any:
    """A tuple is a sequence of choices in scikit-learn; two numbers are refused, because they are a range in uhebo."""
    if not isinstance(given, tuple):
        return given
    if len(given) == 2 and all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in given):
        raise InvalidInputError(
            f"parameter {name!r}: {given!r} is two choices in scikit-learn and a range in uhebo; write {list(given)!r} "
            f"for the choices, or uhebo.Float{given!r} for the range"
        )
    return list(given)


def _needs_quantiles(name: str, given: Any) -> bool:
    """Whether it is a distribution that no range is the same as."""
    if not hasattr(given, "rvs") or is_unfrozen(given):
        return False
    try:
        as_distributions({name: given})
    except InvalidInputError:
        if not hasattr(given, "ppf"):
            raise InvalidInputError(
                f"parameter {name!r}: {given!r} has rvs and no ppf, and a search needs its quantiles; write a range "
                "or a list of choices"
            ) from None
        return True
    return False


def splitter_of(search: Any, evaluate_candidates: Callable[..., Results]) -> Any:
    """What makes the folds: an attribute of the search since scikit-learn 1.8, in a variable of its `fit` before."""
    if hasattr(search, "_checked_cv_orig"):
        return search._checked_cv_orig
    return inspect.getclosurevars(evaluate_candidates).nonlocals["cv_orig"]


class SplitOnce:
    """A splitter that asks another one once and remembers: every candidate is scored on the same folds."""

    def __init__(self, splitter: Any, announced: int = 0) -> None:
        self._splitter = splitter
        self._splits: list[Any] | None = None
        self._announced = announced
        """Candidates of which scikit-learn's line about the fits is printed, once the folds are known."""

    def split(self, *data: Any, **options: Any) -> list[Any]:
        if self._splits is None:
            self._splits = list(self._splitter.split(*data, **options))
            if self._announced:
                folds, each = len(self._splits), self._announced
                print(f"Fitting {folds} folds for each of {each} candidates, totalling {folds * each} fits")
        return self._splits


def add_failed(results: Results, failed: Mapping[int, Mapping[str, Any]], score: Any) -> None:
    """Put candidates without a single fit into `cv_results_`, in place, where they belong in the order of trials.

    scikit-learn leaves them out. They get `score` in every column of scores, NaN for the times, and ranks anew.
    """
    if not failed:
        return
    from sklearn.model_selection._search import _yield_masked_array_for_each_param

    positions = sorted(failed)
    for position in positions:
        results["params"].insert(position, dict(failed[position]))
    # Made anew from all values: what failed may be of another type than what worked.
    results.update(_yield_masked_array_for_each_param(results["params"]))
    for name in [name for name in results if not name.startswith(("param", "rank_"))]:
        value = score if "_test_" in name or "_train_" in name else np.nan
        for position in positions:
            results[name] = np.insert(results[name], position, 0.0 * value if name.startswith("std_") else value)
    for name in [name for name in results if name.startswith("rank_test_")]:
        means = results[name.replace("rank_", "mean_", 1)]
        lowest = np.nanmin(means) - 1.0 if not np.isnan(means).all() else 0.0
        results[name] = rankdata(-np.where(np.isnan(means), lowest, means), method="min").astype(np.int32)
