"""Fast implementations that apply a rotation, each equal to the reference; the reference itself is `core.rotation.Rotation`."""
