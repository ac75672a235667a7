"""How code uses a bias of distance, what is observed of it, and its mistakes; rotations live in `rotation`."""
