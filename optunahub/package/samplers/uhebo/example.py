import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -5.0, 10.0)
    y = trial.suggest_float("y", 0.0, 15.0)
    return (y - 0.129 * x**2 + 1.592 * x - 6.0) ** 2 + 0.1 * (x - 3.0) ** 2


if __name__ == "__main__":
    module = optunahub.load_module(package="samplers/uhebo")
    study = optuna.create_study(sampler=module.UHESampler(n_trials=30, seed=0))
    study.optimize(objective, n_trials=30)
    print(study.best_trial.value, study.best_trial.params)
