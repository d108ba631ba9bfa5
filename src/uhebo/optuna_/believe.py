"""A study -> the `Belief` behind its suggestions: the same model, the same theta, whoever asks.

The sampler leaves its settings in the study (user attribute `uhebo:sampler`), so that a process that only reads the
study, a dashboard or the shell, knows which model suggests. A study that another sampler made is read by the model of
uhebo's default, and that is said.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from optuna.study import Study

from uhebo.belief import Belief, History
from uhebo.errors import InvalidInputError
from uhebo.methods import METHODS, Step
from uhebo.numerics.threads import single_threaded
from uhebo.optuna_.corrections import trials_of
from uhebo.optuna_.declared import from_record
from uhebo.optuna_.fronts import objective_names
from uhebo.optuna_.gaps import check_study
from uhebo.optuna_.sampler import UHESampler
from uhebo.optuna_.sampler_settings import SETTINGS_ATTRIBUTE

DEFAULT = "auto"
EARLIER_READING = "drawn"
"""Reading of the consistent loss in studies whose settings do not name one: there was no other."""
NOTHING_LEARNT = ("running", "abandoned")
"""States of trials that have told nothing."""


@dataclass(frozen=True)
class StudyModel:
    """The model that speaks for a study, before it is fitted."""

    history: History
    step: Step
    """The step at which the next trial would be suggested."""
    method: str
    """Name of the method whose model it is."""
    borrowed: str | None
    """Why it is the default's model and not that of the study's own sampler; None where it is its own."""
    objective: int = 0
    """Which of several objectives `history` and the belief speak of."""

    def believe(self) -> Belief:
        """The model fitted to all finished trials, as the next suggestion after the latest value does; of one
        objective."""
        belief = self.believe_all()
        return belief if belief.history.objectives == 1 else belief.only(self.objective)

    @single_threaded
    def believe_all(self) -> Belief:
        """The same with all objectives."""
        if not self.history.finished or not self.history.space.names:
            raise InvalidInputError("a model needs a finished trial and a parameter that can vary; run trials first")
        return replace(self._when_last_told.believe(), history=self.step.history)

    @property
    def _when_last_told(self) -> Step:
        """The step as it was when something was learnt last: what is said of a study does not change because further
        trials were asked for, wait, or were skipped."""
        history = self.step.history
        told = replace(history, trials=tuple(t for t in history.trials if t.state not in NOTHING_LEARNT))
        return replace(self.step, history=told, slot=told.next_slot(told.trials[-1].number + 1))


def model_of(study: Study, objective: str | int | None = None) -> StudyModel:
    """The model behind the suggestions of a study; of several objectives, of the one with this name or number."""
    check_study(study)
    sampler, borrowed = _sampler_of(study)
    space = sampler.search_space(study)
    number = max((trial.number for trial in trials_of(study)), default=-1) + 1
    step = sampler.step(study, number, space)
    objectives = zip(step.history.outcomes[: step.history.objectives], objective_names(study), strict=True)
    told = [replace(outcome, name=name) for outcome, name in objectives]
    named = (*told, *step.history.outcomes[len(told) :])
    step = replace(step, history=replace(step.history, outcomes=named))
    index = step.history.objective_index(objective)
    method = sampler.method if isinstance(sampler.method, str) else getattr(sampler.method, "__name__", "your own")
    return StudyModel(step.history.only(index), step, method, borrowed, index)


def believe(study: Study) -> Belief:
    """What uhebo believes about a study, about all of its objectives."""
    model = model_of(study, 0)
    return model.believe() if len(study.directions) == 1 else model.believe_all()


def _sampler_of(study: Study) -> tuple[UHESampler, str | None]:
    if isinstance(study.sampler, UHESampler):
        if study.sampler.method == "random":
            return UHESampler(method=DEFAULT, seed=study.sampler.settings.seed), "its method, random, uses no model"
        return study.sampler, None
    kept = study.user_attrs.get(SETTINGS_ATTRIBUTE)
    if isinstance(kept, Mapping) and kept.get("method") in METHODS and kept["method"] != "random":
        try:
            return UHESampler(**{"reading": EARLIER_READING, **from_record(kept)}), None
        except (TypeError, ValueError, KeyError, AttributeError):
            pass  # of another version, or written by something else
    if isinstance(kept, Mapping):
        why = f"its method, {kept.get('method') or 'a function of its own'}, is not known here or uses no model"
    else:
        at_hand = type(study.sampler).__name__
        why = f"its trials were not suggested by uhebo, as far as can be seen ({at_hand} is at hand)"
    return UHESampler(method=DEFAULT, seed=0), why
