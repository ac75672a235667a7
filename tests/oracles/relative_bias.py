"""Liu et al. 2021 (Swin), §3.2, on one axis: the number of a distance, query minus key, clipped at both ends."""


def bias(record, head, query, key, params):
    distance = query - key
    if distance < -record.clip:
        distance = -record.clip
    if distance > record.clip:
        distance = record.clip
    return params["table"][record.clip + distance][head]
