"""Liu et al. 2021 (Swin): a row for each distance of a window, counted as in the authors' code."""


def row(window, query, key):
    number = 0
    for size, m, n in zip(window, query, key, strict=True):
        step = max(1 - size, min(size - 1, int(m) - int(n)))
        number = number * (2 * size - 1) + step + size - 1
    return number


def bias(record, head, query, key, params):
    return params["table"][row(record.window, query, key)][head]
