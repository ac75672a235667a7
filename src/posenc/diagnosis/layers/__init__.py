"""Mistakes in which layer does what; mistakes inside one rotation live in `rotation`."""
