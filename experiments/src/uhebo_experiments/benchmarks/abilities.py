"""What libraries for Bayesian optimisation can do, tried out: a small program for each ability of each library.

    pip install torch==2.13.0
    pip install uhebo-experiments ax-platform baybe
    python -m uhebo_experiments.benchmarks.abilities [--only ax,baybe] [--abilities failures]

Prints what came of each attempt. A dash means that we know of no way, an exception that the way we know of does not
work. One run each: the values show that an ability is there, not who is better at it.

    rules         x + y <= 1 on the inputs
    constraints   minimise x + y where xy >= 1, which is only known from the outcome; the optimum is 2
    objectives    two of them
    branches      a parameter for each of two choices; the optimum is 0
    failures      minimise 4 + (y - 1)^2 - x on [0, 3]^2, where trials with x > 1.5 fail: how many of the last 15 of 30
    doubt         16 values of pure noise: how often, of five times, the library says that its model cannot be trusted
"""

from __future__ import annotations

import argparse
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import optuna

import uhebo
from uhebo_experiments.benchmarks.common import heading, table
from uhebo_experiments.peers.libraries import package

Attempt = Callable[[], str]
Params = Mapping[str, Any]
ABILITIES = ("rules", "constraints", "objectives", "branches", "failures", "doubt")
PACKAGES = {"uhebo": "uhebo", "optuna": "optuna", "ax": "ax-platform", "baybe": "baybe"}
SQUARE = {"x": (0.0, 3.0), "y": (0.0, 3.0)}
TRIALS, FEW, MANY, LAST = 16, 8, 30, 15
ATTEMPTS: dict[tuple[str, str], Attempt] = {}


def attempt(library: str, ability: str) -> Callable[[Attempt], Attempt]:
    return lambda function: ATTEMPTS.setdefault((library, ability), function)


def melts(x: float, y: float) -> float | None:
    """The value, or None where the trial fails."""
    return None if x > 1.5 else 4 + (y - 1) ** 2 - x


def branch(params: Params) -> float:
    kind = params["kind"]
    return float((params[kind] - (0.3 if kind == "a" else 0.7)) ** 2 + (kind == "b"))


def two(params: Params) -> dict[str, float]:
    return {"a": params["x"], "b": params["x"] ** 2 + params["y"]}


def noises() -> list[list[float]]:
    return [np.random.default_rng(seed).normal(size=TRIALS).tolist() for seed in range(5)]


def failed(outcomes: Sequence[bool]) -> str:
    return f"{sum(outcomes[-LAST:])} of the last {LAST} failed"


# uhebo and Optuna's GPSampler


def optuna_attempts(library: str) -> None:
    def study(trials: int = TRIALS, two_objectives: bool = False) -> optuna.Study:
        ours = uhebo.UHESampler(n_trials=trials, seed=0)
        sampler = ours if library == "uhebo" else optuna.samplers.GPSampler(seed=0)
        return optuna.create_study(directions=["maximize", "minimize"] if two_objectives else None, sampler=sampler)

    def square(trial: optuna.Trial) -> dict[str, float]:
        return {name: trial.suggest_float(name, *ends) for name, ends in SQUARE.items()}

    @attempt(library, "constraints")
    def constrained() -> str:
        def cost(trial: optuna.Trial) -> float:
            x, y = square(trial).values()
            trial.set_constraint("product", 1 - x * y)
            return x + y

        made = study()
        made.optimize(cost, n_trials=TRIALS)
        return f"best {made.best_value:.3f}"

    @attempt(library, "objectives")
    def objectives() -> str:
        made = study(two_objectives=True)
        made.optimize(lambda trial: tuple(two(square(trial)).values()), n_trials=TRIALS)
        return f"{len(made.best_trials)} points on the front"

    @attempt(library, "branches")
    def branches() -> str:
        def choose(trial: optuna.Trial) -> float:
            kind = trial.suggest_categorical("kind", ["a", "b"])
            trial.suggest_float(kind, 0, 1)
            return branch(trial.params)

        made = study()
        made.optimize(choose, n_trials=TRIALS)
        return f"best {made.best_value:.1e}"

    @attempt(library, "failures")
    def failures() -> str:
        def fragile(trial: optuna.Trial) -> float:
            value = melts(**square(trial))
            if value is None:
                raise RuntimeError("it melts")
            return value

        made = study(MANY)
        made.optimize(fragile, n_trials=MANY, catch=(RuntimeError,))
        return failed([trial.state == optuna.trial.TrialState.FAIL for trial in made.trials])


optuna_attempts("uhebo")
optuna_attempts("optuna")


@attempt("uhebo", "rules")
def uhebo_rules() -> str:
    found = uhebo.minimize(lambda x, y: -x - 2 * y, SQUARE, TRIALS, seed=0, subject_to=["x + y <= 1"])
    return f"x + y at most {max(sum(trial.params.values()) for trial in found.study.trials):.3f}"


@attempt("uhebo", "doubt")
def uhebo_doubt() -> str:
    def verdict(values: Iterator[float]) -> str:
        return uhebo.minimize(lambda **_: next(values), SQUARE, TRIALS, seed=0).diagnose().verdict

    return ", ".join(verdict(iter(values)) for values in noises())


# Ax


def ax_client(
    objective: str, parameters: Sequence[Any] = (), rules: Sequence[str] = (), constraints: Sequence[str] = ()
) -> Any:
    configs = package("ax.api.configs")
    both = [configs.RangeParameterConfig(name, ends, "float") for name, ends in SQUARE.items()]
    client = package("ax.api.client").Client(random_seed=0)
    client.configure_experiment(parameters or both, parameter_constraints=rules or None)
    client.configure_optimization(objective, outcome_constraints=constraints or None)
    return client


def ax_run(client: Any, evaluate: Callable[[Params], Mapping[str, float] | None], trials: int = TRIALS) -> list[bool]:
    """Whether each trial failed."""
    outcomes = []
    for _ in range(trials):
        for number, params in client.get_next_trials(1).items():
            found = evaluate(params)
            outcomes.append(found is None)
            if found is None:
                client.mark_trial_failed(number)
            else:
                client.complete_trial(number, raw_data=found)
    return outcomes


@attempt("ax", "rules")
def ax_rules() -> str:
    asked = ax_client("-v", rules=["x + y <= 1"]).get_next_trials(4).values()
    return f"x + y at most {max(sum(params.values()) for params in asked):.3f}; linear rules only"


@attempt("ax", "constraints")
def ax_constraints() -> str:
    client = ax_client("-cost", constraints=["xy >= 1"])
    ax_run(client, lambda params: {"cost": params["x"] + params["y"], "xy": params["x"] * params["y"]})
    return f"best {client.summarize().query('xy >= 1')['cost'].min():.3f}"


@attempt("ax", "objectives")
def ax_objectives() -> str:
    client = ax_client("a, -b")
    ax_run(client, two, FEW)
    return f"{len(client.get_pareto_frontier())} points on the front"


@attempt("ax", "branches")
def ax_branches() -> str:
    configs = package("ax.api.configs")
    depend = {"a": ["a"], "b": ["b"]}
    kind = configs.ChoiceParameterConfig("kind", ["a", "b"], "str", is_ordered=False, dependent_parameters=depend)
    leaves = [configs.RangeParameterConfig(name, (0.0, 1.0), "float") for name in "ab"]
    client = ax_client("-v", [kind, *leaves])
    ax_run(client, lambda params: {"v": branch(params)})
    return f"best {client.summarize()['v'].min():.1e}"


@attempt("ax", "failures")
def ax_failures() -> str:
    def fragile(params: Params) -> Mapping[str, float] | None:
        value = melts(**params)
        return None if value is None else {"v": value}

    return failed(ax_run(ax_client("-v"), fragile, MANY))


@attempt("ax", "doubt")
def ax_doubt() -> str:
    check = package("ax.analysis.healthcheck.predictable_metrics").PredictableMetricsAnalysis()

    def verdict(values: Iterator[float]) -> str:
        client = ax_client("-v")
        ax_run(client, lambda _: {"v": next(values)})
        return str(client.compute_analyses([check], display=False)[0].title)

    return ", ".join(verdict(iter(values)) for values in noises())


# BayBE


def campaign(objective: Any, parameters: Sequence[Any] = (), rules: Sequence[Any] = ()) -> Any:
    kinds = package("baybe.parameters")
    both = [kinds.NumericalContinuousParameter(name, ends) for name, ends in SQUARE.items()]
    space = package("baybe.searchspace").SearchSpace.from_product(parameters or both, rules)
    return package("baybe").Campaign(space, objective)


def target(name: str = "v", minimize: bool = True) -> Any:
    return package("baybe.targets").NumericalTarget(name, minimize=minimize)


@attempt("baybe", "rules")
def baybe_rules() -> str:
    rule = package("baybe.constraints").ContinuousLinearConstraint(["x", "y"], "<=", rhs=1.0)
    asked = campaign(target().to_objective(), rules=[rule]).recommend(batch_size=4)
    return f"x + y at most {asked.sum(axis=1).max():.3f}; equations too"


@attempt("baybe", "objectives")
def baybe_objectives() -> str:
    made = campaign(package("baybe.objectives").ParetoObjective([target("a", minimize=False), target("b")]))
    for _ in range(FEW):
        asked = made.recommend(batch_size=1)
        made.add_measurements(asked.assign(**two(asked)))
    return f"{made.identify_non_dominated_configurations().sum()} points on the front"


@attempt("baybe", "branches")
def baybe_branches() -> str:
    kinds, rules = package("baybe.parameters"), package("baybe.constraints")
    parameters = [kinds.CategoricalParameter("kind", ["a", "b"])]
    parameters += [kinds.NumericalDiscreteParameter(name, np.linspace(0, 1, 11)) for name in "ab"]
    # A parameter can decide about others once, so here `b` is always there.
    rule = rules.DiscreteDependenciesConstraint(["kind"], [rules.SubSelectionCondition(["a"])], [["a"]])
    made, seen = campaign(target().to_objective(), parameters, [rule]), []
    for _ in range(FEW):
        asked = made.recommend(batch_size=1)
        seen.append(branch(asked.iloc[0]))
        made.add_measurements(asked.assign(v=seen[-1]))
    return f"best {min(seen):.1e}; for discrete parameters"


@attempt("baybe", "failures")
def baybe_failures() -> str:
    made, outcomes = campaign(target().to_objective()), []
    for _ in range(MANY):
        asked = made.recommend(batch_size=1)
        value = melts(float(asked.x.iloc[0]), float(asked.y.iloc[0]))
        outcomes.append(value is None)
        if value is not None:  # a measurement without a value is refused
            made.add_measurements(asked.assign(v=value))
    return f"left out; {failed(outcomes)}"


def tried(library: str, ability: str) -> str:
    if (library, ability) not in ATTEMPTS:
        return "–"
    try:
        return ATTEMPTS[library, ability]()
    except Exception as error:  # what another library raises is the finding
        return f"{type(error).__name__}: {str(error)[:120]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PACKAGES), help="libraries, separated by commas")
    parser.add_argument("--abilities", default=",".join(ABILITIES), help="of those above, separated by commas")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    print(heading("What was tried", list(PACKAGES.values())[1:]))
    for ability in options.abilities.split(","):
        rows = [[name, tried(name, ability)] for name in options.only.split(",")]
        print(f"#### {ability}\n\n{table(['library', 'what came of it'], rows)}", flush=True)


if __name__ == "__main__":
    main()
