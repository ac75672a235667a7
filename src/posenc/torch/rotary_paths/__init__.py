"""How queries and keys are rotated: rotations and angles, `rotate` and its kernels, caches, in place or not."""
