"""Conversion of checkpoint weights from one pairing of RoPE channels to the other; `config` reads configs."""
