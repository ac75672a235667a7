"""Studies of a trained model at a longer context: each way of reaching it, as it is and after a little training."""
