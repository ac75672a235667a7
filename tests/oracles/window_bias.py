"""Liu et al. 2021 (Swin): a row for each distance of a window, counted as in the authors' code."""


def row(window, query, key):
    number = 0
    for size, m, n in zip(window, query, key, strict=True):
        step = max(1 - size, min(size - 1, int(m) - int(n)))
        number = number * (2 * size - 1) + step + size - 1
    return number


def bias(encoding, head, query, key, params):
    if encoding.class_token and (query[0] < 0 or key[0] < 0):
        # BEiT's code: the last three rows are from the class token, to it, and from it to itself.
        back = 1 if query[0] < 0 and key[0] < 0 else 3 if query[0] < 0 else 2
        return params["table"][-back][head]
    return params["table"][row(encoding.window, query, key)][head]
