"""How code applies a rotation, evidence of it, and its mistakes; the search for them is one folder up."""
