"""Acquisition functions against integrals, finite differences and BoTorch; the maximiser against brute force."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from tests.conftest import require
from uhebo import Categorical, Float, Int
from uhebo.acquire.functions import ACQUISITIONS, Scalar, log_ei, log_h, log_pi, surface, ucb
from uhebo.acquire.limits import Limits, at_least
from uhebo.acquire.maximise import (
    ENUMERATED,
    Explored,
    all_points,
    distance_to_nearest,
    first_free,
    line_points,
    maximise,
    maximise_sample,
    random_point,
)
from uhebo.acquire.pending import Pending, with_pending
from uhebo.errors import InvalidInputError
from uhebo.gp import KERNELS, Data, Domain, Posterior, Theta
from uhebo.numerics.threads import single_threaded
from uhebo.space import SearchSpace
from uhebo.types import Array

SURFACES = [name for name in ACQUISITIONS if name != "thompson"]


def posterior(domain: Domain, n: int = 15, seed: int = 0, s2: float = 1e-3, kernel: str = "matern52") -> Posterior:
    rng = np.random.default_rng(seed)
    X = domain.uniform(rng, n)
    y = np.sin(6 * X[:, 0]) + np.cos(4 * X[:, -1]) + 0.3 * rng.standard_normal(n)
    return Posterior.of(Data.of(X, y, domain), Theta.of(rng.uniform(0.2, 0.8, domain.dimension), 1.2, s2), kernel)


# The scalar functions


def scaled_h(u: float) -> float:
    """h(u)/φ(u) = ∫ s exp(u s - s²/2) ds over s > 0; with w = -u s for the left tail, a sum of positive terms."""
    if u > -1.0:
        return float(
            quad(lambda s: s * math.exp(u * s - s * s / 2), 0.0, max(u, 0.0) + 40.0, epsabs=0, epsrel=1e-12)[0]
        )
    tail = quad(lambda w: w * math.exp(-w - (w / u) ** 2 / 2), 0.0, 60.0, epsabs=0, epsrel=1e-12)[0]
    return float(tail) / u**2


def scaled_phi(u: float) -> float:
    """Φ(u)/φ(u) = ∫ exp(u s - s²/2) ds over s > 0, in the same way."""
    if u > -1.0:
        return float(quad(lambda s: math.exp(u * s - s * s / 2), 0.0, max(u, 0.0) + 40.0, epsabs=0, epsrel=1e-12)[0])
    return float(quad(lambda w: math.exp(-w - (w / u) ** 2 / 2), 0.0, 60.0, epsabs=0, epsrel=1e-12)[0]) / -u


@pytest.mark.parametrize("u", [5.0, 1.0, 0.0, -0.5, -1.0, -1.0001, -3.0, -30.0, -1e3, -9.9e4, -1.1e5, -1e6, -1e9])
def test_log_h_and_its_slopes_are_the_integrals(u: float) -> None:
    value, up, spread = (float(found[0]) for found in log_h(np.array([u])))
    h, distribution = scaled_h(u), scaled_phi(u)
    # 1 + u Φ/φ loses u² of its 16 digits before the asymptotic branch takes over.
    digits = max(1e-10, 2e-16 * min(u, 1.0) ** 2 if u > -1e5 else 1e-9)
    assert value == pytest.approx(math.log(h) - u * u / 2 - 0.5 * math.log(2 * math.pi), rel=1e-12, abs=digits)
    assert up == pytest.approx(distribution / h, rel=digits)
    assert spread == pytest.approx(1.0 / h, rel=digits)


def test_log_h_is_smooth_where_its_branches_meet() -> None:
    for border in (-1.0, -1e5):
        u = border * np.array([1 - 1e-9, 1 + 1e-9])
        for found in log_h(u):
            assert found[0] == pytest.approx(found[1], rel=1e-4)


def test_log_h_gives_no_warning_and_nothing_infinite() -> None:
    with np.errstate(all="raise", under="ignore"):
        for found in log_h(np.array([-1e12, -1e5, -40.0, 0.0, 40.0, 1e6])):
            assert np.isfinite(found).all()


@pytest.mark.parametrize(
    ("mean", "deviation", "best"), [(0.3, 0.5, 0.0), (-1.0, 0.2, 0.5), (2.0, 1e-3, 1.0), (0, 2, 1)]
)
def test_log_ei_and_pi_are_the_integrals_they_stand_for(mean: float, deviation: float, best: float) -> None:
    centre = max(best, mean)
    improvement = quad(
        lambda f: (f - best) * norm.pdf(f, mean, deviation),
        best,
        centre + 12 * deviation,
        points=[centre],
        epsabs=0,
        epsrel=1e-11,
    )[0]
    found = log_ei(best)(np.array([mean]), np.array([deviation]))[0][0]
    assert found == pytest.approx(math.log(improvement), abs=1e-8)
    found = log_pi(best)(np.array([mean]), np.array([deviation]))[0][0]
    assert found == pytest.approx(norm.logsf(best, mean, deviation), rel=1e-12)


def test_ucb_is_mean_plus_beta_deviations() -> None:
    value, by_mean, by_deviation = ucb(1.96)(np.array([0.5, -1.0]), np.array([2.0, 0.1]))
    np.testing.assert_allclose(value, [0.5 + 3.92, -1.0 + 0.196])
    np.testing.assert_allclose((by_mean, by_deviation), [[1.0, 1.0], [1.96, 1.96]])


@pytest.mark.parametrize("scalar", [ucb(1.4), log_ei(0.3), log_pi(0.3)], ids=["ucb", "log-ei", "pi"])
def test_scalar_derivatives(scalar: Scalar) -> None:
    rng = np.random.default_rng(0)
    mean, deviation = rng.normal(0, 2, 40), rng.uniform(0.05, 2, 40)
    _, by_mean, by_deviation = scalar(mean, deviation)
    step = 1e-6
    difference = (scalar(mean + step, deviation)[0] - scalar(mean - step, deviation)[0]) / (2 * step)
    np.testing.assert_allclose(by_mean, difference, rtol=1e-6, atol=1e-8)
    difference = (scalar(mean, deviation + step)[0] - scalar(mean, deviation - step)[0]) / (2 * step)
    np.testing.assert_allclose(by_deviation, difference, rtol=1e-6, atol=1e-8)


@pytest.mark.gpytorch
def test_log_h_agrees_with_botorch() -> None:
    torch = require("torch", "pip install torch==2.13.0")
    analytic = require("botorch.acquisition.analytic", "pip install 'uhebo[botorch]'")
    u = np.concatenate([np.linspace(-40, 8, 500), -np.logspace(1, 6, 50)])
    at = torch.tensor(u, requires_grad=True)
    expected = analytic._log_ei_helper(at)
    (slope,) = torch.autograd.grad(expected.sum(), at)
    value, up, _ = log_h(u)
    np.testing.assert_allclose(value, expected.detach().numpy(), rtol=1e-8, atol=1e-8)
    # BoTorch's own slope is good to four digits only in the far tail.
    np.testing.assert_allclose(up, slope.numpy(), rtol=1e-3)
    np.testing.assert_allclose(up[u > -1e5], slope.numpy()[u > -1e5], rtol=1e-5)


# Surfaces


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("name", SURFACES)
def test_gradients_in_x(name: str, count: int, kernel: str) -> None:
    domain = Domain((0, 3, 0))
    target = surface(name, [posterior(domain, seed=s, kernel=kernel) for s in range(count)], beta=1.96, best=1.0)
    X = domain.uniform(np.random.default_rng(9), 25)
    value, gradient = target.with_gradient(X)
    np.testing.assert_allclose(value, target(X), rtol=1e-10)
    np.testing.assert_array_equal(gradient[:, 1], 0.0)
    for column in domain.numeric:
        step = 1e-5 * np.eye(3)[column]
        difference = (target(X + step) - target(X - step)) / 2e-5
        np.testing.assert_allclose(gradient[:, column], difference, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("best", [30.0, 1e3, 1e6])
@pytest.mark.parametrize("name", ["log-ei", "pi"])
def test_gradients_in_the_far_tail(name: str, best: float) -> None:
    """Improvement is next to impossible everywhere: the value is hugely negative, and still there is a way up."""
    domain = Domain.cube(2)
    target = surface(name, [posterior(domain), posterior(domain, seed=1)], beta=0.0, best=best)
    X = domain.uniform(np.random.default_rng(3), 10)
    value, gradient = target.with_gradient(X)
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()
    assert np.abs(gradient).max(axis=1).min() > 0.0
    for column in range(2):
        step = 1e-5 * np.eye(2)[column]
        difference = (target(X + step) - target(X - step)) / 2e-5
        np.testing.assert_allclose(gradient[:, column], difference, rtol=1e-3, atol=1e-6 * np.abs(gradient).max())


def test_a_surface_is_the_mean_over_posteriors_of_what_is_meant() -> None:
    domain = Domain.cube(2)
    several = [posterior(domain, seed=s) for s in range(4)]
    X = domain.uniform(np.random.default_rng(1), 7)
    for name in SURFACES:
        single = np.array([surface(name, [p], beta=1.5, best=0.4)(X) for p in several])
        expected = single.mean(axis=0) if name == "ucb" else np.log(np.exp(single).mean(axis=0))
        np.testing.assert_allclose(surface(name, several, beta=1.5, best=0.4)(X), expected, rtol=1e-12, atol=1e-12)


def test_a_noiseless_data_point_is_a_finite_and_bad_choice() -> None:
    domain = Domain.cube(2)
    known = posterior(domain, s2=1e-12)
    for name in ("log-ei", "pi"):
        target = surface(name, [known], beta=1.0, best=float(known.data.y.max()))
        value, gradient = target.with_gradient(known.data.X)
        assert np.isfinite(value).all()
        assert np.isfinite(gradient).all()
        # Elsewhere there is more to be had than at the best of them.
        assert value.max() < target(domain.uniform(np.random.default_rng(77), 50)).max() - 0.5


def test_no_other_name_is_a_surface() -> None:
    for name, message in (("thompson", "'thompson' has no surface"), ("ei", "unknown acquisition 'ei'")):
        with pytest.raises(InvalidInputError, match=message):
            surface(name, [], beta=1.0, best=0.0)


# Pending points


def test_pending_points_shrink_the_variance_and_leave_the_mean() -> None:
    domain = Domain((0, 0, 3))
    before = [posterior(domain, seed=s) for s in range(3)]
    pending, X = domain.uniform(np.random.default_rng(5), 4), domain.uniform(np.random.default_rng(6), 50)
    for old, new in zip(before, with_pending(before, pending), strict=True):
        np.testing.assert_allclose(new.predict(X)[0], old.predict(X)[0], atol=1e-9)
        assert (new.predict(X)[1] <= old.predict(X)[1] + 1e-12).all()
        assert (new.predict(pending)[1] < 0.1 * old.predict(pending)[1] + 2e-3).all()
        assert new.predict(X)[1].sum() < old.predict(X)[1].sum()
    assert with_pending(before, np.empty((0, 3))) == tuple(before)


def test_posteriors_that_are_to_agree_see_the_same_values_at_pending_points() -> None:
    domain = Domain((0, 0, 3))
    before = [posterior(domain, seed=s) for s in range(3)]
    pending = domain.uniform(np.random.default_rng(5), 4)
    spread = [np.std([p.mean(pending) for p in at], axis=0).max() for at in (before, with_pending(before, pending))]
    assert spread[1] > 0.5 * spread[0]
    agreed = with_pending(before, pending, agreed=True)
    assert np.std([p.mean(pending) for p in agreed], axis=0).max() < 0.1 * spread[0]
    for old, new in zip(with_pending(before, pending), agreed, strict=True):
        np.testing.assert_array_equal(old.predict(pending)[1], new.predict(pending)[1])


def test_undecided_trials_choose_first_and_their_points_are_pending() -> None:
    domain = Domain.cube(2)
    before, points = (posterior(domain),), domain.uniform(np.random.default_rng(7), 40)
    known = Explored(SearchSpace.of({"x": Float(0, 1), "y": Float(0, 1)}), points[:0], before[0].data.X)
    chosen: list[Array] = []

    def choose(posteriors: tuple[Posterior, ...], known: Explored, limits: Limits) -> Array:
        """The first point, then the first that is not taken; every one chosen before is pending."""
        for conditioned in (posteriors[0], limits[0].posteriors[0]):
            assert len(conditioned.data) == len(before[0].data) + 1 + len(chosen)
        chosen.append(first_free(points, -np.arange(40.0), known))
        return chosen[-1]

    point = Pending(points[39:], np.array([True]), 3).next_point(before, known, choose, limits=(at_least(before, 0.0),))
    np.testing.assert_array_equal(chosen, points[:4])
    np.testing.assert_array_equal(point, points[3])
    # More than eight that think are workers that died.
    assert Pending(points[:0], np.zeros(0, dtype=bool), 50).in_turn(0, lambda n: np.array([n]), lambda n, _: n + 1) == 8


def test_under_a_ceiling_pending_points_are_no_improvement() -> None:
    domain = Domain((0, 0, 3))
    before = posterior(domain, seed=1)
    pending = domain.uniform(np.random.default_rng(5), 4)
    mean = before.predict(pending)[0]
    ceiling = float(np.median(mean))
    (after,) = with_pending([before], pending, ceiling)
    np.testing.assert_array_equal(after.data.y[-4:], np.minimum(mean, ceiling))


# The maximiser

SPACES = {
    "2-D": SearchSpace.of({"x": Float(0, 1), "y": Float(1, 10, log=True)}),
    "6-D": SearchSpace.of({f"x{i}": Float(0, 1) for i in range(6)}),
    "mixed": SearchSpace.of(
        {"x": Float(0, 1), "i": Int(1, 500, log=True), "s": Float(0, 1, step=0.1), "c": Categorical(list("abcd"))}
    ),
    "discrete": SearchSpace.of({"i": Int(0, 99), "j": Int(-50, 50), "c": Categorical([1, 2, 3])}),
    "categories": SearchSpace.of({name: Categorical(list("abcdefgh")) for name in "uvw"}),
}


def found_and_random(name: str, space: SearchSpace, seed: int, taken: Array | None = None) -> tuple[float, float]:
    """The value of the maximiser's point, and the best of 20,000 random points."""
    known = posterior(space.domain, n=25, seed=seed)
    target = surface(name, [known], beta=1.96, best=float(known.data.y.max()))
    leaders = known.data.X[np.argsort(-known.data.y)[:4]]
    search = Explored(space, leaders, np.empty((0, space.domain.dimension)) if taken is None else taken)
    point = maximise(target, search, np.random.default_rng(seed))
    check_point(space, point)
    rows = space.snap(space.domain.uniform(np.random.default_rng(100 + seed), 20_000))
    best = max(float(target(part).max()) for part in np.array_split(rows, 10))
    return float(target(point[None])[0]), best


def check_point(space: SearchSpace, point: Array) -> None:
    assert point.shape == (space.domain.dimension,)
    np.testing.assert_allclose(space.encode(space.decode(point)), point, atol=1e-12)


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize("name", ["ucb", "log-ei"])
def test_the_maximiser_is_at_least_as_good_as_twenty_thousand_random_points(name: str, space: SearchSpace) -> None:
    for seed in range(3):
        found, best = found_and_random(name, space, seed)
        assert found >= best - 1e-6 * abs(best)


@pytest.mark.parametrize("corner", [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)])
def test_an_optimum_on_the_border_is_met_exactly(corner: Sequence[float]) -> None:
    space = SPACES["2-D"]
    X = space.domain.uniform(np.random.default_rng(0), 20)
    y = -np.abs(X - corner).sum(axis=1)
    known = Posterior.of(Data.of(X, y, space.domain), Theta.of([1.5, 1.5], 1.0, 1e-4))
    search = Explored(space, X[np.argmax(y)][None], np.empty((0, 2)))
    found = maximise(surface("ucb", [known], beta=0.1, best=0.0), search, np.random.default_rng(0))
    np.testing.assert_allclose(found, corner, atol=1e-9)


@pytest.mark.parametrize("acquisition", ACQUISITIONS)
def test_taken_points_are_passed_over_while_another_exists(acquisition: str) -> None:
    space = SearchSpace.of({"i": Int(0, 5), "c": Categorical(list("abc"))})
    known, rng = posterior(space.domain, n=6), np.random.default_rng(0)
    taken = np.empty((0, 2))
    for _ in range(18):
        search = Explored(space, known.data.X[:2], taken)
        if acquisition == "thompson":
            point = maximise_sample(known, search, rng)
        else:
            point = maximise(surface(acquisition, [known], beta=1.96, best=0.5), search, rng)
        check_point(space, point)
        taken = np.concatenate([taken, point[None]])
    assert len(np.unique(taken, axis=0)) == 18
    search = Explored(space, known.data.X[:2], taken)
    check_point(space, maximise(surface("ucb", [known], beta=1.96, best=0.5), search, rng))  # a repeat, and no hang
    check_point(space, maximise_sample(known, search, rng))
    check_point(space, random_point(search, rng))


@pytest.mark.parametrize("acquisition", [*ACQUISITIONS, "random"])
def test_the_last_free_point_of_a_space_that_is_scored_in_full_is_found(acquisition: str) -> None:
    space = SearchSpace.of({"i": Int(1, ENUMERATED // 2), "c": Categorical(["a", "b"])})
    known, rng, points = posterior(space.domain), np.random.default_rng(0), all_points(space)
    search = Explored(space, known.data.X[:2], np.delete(points, 1234, axis=0))
    if acquisition == "thompson":
        found = maximise_sample(known, search, rng)
    elif acquisition == "random":
        found = random_point(search, rng)
    else:
        found = maximise(surface(acquisition, [known], beta=1.96, best=0.5), search, rng)
    np.testing.assert_array_equal(found, points[1234])


def test_a_taken_optimum_in_a_continuous_space_gives_way_to_the_next_best() -> None:
    space = SPACES["2-D"]
    known = posterior(space.domain)
    target = surface("ucb", [known], beta=1.96, best=0.0)
    leaders = known.data.X[:4]
    first = maximise(target, Explored(space, leaders, np.empty((0, 2))), np.random.default_rng(0))
    second = maximise(target, Explored(space, leaders, first[None]), np.random.default_rng(0))
    assert not np.array_equal(first, second)
    assert float(target(second[None])[0]) > float(target(first[None])[0]) - 0.1


@single_threaded
def test_without_leaders_there_is_no_cloud_and_still_a_point() -> None:
    for space in SPACES.values():
        nothing = np.empty((0, space.domain.dimension))
        none = Posterior.of(Data.of(nothing, [], space.domain), Theta.of([0.3] * space.domain.dimension, 1.0, 0.01))
        check_point(
            space,
            maximise(
                surface("ucb", [none], beta=1.0, best=0.0),
                Explored(space, nothing, nothing),
                rng=np.random.default_rng(0),
            ),
        )
        check_point(space, maximise_sample(none, Explored(space, nothing, nothing), np.random.default_rng(0)))


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
@single_threaded
def test_thompson_sampling_follows_the_posterior(space: SearchSpace) -> None:
    """Its points differ from draw to draw, and are better under the mean than uniform ones."""
    X = space.domain.uniform(np.random.default_rng(0), 60)
    data = Data.of(X, X[:, 0] / max(space.domain.categories[0], 1), space.domain)
    known = Posterior.of(data, Theta.of([0.5] + [3.0] * (X.shape[1] - 1), 1.0, 1e-3))
    search = Explored(space, X[:4], np.empty((0, space.domain.dimension)))
    points = np.array([maximise_sample(known, search, np.random.default_rng(seed)) for seed in range(6)])
    for point in points:
        check_point(space, point)
    assert len(np.unique(points, axis=0)) > 2
    uniform = space.snap(space.domain.uniform(np.random.default_rng(0), 2000))
    assert known.predict(points)[0].mean() > known.predict(uniform)[0].mean() + 0.3


def test_random_points_are_uniform_and_free() -> None:
    space = SearchSpace.of({"i": Int(0, 3), "c": Categorical(["a", "b"])})
    nothing, points = np.empty((0, 2)), all_points(space)
    rng = np.random.default_rng(0)
    drawn = np.array([random_point(Explored(space, nothing, nothing), rng) for _ in range(800)])
    assert np.unique(drawn, axis=0, return_counts=True)[1].min() > 60
    drawn = np.array([random_point(Explored(space, nothing, points[:5]), rng) for _ in range(300)])
    found, counts = np.unique(drawn, axis=0, return_counts=True)
    np.testing.assert_array_equal(found, points[5:])
    assert counts.min() > 60


def test_line_points_differ_from_their_centre_in_one_column_and_cover_it() -> None:
    space = SearchSpace.of({"x": Float(0, 1), "k": Int(1, 5), "c": Categorical(["a", "b", "c"])})
    centre = space.snap(np.array([[0.4, 0.5, 1.0]]))[0]
    points = line_points(space, centre, np.random.default_rng(0))
    changed = points != centre
    assert (changed.sum(axis=1) <= 1).all()
    numbers = np.sort(points[changed[:, 0], 0])
    assert numbers[0] < 1 / 64
    assert numbers[-1] > 1 - 1 / 64
    assert np.diff(numbers).max() < 0.02
    assert {row["k"] for row in map(space.decode, points)} == {1, 2, 3, 4, 5}
    assert {row["c"] for row in map(space.decode, points)} == {"a", "b", "c"}


def test_distance_to_nearest_is_that_of_brute_force() -> None:
    space = SearchSpace.of({"x": Float(0, 1), "y": Float(0, 1)})
    rng = np.random.default_rng(1)
    points, occupied = rng.random((20, 2)), rng.random((7, 2))
    expected = [min(float(((p - o) ** 2).sum()) for o in occupied) for p in points]
    np.testing.assert_allclose(distance_to_nearest(space, points, occupied), expected)
    assert np.isinf(distance_to_nearest(space, points, np.empty((0, 2)))).all()
