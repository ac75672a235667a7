"""Roles of a trained model's frequencies: each rotary pair stopped, averaged or removed, and the cost."""
