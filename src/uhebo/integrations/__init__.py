"""uhebo inside other people's tools: scikit-learn (`search_cv`, `regressor`) and BoTorch (`botorch`).

Each module imports the library it is for, and nothing here is loaded before it is asked for.
"""
