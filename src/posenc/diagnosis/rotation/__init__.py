"""How code uses a rotation, what is observed of it, and its mistakes; the search for them is one folder up."""
