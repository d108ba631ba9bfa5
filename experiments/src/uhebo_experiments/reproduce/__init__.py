"""The paper behind uhebo: its experiments, figures and claims."""
