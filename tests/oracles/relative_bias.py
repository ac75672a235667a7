"""Liu et al. 2021 (Swin), §3.2, on one axis: the number of a distance, query minus key, clipped at both ends."""


def bias(encoding, head, query, key, params):
    distance = query - key
    if distance < -encoding.clip:
        distance = -encoding.clip
    if distance > encoding.clip:
        distance = encoding.clip
    return params["table"][encoding.clip + distance][head]
