"""How exact the phase is, counted against mpmath."""
