"""What students hand in: right answers in many styles, planted mistakes, and things that no known mistake explains."""

from __future__ import annotations

HEAD = "import math\nimport numpy as np\n"
TORCH = "import math\nimport torch\nfrom torch import nn\n"


def table(angle: str, *, even: str = "np.sin(a)", odd: str = "np.cos(a)", dtype: str = "float") -> str:
    """A vectorised table in the usual style, with the angle (and what is done with it) filled in."""
    return f"""{HEAD}
def mine(length, d_model):
    pos, i = np.arange(length)[:, None], np.arange(d_model // 2)[None, :]
    a = {angle}
    pe = np.zeros((length, d_model), dtype={dtype})
    pe[:, 0::2] = {even}
    pe[:, 1::2] = {odd}
    return pe
"""


def rotary(first: str, second: str, theta: str = "10000.0 ** (-np.arange(0, d, 2) / d)") -> str:
    """A rotary function on adjacent pairs, with its two lines filled in."""
    return f"""{HEAD}
def mine(x, positions):
    d = x.shape[-1]
    a = positions[:, None] * {theta}
    c, s = np.cos(a), np.sin(a)
    x1, x2 = x[..., 0::2].copy(), x[..., 1::2].copy()
    out = np.empty_like(x)
    out[..., 0::2] = {first}
    out[..., 1::2] = {second}
    return out
"""


def module(build: str, forward: str, init: str = "d_model, dropout=0.1, max_len=5000") -> str:
    """A PyTorch module with a buffer, with the buffer's shape and the addition filled in."""
    return f"""{TORCH}
class mine(nn.Module):
    def __init__(self, {init}):
        super().__init__()
        self.dropout = nn.Dropout(0.1)
        position = torch.arange(max_len).unsqueeze(1)
        rate = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(position * rate)
        pe[:, 1::2] = torch.cos(position * rate)
        self.register_buffer("pe", {build})

    def forward(self, x):
        return self.dropout({forward})
"""


GOOD = "pos / 10000 ** (2 * i / d_model)"
MATRIX = f"""{HEAD}
def mine(context_len, d_model):
    R = np.zeros((context_len, d_model, d_model))
    m = np.arange(START, context_len + START)[:, None]
    i = np.arange(d_model // 2)
    a = m * 10000.0 ** (-2.0 * i / d_model)
    R[:, 2 * i, 2 * i] = np.cos(a)
    R[:, 2 * i, 2 * i + 1] = -np.sin(a)
    R[:, 2 * i + 1, 2 * i] = np.sin(a)
    R[:, 2 * i + 1, 2 * i + 1] = np.cos(a)
    return R
"""
HALVES = f"""{TORCH}
def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)

def mine(q, k, position_ids):
    d = q.shape[-1]
    rate = 1.0 / 10000 ** (torch.arange(0, d, 2).float() / d)
    a = position_ids[:, None].float() * rate
    a = ANGLES
    return q * a.cos() + rotate_half(q) * a.sin(), k * a.cos() + KEY * a.sin()
"""

#: name → (code, the encoding it is)
RIGHT: dict[str, tuple[str, str]] = {
    "the paper's loop": (
        f"""{HEAD}
def mine(max_len, d_model):
    pe = np.zeros((max_len, d_model))
    for pos in range(max_len):
        for i in range(0, d_model, 2):
            pe[pos, i] = math.sin(pos / 10000 ** (i / d_model))
            pe[pos, i + 1] = math.cos(pos / 10000 ** (i / d_model))
    return pe
""",
        "Sinusoidal(dim=16)",
    ),
    "vectorised": (table(GOOD), "Sinusoidal(dim=16)"),
    "exponential of a logarithm": (
        table("pos * np.exp(-math.log(10000.0) * 2 * i / d_model)"),
        "Sinusoidal(dim=16)",
    ),
    "one number at a time": (
        f"""{HEAD}
def mine(pos, i, d):
    a = pos / 10000 ** (2 * (i // 2) / d)
    return math.sin(a) if i % 2 == 0 else math.cos(a)
""",
        "Sinusoidal(dim=16)",
    ),
    "one position at a time, as a list": (
        f"""{HEAD}
def mine(position, dim):
    row = []
    for i in range(dim // 2):
        row += [math.sin(position / 10000 ** (2 * i / dim)), math.cos(position / 10000 ** (2 * i / dim))]
    return row
""",
        "Sinusoidal(dim=16)",
    ),
    "concatenated, for given positions": (
        f"""{HEAD}
def mine(positions, dim):
    a = positions[:, None] * 10000.0 ** (-np.arange(0, dim, 2) / dim)
    return np.concatenate([np.sin(a), np.cos(a)], -1)
""",
        "Sinusoidal(dim=16, layout='concatenated')",
    ),
    "tensor2tensor": (
        f"""{HEAD}
def mine(length, channels):
    half = channels // 2
    a = np.arange(length)[:, None] * np.exp(np.arange(half) * -(math.log(10000.0) / (half - 1)))
    return np.concatenate([np.sin(a), np.cos(a)], -1)
""",
        "Sinusoidal(dim=16, layout='concatenated', exponent='i/(d/2-1)')",
    ),
    "unknown names, a batch axis of 1": (
        f"{HEAD}\ndef mine(aa, bb):\n    pos, i = np.arange(aa)[:, None], np.arange(bb)\n"
        "    a = pos / 10000 ** (2 * (i // 2) / bb)\n    return np.where(i % 2, np.cos(a), np.sin(a))[None]\n",
        "Sinusoidal(dim=16)",
    ),
    "module, sequence first": (module("pe.unsqueeze(1)", "x + self.pe[: x.size(0)]"), "Sinusoidal(dim=16)"),
    "module, batch first, embedding scaled": (
        module("pe.unsqueeze(0)", "x * math.sqrt(x.size(-1)) + self.pe[:, : x.size(1)]"),
        "Sinusoidal(dim=16)",
    ),
    "bfloat16 output": (
        f"{TORCH}\ndef mine(length, dim):\n    a = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, dim, 2) / "
        f"dim)\n"
        "    return torch.stack((a.sin(), a.cos()), -1).flatten(-2).bfloat16()\n",
        "Sinusoidal(dim=16)",
    ),
    "plain class": (
        table(GOOD)
        + "\nclass other:\n    def __init__(self, d_model, max_len=600):\n        self.t = mine(max_len, d_model)\n"
        "    def __call__(self, x):\n        if x.shape[1] > len(self.t):\n            raise ValueError('too long')\n"
        "        return x + self.t[: x.shape[1]]\nmine, inner = other, mine\n".replace("mine(max_len", "inner(max_len"),
        "Sinusoidal(dim=16)",
    ),
    "the article's rotation matrices": (MATRIX.replace("START", "1"), "RoPE(dim=16) with positions from 1"),
    "rotation matrices from 0": (MATRIX.replace("START", "0"), "RoPE(dim=16)"),
    "rotary, adjacent": (rotary("x1 * c - x2 * s", "x1 * s + x2 * c"), "RoPE(dim=16)"),
    "rotary, halves": (
        HALVES.replace("ANGLES", "torch.cat((a, a), -1)").replace("KEY", "rotate_half(k)"),
        "RoPE(dim=16, pairing='halves')",
    ),
    "rotary, one vector": (
        f"""{HEAD}
def mine(x, m):
    out = np.zeros(len(x))
    for i in range(len(x) // 2):
        t = m * 10000 ** (-2 * i / len(x))
        out[2 * i] = x[2 * i] * math.cos(t) - x[2 * i + 1] * math.sin(t)
        out[2 * i + 1] = x[2 * i] * math.sin(t) + x[2 * i + 1] * math.cos(t)
    return out
""",
        "RoPE(dim=16)",
    ),
    "rotary module with heads": (
        f"""{TORCH}
class mine(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("rate", 1.0 / 10000 ** (torch.arange(0, dim, 2).float() / dim))
    def forward(self, x):
        batch, heads, length, dim = x.shape
        a = torch.arange(length)[:, None] * self.rate
        x1, x2 = x[..., 0::2], x[..., 1::2]
        return torch.stack((x1 * a.cos() - x2 * a.sin(), x1 * a.sin() + x2 * a.cos()), -1).flatten(-2)
""",
        "RoPE(dim=16)",
    ),
}

CLAMPED = (
    HEAD
    + """
def mine(positions, dim):
    p = np.CUT[:, None]
    i = np.arange(dim)
    a = p / 10000 ** (2 * (i // 2) / dim)
    return np.where(i % 2, np.cos(a), np.sin(a))
"""
)

#: name → (code, the mistakes that must be named)
WRONG: dict[str, tuple[str, list[str]]] = {
    "halves of frequencies, alternating waves": (
        f"{HEAD}\ndef mine(length, dim):\n    w = 10000.0 ** (-np.arange(0, dim, 2) / dim)\n    a = "
        f"np.arange(length)[:, None] * np.concatenate([w, w])\n"
        "    return np.where(np.arange(dim) % 2, np.cos(a), np.sin(a))\n",
        ["pairs mixed"],
    ),
    "frequencies repeated, half rotation": (
        HALVES.replace("ANGLES", "a.repeat_interleave(2, -1)").replace("KEY", "rotate_half(k)"),
        ["pairs mixed"],
    ),
    "exponent i/d": (table("pos / 10000 ** (i / d_model)"), ["exponent i/d"]),
    "exponent of the channel, cosine": (
        f"{HEAD}\ndef mine(pos, i, d):\n    a = pos / 10000 ** (i / d)\n    return math.sin(a) if i % 2 == 0 else "
        f"math.cos(a)\n",
        ["cosine exponent"],
    ),
    "i is the channel": (
        f"""{HEAD}
def mine(max_len, d_model):
    pe = np.zeros((max_len, d_model))
    for pos in range(max_len):
        for i in range(0, d_model, 2):
            pe[pos, i] = math.sin(pos / (10000 ** ((2 * i) / d_model)))
            pe[pos, i + 1] = math.cos(pos / (10000 ** ((2 * (i + 1)) / d_model)))
    return pe
""",
        ["i is the channel"],
    ),
    "2i doubled": (table("pos / 10000 ** (4 * i / d_model)"), ["exponent doubled"]),
    "not divided by d": (table("pos / 10000.0 ** (2 * i)"), ["exponent not divided"]),
    "integer division": (table("pos / 10000 ** (2 * i // d_model)"), ["integer division"]),
    "pairs from 1": (table("pos / 10000 ** (2 * (i + 1) / d_model)"), ["pairs counted from 1"]),
    "d-1": (table("pos / 10000 ** (2 * i / (d_model - 1))"), ["divided by d-1"]),
    "d-2": (table("pos / 10000 ** (2 * i / (d_model - 2))"), ["divided by d-2"]),
    "brackets missing": (table("pos / 10000 ** 2 * i / d_model"), ["operators bind"]),
    "multiplied": (table("pos * 10000 ** (2 * i / d_model)"), ["inverse frequencies"]),
    "position raised": (table("(pos / 10000) ** (2 * i / d_model)"), ["position raised too"]),
    "reversed": (table("pos / 10000 ** (2 * i[:, ::-1] / d_model)"), ["order reversed"]),
    "evenly spaced": (table("pos * np.linspace(1, 1e-4, d_model // 2)"), ["evenly spaced"]),
    "log10": (table("pos * np.exp(-2 * i / d_model * np.log10(10000.0))"), ["logarithm to base 10"]),
    "log2": (table("pos * np.exp(-2 * i / d_model * np.log2(10000.0))"), ["logarithm to base 2"]),
    "swapped": (table(GOOD, even="np.cos(a)", odd="np.sin(a)"), ["sine and cosine swapped"]),
    "all sines": (table(GOOD, odd="np.sin(a)"), ["sine alone"]),
    "sign": (table(GOOD, even="-np.sin(a)"), ["sign"]),
    "base 1000": (table("pos / 1000 ** (2 * i / d_model)"), ["base"]),
    "fixed width": (table("pos / 10000 ** (2 * i / 512)"), ["fixed width"]),
    "from 1": (table("(pos + 1) / 10000 ** (2 * i / d_model)"), ["off by one"]),
    "degrees": (table("np.degrees(pos / 10000 ** (2 * i / d_model))"), ["degrees"]),
    "radians": (table("np.radians(pos / 10000 ** (2 * i / d_model))"), ["degrees"]),
    "two pi": (table("2 * np.pi * pos / 10000 ** (2 * i / d_model)"), ["times 2π"]),
    "doubled": (table("2 * pos / 10000 ** (2 * i / d_model)"), ["frequencies doubled"]),
    "by the length": (table("pos / length / 10000 ** (2 * i / d_model)"), ["position divided by the length"]),
    "position forgotten": (table("0 * pos + 0 / 10000 ** (2 * i / d_model)"), ["position unused"]),
    "scaled": (table(GOOD, even="np.sin(a) / 4", odd="np.cos(a) / 4"), ["values scaled"]),
    "integers": (table(GOOD, dtype="int"), ["whole numbers"]),
    "float16 positions": (
        table("pos.astype(np.float16).astype(float) / 10000 ** (2 * i / d_model)"),
        ["16-bit positions"],
    ),
    "bfloat16 positions": (
        f"{TORCH}\ndef mine(length, dim):\n    p = torch.arange(length, dtype=torch.bfloat16).float()[:, None]\n"
        "    a = p / 10000 ** (torch.arange(0, dim, 2) / dim)\n    return torch.stack((a.sin(), a.cos()), "
        "-1).flatten(-2)\n",
        ["16-bit positions"],
    ),
    "clamped": (CLAMPED.replace("CUT", "minimum(positions, 511)"), ["table too short"]),
    "wrapped": (CLAMPED.replace("CUT", "mod(positions, 1024)"), ["table too short"]),
    "transposed": (
        table(GOOD) + "\nright = mine\ndef mine(length, dim):\n    return right(length, dim).T\n",
        ["axes swapped"],
    ),
    "length from the batch": (module("pe.unsqueeze(0)", "x + self.pe[:, : x.size(0)]"), ["batch and position mixed"]),
    "odd width": (
        f"{HEAD}\ndef mine(length, dim):\n    p, i = np.arange(length)[:, None], np.arange(dim)\n"
        "    a = p / 10000 ** (2 * (i // 2) / (dim + dim % 2 * 5))\n    return np.where(i % 2, np.cos(a), np.sin(a))\n",
        ["odd width"],
    ),
    "rotated backwards": (rotary("x1 * c + x2 * s", "x2 * c - x1 * s"), ["rotation backwards"]),
    "minus missing": (rotary("x1 * c + x2 * s", "x1 * s + x2 * c"), ["minus missing"]),
    "overwritten": (rotary("x1 * c - x2 * s", "out[..., 0::2] * s + x2 * c"), ["overwritten"]),
    "partner missing": (rotary("x1 * c + x1 * s", "x2 * c + x2 * s"), ["partner missing"]),
    "waves swapped": (rotary("x1 * s - x2 * c", "x1 * c + x2 * s"), ["sine and cosine swapped"]),
    "rotary base": (rotary("x1 * c - x2 * s", "x1 * s + x2 * c", "500000.0 ** (-np.arange(0, d, 2) / d)"), ["base"]),
    "keys otherwise": (
        HALVES.replace("ANGLES", "torch.cat((a, a), -1)").replace("KEY", "-rotate_half(k)"),
        ["keys rotated otherwise"],
    ),
    "two at once": (table("(pos + 1) / 10000 ** (i / d_model)"), ["exponent i/d", "off by one"]),
}

#: name → code that no known mistake explains
UNKNOWN: dict[str, str] = {
    "random numbers": f"{HEAD}\ndef mine(length, dim):\n    return np.random.default_rng(0).normal(size=(length, "
    f"dim))\n",
    "squares of sines": table(GOOD, even="np.sin(a) ** 2", odd="np.cos(a) ** 2"),
    "a trend": table(GOOD, even="np.sin(a) + 0.01 * pos"),
    "odd phases": table("pos / 10000 ** (2 * i / d_model) + 0.3 * i * i"),
    "one pair silent": table(GOOD, even="np.sin(a) * (i != 2)", odd="np.cos(a) * (i != 2)"),
    "a shear": rotary("x1 + x2 * s", "x2"),
}
