"""Any encoding in a loaded transformers model in place of its own positions; the mathematics is not here.

`swap.py` is the entry; `swap_request.py` checks what is asked for, `own_positions.py` reads the model, `install.py`
puts modules into it, `layer_positions.py` acts in a layer of attention, `attention_interface.py` is what transformers
calls, and `proof.py` compares logits.
"""
