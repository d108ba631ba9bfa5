"""Numerical tools without statistics: BFGS, linear algebra, threads."""
