"""scikit-learn: tune a pipeline as with GridSearchCV, over ranges instead of a grid.

python examples/search_cv.py [--trials 25]
"""

from __future__ import annotations

import argparse

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import uhebo


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=25)
    options = parser.parse_args()
    X, X_test, y, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
    pipeline = Pipeline([("scale", StandardScaler()), ("svc", SVC())])
    space = {
        "svc__C": uhebo.Float(1e-3, 1e3, log=True),
        "svc__gamma": uhebo.Float(1e-5, 1e1, log=True),
        "svc__kernel": ["rbf", "sigmoid"],
    }
    search = uhebo.UHESearchCV(
        pipeline, space, n_iter=options.trials, cv=5, scoring=["accuracy", "f1"], refit="f1", random_state=0
    )
    search.fit(X, y)
    print(f"best f1 over the folds: {search.best_score_:.4f}")
    print(f"with {search.best_params_}")
    print(f"f1 on data it never saw: {search.score(X_test, y_test):.4f}")
    print(f"\n{search.diagnose().headline}")


if __name__ == "__main__":
    main()
