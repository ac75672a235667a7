"""Why each report that is not answered rightly is not, and what would answer it."""

MISSES: dict[str, str] = {}
