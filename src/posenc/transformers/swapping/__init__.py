"""Any encoding in a loaded transformers model in place of its own positions; the mathematics is not here.

`swap.py` is the entry; `own_positions.py` reads the model, `layer_positions.py` acts in a layer of attention and
`input_positions.py` at the input, `attention_function.py` is what transformers calls, `proof.py` compares logits.
"""
