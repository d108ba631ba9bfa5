"""Pictures, the one-file report, the live page, the dashboard. Optional packages are imported when used, not before."""

from uhebo.report.dashboard import start_dashboard
from uhebo.report.html import write_figures, write_report
from uhebo.report.plots import figures
from uhebo.report.serve import Serving
from uhebo.report.text import ReportError, safe_file_name

__all__ = ["ReportError", "Serving", "figures", "safe_file_name", "start_dashboard", "write_figures", "write_report"]
