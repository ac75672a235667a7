"""How many parts a protobuf message has, counted before a library makes an object of each."""

from __future__ import annotations

from typing import Any

_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5
#: Packed integers of one byte each become eight bytes: so many of them count as one part.
PACKED = 32


def more_parts_than(most: int, data: bytes, message: Any) -> bool:
    """Whether a message of this descriptor has more than `most` fields, those of the messages inside it included.

    An empty message takes two bytes in a file and a hundred in memory. Nothing is decoded, and counting stops at
    `most`. Damaged data is counted as far as it goes; the parser says that it is damaged.
    """
    inside, parts = [(0, len(data), message)], 0
    while inside:
        at, end, descriptor = inside.pop()
        fields = descriptor.fields_by_number
        while at < end:
            parts += 1
            if parts > most:
                return True
            key, at = _varint(data, at)
            wire_type, field = key & 7, fields.get(key >> 3)
            if wire_type == _LENGTH:
                length, at = _varint(data, at)
                if field is not None and field.message_type is not None:
                    inside.append((at, min(at + length, end), field.message_type))
                elif field is not None and field.cpp_type < field.CPPTYPE_DOUBLE:
                    parts += min(length, end - at) // PACKED
                at += length
            elif wire_type == _VARINT:
                _, at = _varint(data, at)
            else:
                at += {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}.get(wire_type, 0)
    return parts > most


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends; zeros stand behind the end of the data."""
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    return value, at
