"""More that students hand in: biases, learned tables, tensors that no module knows of."""

from __future__ import annotations

from diagnosis.students import HEAD, TORCH, module

ALIBI = f"""{HEAD}
def get_slopes(n):
    power = 2 ** math.floor(math.log2(n))
    first = [2 ** (-8 * (h + 1) / power) for h in range(power)]
    return first + [2 ** (-4 * (2 * h + 1) / power) for h in range(n - power)]
def mine(heads, length):
    position = np.arange(length)
    return ORDER
"""
DISTANCE = "-np.array(get_slopes(heads))[:, None, None] * abs(position - position[:, None])"
T5 = f"""{TORCH}
class mine(nn.Module):
    def __init__(self, num_heads, num_buckets=32, max_distance=128):
        super().__init__()
        self.num_buckets, self.max_distance = num_buckets, max_distance
        self.relative_attention_bias = nn.Embedding(num_buckets, num_heads)
    def bucket(self, distance):
        half = self.num_buckets // 2
        ahead = (DISTANCE > 0).long() * half
        distance = distance.abs()
        exact = half // 2
        far = exact + (torch.log(distance.float().clamp(min=1) / exact) / math.log(self.max_distance / exact)
                       * (half - exact)).long()
        return ahead + torch.where(distance < exact, distance, far.clamp(max=half - 1))
    def forward(self, query_length, key_length):
        distance = torch.arange(key_length) - torch.arange(query_length)[:, None]
        return self.relative_attention_bias(self.bucket(distance)).permute(2, 0, 1)[None]
"""
LEARNED = f"""{TORCH}
class mine(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        self.table = TABLE
    def forward(self, x):
        return x + ROWS
"""

#: name → (code, exit code, what the report says first)
BEYOND: dict[str, tuple[str, int, str]] = {
    "ALiBi": (ALIBI.replace("ORDER", DISTANCE), 0, "ALiBi(heads=8)"),
    "ALiBi, keys alone": (
        ALIBI.replace("ORDER", "np.array(get_slopes(heads))[:, None, None] * position"),
        0,
        "ALiBi(heads=8, form='signed')",
    ),
    "ALiBi added to scores": (
        ALIBI.replace("ORDER", DISTANCE)
        + "\nwhole = mine\ndef mine(scores):\n    return scores + whole(scores.shape[1], scores.shape[2])\n",
        0,
        "ALiBi(heads=8)",
    ),
    "heads reversed": (ALIBI.replace("ORDER", f"({DISTANCE})[::-1]"), 1, "order of heads"),
    "slopes of eight heads on twelve": (
        f"{HEAD}\ndef mine(num_heads):\n    return [2 ** (-8 * (h + 1) / num_heads) for h in range(num_heads)]\n",
        1,
        "slope rule",
    ),
    "T5": (T5.replace("DISTANCE", "distance"), 0, "T5Bias(heads=8)"),
    "T5, query for key": (T5.replace("DISTANCE", "-distance"), 1, "query for key"),
    "learned": (
        LEARNED.replace("TABLE", "nn.Embedding(max_len, d_model)").replace(
            "ROWS", "self.table(torch.arange(x.size(1)))"
        ),
        3,
        "Learned(dim=16, length=512)",
    ),
    "learned, not registered": (
        LEARNED.replace("TABLE", "torch.randn(max_len, d_model, requires_grad=True)").replace(
            "ROWS", "self.table[: x.size(1)]"
        ),
        1,
        "table not registered",
    ),
    "learned, length from the batch": (
        LEARNED.replace("TABLE", "nn.Embedding(max_len, d_model)").replace(
            "ROWS", "self.table(torch.arange(x.size(0)))"
        ),
        1,
        "batch and position mixed",
    ),
    "buffer not registered": (
        module("pe", "x + self.pe[: x.size(1)]").replace('self.register_buffer("pe", pe)', "self.pe = pe"),
        1,
        "buffer not registered",
    ),
    "plain tensor that moves": (
        module("pe", "x + self.pe[: x.size(1)].to(x.device)").replace('self.register_buffer("pe", pe)', "self.pe = pe"),
        0,
        "Sinusoidal(dim=16)",
    ),
    "not a number": (f"{HEAD}\ndef mine(length, dim):\n    return np.full((length, dim), np.nan)\n", 1, "not finite"),
    "zeros": (f"{HEAD}\ndef mine(length, dim):\n    return np.zeros((length, dim))\n", 1, "all one number"),
    "ones": (f"{HEAD}\ndef mine(length, dim):\n    return np.ones((length, dim))\n", 1, "all one number"),
}
