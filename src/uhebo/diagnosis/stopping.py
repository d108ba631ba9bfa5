"""When to stop: once the chance that ten more trials improve the best is small."""

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from uhebo.checks import integer, number, optional_integer
from uhebo.diagnosis.opinions import open_noise_prior, theta_chain
from uhebo.diagnosis.prospects import Prospects, look_ahead
from uhebo.diagnosis.words import least_trials
from uhebo.errors import InvalidInputError
from uhebo.numerics.threads import single_threaded
from uhebo.optuna_.believe import model_of
from uhebo.optuna_.trial_log import logger


class StopWhenSettled:
    """A callback for `study.optimize` and `uhebo.minimize` that ends the run when further trials promise little.

    It is for one objective. Where all values are equal it never ends the run: nothing is known of what may come.

    The chance is that of `diagnose`: first under the model's own hyperparameters; where it is small, again over draws
    of them with a prior that is open about noise, because wrong ones make a search look settled.

    Args:
        chance: the run ends when the chance that ten more trials improve the best by more than epsilon is below this.
        epsilon: the improvement that counts, in the units of the value; default 1 % of the interquartile range of the
            values, and at least 0.1 % of their range.
        min_trials: finished trials before which it never ends; default 3 per parameter and 3 more, at least 10.
        every: number of finished trials after which the chance is computed again.
    """

    def __init__(
        self, chance: float = 0.05, *, epsilon: float | None = None, min_trials: int | None = None, every: int = 1
    ) -> None:
        self._below = number("chance", chance, 0.0, 1.0)
        self._epsilon = None if epsilon is None else number("epsilon", epsilon, 0.0, also=" in the units of the value")
        self._min_trials = optional_integer("min_trials", min_trials, 1)
        self._every = integer("every", every, 1)
        self.reason: str | None = None
        """Why the run was ended, in a sentence; None while it was not."""

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        self.reason = None
        if trial.state == TrialState.COMPLETE and self.is_settled(study):
            logger.info(self.reason)
            study.stop()

    def check_suits(self, objectives: int) -> None:
        """Refuse a study with several objectives."""
        if objectives > 1:
            raise InvalidInputError(
                f"StopWhenSettled is for one objective, and this study has {objectives}; result.hypervolume shows "
                "whether the front still grows, and a callback of your own may call study.stop()"
            )

    @single_threaded
    def is_settled(self, study: Study) -> bool:
        """Whether a study is to end now; for those who ask and tell themselves."""
        self.check_suits(len(study.directions))
        model = model_of(study)
        trials, names = len(model.history.finished), model.history.space.names
        least = least_trials(len(names)) if self._min_trials is None else self._min_trials
        if trials < least or trials % self._every or not names or not model.history.data.y.any():
            return False
        belief = model.believe()
        seed = int(belief.numbers[-1])
        found = look_ahead(belief, None, self._epsilon, np.random.default_rng([seed, 5]))
        if found.chance is None or found.chance >= self._below:
            return False
        chain = theta_chain(belief, np.random.default_rng([seed, 2]), open_noise_prior(len(belief.theta.ell)))
        found = look_ahead(belief, chain.draws, self._epsilon, np.random.default_rng([seed, 5]))
        if found.chance is None or found.best_value is None or found.chance >= self._below:
            return False
        self.reason = said(found)
        return True


def said(found: Prospects) -> str:
    """The chance in a sentence."""
    chance = "below 0.1 %" if found.chance is None or found.chance < 0.001 else f"{100 * found.chance:.2g} %"
    return (
        f"settled: the chance that {found.trials} more trials improve the best ({found.best_value:.6g}) by more than "
        f"{found.epsilon:.3g} is {chance}"
    )
