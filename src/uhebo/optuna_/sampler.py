"""`UHESampler`: for each trial of an Optuna study, the log as a `Step`, a method's proposal, and its tags.

What the sampler remembers lives in the study: each trial of ours carries one system attribute, `uhebo:step`, with

    role       "initial", "random" or "model"
    t          iteration after the initial design (0 inside it)
    arm, p     arm of the bandit and the probability it was drawn with; a pair is iterations (1, 2), (3, 4), …
    estimator, theta, jitter, fallback, converged, …   the fit, theta as log(ell_1 .. ell_d, v, s2)
    objective_theta, constraint_theta                  thetas of further objectives, and of constraints
    g, deviation, beta, rewards, candidate, predicted, noise  what single methods need of their own past
    claim      the point, in few characters, until it is stored: see `uhebo.optuna_.claims`
"""

import secrets
import threading
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, get_args

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from uhebo.acquire.functions import AcquisitionName, check_acquisition
from uhebo.checks import boolean, by_name, choice, integer, number, optional_integer
from uhebo.estimate import READINGS, Reading
from uhebo.gp import Prior, named_prior
from uhebo.gp.kernels import Kernel, KernelName, named_kernel
from uhebo.gp.priors import PriorName
from uhebo.methods import Method, MethodName, Proposal, Settings, Step, Strategy, named_method
from uhebo.methods.bandit import Clip
from uhebo.methods.settings import DEVIATIONS, Beta, theorem_settings
from uhebo.methods.start_up import start_up_size
from uhebo.numerics.threads import single_threaded
from uhebo.optuna_ import claims, constraints, corrections, declared, exhaustion, log_space, trial_log
from uhebo.optuna_.constraints import ConstraintsFunc
from uhebo.optuna_.extensions import Extension, read_extensions
from uhebo.optuna_.sampler_settings import WhenExhausted, checked_independent, leave_settings, plain_setting
from uhebo.optuna_.several import (
    check_constrained,
    check_number,
    check_objectives,
    checked_reference,
    say_if_out_of_reach,
)
from uhebo.optuna_.start_up import warn_of_size
from uhebo.optuna_.trial_log import Penalties, write_tags
from uhebo.space import SearchSpace
from uhebo.space.moves import restricted
from uhebo.space.rules import GivenRule

_begun = threading.local()
"""The suggestion that this thread has begun: Optuna asks for the space, then for the point; one read serves both."""


class UHESampler(BaseSampler):
    """Optuna sampler for every method of uhebo. All arguments are optional and keyword-only.

    Args:
        method: a name (`uhebo.METHODS` lists them), a function `Step -> Proposal`, or a `uhebo.methods.Method`.
        n_trials: the whole budget of the study, initial design included. `auto` does not explore in its last part. The
            bandit of `uhe` is tuned to it; without a budget it works in epochs of doubling length.
        n_startup_trials: size of the initial design, trials of your own and imported ones included; default three per
            parameter, at most half of `n_trials`, and for `auto` at most ten. `auto` puts each point where the space is
            emptiest; the paper's methods draw them uniformly.
        seed: makes every suggestion a function of (seed, trial number, log of trials).
        acquisition: "ucb", "log-ei", "pi" or "thompson"; default the method's own ("ucb" for the paper's methods). It
            and `beta` are for one objective; several are searched by expected hypervolume improvement.
        beta: multiplier of the deviation in UCB, default 1.96, or "theory" for the schedule of the paper's theorem.
        prior: a name ("paper", "paper-scale", "paper-ev", "flat", "dim-scaled", "precise", "shared-scale") or a
            `Prior`; default the method's own ("paper" for the paper's methods).
        kernel: "matern52", "matern32" or "se", or a `uhebo.gp.Kernel`.
        deterministic: the objective has no noise, so no point is proposed twice while another one exists. Where it is
            False, the same holds once points have been repeated and always gave equal values.
        when_exhausted: what to do when the objective has no noise and every point of a finite space has been tried:
            "stop" ends `study.optimize` (`study.ask` raises `uhebo.errors.SpaceExhausted`), "repeat" goes on.
        exact: use no approximations for large studies: the consistent loss in one block, and theta fitted to all
            observations for every suggestion. Default: not.
        reward_clip: how the bandit's reward is clipped: "below" (at 0), "both" or "none".
        independent_sampler: any Optuna sampler, for parameters that the model does not cover; default uniform points.
            It does not draw the initial design.
        constraints_func: as in Optuna's samplers: called with each finished trial, returns its constraints' values (a
            number, several, or {name: number}), feasible up to 0. Not needed with `trial.set_constraint` (Optuna 5).
        penalties: "detect" takes equal extreme values far from all others (`return 1e6`) as failures, "keep" as values.
            With several objectives one is enough, while other trials beat all that have it.
        reading: which form of the consistent loss: "observed", "distinct" or "drawn" (`uhebo.estimate.consistent` says
            what they are); default the method's own ("distinct" for the paper's methods).
        guarantee: for "uhe" and "ra": what the paper's theorem needs, `beta="theory"`, `exact=True`, `reading="drawn"`
            and a known `n_trials`. Another choice of these is refused.
        reference_point: for several objectives, a value of each that is just not worth having: the hypervolume is
            measured from there; default somewhat beyond the worst values of the front.
        subject_to: rules on the parameters that every suggestion keeps to: texts such as "a + b <= 1" or
            "temperature < 90 or solvent != 'THF'", or functions of some parameters, by name, that return True or False.
        space: the parameters, as for `uhebo.minimize`, with `uhebo.When` where one is conditional. Without it they are
            known from the first finished trial on; the parameters of that one are drawn one by one, and it may break a
            rule.
    """

    @by_name()
    def __init__(
        self,
        *,
        method: MethodName | str | Strategy | Method = "auto",
        n_trials: int | None = None,
        n_startup_trials: int | None = None,
        seed: int | None = None,
        acquisition: AcquisitionName | None = None,
        beta: Beta | None = None,
        prior: PriorName | Prior | None = None,
        kernel: KernelName | Kernel = "matern52",
        deterministic: bool = False,
        exact: bool | None = None,
        reward_clip: Clip = "below",
        when_exhausted: WhenExhausted = "stop",
        independent_sampler: BaseSampler | None = None,
        constraints_func: ConstraintsFunc | None = None,
        penalties: Penalties = "detect",
        reading: Reading | None = None,
        guarantee: bool = False,
        reference_point: Sequence[float] | None = None,
        subject_to: GivenRule | Iterable[GivenRule] = (),
        space: Mapping[str, Any] | None = None,
    ) -> None:
        self.method = method
        """The method as it was given: its name, a function `Step -> Proposal`, or a `Method`."""
        self._method = named_method(method)
        self._n_trials = optional_integer("n_trials", n_trials, 1)
        self._n_startup_trials = optional_integer("n_startup_trials", n_startup_trials, 0)
        if boolean("guarantee", guarantee):
            beta, exact, reading = theorem_settings(method, self._n_trials, acquisition, beta, exact, reading)
        if prior is not None:
            named_prior(prior, 1)
        if beta != "theory":
            beta = DEVIATIONS if beta is None else number("beta", beta, 0.0, also=", or 'theory'")
        choice("reward_clip", reward_clip, get_args(Clip))
        self.when_exhausted = choice("when_exhausted", when_exhausted, get_args(WhenExhausted))
        self._independent_sampler = checked_independent(independent_sampler)
        self.constraints_func = constraints.checked_function(constraints_func)
        self._penalties = choice("penalties", penalties, get_args(Penalties))
        self.subject_to = declared.checked_rules(subject_to)
        """Rules that suggestions keep to."""
        self._declared = declared.space_with_rules(space, self.subject_to)
        self.settings = Settings(
            seed=secrets.randbits(63) if seed is None else integer("seed", seed, 0, also=", or None"),
            kernel=named_kernel(kernel),
            prior=prior,
            acquisition=None if acquisition is None else check_acquisition(acquisition),
            beta=beta,
            deterministic=boolean("deterministic", deterministic),
            exact=exact is not None and boolean("exact", exact),
            reward_clip=reward_clip,
            reading=None if reading is None else choice("reading", reading, READINGS),
            reference_point=None if reference_point is None else checked_reference(reference_point),
        )
        """What every suggestion is made with; its horizon is set per suggestion, where the budget is known."""

    def reseed_rng(self) -> None:
        """Nothing to do here: random numbers come from (seed, trial number), and no two trials share a number."""
        if self._independent_sampler is not None:
            self._independent_sampler.reseed_rng()

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        if self._independent_sampler is not None:
            self._independent_sampler.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        if self._independent_sampler is not None:
            self._independent_sampler.after_trial(study, trial, state, values)
        if self.constraints_func is not None and state in (TrialState.COMPLETE, TrialState.PRUNED):
            # An error in them comes through; Optuna stores the trial's value nevertheless.
            constraints.store(study, trial, self.constraints_func(trial))
        exhaustion.stop_if_last(self, study, trial, state, values)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Every parameter that was declared or that trials had, each with its latest distribution."""
        attributes = corrections.attributes_of(study)
        trials = corrections.trials_of(study, attributes=attributes)
        space = self.search_space(study, trials, read_extensions(attributes))
        _begun.suggestion = (study, trial.number, trials, space)
        return {name: space.distributions[name] for name in space.names}

    def search_space(
        self, study: Study, trials: Sequence[FrozenTrial] | None = None, made: Sequence[Extension] | None = None
    ) -> SearchSpace:
        """What was declared and what the log has shown, with the rules that can be told from it."""
        space = log_space.space_of_log(study, trials, self._declared, self.subject_to, made)
        declared.say_if_unknown(study, space, self.subject_to)
        return space

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        check_objectives(study, self.method, self._method.several, self.settings)
        leave_settings(study, self.arguments)
        if self.method != "random":
            warn_of_size(study, self._method.design, self._n_trials, self._n_startup_trials, len(search_space))
        if not search_space:
            if "fixed_params" not in trial.system_attrs:
                write_tags(study, trial, {"role": "initial", "t": 0})
            return {}
        trials, space = _read_already(study, trial)
        space = space or self.search_space(study, trials)
        if space.columns.keys() != search_space.keys():
            # Somebody else's space, such as what a `PartialFixedSampler` leaves open.
            space = restricted(space, search_space)
        if not space.names:
            return space.decode([])
        if space.contains(trial.system_attrs.get("fixed_params", {})):
            return {}  # an enqueued point: it will be data, and no suggestion is needed
        step = self.step(study, trial.number, space, trials)
        if step.used_up and self.is_exhausted(study, trial.number):
            exhaustion.end(study, trial, space)
        if step.slot.initial and self._method.design == "uniform" and not (space.rules or step.avoids_repeats):
            # Parameter by parameter, unless a repeat is to be avoided: that takes a look at the whole point.
            write_tags(study, trial, {"role": "initial", "t": 0})
            return {}
        return self._claimed_point(study, trial, step)

    def _claimed_point(self, study: Study, trial: FrozenTrial, step: Step) -> dict[str, Any]:
        """A point that no other worker has taken or is about to take."""
        slot, space = step.slot, step.history.space
        # A trial whose parameters the user fixed in part is data and nothing else: no tags, hence no claim.
        tagged = "fixed_params" not in trial.system_attrs
        for left in reversed(range(claims.MAX_PROPOSALS)):
            proposal = step.initial(self._method.design) if slot.initial else self._propose(step)
            params, tags = space.decode(proposal.x), {**proposal.tags, "t": slot.t, "n": len(step.history.finished)}
            claimed = self.method != "random" or space.size < np.inf  # else two points never are the same
            if tagged:
                write_tags(study, trial, {**tags, "claim": claims.claim_of(params)} if claimed else tags)
            withdraw = partial(write_tags, study, trial, tags) if tagged else None
            if not left or not claimed or claims.is_won(study, trial, step.history, params, withdraw):
                break
            step = replace(self.step(study, trial.number, space), slot=slot)
        return params

    def step(self, study: Study, number: int, space: SearchSpace, trials: Sequence[FrozenTrial] | None = None) -> Step:
        """What the suggestion of trial `number` starts from: the log as one read finds it, while others go on."""
        trials = corrections.trials_of(study) if trials is None else trials
        trial_log.say_if_infinite(study, trials)
        n_initial = self.n_initial(space.domain.dimension)
        history = trial_log.read_history(study, space, n_initial, self._penalties, leave_out=number, trials=trials)
        declared.say_if_outside(study, history)
        trial_log.say_if_noisy(study, history, self.settings.deterministic)
        say_if_out_of_reach(study, history, self.settings)
        horizon = None if self._n_trials is None else max(1, self._n_trials - n_initial)
        settings = replace(self.settings, horizon=horizon)
        return Step(history, settings, history.next_slot(number), self._method.model, self._method.acquisition)

    def n_initial(self, dimension: int) -> int:
        """Size of the initial design for so many parameters."""
        given = self._n_startup_trials
        return start_up_size(self._method.design, dimension, self._n_trials) if given is None else given

    def is_exhausted(self, study: Study, number: int | None = None) -> bool:
        """Whether the study is to end: there is no noise, and trials other than `number` have every point."""
        trials = [t for t in corrections.trials_of(study) if t.number != number]
        return exhaustion.is_exhausted(self, study, trials)

    @single_threaded
    def _propose(self, step: Step) -> Proposal:
        if step.history.constraints:
            check_constrained(self.method, self._method.constrained)
        return self._method.propose(step)

    def check_suits(self, objectives: int, constrained: bool) -> None:
        """Refuse so many objectives, or constraints, where the method cannot do with them."""
        check_number(objectives, self.method, self._method.several, self.settings)
        check_constrained(self.method, self._method.constrained or not constrained)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Uniform in the unit cube: the initial design, and parameters the model does not cover."""
        check_objectives(study, self.method, self._method.several, self.settings)
        if self._independent_sampler is not None and self._is_uncovered(study, trial, param_name):
            return self._independent_sampler.sample_independent(study, trial, param_name, param_distribution)
        space = SearchSpace.of({param_name: param_distribution})
        # By name, so that the initial design does not depend on the order in which an objective asks.
        rng = np.random.default_rng([self.settings.seed, trial.number, zlib.crc32(param_name.encode())])
        draws = space.domain.uniform(rng, declared.DRAWS if self.subject_to else 1)
        values = [space.decode(row)[param_name] for row in draws]
        return declared.first_allowed(study, trial, param_name, param_distribution, self.subject_to, values)

    def _is_uncovered(self, study: Study, trial: FrozenTrial, name: str) -> bool:
        """Whether the model leaves this parameter out, as far as the finished trials show."""
        finished = corrections.trials_of(study, (TrialState.COMPLETE,))
        return bool(finished) and name not in self.infer_relative_search_space(study, trial)

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments that make this sampler again, as JSON can hold them: what is not a name or a number is None."""
        given = {**vars(self.settings), "method": self.method, "kernel": self.settings.kernel.name}
        given |= {"penalties": self._penalties, "n_trials": self._n_trials, "n_startup_trials": self._n_startup_trials}
        # By name, also where it is the method's own: the default reading may change.
        given["reading"] = self.settings.applied_to(self._method.model).reading
        given["when_exhausted"] = self.when_exhausted
        del given["horizon"]
        found = {name: plain_setting(value) for name, value in given.items()}
        return {**found, **declared.to_record(self._declared, self.subject_to)}


def _read_already(study: Study, trial: FrozenTrial) -> tuple[list[FrozenTrial] | None, SearchSpace | None]:
    """The log from which this trial's space was inferred, just now and in this thread, and the space; None if not."""
    begun, number, trials, space = _begun.__dict__.pop("suggestion", (None, None, None, None))
    return (trials, space) if begun is study and number == trial.number else (None, None)
