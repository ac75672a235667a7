"""Live models of transformers 5.23.0, and how to ask them what they do with positions."""
