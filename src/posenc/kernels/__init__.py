"""Fast implementations that apply a rotation, each equal to the reference, `core.rotation.Rotation`."""
