"""Why two things differ, and which known mistake explains it: configs, models, tables, rotated vectors, biases and code; what differs is measured in `models`."""

from posenc.diagnosis.doctor import Diagnosis, diagnose
from posenc.diagnosis.search import Finding

__all__ = ["Diagnosis", "Finding", "diagnose"]
