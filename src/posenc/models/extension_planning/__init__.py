"""Plan a longer context for a trained model; the scalings themselves live in `frequencies.scalings`."""
