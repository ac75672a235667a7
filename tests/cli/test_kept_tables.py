"""`posenc check` of code that keeps the tables of its first call, and of code that keeps tables as it should."""

from __future__ import annotations

import types

import pytest

from every import every
from posenc.diagnosis import check_code
from posenc.diagnosis.code.kept_tables import NAME

HEAD = """
import functools
import numpy as np
import torch

def angles(positions, dim):
    return positions[..., None] / 10_000 ** (torch.arange(0, dim, 2) / dim)

def made(length, dim):
    angle = np.arange(length)[:, None] / 10_000 ** (np.arange(0, dim, 2) / dim)
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(length, dim)

def rotated(x, cos, sin):
    one, two = x[..., ::2], x[..., 1::2]
    return torch.stack([one * cos - two * sin, one * sin + two * cos], -1).flatten(-2)

def at(positions):
    return positions, positions.cos(), positions.sin()
"""
#: Code that keeps the tables of its first call, and what its report says of the second call.
WRONG = {
    "a global of its module, cut to the length": ("""
cache = None
def mine(length, dim):
    global cache
    if cache is None:
        cache = made(length, dim)
    return cache[:length]
""", "after a call for positions 0 to 6, it gives other numbers for positions 0 to 11 than in a first call"),
    "a dict of its module, not cut": ("""
cache = {}
def mine(length, dim):
    if dim not in cache:
        cache[dim] = made(length, dim)
    return cache[dim]
""", "for positions 0 to 11 than"),
    "an attribute of the function": ("""
def mine(length, dim):
    if not hasattr(mine, "table"):
        mine.table = made(length, dim)
    return mine.table[:length]
""", "for positions 0 to 11 than"),
    "a default": ("""
def mine(length, dim, cache=[]):
    if not cache:
        cache.append(made(length, dim))
    return cache[0][:length]
""", "for positions 0 to 11 than"),
    "a __call__ that keeps tables of its first length": ("""
class mine:
    def __init__(self, dim):
        self.dim, self.table = dim, None
    def __call__(self, x):
        if self.table is None:
            self.table = torch.tensor(made(x.shape[1], self.dim)).float()
        return x + self.table[: x.shape[1]]
""", "after a call for positions 0 to 6, it fails for positions 0 to 11, as it does not in a first call"),
    "a forward that keeps cos and sin of its first positions": ("""
class mine(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim, self.cos = dim, None
    def forward(self, x, positions):
        if self.cos is None or self.cos.shape[-2] != x.shape[-2]:
            angle = angles(positions, self.dim)
            self.cos, self.sin = angle.cos(), angle.sin()
        return rotated(x, self.cos, self.sin)
""", "after a call for positions 0 to 6, it gives other numbers for positions 5 to 11 than in a first call"),
    "a table that grows and is not cut": ("""
class mine(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim, self.table = dim, torch.zeros(0, dim)
    def forward(self, length):
        if length > len(self.table):
            self.table = torch.tensor(made(length, self.dim)).float()
        return self.table
""", "after a call for positions 0 to 11, it gives other numbers for positions 0 to 6 than in a first call"),
    "biases of the first length": ("""
cache = None
def mine(heads, length):
    global cache
    if cache is None:
        slopes = 2.0 ** (-8 / heads * np.arange(1, heads + 1))
        position = np.arange(length)
        cache = -slopes[:, None, None] * abs(position - position[:, None])
    return cache[:, :length, :length]
""", "for positions 0 to 11 than"),
}  # fmt: skip
#: Code that keeps tables and is right.
RIGHT = {
    "kept by length": """
cache = {}
def mine(length, dim):
    if (length, dim) not in cache:
        cache[length, dim] = made(length, dim)
    return cache[length, dim]
""",
    "kept by functools": """
@functools.lru_cache
def mine(length, dim):
    return made(length, dim)
""",
    "kept by positions": """
class mine(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim, self.cache = dim, {}
    def forward(self, x, positions):
        key = tuple(positions.flatten().tolist())
        if key not in self.cache:
            self.cache[key] = angles(positions, self.dim)
        return rotated(x, self.cache[key].cos(), self.cache[key].sin())
""",
    "grown and cut": """
table = None
def mine(x):
    global table
    if table is None or table.shape[0] < x.shape[1] or table.shape[1] != x.shape[2]:
        table = torch.tensor(made(x.shape[1], x.shape[2])).float()
    return x + table[: x.shape[1]]
""",
    "made beforehand, up to a length": """
class mine(torch.nn.Module):
    def __init__(self, dim, max_len):
        super().__init__()
        self.register_buffer("table", torch.tensor(made(max_len, dim)).float())
    def forward(self, x):
        return x + self.table[: x.shape[1]]
""",
}


def report_of(code: str, name: str):
    module = types.ModuleType(f"kept_{abs(hash(name))}")
    exec(compile(HEAD + code, "mine.py", "exec"), module.__dict__)
    return check_code(module.mine)


def test_tables_of_a_first_call_are_named():
    def check(name: str) -> None:
        report = report_of(WRONG[name][0], name)
        assert not report.right
        assert report.findings[-1].name == NAME
        assert WRONG[name][1] in report.findings[-1].sentence

    every(WRONG, check)


def test_tables_that_are_kept_rightly_are_not():
    def check(name: str) -> None:
        report = report_of(RIGHT[name], name)
        assert report.right, str(report)

    every(RIGHT, check)


@pytest.mark.parametrize(
    "name", ["a global of its module, cut to the length", "a __call__ that keeps tables of its first length"]
)
def test_a_file_is_checked_alike(student, name):
    said = student(HEAD + WRONG[name][0])
    assert said.code == 1
    assert f"mistake: {NAME}\nIt {NAME}: {WRONG[name][1]}" in said.out


def test_a_file_that_keeps_tables_rightly(student):
    assert student(HEAD + RIGHT["kept by positions"]).code == 0


def test_nothing_is_left_of_the_calls():
    module = types.ModuleType("kept_once")
    exec(HEAD + WRONG["a global of its module, cut to the length"][0], module.__dict__)
    check_code(module.mine)
    assert module.mine(3, 4).shape == (3, 4)
