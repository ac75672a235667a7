"""How code applies a bias of distance, evidence of it, and its mistakes; rotations live in `rotation`."""
