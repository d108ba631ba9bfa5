"""`UHESearchCV`: a search over cross-validated scores on scikit-learn's own base, proposals by `UHESampler`."""

import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.trial import Trial, TrialState

from uhebo import checks
from uhebo.api import make_sampler
from uhebo.diagnosis import Diagnosis, Recommended, diagnose, recommend
from uhebo.errors import InvalidInputError, MissingExtraError, SpaceExhausted, UheboWarning
from uhebo.integrations.candidates import Candidates, Results, SplitOnce, add_failed, splitter_of
from uhebo.methods import Method, MethodName, Strategy
from uhebo.optuna_.gaps import QUIET, suggest_active
from uhebo.optuna_.sampler import UHESampler
from uhebo.space import SearchSpace, storable

try:
    from sklearn.exceptions import FitFailedWarning, NotFittedError
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils import check_random_state
except ImportError as error:
    raise MissingExtraError("UHESearchCV needs scikit-learn 1.6 or later: pip install 'uhebo[sklearn]'") from error

OURS = {"seed": "random_state", "n_trials": "n_iter", "method": "method", "space": "space"}
"""Options of the sampler -> arguments of the search that they come from."""
PROGRESS = 9
"""Verbosity above which scikit-learn says which of the candidates of a call it is at."""
ALL_FAILED = re.compile(r"All the \d+ fits failed")
"""How scikit-learn's error begins when no fit of a call succeeded: for a grid the end, here one bad candidate."""


class UHESearchCV(BaseSearchCV):
    """Tune the parameters of an estimator by cross-validation, as `GridSearchCV` does, with suggestions by uhebo.

    Candidates come one after the other, because each proposal uses all scores so far; the folds of a candidate are what
    `n_jobs` runs at the same time. Where there are more processors than folds, `batch_size` proposes several candidates
    at once. Every candidate is scored on the same folds, even if `cv` shuffles anew each time it is asked.

    Args:
        estimator: what to tune: a scikit-learn estimator or a pipeline.
        space: parameter name -> `(low, high)`, a list or an array of choices, a `range`, `uhebo.Float` / `Int` /
            `Categorical`, or a frozen distribution of `scipy.stats`. Of these, `uniform`, `loguniform` and `randint`
            become ranges; any other one is searched through its quantiles from 0.001 to 0.999. Parameters of a
            pipeline are named `step__parameter`.
        param_distributions: the same under scikit-learn's name, in place of `space`; here a tuple is a list of choices.
        n_iter: number of candidates to try.
        method: name of a method (`uhebo.METHODS` lists them) or a function `Step -> Proposal`; default the sampler's.
        batch_size: candidates proposed at once; more than 1 helps only if `n_jobs` is larger than the number of folds.
        scoring: as in scikit-learn. With several metrics `refit` names the one that is searched for.
        n_jobs: fits run at the same time; None is 1, -1 all processors.
        refit: fit the best candidate on all the data. A metric's name, or a function `cv_results_ -> index`, as in
            scikit-learn.
        cv: number of folds, a splitter or an iterable of splits; default five folds.
        verbose: as in scikit-learn: with 1 the number of fits, with 2 each fit and its time, with 3 its score too.
        pre_dispatch: how many fits are handed to the workers in advance.
        error_score: score of a fold whose fit failed. With NaN the candidate is a failed trial: the search goes on and
            avoids similar parameters. A number is taken as a score like any other. "raise" ends the search.
        return_train_score: put scores on the training part of each fold into `cv_results_`.
        random_state: an integer makes the search repeatable; it is the sampler's seed.
        storage: where the trials are kept, as in the shell: "search.db", a database URL or an Optuna storage, so that a
            dashboard can watch; each `fit` is a study of its own in it. Default memory, which alone takes choices such
            as tuples and estimators.
        sampler_options: further options of `uhebo.UHESampler`, e.g. `{"deterministic": True}` for a space of few
            points none of which is to be tried twice.

    Attributes:
        study_: the Optuna study, one trial per candidate. A parameter that is searched through the quantiles of its
            distribution is called `quantile(NAME)` there, and its value is an attribute of the trial.
        recommended_: the candidate tried that is best by a second opinion, with an interval; worked out when asked for.

    As in `GridSearchCV`: best_estimator_, best_params_, best_score_, best_index_, cv_results_, n_splits_, refit_time_,
    scorer_, multimetric_, classes_, n_features_in_, feature_names_in_.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.svm import SVC
        >>> import uhebo
        >>> space = {"C": uhebo.Float(1e-2, 1e3, log=True), "gamma": uhebo.Float(1e-4, 1e1, log=True)}
        >>> search = uhebo.UHESearchCV(SVC(), space, n_iter=15, random_state=0).fit(*load_iris(return_X_y=True))
        >>> sorted(search.best_params_)
        ['C', 'gamma']

    Note:
        The variance between folds is not handed to the model as observation noise: on the same folds the score of a
        deterministic estimator has none, and it did not help. In `python -m uhebo_experiments.benchmarks.fold_noise`
        (2026-11-15; `auto` and `uhe`, seeds 0-9, 30 candidates, two data sets) three ways to use it changed the score
        on held-out data by -0.003 to +0.001, never by two standard errors to the better.
    """

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's protocol)
        **BaseSearchCV._parameter_constraints,
        "space": "no_validation",  # ours say more
        "param_distributions": "no_validation",
        "n_iter": [Integral],
        "method": [str, callable, None],
        "batch_size": [Integral],
        "random_state": ["random_state"],
        "storage": "no_validation",
        "sampler_options": [Mapping, None],
    }

    @checks.by_name()
    def __init__(
        self,
        estimator: Any,
        space: Mapping[str, Any] | None = None,
        *,
        param_distributions: Mapping[str, Any] | None = None,
        n_iter: int = 60,
        method: MethodName | str | Strategy | Method | None = None,
        batch_size: int = 1,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool | str | Callable[[Results], int] = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        error_score: float | str = np.nan,
        return_train_score: bool = False,
        random_state: Any = None,
        storage: Any = None,
        sampler_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            estimator, scoring=scoring, n_jobs=n_jobs, refit=refit, cv=cv, verbose=verbose, pre_dispatch=pre_dispatch,
            error_score=error_score, return_train_score=return_train_score,
        )  # fmt: skip
        self.space = space
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.method = method
        self.batch_size = batch_size
        self.random_state = random_state
        self.storage = storage
        self.sampler_options = sampler_options

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False  # the estimator's own says nothing of a search that was never tried with it
        return tags

    def diagnose(self) -> Diagnosis:
        """Can the model of this search be trusted? Evidence, a verdict in plain words, and what to do next."""
        if not hasattr(self, "study_"):
            raise NotFittedError("there is nothing to diagnose yet; call fit first")
        return diagnose(self.study_)

    def report(self, path: str | Path = "report.html") -> Path:
        """Write what the search found into one HTML file that opens without a network (needs `uhebo[plot]`)."""
        if not hasattr(self, "study_"):
            raise NotFittedError("there is nothing to report yet; call fit first")
        from uhebo.report import write_report

        return write_report(self.study_, path)

    @property
    def recommended_(self) -> Recommended:
        """The candidate that is best according to a second opinion; `best_params_` may owe its score to luck.

        With what to expect of it, an interval, and the chance that no other candidate tried is better. Its `params` are
        not those of `best_estimator_`, which is refitted with `best_params_`, as in scikit-learn.
        """
        if not hasattr(self, "study_"):
            raise NotFittedError("there is nothing to recommend yet; call fit first")
        found = recommend(self.study_)
        return replace(found, params=self._candidates.params(found.params))

    def _run_search(self, evaluate_candidates: Callable[..., Results]) -> None:
        """Called by scikit-learn's `fit`: ask for candidates, have them scored, tell the study."""
        space = self._checked()
        storage = self.storage
        if storage is not None:
            # Here, because it loads SQLAlchemy.
            from uhebo.storage.places import open_storage

            storage = open_storage(storage, create=True)
        with QUIET:
            self.study_ = optuna.create_study(direction="maximize", storage=storage, sampler=self._sampler())
        # scikit-learn has noted how much to print of each fit, and would count the candidates of every call anew.
        verbose: int = vars(self)["verbose"]
        self.verbose = 0
        try:
            self._evaluate_all(space, evaluate_candidates, verbose)
        finally:
            self.verbose = verbose

    def _evaluate_all(self, space: SearchSpace, evaluate_candidates: Callable[..., Results], verbose: int) -> None:
        splits = SplitOnce(splitter_of(self, evaluate_candidates), self.n_iter if verbose else 0)
        results: Results = {}
        failed: dict[int, dict[str, Any]] = {}
        for first in range(0, self.n_iter, self.batch_size):
            trials = self._ask_several(space, min(self.batch_size, self.n_iter - first))
            if not trials:
                break
            candidates = [self._candidates.params(trial.params) for trial in trials]
            if verbose > PROGRESS:
                print(f"[candidates {first + 1} to {first + len(trials)} of {self.n_iter}]")
            try:
                results = evaluate_candidates(candidates, cv=splits)
                scores = results[self._metric(results)][-len(trials) :]
            except BaseException as error:
                none_left = first + len(trials) >= self.n_iter and not results
                if none_left or not (isinstance(error, ValueError) and ALL_FAILED.search(str(error))):
                    self._tell(trials, [math.nan] * len(trials))
                    raise
                warnings.warn(f"every fit failed with {candidates}: {error}", FitFailedWarning, stacklevel=2)
                failed.update(zip(range(first, first + len(trials)), candidates, strict=True))
                scores = [float(self.error_score)] * len(trials)
            self._tell(trials, scores)
        add_failed(results, failed, self.error_score)

    def _ask_several(self, space: SearchSpace, wanted: int) -> list[Trial]:
        """So many candidates, or fewer where all points of a finite space have been tried."""
        trials: list[Trial] = []
        try:
            while len(trials) < wanted:
                trials.append(self._ask(space))
        except SpaceExhausted as error:
            warnings.warn(
                f"the search ends after {len(self.study_.trials) - 1} candidates: {error}", UheboWarning, stacklevel=3
            )
        return trials

    def _tell(self, trials: Sequence[Trial], scores: Sequence[float]) -> None:
        for trial, score in zip(trials, scores, strict=True):
            failed = math.isnan(score)
            self.study_.tell(trial, None if failed else float(score), TrialState.FAIL if failed else None)

    def _ask(self, space: SearchSpace) -> Trial:
        trial = self.study_.ask()
        params = suggest_active(trial, space)
        for name, (shown, value) in zip(params, self._candidates.params(params).items(), strict=True):
            if name != shown:
                trial.set_user_attr(shown, value)
        return trial

    def _checked(self) -> SearchSpace:
        """The space written out, after everything that can be refused before the first fit has been."""
        checks.integer("n_iter", self.n_iter, 1)
        checks.integer("batch_size", self.batch_size, 1)
        several = not (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring))
        if several and not isinstance(self.refit, str):
            raise InvalidInputError(self._which_metric(self.scoring))
        self._candidates = Candidates.of(self.space, self.param_distributions)
        space = SearchSpace.of(self._candidates.space)
        storable(space.distributions, self.storage)
        known, names = self.estimator.get_params(), self._candidates.names()
        for name in names:
            # Parameters of a step that is itself searched for belong to whatever estimator will be there.
            replaced = any(name.startswith(f"{other}__") for other in names)
            if name not in known and not replaced:
                within = [each for each in known if each.endswith(f"__{name}")]
                near = within[0] if within else checks.meant(name, known)
                hint = f"did you mean {near!r}?" if near else f"expected one of {', '.join(known)}"
                raise InvalidInputError(f"{type(self.estimator).__name__} has no parameter {name!r}; {hint}")
        return space

    def _sampler(self) -> UHESampler:
        seed = self.random_state
        if seed is not None and not isinstance(seed, Integral):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        options = self.sampler_options or {}
        for name in options:
            if name in OURS:
                raise InvalidInputError(f"sampler_options has {name!r}; give {OURS[name]} of UHESearchCV instead")
        try:
            checks.check_call(UHESampler, (), 0, options)
        except InvalidInputError as error:
            raise InvalidInputError(f"sampler_options: {error}") from None
        return make_sampler(seed, self.method, options, self.n_iter, space=self._candidates.space)

    def _metric(self, results: Results) -> str:
        """The column of the results that the search makes large."""
        column = "mean_test_score" if "mean_test_score" in results else f"mean_test_{self.refit}"
        if column not in results:
            metrics = [name.removeprefix("mean_test_") for name in results if name.startswith("mean_test_")]
            raise InvalidInputError(self._which_metric(metrics))
        return column

    def _which_metric(self, metrics: Any) -> str:
        return (
            f"there are several metrics ({', '.join(map(str, metrics))}) and refit is {self.refit!r}; "
            "expected the name of the one to search for, e.g. refit='accuracy'"
        )
