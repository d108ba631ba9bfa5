"""Every method by name: what the next point is.

Each is a function of one `Step`; the table in the README says what they do. To add one:

    from uhebo.methods import Step, Proposal, register

    def every_third_random(step: Step) -> Proposal:
        return step.random() if step.slot.t % 3 == 0 else step.model("map")

    register("every-third-random", every_third_random)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from uhebo.belief.history import Trial
from uhebo.checks import choice
from uhebo.errors import InvalidInputError
from uhebo.estimate import Fit, Model
from uhebo.estimate.shrink import Scaling, a_gp_ucb_scaling, wang_de_freitas_scaling
from uhebo.methods.auto import RECIPE, auto
from uhebo.methods.bandit import Exp3, Pull, replay, scale_reward
from uhebo.methods.hyperprior import hp_gp_ts
from uhebo.methods.lengthscale_balancing import lb_gp_ucb
from uhebo.methods.prior_elimination import pe_gp_ucb
from uhebo.methods.scorebo import scorebo
from uhebo.methods.step import PAPER_ACQUISITION, PAPER_MODEL, Design, Proposal, Step

Strategy = Callable[[Step], Proposal]
MethodName = Literal[
    "auto", "uhe", "ra", "random-exp3", "consistent-only", "map", "mle", "hmc", "a-gp-ucb", "wang-de-freitas",
    "portfolio", "lb-gp-ucb", "pe-gp-ucb", "hp-gp-ts", "scorebo", "fb-log-ei", "random",
]  # fmt: skip
"""Those that are there from the start; `register` adds others."""


@dataclass(frozen=True)
class Method:
    """What the next point is (`propose`), the model and acquisition it is found with, and the design before it."""

    propose: Strategy
    model: Model = PAPER_MODEL
    acquisition: str = PAPER_ACQUISITION
    design: Design = "uniform"
    """Initial design: the paper's is i.i.d. uniform."""
    constrained: bool = False
    """Whether its points keep to constraints. All that come from `step.model` or `step.best_point` do, and random ones
    need not; a method that has points from elsewhere must see to it. Without it a study with constraints is refused."""
    several: bool = False
    """Whether it can optimise several objectives."""


RANDOM_ARM, MODEL_ARM = 0, 1


def ra(step: Step) -> Proposal:
    """RA-BO: random at odd t, the acquisition under the consistent theta at even t."""
    return step.random() if step.slot.first_half else step.model("consistent")


def paired_exp3(step: Step, estimator: str, second: str | None = None) -> Proposal:
    """UHE-BO, Algorithm 1: an arm is drawn at odd t and holds for two iterations.

    Arm 1 takes a random point and then the acquisition's; arm 2 takes two of the acquisition's. Both by `estimator`, or
    arm 2 by `second`: the paper's section 5.1 has it "assuming the correct GP modeling", its Algorithm 1 does not.
    """
    tags = pair_arm(step)
    if step.slot.first_half and tags["arm"] == RANDOM_ARM:
        return step.random(**tags)
    return step.model(second if second and tags.get("arm") == MODEL_ARM else estimator, **tags)


def pair_arm(step: Step) -> dict[str, Any]:
    """Arm of the step's pair and the probability it was drawn with: drawn by the first half, copied by the second.

    A second half that comes before its partner has written anything down (another worker is at it) leaves them out: it
    takes the acquisition's point under either arm, and the first half's word counts.
    """
    if step.slot.partner is not None:
        recorded = step.history.by_number[step.slot.partner].tags
        return {name: recorded[name] for name in ("arm", "p") if name in recorded}
    bandit = pair_bandit(step)
    arm = bandit.pull(step.rng("arm"))
    return {"arm": arm, "p": float(bandit.probabilities()[arm])}


def pair_bandit(step: Step) -> Exp3:
    """The bandit after the log so far; it plays once in two iterations, so its horizon is T/2 rounds."""
    horizon = step.settings.horizon
    return replay(pair_pulls(step), 2, None if horizon is None else horizon / 2)


def pair_pulls(step: Step) -> list[Pull]:
    """Arm, reward and probability of every pair that is over.

    The reward is the larger value of the pair, scaled by D0. A pair of which one half failed has the reward of the
    other; a pair without any value, or with one still running, is no pull. An infeasible value counts as the
    worst of D0.
    """
    pulls = []
    scale = step.history.initial_range
    for trials in step.history.pairs.values():
        values = [_worth(t, scale) for t in trials if t.state == "finished" and t.y is not None]
        arms = [t.tags for t in trials if "arm" in t.tags]
        if values and arms and scale and len(trials) > 1 and all(t.state != "running" for t in trials):
            reward = scale_reward(max(values), *scale, clip=step.settings.reward_clip)
            pulls.append(Pull(int(arms[0]["arm"]), reward, float(arms[0]["p"])))
    return pulls


def _worth(trial: Trial, scale: tuple[float, float] | None) -> float:
    """The value of a finished trial, or the worst of D0 where it is infeasible."""
    assert trial.y is not None
    return trial.y if trial.feasible or scale is None else scale[0]


def portfolio(step: Step) -> Proposal:
    """Hoffman, Brochu & de Freitas (2011) with the arms {random, acquisition}: EXP3, one arm a step.

    The reward of a step is the posterior mean at its point once its value is known, scaled by D0 (the worst of D0
    where the point is infeasible). It needs the next
    step's model, so each step records the rewards that have become known ("rewards": {trial number: reward}).
    """
    history = step.history
    if not history.finished:
        return step.no_data()
    fit = step.fit("map")
    known = {int(n): r for trial in history.trials for n, r in trial.tags.get("rewards", {}).items()}
    new = _portfolio_rewards(step, fit, known)
    known.update(new)
    rewarded = [trial for trial in history.finished if trial.number in known and "arm" in trial.tags]
    pulls = [Pull(int(t.tags["arm"]), known[t.number], float(t.tags["p"])) for t in rewarded]
    bandit = replay(pulls, 2, step.settings.horizon)
    arm = bandit.pull(step.rng("arm"))
    tags: dict[str, Any] = {"arm": arm, "p": float(bandit.probabilities()[arm])}
    if new:
        tags["rewards"] = {str(number): reward for number, reward in new.items()}
    return step.random(**tags) if arm == RANDOM_ARM else step.model_from(fit, **tags)


def _portfolio_rewards(step: Step, fit: Fit, known: Mapping[int, float]) -> dict[int, float]:
    """Rewards of the pulls that are finished and not yet in `known`."""
    data, scale = step.history.data, step.history.initial_range
    rewards: dict[int, float] = {}
    for trial in step.history.finished:
        if scale is not None and trial.x is not None and "arm" in trial.tags and trial.number not in known:
            mean = float(fit.posterior.predict(trial.x[None])[0][0]) * data.scale + data.location
            mean = mean if trial.feasible else scale[0]
            rewards[trial.number] = round(scale_reward(mean, *scale, clip=step.settings.reward_clip), 6)
    return rewards


Units = Literal["standardised", "raw"]
"""What κ and p(t) of the two scaling methods are counted in: standard deviations of y, or y as it was told."""


def a_gp_ucb(step: Step, units: Units = "standardised") -> Proposal:
    """A-GP-UCB: MAP lengthscales divided by a factor g(t) that never falls; g and the deviations spent are recorded."""
    if not step.history.finished:
        return step.no_data()
    fit, beta = step.fit("map"), step.beta()
    # Another method's trials may have a g too, but then no beta: that was not part of its budget.
    past = [t.tags for t in step.history.trials if "g" in t.tags and "beta" in t.tags]
    scaling = a_gp_ucb_scaling(
        fit.posterior,
        step.ucb_maximiser(),
        t=max(step.slot.t, 1),
        beta=beta,
        previous=max((float(tags["g"]) for tags in past), default=1.0),
        spent=sum(2.0 * float(tags["beta"]) * float(tags["deviation"]) for tags in past),
        unit=step.data.scale if units == "raw" else 1.0,
    )
    return _scaled(step, fit, scaling, beta=round(beta, 6))


def wang_de_freitas(step: Step, units: Units = "standardised") -> Proposal:
    """Wang & de Freitas: the mildest shortening of the MAP lengthscales whose UCB point is uncertain enough."""
    if not step.history.finished:
        return step.no_data()
    fit = step.fit("map")
    unit = step.data.scale if units == "raw" else 1.0
    return _scaled(step, fit, wang_de_freitas_scaling(fit.posterior, step.ucb_maximiser(), unit=unit))


def _scaled(step: Step, fit: Fit, scaling: Scaling, **tags: Any) -> Proposal:
    """The UCB point of a scaling; with another acquisition, that one's point under the scaled posterior."""
    point = scaling.point
    if step.acquisition != "ucb":
        point = step.best_point((scaling.posterior,))
    figures = {"g": round(scaling.factor, 6), "deviation": round(scaling.deviation, 6)}
    return Proposal(point, {"role": "model", **step.record(fit), **figures, **tags})


METHODS: dict[str, Method] = {
    name: replace(method, constrained=True)
    for name, method in {
        "auto": Method(auto, RECIPE.model, RECIPE.acquisition, design="spread", several=True),
        "uhe": Method(partial(paired_exp3, estimator="consistent"), PAPER_MODEL.by("consistent")),
        "ra": Method(ra, PAPER_MODEL.by("consistent")),
        "random-exp3": Method(partial(paired_exp3, estimator="map")),
        "consistent-only": Method(partial(Step.model, estimator="consistent"), PAPER_MODEL.by("consistent")),
        "map": Method(partial(Step.model, estimator="map")),
        "mle": Method(partial(Step.model, estimator="mle"), PAPER_MODEL.by("mle")),
        "hmc": Method(partial(Step.model, estimator="hmc"), PAPER_MODEL.by("hmc")),
        "a-gp-ucb": Method(a_gp_ucb),
        "wang-de-freitas": Method(wang_de_freitas),
        "portfolio": Method(portfolio),
        "lb-gp-ucb": Method(lb_gp_ucb, PAPER_MODEL.by("mle")),
        "pe-gp-ucb": Method(pe_gp_ucb),
        "hp-gp-ts": Method(hp_gp_ts, acquisition="thompson"),
        "scorebo": Method(scorebo, PAPER_MODEL.by("hmc")),
        "fb-log-ei": Method(partial(Step.model, estimator="hmc"), PAPER_MODEL.by("hmc"), "log-ei"),
        "random": Method(Step.random, several=True),
    }.items()
}
"""Name -> method."""


def register(name: str, method: Strategy | Method) -> None:
    """Register a method under a name that is not taken yet."""
    if not isinstance(name, str) or not name:
        raise InvalidInputError(f"name is {name!r}; expected a name such as 'mine'")
    if name in METHODS:
        raise InvalidInputError(f"there is a method {name!r} already; choose another name")
    METHODS[name] = as_method(method)


def named_method(method: str | Strategy | Method) -> Method:
    """The method of that name; a function or a `Method` passes through."""
    if isinstance(method, str):
        return METHODS[choice("method", method, METHODS, also=", or pass a function")]
    return as_method(method)


def as_method(method: Strategy | Method) -> Method:
    """A function by itself has the paper's model and acquisition."""
    if isinstance(method, Method):
        return method
    if not callable(method) or isinstance(method, type):
        raise InvalidInputError(f"method is {method!r}; expected a name, a function Step -> Proposal, or a Method")
    return Method(method)
