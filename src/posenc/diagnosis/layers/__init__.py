"""Mistakes in the plan of a model's layers; mistakes inside one rotation live in `rotation`."""
