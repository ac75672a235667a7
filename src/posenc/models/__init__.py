"""What a released model's positions are: read, compared and converted. Needs NumPy alone; other formats import their own library when used."""

from posenc.models.pairing_map import Fused, channel_order, convert_qk

__all__ = ["Fused", "channel_order", "convert_qk"]
