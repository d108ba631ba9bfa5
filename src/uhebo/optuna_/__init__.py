"""The Optuna adapter: sampler, trial log, tags."""
