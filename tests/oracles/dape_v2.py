"""Zheng et al. 2024 (DAPE V2), as released: two convolutions along the keys over zeros where the query cannot see."""

import mpmath

from oracles import dape


def _places(query, keys):
    """The different positions of keys in order, each with the keys that stand there."""
    return [[i for i, own in enumerate(keys) if own == key] for key in sorted(set(keys))]


def score_heads(encoding, head, qs, ks, query, keys, index, params):
    if keys[index] > query:
        return mpmath.mpf(0)
    with mpmath.workprec(240):
        places, heads, reach = _places(query, keys), range(encoding.encoding.heads), encoding.kernel // 2
        read, found = {}, {}

        def channels(place):
            """[A, B] of all heads at a place: zeros outside of what the query sees."""
            if not 0 <= place < len(places) or keys[places[place][0]] > query:
                return [mpmath.mpf(0)] * (2 * len(heads))
            if place in read:
                return read[place]
            own = places[place]
            logits = [sum(dape.logit(encoding, qs[h], ks[h][i]) for i in own) / len(own) for h in heads]
            read[place] = [*logits, *(dape.inner_bias(encoding, h, query, keys[own[0]], params) for h in heads)]
            return read[place]

        def convolved(weight, level, read, place):
            return mpmath.mpf(level) + sum(
                mpmath.mpf(weight[c][t]) * value
                for t in range(encoding.kernel)
                for c, value in enumerate(read(place + t - reach))
            )

        def hidden(place):
            """Behind the last key there are places still, before the first there are none."""
            if place < 0:
                return [mpmath.mpf(0)] * encoding.width
            if place not in found:
                rows = zip(params["weight_in"], params["bias_in"], strict=True)
                found[place] = [dape.leaky(convolved(w, b, channels, place)) for w, b in rows]
            return found[place]

        here = next(number for number, own in enumerate(places) if index in own)
        network = convolved(params["weight_out"][head], params["bias_out"][head], hidden, here)
        return dape.inner_bias(encoding, head, query, keys[index], params) + network


def magnitude_heads(encoding, head, qs, ks, query, keys, index, params):
    """Roundings times size, every key as large as the largest that the query sees."""
    with mpmath.workprec(240):
        seen = [i for i, key in enumerate(keys) if key <= query]
        if not seen:
            return mpmath.mpf(0)
        heads, kernel = range(encoding.encoding.heads), encoding.kernel
        logits = [
            max(dape.logit(encoding, [abs(a) for a in qs[h]], [abs(b) for b in ks[h][i]]) for i in seen) for h in heads
        ]
        biases = [max(abs(dape.inner_bias(encoding, h, query, keys[i], params)) for i in seen) for h in heads]
        flat = {
            **{
                name: [[abs(w) for taps in row for w in taps] for row in params[name]]
                for name in ("weight_in", "weight_out")
            },
            **{name: params[name] for name in ("bias_in", "bias_out")},
        }
        roundings = encoding.dim + kernel * (2 * len(heads) + encoding.width) + len(keys) + 16
        return roundings * kernel**2 * dape.size_of(encoding, logits, biases, flat)


def value(encoding, weights, query, keys, params):
    """Nothing is added to the output."""
    return
