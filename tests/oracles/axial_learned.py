"""Reformer's released code: each digit of the position picks a row of its own table."""


def row(record, position, params):
    found = []
    for axis in range(len(record.shape)):
        below = 1
        for size in record.shape[axis + 1 :]:
            below *= size
        found += params[f"table_{axis}"][position // below % record.shape[axis]]
    return found
