"""Positions of sequences, and the distance between two of them."""

import numpy as np
import pytest

from posenc.core.checked_positions import checked, checked_pair
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.positions import decoding, difference, documents, from_mask, packed, span
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
    assert from_mask(torch.as_tensor(mask)).tolist() == want
    assert from_mask(jnp.asarray(mask)).tolist() == want


def test_packed_documents_start_again():
    assert packed([3, 0, 1, 2]).tolist() == [0, 1, 2, 0, 0, 1]
    assert packed([]).tolist() == []


def test_decoding_goes_on_where_each_row_stopped():
    assert decoding(4).tolist() == [4]
    assert decoding([4, 0, 9], steps=2).tolist() == [[4, 5], [0, 1], [9, 10]]


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
