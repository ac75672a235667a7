"""Attention of a sequence that several ranks share: what each computes, and how ranks exchange tensors."""
