"""What a user may set of any method, and the settings that the paper's theorem is about, as far as a sampler can set
them:

    β_t of its schedule          the multiplier of UCB is √β_t, 7.3 to 7.8 at t = 50 to 100 in two dimensions, not 1.96
    the loss in full             no blocks, theta fitted for every suggestion
    T known                      the bandit's γ, and so the rate of random points, is that of the horizon
    pairs (x', y(x̂'))            the reading of the loss in the proof of Proposition 1

What it assumes of the world stays with the user: a sample path of a GP with the kernel given, smooth enough, noise that
is normal, evaluations one after the other; and of the loss that it adds up over observations, which the likelihood of a
GP does not (Assumption 1). So this is the paper's algorithm as its theorem has it, not a promise about a study.
"""

from dataclasses import dataclass, replace
from typing import Literal

from uhebo.errors import InvalidInputError
from uhebo.estimate import Model, Reading
from uhebo.gp import Kernel, Prior
from uhebo.gp.kernels import MATERN52
from uhebo.methods.bandit import Clip

Beta = float | Literal["theory"]
Design = Literal["uniform", "spread"]
"""Points of the initial design: i.i.d. uniform, or each in the emptiest place."""
DEVIATIONS = 1.96
"""β of UCB where nothing else is said."""


@dataclass(frozen=True)
class Settings:
    """Everything a method leaves open; None stands for the method's own choice."""

    seed: int
    horizon: int | None = None
    """T, the number of iterations after the initial design, where it is known."""
    kernel: Kernel = MATERN52
    prior: str | Prior | None = None
    acquisition: str | None = None
    beta: Beta = DEVIATIONS
    deterministic: bool = False
    exact: bool = False
    reward_clip: Clip = "below"
    reading: Reading | None = None
    reference_point: tuple[float, ...] | None = None
    """Values of several objectives, as told, from which the hypervolume is measured; None: inferred from the front."""

    def applied_to(self, model: Model) -> Model:
        """A method's model with what the user chose put in."""
        return replace(
            model,
            prior=model.prior if self.prior is None else self.prior,
            kernel=self.kernel,
            noise="none" if self.deterministic else model.noise,
            exact=self.exact,
            reading=model.reading if self.reading is None else self.reading,
        )


COVERED = ("uhe", "ra")
"""Methods with a theorem."""
PROVED: Reading = "drawn"


def theorem_settings(
    method: object,
    n_trials: int | None,
    acquisition: str | None,
    beta: Beta | None,
    exact: bool | None,
    reading: Reading | None,
) -> tuple[Beta, bool, Reading]:
    """β, whether the loss is exact, and its reading; an error where the theorem is not about what was asked for."""
    if method not in COVERED:
        raise InvalidInputError(f"guarantee=True with method={method!r}; the theorems are about {', '.join(COVERED)}")
    if n_trials is None:
        raise InvalidInputError(
            "guarantee=True needs n_trials: the theorem is about a horizon that is known from the start"
        )
    if acquisition not in (None, "ucb"):
        raise InvalidInputError(f"guarantee=True with acquisition={acquisition!r}; the theorem is about 'ucb'")
    if reading not in (None, PROVED):
        raise InvalidInputError(f"guarantee=True with reading={reading!r}; the proof has {PROVED!r}")
    if beta not in (None, "theory"):
        raise InvalidInputError(f"guarantee=True with beta={beta!r}; it sets beta='theory', so leave it out")
    if exact not in (None, True):
        raise InvalidInputError(f"guarantee=True with exact={exact!r}; it sets exact=True, so leave it out")
    return "theory", True, PROVED
