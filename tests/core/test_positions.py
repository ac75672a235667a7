"""Positions of sequences, and the distance between two of them."""

import numpy as np
import pytest

from posenc.core.checked_positions import checked, checked_pair
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.positions import (
    boundaries,
    decoding,
    difference,
    documents,
    draft_tree,
    first_visible,
    from_mask,
    lengths_between,
    packed,
    ring_positions,
    shared_prefix,
    span,
    table_rows,
)
from posenc.positions.distance import steps
from posenc.positions.ordered_keys import ordered
from posenc.positions.sums_between import over_keys


def test_a_span_starts_where_it_is_told():
    assert span(3, start=2**52).tolist() == [2**52, 2**52 + 1, 2**52 + 2]
    assert span(0).shape == (0,)


def test_padding_on_either_side_does_not_move_a_token():
    assert from_mask([[0, 0, 1, 1, 1], [1, 1, 1, 0, 0]]).tolist() == [[3, 4, 0, 1, 2], [0, 1, 2, 3, 4]]
    assert from_mask(np.zeros((2, 0), bool)).shape == (2, 0)


def test_a_mask_of_each_library_gives_the_same():
    torch, jnp = pytest.importorskip("torch"), pytest.importorskip("jax.numpy")
    mask = np.array([[False, True, True], [True, False, True]])
    want = from_mask(mask).tolist()
    assert want == [[2, 0, 1], [0, 2, 1]]
    for dtype in (torch.bool, torch.uint16, torch.uint32, torch.uint64):
        assert from_mask(torch.as_tensor(mask).to(dtype)).tolist() == want
    assert from_mask(jnp.asarray(mask)).tolist() == want


def test_packed_documents_start_again():
    assert packed([3, 0, 1, 2]).tolist() == [0, 1, 2, 0, 0, 1]
    assert packed([]).tolist() == []


def counted(lengths):
    """Positions and documents of a row, token by token."""
    pairs = [(place, number) for number, length in enumerate(lengths) for place in range(length)]
    return [place for place, _ in pairs], [number for _, number in pairs]


def test_rows_of_packed_documents_and_their_numbers():
    rng = np.random.default_rng(0)
    for _ in range(50):
        rows = [rng.multinomial(30, np.ones(parts) / parts).tolist() for parts in rng.integers(1, 40, 3)]
        places, numbers = zip(*map(counted, rows), strict=True)
        for given in (rows, [np.array(row) for row in rows]):
            assert packed(given).tolist() == list(places)
            assert documents(given, tokens=30).tolist() == list(numbers)
        assert packed(rows[0]).tolist() == places[0]
        assert lengths_between(boundaries(rows[1]), tokens=30) == rows[1]


@pytest.mark.nightly
def test_ten_million_packed_ids_are_exact():
    """Against documents written one by one; the sum of steps must neither round nor wrap."""
    lengths = [*range(1, 4400), 10_000_000 - 4399 * 2200, 0, 0, 3]
    found, numbers, begins = packed(lengths), documents(lengths), 0
    assert len(found) == 10_000_003
    for number, length in enumerate(lengths):
        assert np.array_equal(found[begins : begins + length], np.arange(length))
        assert (numbers[begins : begins + length] == number).all()
        begins += length


def test_a_tree_of_drafts_counts_depths_and_sees_ancestors():
    parents = [-1, 0, 0, 2, 1, -1, 5]
    tree = draft_tree(parents, cached=[10, 3])
    for token in range(len(parents)):
        line, above = [token], parents[token]
        while above >= 0:
            line.append(above)
            above = parents[above]
        assert np.flatnonzero(tree.mask[token]).tolist() == sorted(line)
        assert tree.positions[:, token].tolist() == [10 + len(line) - 1, 3 + len(line) - 1]
    chain = draft_tree([-1, 0, 1], cached=[10, 3])
    assert chain.positions.tolist() == decoding([10, 3], steps=3).tolist()


def test_answers_to_one_prompt_see_it_and_themselves():
    shared = shared_prefix(3, [2, 0, 4])
    assert shared.positions.tolist() == [0, 1, 2, 3, 4, 3, 4, 5, 6]
    for begins, length in ((3, 2), (5, 4)):
        for step in range(length):
            seen = np.flatnonzero(shared.mask[begins + step]).tolist()
            assert seen == [0, 1, 2, *range(begins, begins + step + 1)]


def test_slots_of_a_ring_hold_the_last_that_was_written():
    for size in (1, 3, 8):
        for length in range(20):
            slots = [-1] * size
            for place in range(length):
                slots[place % size] = place
            assert ring_positions(length, size).tolist() == slots
    assert ring_positions([2, 5], 4).shape == (2, 4)


def test_keys_that_windows_and_chunks_show():
    for position in range(12):
        window = [key for key in range(position + 1) if position - key < 5]
        chunk = [key for key in range(position + 1) if key // 5 == position // 5]
        assert first_visible([position], window=5)[0] == window[0]
        assert first_visible([position], chunk=5)[0] == chunk[0]


MISTAKES = {
    "lengths must sum to tokens, 6; got 5\\. Count": lambda: packed([3, 2], tokens=6),
    "lengths must sum to the same in every row, 5; got 4 in row 1": lambda: packed([[3, 2], [4]]),
    "lengths must be an integer from 0 to 1073741824; got -1": lambda: packed([3, -1]),
    "lengths must be an integer from 0 to 1073741824; got 1.5": lambda: packed([1.5]),
    "lengths must need at most": lambda: packed([1 << 30] * 4),
    "lengths must be those of one row; got 2 rows": lambda: boundaries([[3], [3]]),
    "boundaries must go from 0 to the 5 tokens; got 0 to 4": lambda: lengths_between([0, 4], tokens=5),
    "boundaries must go from 0 to the 5 tokens; got none": lambda: lengths_between([], tokens=5),
    "boundaries must not fall, or documents overlap; got 2 behind 3": lambda: lengths_between([0, 3, 2, 5], tokens=5),
    "parents must come before their children; got 1 for token 1": lambda: draft_tree([-1, 1]),
    "parents must be at most 16384; got 16385": lambda: draft_tree([-1] * 16385),
    "cached must not be negative; got -2": lambda: draft_tree([-1], cached=[3, -2]),
    "cached must be at most 2\\^53 - 2\\^30; got 9007199254740992": lambda: decoding(np.array([1 << 53], np.uint64)),
    "suffixes must be at most 16384 tokens with the prefix; got 16385": lambda: shared_prefix(16384, [1]),
    "size must be an integer from 1": lambda: ring_positions(4, 0),
    "length must be an integer from 0 to 1073741824; got -1": lambda: ring_positions([-1], 4),
    "window or chunk must be given, and not both; got window=3 and chunk=3": lambda: first_visible(
        [0], window=3, chunk=3
    ),
    "positions must not be negative; got -1": lambda: first_visible([-1], window=3),
    "positions must hold whole numbers; got float64": lambda: first_visible([0.5], window=3),
    "table must be one of 'bert', 'gpt2', 'bart', 'opt', 'roberta', 'fairseq'": lambda: table_rows([1], table="t5"),
    "padding_idx must be left out for 'opt', which has none; got 1": lambda: table_rows(
        [1], table="opt", padding_idx=1
    ),
    "mask must have at most 512 tokens for a table of 514 rows whose first token has row 2; got 513": lambda: (
        table_rows(np.ones((1, 513), bool), table="roberta", rows=514)
    ),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_name_the_argument_and_both_numbers(message):
    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
        MISTAKES[message]()


def test_decoding_goes_on_where_each_row_stopped():
    assert decoding(4).tolist() == [4]
    assert decoding([4, 0, 9], steps=2).tolist() == [[4, 5], [0, 1], [9, 10]]
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    widest = jax.numpy.asarray(0).dtype  # with 32-bit numbers alone, or with 64
    for array, signed in (
        (np.array([7, 255], np.uint8), np.int64),
        (np.array([7, 255], np.uint64), np.int64),
        (torch.tensor([7, 255], dtype=torch.uint16), torch.int64),
        (torch.tensor([7, 255], dtype=torch.uint32), torch.int64),
        (jax.numpy.array([7, 255], jax.numpy.uint8), widest),
    ):
        places = decoding(array, steps=2)
        assert (places.tolist(), places.dtype) == ([[7, 8], [255, 256]], signed)


@pytest.mark.parametrize(("cached", "dtype"), [(2**31 - 2, "int32"), (3_000_000_000, "uint32")])
def test_decoding_does_not_wrap_where_jax_has_no_64_bit_numbers(cached, dtype):
    jax = pytest.importorskip("jax")
    array = jax.numpy.asarray(np.array([cached], dtype))
    if cached < 2**31:
        assert decoding(array, steps=2).tolist() == [[cached, cached + 1]]
    with pytest.raises(ValueError, match=r"^cached.* must be below 2\^31 in magnitude where there are no 64-bit"):
        decoding(array, steps=4)


def test_difference_does_not_wrap_for_unsigned_positions():
    assert difference(np.array([5], np.uint8), np.array([3], np.uint8)).tolist() == [-2]
    assert difference([2**53], [-(2**53)]).tolist() == [-(2**54)]


def test_no_positions_in_a_list_are_whole_numbers_of_the_library_beside():
    torch, jnp = pytest.importorskip("torch"), pytest.importorskip("jax.numpy")
    for like in (np.zeros(1), torch.zeros(1), jnp.zeros(1)):
        found = checked([], like=like)
        assert (tuple(found.array.shape), found.integers, type(found.array)) == ((0,), True, type(like))


def test_a_size_that_could_not_be_meant_is_refused_where_memory_is_the_hosts():
    torch = pytest.importorskip("torch")
    lib = checked(torch.arange(3)).lib
    with pytest.raises(ValueError, match=r"^positions must need at most \d+ bytes at once; got 1099511627776"):
        lib.check_size("positions", 2**40, torch.float32, torch.arange(3))
    lib.check_size("positions", 2**40, torch.float32, torch.arange(3, device="meta"))  # its own library says so


def test_a_filter_reads_keys_in_the_order_of_their_positions():
    keys, taps, x = ordered([7, 3]), np.array([[[0.5, 1.0]]]), np.array([[[1.0], [10.0]]])
    filtered = over_keys(keys.of(x), keys, taps)
    assert keys.back(filtered[..., 0]).tolist() == [[1.0 + 0.5 * 10.0, 10.0]]


REFUSED = [
    (lambda: span(-1), ValueError, r"^length must be an integer from 0 to \d+; got -1"),
    (lambda: span(10**30), ValueError, r"^length must be an integer"),
    (lambda: span(1.0), TypeError, r"^length must be an integer from 0 to \d+; got 1.0 \(float\)"),
    (lambda: span(1, start=2**60), ValueError, r"^start must be an integer"),
    (lambda: from_mask([0.5]), ValueError, r"^mask must hold 0 and 1"),
    (lambda: from_mask([0, 2]), ValueError, r"^mask must hold 0 and 1"),
    (lambda: from_mask("0110"), TypeError, r"^mask must be an array of truth values; got '0110'"),
    (lambda: packed(3), TypeError, r"^lengths must be a list of whole numbers; got 3"),
    (lambda: packed([2, -1]), ValueError, r"^lengths must be an integer from 0"),
    (lambda: packed([2**30] * 64), ValueError, r"^lengths must need at most \d+ bytes"),
    (lambda: decoding(-1), ValueError, r"^cached must not be negative; got -1"),
    (lambda: decoding(1.5), TypeError, r"^cached must hold whole numbers; got float64"),
    (lambda: decoding(1, steps=-1), ValueError, r"^steps must be an integer from 0"),
    (lambda: decoding([1] * 100, steps=2**30), ValueError, r"^steps must need at most \d+ bytes"),
    (lambda: difference([0], ["a"]), TypeError, r"^key_positions must hold numbers"),
    (
        lambda: difference([2**53 + 1], [0]),
        ValueError,
        r"^query_positions must be finite and of magnitude at most 2\^53",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_refusals_name_the_argument(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_documents_of_a_packed_row():
    assert documents([3, 0, 2]).tolist() == [0, 0, 0, 2, 2]
    assert documents([]).shape == (0,)
    with pytest.raises(TypeError, match=r"^lengths must be a list of whole numbers; got 3"):
        documents(3)


def test_unsigned_positions_of_pytorch_are_what_they_are():
    torch = pytest.importorskip("torch")
    for dtype, largest in ((torch.uint16, 2**16 - 1), (torch.uint32, 2**32 - 1)):  # which PyTorch compares with nothing
        found = checked(torch.tensor([0, largest]).to(dtype))
        assert found.bounds == (0, largest)
        assert found.array.tolist() == [0, largest]
    with pytest.raises(TypeError, match=r"^positions must be integers, float32 or float64; got uint64"):
        checked(torch.tensor([0]).to(torch.uint64))


def test_positions_of_queries_and_keys_come_from_one_library():
    torch = pytest.importorskip("torch")
    for pair in ((np.arange(2), torch.arange(2)), (checked(np.arange(2)), checked(torch.arange(2)))):
        with pytest.raises(TypeError, match=r"^arrays must come from one library; got (numpy|torch) and (numpy|torch)"):
            checked_pair(*pair)


def test_lists_follow_the_library_that_is_asked_for():
    torch = pytest.importorskip("torch")
    found = steps([5], [3, 9], torch.float32, like=torch.zeros(1))
    assert isinstance(found, torch.Tensor)
    assert found.tolist() == [-2.0, 4.0]


def test_embeddings_and_positions_come_from_one_library():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"^arrays must come from one library; got (numpy|torch) and (numpy|torch)"):
        Sinusoidal(dim=4).attach(np.zeros((2, 4)), torch.arange(2))


def test_an_embedding_is_added_in_the_precision_of_what_it_is_added_to():
    torch = pytest.importorskip("torch")
    encoding, places = Sinusoidal(dim=4), torch.arange(3)
    table = encoding.embed(places, dtype=torch.float64)
    assert encoding.attach(torch.zeros((3, 4), dtype=torch.float64), places).equal(table)
    assert not table.equal(table.to(torch.float32).to(torch.float64))


def test_embeddings_that_fit_into_no_memory_are_named():
    with pytest.raises(ValueError, match=r"^x must need at most \d+ bytes at once; got 4503599627370496 numbers of 4"):
        Sinusoidal(dim=4).attach(np.broadcast_to(np.float32(0), (2**50, 1, 4)), [0])


def test_more_documents_than_fit_into_memory_are_not_read():
    class Endless:
        def __len__(self):
            return 2**50

    with pytest.raises(ValueError, match=r"^lengths must need at most"):
        packed(Endless())


def test_keys_in_order_give_back_what_they_were_given():
    torch = pytest.importorskip("torch")
    numbers = torch.tensor([[7, 7, 2, 2], [0, 0, 0, 0]])
    key = checked(torch.tensor([[1, 0, 5, 3], [0, 1, 2, 3]]))._replace(documents=numbers)
    keys = ordered(key)
    assert keys.key.array.tolist() == [[3, 5, 0, 1], [0, 1, 2, 3]]
    assert keys.key.documents.tolist() == [[2, 2, 7, 7], [0, 0, 0, 0]]
    x = torch.arange(8.0).reshape(2, 1, 4, 1)
    assert keys.of(x).squeeze().tolist() == [[3.0, 2.0, 1.0, 0.0], [4.0, 5.0, 6.0, 7.0]]
    assert keys.back(keys.of(x)[..., 0]).equal(x[..., 0])
