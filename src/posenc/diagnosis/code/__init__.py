"""A user's own function or module: how it is called, what it computes, and which mistake it makes; printing lives in `cli`."""
