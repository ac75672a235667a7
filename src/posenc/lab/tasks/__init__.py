"""What the lab trains models on: a file for each task, and one table of them."""
