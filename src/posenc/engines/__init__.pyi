from .ask_all import engine_names as engine_names
from .ask_all import engine_table as engine_table
from .cell import Cell as Cell
from .engine_checks import with_engines as with_engines
from .side_by_side import EngineRow as EngineRow
from .side_by_side import EngineTable as EngineTable
