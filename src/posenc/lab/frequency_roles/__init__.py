"""Roles of a trained model's frequencies: each rotary pair stopped or removed, and what that costs."""
