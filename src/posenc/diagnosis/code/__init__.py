"""A user's own function or module: how to call it, and which mistake it makes; the command line lives in `cli`."""
