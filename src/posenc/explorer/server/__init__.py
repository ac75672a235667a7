"""The local server of the explorer: one page and its views, for this machine and this reader alone."""
