"""Does it help a search over cross-validated scores to tell the model how much the folds disagree?

    python -m uhebo_experiments.benchmarks.fold_noise [--seeds 10] [--iterations 30] [--method auto]

Each seed splits a data set of scikit-learn in halves, tunes a support-vector machine on one by five folds and scores
what it chose on the other. Compared are the noise prior as it is and three that know the folds:

    s.e.         log-normal around the mean squared standard error of a candidate's score over its folds
    interaction  the same without what is common to all candidates in a fold, which moves no ranking
    floor        the prior as it is, and no noise below that of `interaction`

All variants of a seed see the same initial design. Prints the best score over the folds and the held-out score of the
parameters chosen (accuracy, or R²), and the paired difference to the prior as it is.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from typing import Any

import numpy as np
import optuna
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import uhebo
from uhebo.gp import Prior, named_prior
from uhebo.gp.priors import LogNormal
from uhebo.methods import Proposal, Step, named_method
from uhebo.space import as_distributions
from uhebo.types import Array
from uhebo_experiments.benchmarks.common import heading, table

FOLDS = 5
VARIANTS = ("as it is", "s.e.", "interaction", "floor")
DEFAULT_PRIOR = {"auto": "precise"}
"""Prior of a method, where it is not the paper's."""

SVM = {"C": uhebo.Float(1e-2, 1e3, log=True), "gamma": uhebo.Float(1e-5, 1e1, log=True)}
DATA = {
    "breast cancer, SVC": (load_breast_cancer, SVC(), {f"svc__{name}": d for name, d in SVM.items()}),
    "diabetes, SVR": (load_diabetes, SVR(), {f"svr__{name}": d for name, d in SVM.items()}),
}


def hint(scores: Array, variant: str) -> float:
    """Variance of a candidate's mean score, from the scores (n, k) of n candidates in k folds."""
    if variant == "s.e.":
        return float(scores.var(axis=1, ddof=1).mean() / FOLDS)
    n, k = scores.shape
    left = scores - scores.mean(axis=1, keepdims=True) - scores.mean(axis=0) + scores.mean()
    return float((left**2).sum() / max((n - 1) * (k - 1), 1) / FOLDS)


def informed(prior: Prior, scores: Array, scale: float, variant: str) -> Prior:
    """The prior with what the folds say of the noise, in units of the standardised scores."""
    noise = float(np.clip(hint(scores, variant) / scale**2, 1e-6, 1.0))
    if variant == "floor":
        return replace(prior, noise_bounds=(noise, prior.noise_bounds[1]))
    return replace(prior, noise=LogNormal(math.log(noise), 0.5))


def run(name: str, variant: str, method: str, seed: int, iterations: int) -> tuple[float, float]:
    """Best score over the folds, and the held-out score of its parameters."""
    load, machine, space = DATA[name]
    X, y = load(return_X_y=True)
    labels = y if isinstance(machine, SVC) else None
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=labels)
    model = make_pipeline(StandardScaler(), machine)
    folds = (KFold if labels is None else StratifiedKFold)(FOLDS, shuffle=True, random_state=seed)
    scores: list[Array] = []
    known, base = named_method(method), named_prior(DEFAULT_PRIOR.get(method, "paper"), len(space))

    def propose(step: Step) -> Proposal:
        prior = base
        if variant != "as it is" and len(scores) > 1:
            prior = informed(base, np.array(scores), step.history.data.scale, variant)
        return known.propose(replace(step, settings=replace(step.settings, prior=prior)))

    study = optuna.create_study(
        direction="maximize",
        sampler=uhebo.UHESampler(method=replace(known, propose=propose), n_trials=iterations, seed=seed),
    )
    distributions: dict[str, Any] = as_distributions(space)
    for _ in range(iterations):
        trial = study.ask(distributions)
        scores.append(cross_val_score(clone(model).set_params(**trial.params), X_train, y_train, cv=folds))
        study.tell(trial, float(scores[-1].mean()))
    chosen = clone(model).set_params(**study.best_params).fit(X_train, y_train)
    return study.best_value, float(chosen.score(X_test, y_test))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--method", default="auto")
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rows = []
    for name in DATA:
        runs = {
            variant: np.array(
                [run(name, variant, options.method, seed, options.iterations) for seed in range(options.seeds)]
            )
            for variant in VARIANTS
        }
        for variant in VARIANTS:
            found = [f"{column.mean():.4f}" for column in runs[variant].T]
            change = runs[variant] - runs[VARIANTS[0]]
            errors = change.std(axis=0, ddof=1) / math.sqrt(options.seeds)
            gains = [f"{c:+.4f} ± {e:.4f}" for c, e in zip(change.mean(axis=0), errors, strict=True)]
            rows.append([name, variant, found[0], gains[0], found[1], gains[1]])
    title = f"{options.method}, {options.iterations} candidates, seeds 0-{options.seeds - 1}; difference ± s.e."
    print(heading(title, ("scikit-learn", "optuna")))
    print(table(["data, model", "noise prior", "best over folds", "difference", "held out", "difference"], rows))


if __name__ == "__main__":
    main()
