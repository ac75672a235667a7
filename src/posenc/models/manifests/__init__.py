"""The manifest: one record of all positions of a model, in a form that any language reads."""
