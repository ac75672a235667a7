"""Every public name, listed once: `__init__.py` loads each from here when it is first asked for."""

from .before_serving import Preflight as Preflight
from .before_serving import PreflightCheck as PreflightCheck
from .before_serving import preflight as preflight
from .code.check_code import check_code as check_code
from .code.code_report import CodeReport as CodeReport
from .compare_implementations import diagnose as diagnose
from .mistake import Finding as Finding
from .mistake import Mistake as Mistake
from .model_capture import Capture as Capture
from .search import explain as explain
from .verdict import Diagnosis as Diagnosis
