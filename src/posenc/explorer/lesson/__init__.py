"""The lesson: one page that starts from two sentences and ends at what today's models do; `posenc tour` writes it."""
