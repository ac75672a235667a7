"""What is observed of a rotation (frequencies, tables, rotated vectors, logits), and the mistakes that change it; the search is one folder up."""
