from .bias_reading import LayerBias as LayerBias
from .read import ProbeReading as ProbeReading
from .read import read_probe as read_probe
from .rotation_reading import LayerRotation as LayerRotation
from .row_reading import TableRows as TableRows
from .write import write_probe as write_probe
