"""Released models by the names that people type: their configs with sources, and figures of their positions."""
