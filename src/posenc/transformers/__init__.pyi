"""Every public name, listed once: `__init__.py` loads each from here when it is first asked for."""

from .accelerated_model import Accelerated as Accelerated
from .accelerated_model import accelerate as accelerate
from .auditing.audit_model import audit as audit
from .auditing.audit_report import AuditReport as AuditReport
from .auditing.audit_report import AuditResult as AuditResult
from .live_positions import live_positions as live_positions
from .longer_table import TableComparison as TableComparison
from .longer_table import TableExtension as TableExtension
from .longer_table import compare_extensions as compare_extensions
from .longer_table import extend_table as extend_table
from .recording import capture as capture
from .rotary_module import HuggingFaceRotary as HuggingFaceRotary
from .swapping.swap import Swapped as Swapped
from .swapping.swap import swap as swap
from .tracing.trace_model import trace as trace
