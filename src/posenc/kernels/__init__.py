"""Fast implementations that apply a turn, each equal to the reference; the reference itself is `turn.Turn`."""
