"""What each layer does, and mistakes in which does what; mistakes inside one rotation live in `rotation`."""
