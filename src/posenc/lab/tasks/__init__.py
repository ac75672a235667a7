"""Tasks that the lab trains models on, and a table of them."""
