"""`diagnose(study)`: can I trust this model? A `Diagnosis` with the evidence, a verdict and the next action."""

import math
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from optuna.study import Study

from uhebo import checks, notebook
from uhebo.belief import Belief
from uhebo.diagnosis.accidents import Accidents, find_accidents
from uhebo.diagnosis.calibration import Calibration, calibrate
from uhebo.diagnosis.commands import commands_for, confirmations, with_batch
from uhebo.diagnosis.feasibility import Feasibility, measure_feasibility
from uhebo.diagnosis.importance import Importance, rank_parameters
from uhebo.diagnosis.layout import Layout, Regions, lay_out, split_in_two
from uhebo.diagnosis.opinions import Hyperparameters, Noise, compare_estimators, measure_noise
from uhebo.diagnosis.prospects import Prospects, look_ahead
from uhebo.diagnosis.search import Search, Trials, count_trials, review_search
from uhebo.diagnosis.sections import Section, sections_of, table_text, what_matters
from uhebo.diagnosis.slips import Slip
from uhebo.diagnosis.suspicious import slips_in
from uhebo.diagnosis.verdict import Evidence, judge
from uhebo.diagnosis.words import Kind, Verdict, constant, no_model, say_model
from uhebo.numerics.threads import single_threaded
from uhebo.optuna_.believe import StudyModel, model_of
from uhebo.optuna_.corrected import corrected
from uhebo.optuna_.fronts import objective_names

WIDTH = 80
"""Columns of a terminal."""


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The verdict on a study's surrogate and the evidence for it; evidence that is not available is None."""

    verdict: Verdict
    kind: Kind
    headline: str
    reasons: tuple[str, ...]
    """What decides, and what a reader needs to know first."""
    next_action: str
    names: tuple[str, ...]
    """Parameters in the model."""
    conditional: dict[str, str]
    """Parameters that only some trials have, and where: in the words of a rule."""
    model: str
    """Whose model was judged, in words."""
    trials: Trials
    search: Search
    hyperparameters: Hyperparameters | None = None
    calibration: Calibration | None = None
    importance: tuple[Importance, ...] = ()
    noise: Noise | None = None
    layout: Layout | None = None
    regions: Regions | None = None
    prospects: Prospects | None = None
    feasibility: Feasibility | None = None
    """None in a study without constraints."""
    slips: tuple[Slip, ...] = ()
    """Trials whose values were probably mistyped."""
    accidents: Accidents = field(default_factory=Accidents)
    """What else seems to have gone wrong in the laboratory."""
    further: tuple[str, ...] = ()
    """What else was seen, in sentences."""
    belief: Belief | None = field(default=None, repr=False)
    """The fitted model that was judged: the one behind the suggestions."""

    def sections(self) -> tuple[Section, ...]:
        """The evidence as titled tables of plain text."""
        return sections_of(self)

    def commands(self, study: str = "STUDY", objective: str | None = None) -> tuple[str, ...]:
        """The next action as commands of the shell; `study` is what it calls the study."""
        return commands_for(self, study, objective)

    def confirmations(self, study: str = "STUDY", objective: str | None = None) -> tuple[str, ...]:
        """Where values look mistyped, the commands that say that they are right as they are."""
        return confirmations(self, study, objective)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python values that JSON can hold; what is not a finite number is None."""
        plain: dict[str, Any] = _plain(self)
        return plain

    def __repr__(self) -> str:
        return notebook.one_line(f"Diagnosis: {self.verdict} ({self.kind})\n{self.headline}")

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, its reasons, the next action, and the evidence to be opened."""
        tone = {"trust": "good", "do not trust": "bad"}.get(self.verdict, "plain")
        evidence = [
            notebook.folded(each.title, notebook.sentence(each.sentence), notebook.table(each.columns, each.rows))
            for each in self.sections()
        ]
        said = notebook.sentence(self.headline), notebook.bullets(self.reasons)
        title = f"Can I trust the model? {self.verdict.capitalize()} ({self.kind})."
        return notebook.panel(title, *said, notebook.sentence(f"Next: {self.next_action}"), *evidence, tone=tone)

    def __str__(self) -> str:
        """The first screen: verdict, why, what to do next, which parameters matter most."""
        matter = "\n".join(what_matters(self.importance))
        more = "Every figure: the method .account() of this diagnosis"
        return "\n\n".join(part for part in (*self._opening, matter, more) if part)

    def account(self) -> str:
        """Everything in words and tables: the first screen, and the evidence behind it."""
        parts = self._opening
        for section in self.sections():
            text = (section.title, _wrapped(section.sentence, "  "), table_text(section))
            parts.append("\n".join(part for part in text if part))
        return "\n\n".join(part for part in parts if part)

    @property
    def _opening(self) -> list[str]:
        return [
            f"Can I trust the model?  {self.verdict.upper()}  ({self.kind})\n{_wrapped(self.headline)}",
            "\n".join(_wrapped(reason, "  - ") for reason in self.reasons),
            _wrapped(f"Next: {self.next_action}"),
        ]


def _wrapped(text: str, indent: str = "") -> str:
    held = text.replace(" %", "\N{NO-BREAK SPACE}%")  # no line begins with a per cent sign
    filled = textwrap.fill(held, WIDTH, initial_indent=indent, subsequent_indent=" " * len(indent))
    return filled.replace("\N{NO-BREAK SPACE}%", " %")


def diagnose(
    study: Study,
    *,
    objective: str | int | None = None,
    seed: int = 0,
    epsilon: float | None = None,
    hmc: bool = True,
) -> Diagnosis:
    """Judge whether the model behind the suggestions of a study can be trusted.

    Args:
        study: any Optuna study. Where another sampler made its trials, the model of uhebo's default is judged, and
            `Diagnosis.model` says so.
        objective: name or number of the one to be judged, where the study has several.
        seed: of the random numbers used; same study and seed, same diagnosis.
        epsilon: the improvement that counts, in the units of the value; default 1 % of the interquartile
            range of the values, and at least 0.1 % of their range.
        hmc: also sample the hyperparameters by HMC, for their intervals; this takes most of the time.
    """
    if epsilon is not None:
        epsilon = checks.number("epsilon", epsilon, 0.0, also=" in the units of the value")
    seed = checks.integer("seed", seed, 0)
    study = corrected(study)
    model = model_of(study, objective)
    return _examined(study, model, model.believe, seed, epsilon, hmc)


def diagnose_each(study: Study, *, seed: int = 0, hmc: bool = True) -> dict[str, Diagnosis]:
    """`diagnose` for every objective, by name; the models are fitted once for all of them."""
    study = corrected(study)
    whole = model_of(study, 0)
    fitted = cache(whole.believe_all)
    found = {}
    for index, name in enumerate(objective_names(study)):
        model = replace(whole, history=whole.step.history.only(index), objective=index)
        found[name] = _examined(study, model, partial(_only, fitted, index), seed, None, hmc)
    return found


def _only(fitted: Callable[[], Belief], objective: int) -> Belief:
    return fitted().only(objective)


def _examined(
    study: Study,
    model: StudyModel,
    believe: Callable[[], Belief],
    seed: int,
    epsilon: float | None,
    hmc: bool,
) -> Diagnosis:
    history = model.history
    trials = count_trials(study, len(history.finished))
    search = review_search(study, history)
    conditional = {name: rule.text for name, rule in history.space.conditions.items()}
    about: dict[str, Any] = {"names": history.space.names, "conditional": conditional, "model": say_model(model)}
    finding = no_model(trials, len(history.space.names))
    if finding is None and not history.data.y.any():
        finding = constant(trials, float(history.outcomes[0].sign * history.data.location))
    if finding is not None:
        return Diagnosis(**vars(finding), **about, trials=trials, search=search)
    evidence = _gather(study, believe(), trials, search, seed, epsilon, hmc)
    finding = judge(replace(evidence, several=len(study.directions) > 1))
    finding = replace(finding, next_action=with_batch(finding.next_action, trials.batch))
    evidence = replace(evidence, noise=replace(evidence.noise, scatter=evidence.scatter))
    gathered = {each.name: getattr(evidence, each.name) for each in fields(evidence) if each.name != "several"}
    return Diagnosis(**vars(finding), **about, **gathered)


@single_threaded
def _gather(
    study: Study, belief: Belief, trials: Trials, search: Search, seed: int, epsilon: float | None, hmc: bool
) -> Evidence:
    hyperparameters, draws = compare_estimators(belief, _rng(seed, 2), hmc)
    return Evidence(
        belief=belief,
        trials=trials,
        search=search,
        hyperparameters=hyperparameters,
        noise=measure_noise(belief, draws, _rng(seed, 7)),
        calibration=calibrate(belief),
        layout=lay_out(belief, _rng(seed, 3)),
        regions=split_in_two(belief, _rng(seed, 4)),
        prospects=replace(look_ahead(belief, draws, epsilon, _rng(seed, 5)), of_several=len(study.directions) > 1),
        importance=rank_parameters(belief, _rng(seed, 6)),
        feasibility=measure_feasibility(belief),
        slips=slips_in(study, belief.history, belief.model.kernel, seed),
        accidents=find_accidents(study, belief, _rng(seed, 9)),
    )


def _rng(seed: int, purpose: int) -> np.random.Generator:
    """Random numbers of one purpose: leaving a part out (hmc=False) does not change the others."""
    return np.random.default_rng([seed, purpose])


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value) if each.repr}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
