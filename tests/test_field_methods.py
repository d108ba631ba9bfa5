"""Methods of the field beside the paper's: each has the property that defines it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import optuna
import pytest
from scipy import integrate, stats

from uhebo import UHESampler
from uhebo.acquire.functions import surface
from uhebo.acquire.maximise import uniform_and_corners
from uhebo.gp import Data, LogMarginalLikelihood, Posterior, Theta
from uhebo.gp.posterior import sample_paths
from uhebo.methods.candidates import Taken, fixed_candidates, taken_before
from uhebo.methods.hyperprior import log_evidence
from uhebo.methods.lengthscale_balancing import balanced, joined, shortened
from uhebo.methods.prior_elimination import remaining
from uhebo.methods.scorebo import OPTIMA, SEEN, cut_off, drawn_optima, hellinger, knowing, self_correction
from uhebo.methods.table import METHODS
from uhebo.optuna_.trial_log import ATTRIBUTE, checked_tags
from uhebo.space import SearchSpace


def rough(x: float, y: float) -> float:
    return math.sin(25 * x) * math.cos(20 * y) - (x - 0.7) ** 2


def searched(method: str, trials: int, seed: int = 0) -> tuple[optuna.Study, list[dict[str, Any]]]:
    study = optuna.create_study(direction="maximize", sampler=UHESampler(method=method, seed=seed, n_trials=trials))
    study.optimize(lambda t: rough(t.suggest_float("x", 0, 1), t.suggest_float("y", 0, 1)), n_trials=trials)
    return study, [trial.system_attrs[ATTRIBUTE] for trial in study.trials]


def made_up(n: int = 20, ell: float = 0.1) -> Data:
    rng = np.random.default_rng(0)
    X = rng.random((n, 2))
    return Data.of(X, np.sin(X[:, 0] / ell) + np.cos(X[:, 1] / ell))


def taken(
    candidate: int, error: float, bound: float = 0.1, t: int = 1, value: float = 0.0, noise: float = 1e-6
) -> Taken:
    return Taken(candidate, t, bound, error, value, noise)


# PE-GP-UCB


def test_a_prior_whose_errors_leave_its_bounds_is_out_for_good() -> None:
    refuted = [taken(1, 0.5)]
    assert remaining(refuted, 3) == [0, 2]
    assert remaining([*refuted, taken(1, -0.5)], 3) == [0, 2]  # later luck does not bring it back
    assert remaining([*refuted, taken(2, 0.0, noise=1.0)], 3) == [0, 2]  # nor does more noise, found later
    assert remaining([taken(1, 0.09), taken(1, -0.09)], 3) == [0, 1, 2]
    assert remaining([taken(1, 0.5, noise=1.0)], 3) == [0, 1, 2]  # that much noise explains it
    assert remaining([taken(k, 9.0) for k in range(3)], 3) == [0, 1, 2]  # none is left: all are back


def test_pe_gp_ucb_is_optimistic_over_priors() -> None:
    study, tags = searched("pe-gp-ucb", 30)
    last = tags[-1]
    history = optuna.create_study(direction="maximize", sampler=study.sampler)
    history.add_trials(study.trials[:-1])
    step = UHESampler(method="pe-gp-ucb", seed=0, n_trials=30).step(history, 29, space_of(study))
    fit = step.fit("map")
    posteriors = fixed_candidates(fit)
    left = remaining(taken_before(step, fit), len(posteriors))
    point = np.array([[study.trials[-1].params["x"], study.trials[-1].params["y"]]])
    bounds = [float(surface("ucb", (p,), beta=1.96, best=0.0)(point)[0]) for p in posteriors]
    grid = np.random.default_rng(0).random((2000, 2))
    highest = [float(surface("ucb", (p,), beta=1.96, best=0.0)(grid).max()) for p in posteriors]
    assert bounds[last["candidate"]] >= max(highest[k] for k in left) - 1e-6
    assert last["beta"] == 1.96


def space_of(study: optuna.Study) -> Any:
    return SearchSpace.of(dict(study.trials[0].distributions))


# LB-GP-UCB


def test_shorter_lengthscales_join_and_stay() -> None:
    counts = [joined(t, 2) for t in range(1, 1000)]
    assert counts[0] == 5
    assert counts == sorted(counts)
    assert counts[-1] == 7
    assert joined(1000, 6) == 12
    for t, dimension in ((1, 1), (50, 3), (200, 2)):
        growth = max(math.exp(5 / dimension), math.sqrt(t))  # section 5 of the paper
        kept = [k for k in range(12) if math.exp(-k / dimension) > 1.0000001 / growth]
        assert joined(t, dimension) == len(kept)


def test_candidates_are_the_lengthscales_of_maximum_likelihood_ever_shorter() -> None:
    data = made_up(15)
    base = Posterior.of(data, Theta.of([0.3, 0.8], 2.0, 1e-3))
    for k in range(6):
        candidate = shortened(base, k)
        np.testing.assert_allclose(candidate.theta.ell, np.array([0.3, 0.8]) * math.exp(-k / 2), rtol=1e-12)
        assert (candidate.theta.v, candidate.theta.s2) == (2.0, 1e-3)
    study, _ = searched("lb-gp-ucb", 14)
    step = UHESampler(method="lb-gp-ucb", seed=0, n_trials=30).step(study, 14, space_of(study))
    fit = step.fit("mle")
    proposal = METHODS["lb-gp-ucb"].propose(step)
    mean, variance = shortened(fit.posterior, proposal.tags["candidate"]).predict(proposal.x[None])
    found = [step.data.location + step.data.scale * mean[0], step.data.scale * math.sqrt(variance[0])]
    np.testing.assert_allclose(proposal.tags["predicted"], found, rtol=1e-6)
    assert proposal.tags["noise"] == pytest.approx(step.data.scale * math.sqrt(fit.theta.s2))


def always(count: int) -> Callable[[int], int]:
    return lambda _: count


def test_a_candidate_that_its_bound_cannot_excuse_is_out() -> None:
    good = [taken(0, 0.0, bound=0.1, value=2.0)] * 3
    bad = [*good, *[taken(1, 0.0, bound=0.1, value=0.0)] * 3]
    assert balanced(bad, always(2), 6) == [0]
    assert balanced([*bad, *[taken(0, 0.0, value=2.0, noise=9.0)] * 3], always(2), 9) == [0]  # for good
    assert balanced([*good, *[taken(1, 0.0, bound=2.0, value=0.0)] * 3], always(2), 6) == [0, 1]
    assert balanced(good, always(2), 3) == [0, 1]  # one of them has not been tried


def test_the_bound_that_excuses_a_candidate_is_twice_beta_sigma_and_the_noise_of_both() -> None:
    noise = math.sqrt(2e-2 * math.log(2 * math.pi**2 / 0.3))
    for short, left in ((1e-6, [0, 1]), (-1e-6, [0])):
        worse = 2 * 0.1 + 2 * noise - short
        past = [taken(0, 0.0, value=1.0, noise=1e-2), taken(1, 0.0, bound=0.1, value=1.0 - worse, noise=1e-2)]
        assert balanced(past, always(2), 2) == left


def test_a_candidate_that_joins_brings_none_back() -> None:
    past = [taken(k, 0.0, t=2 * i + k + 1, value=2.0 * (1 - k)) for i in range(3) for k in (0, 1)]

    def later(t: int) -> int:
        return 2 if t <= 6 else 3

    assert balanced(past, always(2), 6) == [0]
    assert balanced(past, later, 7) == [0, 2]
    assert balanced([*past, taken(0, 0.0, t=7, value=2.0)], later, 8) == [0, 2]  # the new one has not been tried
    assert balanced([*past, taken(2, 0.0, t=7, value=0.0)], later, 8) == [0]


def test_lb_gp_ucb_balances_regret_bounds() -> None:
    _, tags = searched("lb-gp-ucb", 30)
    model = [tag for tag in tags if tag["role"] == "model"]
    used = [tag["candidate"] for tag in model]
    assert len(set(used)) > 1
    spent = dict.fromkeys(set(used), 0.0)
    for tag in model:
        assert tag["estimator"] == "mle"
        spent[tag["candidate"]] += 2 * tag["beta"] * tag["predicted"][1]
    # Nobody runs ahead of the others by more than a few steps of its own.
    largest = max(2 * tag["beta"] * tag["predicted"][1] for tag in model)
    assert max(spent.values()) < min(spent.values()) + 6 * largest


# HP-GP-TS


def test_the_evidence_of_a_prior_is_its_likelihood() -> None:
    data = made_up()
    thetas = [Theta.of([ell] * 2, 1.0, 1e-3) for ell in (0.1, 0.5)]
    ours = [log_evidence(Posterior.of(data, theta)) for theta in thetas]
    loss = LogMarginalLikelihood([(data.X, data.y)], "matern52", data.domain)
    values = loss(np.array([theta.to_log() for theta in thetas]))[0]
    assert ours[0] - ours[1] == pytest.approx(values[0] - values[1], abs=1e-8)


def test_hp_gp_ts_draws_the_prior_that_explains_the_data() -> None:
    _, tags = searched("hp-gp-ts", 40)
    late = [tag["candidate"] for tag in tags[25:]]
    assert np.median(late) <= 1  # the function is rough: lengthscale about 0.05 to 0.15


# SCoreBO


def test_moments_of_a_normal_that_is_cut_off() -> None:
    for top in (-1.0, 0.5, 3.0):
        mean, variance = cut_off(np.array(0.3), np.array(0.49), np.array(top))
        oracle = stats.truncnorm(-np.inf, (top - 0.3) / 0.7, loc=0.3, scale=0.7)
        assert float(mean) == pytest.approx(oracle.mean(), abs=1e-6)
        assert float(variance) == pytest.approx(oracle.var(), abs=1e-6)


def test_hellingers_distance_is_that_of_the_integral() -> None:
    one, two = stats.norm(0.2, 0.5), stats.norm(1.0, 1.2)
    overlap = integrate.quad(lambda y: math.sqrt(one.pdf(y) * two.pdf(y)), -10, 10)[0]
    found = hellinger(np.array(0.2), np.array(0.25), np.array(1.0), np.array(1.44))
    assert float(found) == pytest.approx(math.sqrt(1 - overlap), abs=1e-6)
    assert float(hellinger(np.array(1.0), np.array(2.0), np.array(1.0), np.array(2.0))) == 0.0


def two_thetas(data: Data, ells: tuple[float, ...] = (0.1, 1.0)) -> tuple[Posterior, ...]:
    return tuple(Posterior.of(data, Theta.of([ell] * 2, 1.0, 1e-4)) for ell in ells)


def test_a_known_optimum_is_a_value_that_was_seen_and_that_nothing_exceeds() -> None:
    data, X = made_up(12, ell=0.3), np.random.default_rng(1).random((50, 2))
    (posterior,) = two_thetas(data, (0.3,))
    place, high = np.array([[0.35, 0.6]]), np.array([9.0])  # so high that nothing is cut off
    seen = Data.of(np.concatenate([data.X, place]), np.append(data.y, high))
    seen = replace(seen, y=np.append(data.y, high))
    variances = np.append(np.full(12, 1e-4), SEEN)
    by_hand = Posterior.of(seen, Theta.of([0.3] * 2, 1.0, 1e-14), variances=variances).predict(X)
    mean, variance = knowing(posterior, (place, high), X)
    far = by_hand[0] + 6 * np.sqrt(by_hand[1]) < high
    assert far.sum() > 20
    np.testing.assert_allclose(mean[0][far], by_hand[0][far], atol=1e-6)
    np.testing.assert_allclose(variance[0][far], by_hand[1][far], atol=1e-6)
    low = np.array([1.0])
    mean, variance = knowing(posterior, (place, low), np.concatenate([place, X]))
    assert mean[0][0] == pytest.approx(1.0, abs=1e-3)
    assert variance[0][0] < 1e-6  # the place of the optimum holds no more secrets
    assert mean[0].max() < 1.0 + 1e-9


def test_drawn_optima_are_maxima_of_functions_of_the_posterior() -> None:
    space = SearchSpace.of({name: optuna.distributions.FloatDistribution(0, 1) for name in "xy"})
    data = made_up(30, ell=0.3)
    (posterior,) = two_thetas(data, (0.3,))
    points = uniform_and_corners(space, np.random.default_rng(2))
    places, heights = drawn_optima(posterior, points, space, np.random.default_rng(3))
    paths = sample_paths(posterior, np.random.default_rng(3), OPTIMA)
    np.testing.assert_allclose([paths(place[None])[k, 0] for k, place in enumerate(places)], heights)
    dense = paths(np.random.default_rng(4).random((20_000, 2))).max(axis=1)
    assert (heights > dense - 0.02).all()
    assert places.min() >= 0
    assert places.max() <= 1


def test_scorebo_looks_where_thetas_disagree_and_where_the_optimum_may_be() -> None:
    data, X = made_up(12, ell=0.3), np.random.default_rng(1).random((300, 2))
    posteriors = two_thetas(data)
    # An optimum out of reach, so high that it cuts nothing off, teaches nothing: only theta is left to learn.
    high = [(np.full((1, 2), 50.0), np.array([1e6]))] * 2
    worth = self_correction(posteriors, high, X)
    assert self_correction(posteriors, high, data.X).max() < 0.3 * np.median(worth)  # both thetas agree there
    assert self_correction(posteriors[:1], high[:1], X).max() < 1e-4
    # With one theta the optimum alone is left to learn: near where it may be.
    place = np.array([[0.5, 0.5]])
    top = [(place, posteriors[1].mean(place) + 1.0)]
    found = self_correction(posteriors[1:], top, X)
    near = np.linalg.norm(X - place, axis=1) < 0.15
    assert found[near].min() > np.median(found[~near])


# Fully Bayesian LogEI


@pytest.mark.usefixtures("short_chains")
def test_fb_log_ei_is_the_log_of_the_mean_improvement() -> None:
    method = METHODS["fb-log-ei"]
    assert (method.model.estimator, method.acquisition) == ("hmc", "log-ei")
    data = made_up()
    posteriors = tuple(Posterior.of(data, Theta.of([ell] * 2, 1.0, 1e-3)) for ell in (0.1, 0.3, 0.9))
    X = np.random.default_rng(3).random((5, 2))
    each = [surface("log-ei", (p,), beta=0.0, best=0.5)(X) for p in posteriors]
    together = surface("log-ei", posteriors, beta=0.0, best=0.5)(X)
    np.testing.assert_allclose(together, np.log(np.mean(np.exp(each), axis=0)))


def test_tags_are_checked() -> None:
    good: dict[str, Any] = {"candidate": 2, "predicted": [0.1, 0.2], "beta": 1.96}
    assert checked_tags(good) == (good, ())
    for bad in (
        {"candidate": -1},
        {"candidate": 1.5},
        {"predicted": [1.0]},
        {"predicted": [0.0, -1.0]},
        {"predicted": 3},
        {"noise": -1.0},
    ):
        tags, names = checked_tags({**good, **bad})
        assert set(bad) <= set(names)
        assert "predicted" not in tags or "noise" in bad
