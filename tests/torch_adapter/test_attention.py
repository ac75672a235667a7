"""posenc.torch.attention by each of its paths, against the readable reference in float64."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.utils._python_dispatch import TorchDispatchMode

import posenc
from every import every
from posenc import attention as reference
from posenc.core.doors import AdditiveEncoding, AttentionBias, RotaryEncoding
from posenc.encodings.scores._by_distance import ByDistance
from posenc.testing.one_coordinate import spread_over_axes
from posenc.torch import attention, chosen_attention, module, strided, strided_attention
from posenc.torch.attention_paths import clipped_distances, skewed_path, strided_path, tiles
from posenc.torch.attention_paths.arguments import AttentionArguments, attention_call
from posenc.torch.attention_paths.rotated_vectors import rotated_vectors

HEADS, KEY_HEADS, WIDTH, BATCH = 12, 4, 8, 2
RECORDS = [sample for row in posenc.CATALOG for sample in row.samples if not isinstance(sample, AdditiveEncoding)]
# Products of a few dozen float64 numbers, in another order of sums.
FLOAT64 = 1e-11


def case(encoding, n=7, m=9, dtype=torch.float64):
    """Tensors, positions and a module for an encoding: n queries at the end of m keys."""
    draw = torch.Generator().manual_seed(n)
    heads = getattr(encoding, "heads", None) or HEADS
    rotates = isinstance(encoding, RotaryEncoding)
    width = encoding.head_dim if rotates else getattr(encoding, "dim", WIDTH)
    key_heads = KEY_HEADS if heads == HEADS else 1
    q, k, v = (
        torch.randn(BATCH, count, length, width, generator=draw, dtype=dtype)
        for count, length in ((heads, n), (key_heads, m), (key_heads, m))
    )
    key = spread_over_axes(encoding, torch.arange(m))
    hidden = None
    if getattr(encoding, "reads", None) is not None:
        hidden = torch.randn(BATCH, encoding.hidden_length(n, m), encoding.model_dim, generator=draw, dtype=dtype)
    held = module(encoding, seed=3)
    with torch.no_grad():
        for parameter in held.parameters():
            parameter.mul_(1.5).add_(0.25)
    return {
        "q": q,
        "k": k,
        "v": v,
        "query_positions": key[m - n :],
        "key_positions": key,
        "hidden": hidden,
        "encodings": [held],
    }


def by_reference(asked, *, visible=None, causal=False, scale=None):
    held = asked["encodings"]
    return reference.attention(
        *(asked[name] for name in "qkv"),
        query_positions=asked["query_positions"],
        key_positions=asked["key_positions"],
        layout="bhtd",
        encodings=[each.encoding for each in held],
        params=[each.params for each in held],
        causal=causal,
        mask=visible,
        scale=scale,
        hidden=asked["hidden"],
    ).output


def gradients(output, asked):
    """The gradient of a sum that weighs every number of the output differently."""
    leaves = [asked[name] for name in ("q", "k", "v", "hidden") if asked[name] is not None]
    leaves += [parameter for each in asked["encodings"] for parameter in each.parameters()]
    weights = torch.linspace(-1.0, 1.0, output.numel(), dtype=output.dtype).reshape(output.shape)
    return torch.autograd.grad((output * weights).sum(), leaves, allow_unused=True, materialize_grads=True)


def with_gradients(asked):
    return {
        name: value.clone().requires_grad_() if name in ("q", "k", "v", "hidden") and value is not None else value
        for name, value in asked.items()
    }


def close(got, want, tolerance=FLOAT64):
    scale = max([1.0, *want.abs().flatten().tolist()])
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    assert torch.isfinite(got).all()
    assert ((got - want).abs() <= tolerance * scale).all()


def test_every_encoding_attends_as_the_reference_does_with_its_gradients():
    def check(encoding):
        asked = with_gradients(case(encoding))
        for causal in (False, True):
            want = by_reference(asked, causal=causal)
            got = attention(**asked, causal=causal, layout="bhtd")
            close(got, want)
            for mine, theirs in zip(gradients(got, asked), gradients(want, asked), strict=True):
                # Parameters are float32: their gradient is rounded to it once.
                close(mine, theirs, FLOAT64 if mine.dtype == torch.float64 else 2e-6)

    every(RECORDS, check)


def test_tiles_of_three_queries_give_what_all_at_once_do():
    def check(encoding):
        asked = with_gradients(case(encoding))
        call = attention_call(
            AttentionArguments(
                **asked,
                layout="bhtd",
                causal=True,
                window=(4, None),
                mask=None,
                documents=None,
                scale=0.5,
                dropout=0.0,
                keys_rotated=False,
            )
        )
        seen = torch.ones(7, 9, dtype=torch.bool).tril(2).triu(-2)
        want = by_reference(asked, visible=seen, scale=0.5)
        got = tiles.attend_in_tiles(call, 3)
        close(got, want)
        for mine, theirs in zip(gradients(got, asked), gradients(want, asked), strict=True):
            close(mine, theirs, FLOAT64 if mine.dtype == torch.float64 else 2e-6)

    every(RECORDS, check)


def by_distance():
    encodings = [encoding for encoding in RECORDS if isinstance(encoding, ByDistance)]
    return [
        *encodings,
        posenc.Shaw(dim=8, clip=1, ahead=30),
        posenc.DeBERTa(dim=8, heads=12, buckets=2, max_distance=None),
    ]


@pytest.mark.parametrize(("queries", "numbers"), [(4, 200), (99, 1 << 18)])
def test_one_product_a_distance_gives_what_pairs_give(monkeypatch, queries, numbers):
    monkeypatch.setattr(skewed_path, "QUERIES", queries)
    monkeypatch.setattr(skewed_path, "NUMBERS", numbers)
    draw = torch.Generator().manual_seed(0)

    def check(encoding):
        asked = with_gradients(case(encoding, 9, 13))
        heads = asked["q"].shape[1]
        row, column = torch.arange(9)[:, None] + 4, torch.arange(13)
        few, own = torch.rand(2, heads, 9, 13, generator=draw) < 0.6, torch.tensor([[0] * 6 + [1] * 7])
        together = own[:, None, 4:, None] == own[:, None, None, :]
        for more, seen in (
            ({}, torch.ones(9, 13, dtype=torch.bool)),
            ({"causal": True}, column <= row),
            ({"causal": True, "window": (2, None)}, (column <= row) & (column >= row - 2)),
            ({"window": (3, 1)}, (column <= row + 1) & (column >= row - 3)),
            ({"mask": few}, few),
            ({"documents": (own[:, 4:], own), "causal": True}, together & (column <= row)),
        ):
            want = by_reference(asked, visible=seen, scale=0.5)
            got = attention(**asked, **more, impl="skewed", scale=0.5, layout="bhtd")
            close(got, want)
        for mine, theirs in zip(gradients(got, asked), gradients(want, asked), strict=True):
            close(mine, theirs, FLOAT64 if mine.dtype == torch.float64 else 2e-6)
        far = asked | {"query_positions": asked["query_positions"] + 100 - 7}
        close(attention(**far, impl="skewed", layout="bhtd"), by_reference(far))
        for place in (20, 200):  # keys on both sides of a single query, and all of them far away
            alone = case(encoding, 1, 45) | {"query_positions": torch.tensor([place])}
            close(attention(**alone, impl="skewed", layout="bhtd"), by_reference(alone))

    every(by_distance(), check)


def test_a_gradient_of_torch_func_goes_through_shaw():
    asked = case(posenc.Shaw(dim=8))

    def total(q):
        return attention(**(asked | {"q": q}), causal=True, layout="bhtd").square().sum()

    q = asked["q"].clone().requires_grad_()
    close(torch.func.grad(total)(asked["q"]), torch.autograd.grad(total(q), q)[0])


def relative_biases():
    return [r for r in RECORDS if isinstance(r, AttentionBias) and r.axes == 1 and "relative" in r.claims]


@pytest.mark.parametrize("window", [None, (3, 0), (2, 1), (None, 0), (0, None)], ids=str)
@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
def test_distances_alone_give_what_the_matrix_gives(causal, window):
    def check(encoding):
        asked = case(encoding)
        before, after = window or (None, None)
        row, column = torch.arange(7)[:, None] + 2, torch.arange(9)
        seen = torch.ones(7, 9, dtype=torch.bool)
        seen &= True if before is None else column >= row - before
        seen &= True if after is None else column <= row + after
        seen &= column <= row if causal else True
        with torch.no_grad():
            want = by_reference(asked, visible=seen)
            close(attention(**asked, causal=causal, window=window, impl="strided", layout="bhtd"), want)

    every(relative_biases(), check)


def test_a_learned_bias_of_the_distance_trains_by_numbers_and_not_by_matrices(monkeypatch):
    """In pieces of a few queries, with grouped heads, causal or not, in a window or not."""
    monkeypatch.setattr(strided_path, "NUMBERS", 2000)
    own, column = torch.arange(130)[:, None] + 20, torch.arange(150)

    def check(encoding):
        asked = with_gradients(case(encoding, 130, 150))
        for causal, window in ((False, None), (True, None), (True, (25, 0)), (False, (31, 9))):
            before, after = window or (150, 150)
            visible = (column >= own - before) & (column <= own + (0 if causal else after))
            want = by_reference(asked, visible=visible)
            with Largest() as seen:
                got = attention(**asked, causal=causal, window=window, impl="strided", layout="bhtd")
                mine = gradients(got, asked)
            close(got, want)
            for one, other in zip(mine, gradients(want, asked), strict=True):
                # Each parameter's gradient adds up to 130 · 150 numbers for each of two rows, in float32.
                close(one, other, FLOAT64 if one.dtype == torch.float64 else 2e-5)
            if causal:  # else PyTorch's float64 attention makes the matrix of the forward pass
                assert seen.most < BATCH * asked["q"].shape[1] * 130 * 150

    every([posenc.T5Bias(heads=12), posenc.KerpleLog(heads=12), posenc.RelativeBias(heads=4, clip=8)], check)


@pytest.mark.parametrize("window", [(25, 0), (31, 9), (0, 40)], ids=str)
def test_a_window_leaves_out_keys_that_no_query_of_a_piece_sees(monkeypatch, window):
    """Without a bias too, at any positions, and with more queries than keys."""
    pairs = []

    def counted(q, k, v, **more):
        pairs.append(q.shape[-2] * k.shape[-2])
        return scaled_dot_product_attention(q, k, v, **more)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", counted)

    def check(encoding):
        for n, m in ((190, 200), (200, 190)):
            asked = case(encoding, 190, 200)
            if n > m:
                asked["q"], asked["query_positions"] = (
                    torch.cat([asked["q"][:, :, :10], asked["q"]], 2),
                    torch.arange(n),
                )
                asked |= {name: asked[name][:, :, 10:] for name in "kv"} | {"key_positions": torch.arange(10, n)}
            own, column = torch.arange(n)[:, None] + m - n, torch.arange(m)
            visible = (column >= own - window[0]) & (column <= own + window[1])
            pairs.clear()
            with torch.no_grad():
                got = attention(**asked, window=window, layout="bhtd")
                close(got, by_reference(asked, visible=visible))
            assert 0 < sum(pairs) < 0.7 * n * m

    every([posenc.RoPE(dim=8), posenc.ALiBi(heads=12), posenc.T5Bias(heads=12)], check)
    asked = case(posenc.RoPE(dim=8), 190, 200)
    asked["key_positions"] = asked["key_positions"] ** 2
    asked["query_positions"] = asked["key_positions"][10:]
    visible = torch.arange(200) <= torch.arange(190)[:, None] + 10
    close(attention(**asked, causal=True, impl="strided", layout="bhtd"), by_reference(asked, visible=visible))


def test_one_query_gives_what_the_reference_gives_with_its_gradients():
    def check(encoding):
        asked = with_gradients(case(encoding, 1, 45))
        draw, column = torch.Generator().manual_seed(0), torch.arange(45)
        few, own = torch.rand(2, asked["q"].shape[1], 1, 45, generator=draw) < 0.6, (column > 20).long()[None]
        for more, visible in (
            ({"causal": True}, column >= 0),
            ({"causal": True, "window": (9, 0)}, column >= 35),
            ({"mask": few}, few),
            ({"documents": (own[:, -1:], own)}, column > 20),
        ):
            got = attention(**asked, **more, layout="bhtd")
            if getattr(encoding, "gathers", False) and "documents" in more:
                continue  # the reference counts the keys of other documents, which a mask alone does not hide
            want = by_reference(asked, visible=visible.expand(2, got.shape[1], 1, 45))
            close(got, want)
            for mine, theirs in zip(gradients(got, asked), gradients(want, asked), strict=True):
                close(mine, theirs, FLOAT64 if mine.dtype == torch.float64 else 2e-6)

    every(RECORDS, check)


def test_what_every_key_is_asked_alike_comes_to_it_rotated_rounded_and_under_any_scale():
    """Queries ask it, unless keys are rotated, or queries so coarse that they would lose it; a scale must not divide
    it."""
    for encoding in (
        posenc.TransformerXL(dim=8, heads=12, model_dim=8),
        posenc.DeBERTa(dim=8, heads=12, buckets=4, max_distance=9),
    ):
        for queries, dtype, bound in ((1, torch.float32, 2e-6), (7, torch.float32, 2e-6), (1, torch.bfloat16, 2**-7)):
            asked = case(encoding, queries, 45, dtype)
            exact = asked | {name: asked[name].double() for name in "qkv"}
            turned = {"encodings": [module(posenc.RoPE(dim=8)), *asked["encodings"]]}
            for more, scale in (({}, 0.5), ({}, 1e-40), (turned, 0.5)):
                got = attention(**(asked | more), layout="bhtd", impl="skewed", scale=scale)
                close(got.double(), by_reference(exact | more, scale=scale), bound)


def causal_call(asked):
    """What `attention` collects of a causal call with nothing else stated."""
    return attention_call(
        AttentionArguments(
            **asked,
            layout="bhtd",
            causal=True,
            window=None,
            mask=None,
            documents=None,
            scale=None,
            dropout=0.0,
            keys_rotated=False,
        )
    )


def test_weights_that_vanish_are_left_out_with_the_same_bits():
    asked = case(posenc.ALiBi(heads=12), 700, 700, torch.float32)
    call = causal_call(asked)
    q, k, v = rotated_vectors(call)
    bias = strided(asked["encodings"][0], asked["query_positions"], asked["key_positions"], causal=True)
    numbers = strided_path._without_vanishing_weights(call, q, k, bias.numbers)
    assert (torch.isneginf(numbers) & ~torch.isneginf(bias.numbers)).any()
    want = strided_attention(q, k, v, bias)
    assert strided_attention(q, k, v, replace(bias, numbers=numbers)).equal(want)
    assert attention(**asked, causal=True, layout="bhtd").equal(want)


def test_keys_behind_closed_gates_are_left_out_wherever_queries_stand():
    asked = case(posenc.ForgettingGate(heads=12, model_dim=6), 300, 300, torch.float32)
    wide = {name: x.double() for name, x in asked.items() if name in ("q", "k", "v", "hidden")}
    for ahead, window in ((0, None), (0.5, None), (1000, None), (-20, None), (0, (200, None))):
        stated = {"mask": torch.ones(1, 1, 1, 1) > 0} if ahead not in (0, 0.5) else {}  # indices decide then
        call = asked | {"query_positions": asked["query_positions"] + ahead}
        seen = torch.ones(300, 300, dtype=torch.bool).tril().triu(-200 if window else -300)
        with torch.no_grad():
            got = attention(**call, **stated, causal=True, window=window, layout="bhtd")
            want = by_reference(call | wide, visible=seen)
        # Logits are float32: where all keys lie before a query, sums of up to 200.
        assert (got.double() - want).abs().max() <= 200 * 2**-22
    checked_call = causal_call(asked)
    with torch.no_grad():
        assert tiles._faded(checked_call, tiles.prepared_scores(checked_call), torch.tensor(20.0), 256, 300) > 50


def test_rotations_temperatures_biases_scores_and_value_terms_act_together():
    encodings = [
        posenc.RoPE(dim=8),
        posenc.LogNTemperature(dim=8, length=3),
        posenc.ValueRotation(posenc.RoPE(dim=8)),
        posenc.ALiBi(heads=12),
        posenc.T5Bias(heads=12),
        posenc.Shaw(dim=8, clip=2),
    ]
    asked = case(posenc.RoPE(dim=8)) | {"encodings": [module(encoding) for encoding in encodings]}
    for causal in (False, True):
        want = by_reference(asked, causal=causal)
        close(attention(**asked, causal=causal, layout="bhtd"), want)
        rotated = {name: asked[name].transpose(1, 2) for name in "qkv"}
        close(attention(**(asked | rotated), causal=causal, layout="bthd"), want.transpose(1, 2))


def test_packed_documents_and_left_padding_give_what_each_document_gives_alone():
    number = torch.tensor([[0, 0, 0, 1, 1, 1], [9, 9, 0, 0, 0, 0]])
    place = torch.tensor([[0, 1, 2, 0, 1, 2], [0, 1, 0, 1, 2, 3]])

    def check(encoding):
        asked = case(encoding, 6, 6) | {"query_positions": place, "key_positions": place}
        held = asked["encodings"][0]
        packed = {"documents": (number, number), "mask": (number != 9)[:, None, None, :]}
        together = attention(**asked, **packed, causal=True, layout="bhtd")
        for row, first, stop in ((0, 0, 3), (0, 3, 6), (1, 2, 6)):
            alone = {name: asked[name][row : row + 1, :, first:stop] for name in "qkv"}
            own, hidden = torch.arange(stop - first), asked["hidden"]
            if hidden is not None:
                parts = [hidden[row : row + 1, at + first : at + stop] for at in range(0, hidden.shape[1], 6)]
                hidden = torch.cat(parts, 1)
            alone |= {"query_positions": own, "key_positions": own, "encodings": [held], "hidden": hidden}
            close(together[row : row + 1, :, first:stop], attention(**alone, causal=True, layout="bhtd"))
        assert not together[1, :, :2].any(), "a query that sees nothing gives zeros"

    every([encoding for encoding in RECORDS if encoding.axes == 1], check)


def test_one_query_against_a_cache_is_the_last_row_of_the_whole():
    def check(encoding):
        asked = case(encoding, 9, 9)
        if getattr(encoding, "reads", None) in ("query", "both"):
            return
        with torch.no_grad():
            whole = attention(**asked, causal=True, layout="bhtd")
            step = asked | {"q": asked["q"][:, :, -1:], "query_positions": asked["query_positions"][-1:]}
            close(attention(**step, causal=True, layout="bhtd"), whole[:, :, -1:])

    every(RECORDS, check)


def test_a_bias_keeps_float32_beside_16_bit_queries():
    """A bias of 100 would be off by up to 0.25 in bfloat16, and a weight by a quarter."""
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 2, 512, 8).bfloat16() for _ in range(3))
    held = module(posenc.T5Bias(heads=2))
    with torch.no_grad():
        held.table.normal_().add_(100.0)
    asked = {
        "query_positions": torch.arange(512),
        "key_positions": torch.arange(512),
        "hidden": None,
        "encodings": [held],
    }
    want = by_reference(asked | {name: x.double() for name, x in zip("qkv", (q, k, v), strict=True)})
    for impl in ("strided", "tiles", "dense"):
        with torch.no_grad():
            got = attention(q, k, v, **asked, layout="bhtd", impl=impl)
        # Weights and the output are rounded to 8 bits once each, the output stays below 1, and logits add a little.
        assert (got.double() - want).abs().max() <= 3 * 2**-9, impl


def gathering():
    return [row.samples[0] for row in posenc.CATALOG if getattr(row.samples[0], "gathers", False)]


class Largest(TorchDispatchMode):
    """The most numbers in any tensor that an operation gives."""

    most = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for each in result if isinstance(result, tuple | list) else [result]:
            if isinstance(each, torch.Tensor):
                self.most = max(self.most, each.untyped_storage().nbytes() // each.element_size())
        return result


def test_no_tensor_grows_with_the_square_of_the_tokens(monkeypatch):
    """A matrix of 512 tokens, 3 heads and a batch of 2 holds 1.5 million numbers; a tile may hold 32 thousand, what
    makes it a few times as much, and PaTH keeps 128 for each key and head."""
    for module_of in (tiles, clipped_distances):
        monkeypatch.setattr(module_of, "NUMBERS", 1 << 15)

    def check(encoding):
        asked = case(encoding, 512, 512, torch.float32)
        with Largest() as seen, torch.no_grad():
            attention(**asked, causal=True, layout="bhtd")
        assert seen.most <= 12 * tiles.NUMBERS

    every([posenc.RoPE(dim=8), posenc.ALiBi(heads=12), posenc.FIRE(heads=12), posenc.Shaw(dim=8), *gathering()], check)


def test_a_compiled_program_holds_attention_whole():
    asked = case(posenc.RoPE(dim=8), 7, 7, torch.float32)
    asked["encodings"] = [module(posenc.RoPE(dim=8)), module(posenc.T5Bias(heads=12))]

    def attended(q, k, v):
        return attention(**(asked | {"q": q, "k": k, "v": v}), causal=True, layout="bhtd")

    qkv = [asked[name] for name in "qkv"]
    close(torch.compile(attended, backend="eager", fullgraph=True)(*qkv), attended(*qkv), 1e-6)


def test_the_choice_says_which_path_and_why():
    place = torch.arange(6)
    x = torch.randn(1, 2, 6, 4)
    for encodings, more, impl, reason in (
        ([posenc.RoPE(dim=4)], {"causal": True}, "sdpa", "no encoding adds"),
        ([posenc.RoPE(dim=4)], {"window": (2, 0)}, "strided", "hidden by their index alone"),
        ([posenc.RoPE(dim=4)], {"window": (2, 0), "mask": torch.ones(1, 1, 6, 6) > 0}, "tiles", "a mask hides pairs"),
        ([posenc.ALiBi(heads=2)], {"causal": True}, "strided", "distance alone"),
        ([posenc.ALiBi(heads=2)], {"query_positions": place * 2}, "tiles", "do not rise by one"),
        (
            [posenc.ALiBi(heads=2)],
            {"query_positions": place + 0.5, "causal": True},
            "tiles",
            "position of the last key",
        ),
        ([module(posenc.T5Bias(heads=2))], {}, "strided", "distance alone"),
        ([module(posenc.FIRE(heads=2))], {}, "tiles", "FIRE does not depend on the distance alone"),
        ([module(posenc.CoPE(dim=4))], {"causal": True}, "tiles", "CoPE reads content"),
    ):
        arguments = {"query_positions": place, "key_positions": place} | more
        choice = chosen_attention(x, x, x, encodings=encodings, layout="bhtd", **arguments)
        assert (choice.impl, reason in choice.reason) == (impl, True), (encodings, choice)


PAST_ITS_TABLE = posenc.TUPE(heads=12, dim=4, length=8)
INTEGERS = torch.ones(2, 12, 9, 8, dtype=torch.int32)
NONSENSE = [
    ({"encodings": posenc.RoPE(dim=8)}, TypeError, "encodings must be a list"),
    (
        {"encodings": [posenc.RoPE]},
        TypeError,
        "encodings must be a list of encodings; got the class RoPE. Make one, RoPE(dim=…).",
    ),
    ({"q": INTEGERS}, TypeError, "q must hold floats; got int32. Convert it."),
    ({"q": INTEGERS, "k": INTEGERS, "v": INTEGERS}, TypeError, "q must hold floats; got int32. Convert it."),
    (
        {"query_positions": torch.arange(8)},
        ValueError,
        "query_positions must hold a position for each of 7 tokens, with or without a batch of 2; got shape (8,). "
        "Give a position for each, or check the layout.",
    ),
    (
        {"query_positions": torch.full((7,), torch.nan)},
        ValueError,
        "query_positions must be finite and of magnitude at most 2^53; got values from nan to nan. Give a number for "
        "every token.",
    ),
    ({"encodings": [posenc.Sinusoidal(dim=8)]}, TypeError, "encodings must act inside attention; got Sinusoidal"),
    ({"encodings": [posenc.T5Bias(heads=12)]}, TypeError, "encodings must hold the parameters"),
    (
        {"encodings": [posenc.ALiBi(heads=4)]},
        ValueError,
        "encodings must have as many heads as q, 12; got ALiBi(heads=4, steepest=8.0, rule='paper', "
        "form='symmetric'). Build the encoding for these heads, or check the layout.",
    ),
    ({"encodings": [posenc.RoPE(dim=16)]}, ValueError, "encodings must have the head width of q, 8"),
    ({"encodings": [module(posenc.DeBERTa(dim=8, heads=3))]}, ValueError, "encodings must have as many heads as q, 12"),
    ({"encodings": [module(posenc.CoPE(dim=4))]}, ValueError, "encodings must have the head width of q, 8"),
    ({"encodings": [module(PAST_ITS_TABLE)]}, ValueError, "query_positions must hold positions from 0 to 7"),
    ({"encodings": [posenc.RoPE(dim=8), posenc.axial("sam2", dim=8)]}, ValueError, "encodings must have one number of"),
    ({"mask": torch.ones(7, 9)}, TypeError, "mask must hold truth values"),
    (
        {"mask": torch.ones(7, 9) > 0},
        ValueError,
        "mask must have four axes that broadcast to (batch, heads, n, m), (2, 12, 7, 9); got (7, 9). Padding of keys "
        "is mask[:, None, None, :], a mask of queries and keys mask[None, None].",
    ),
    ({"mask": torch.ones(3, 1, 7, 9) > 0}, ValueError, "mask must have four axes"),
    ({"window": 4}, TypeError, "window must be (keys before, keys after)"),
    ({"window": (3, 0), "sliding_window": 4, "causal": True}, ValueError, "sliding_window must stand alone"),
    ({"sliding_window": 4}, ValueError, "sliding_window must stand beside causal=True"),
    ({"sliding_window": 0, "causal": True}, ValueError, "sliding_window must be an integer"),
    ({"window": (-1, 0)}, ValueError, "window[0] must be an integer"),
    ({"documents": torch.zeros(7)}, TypeError, "documents must be a pair"),
    ({"documents": ([0] * 7, [0] * 8)}, ValueError, "documents must hold a number for each of 9 keys"),
    ({"hidden": torch.ones(2, 9, 4)}, ValueError, "hidden must be left out where no encoding reads it"),
    ({"dropout": 1.5}, ValueError, "dropout must be a finite number"),
    ({"layout": "bdth"}, ValueError, "layout must be one of"),
    ({"impl": "fast"}, ValueError, "impl must be one of"),
    ({"impl": "sdpa"}, ValueError, "impl must be a path that fits these arguments; got 'sdpa', but ALiBi adds"),
    (
        {"key_positions": torch.arange(9).tile(3, 1)},
        ValueError,
        "key_positions must hold a position for each of 9 tokens",
    ),
    ({"k": torch.ones(2, 5, 9, 8, dtype=torch.float64)}, ValueError, "k must have"),
    ({"v": torch.ones(2, 4, 9, 8)}, ValueError, "v must have the dtype and device of q"),
    ({"q": np.ones((2, 12, 7, 8))}, TypeError, "q must be a PyTorch tensor"),
    (
        {"encodings": [module(posenc.ForgettingGate(heads=12, model_dim=4))]},
        TypeError,
        "hidden must be the input of the layer for ForgettingGate",
    ),
]


@pytest.mark.parametrize(
    ("change", "error", "message"), NONSENSE, ids=[f"{next(iter(c))}-{i}" for i, (c, _, _) in enumerate(NONSENSE)]
)
def test_nonsense_is_refused_before_any_kernel(change, error, message):
    asked = case(posenc.ALiBi(heads=12)) | {"layout": "bhtd"} | change
    with pytest.raises(error) as caught:
        attention(**asked)
    assert str(caught.value).startswith(message)


def test_no_queries_and_no_keys_give_empty_and_zeros():
    for n, m in ((0, 5), (3, 0), (0, 0)):
        asked = case(posenc.ALiBi(heads=12), n, m)
        asked |= {"query_positions": torch.arange(n)}
        got = attention(**asked, layout="bhtd")
        close(got, torch.zeros(2, 12, n, 8, dtype=torch.float64))


@pytest.mark.nightly
def test_flex_gives_what_the_reference_gives():
    asked = case(posenc.ALiBi(heads=12), 128, 256, torch.float32)
    asked["encodings"] = [module(posenc.RoPE(dim=8)), module(posenc.ALiBi(heads=12))]
    seen = torch.ones(128, 256, dtype=torch.bool).tril(128).triu(128 - 50)
    with torch.no_grad():
        want = by_reference(asked, visible=seen)
        got = attention(**asked, causal=True, window=(50, None), impl="flex", layout="bhtd")
    close(got, want, 1e-5)
