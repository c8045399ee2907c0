"""Optimiser groups, and the training of models on tasks. Importing this imports no trainer."""

from eigenstate.training.optimizers import parameter_groups

__all__ = ["parameter_groups"]
