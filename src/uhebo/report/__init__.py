"""Pictures, the one-file report, the dashboard. Plotly and optuna-dashboard are imported when used, not before."""

from uhebo.report.dashboard import Dashboard, start_dashboard
from uhebo.report.html import write_report
from uhebo.report.plots import figures
from uhebo.report.text import ReportError, safe_file_name

__all__ = ["Dashboard", "ReportError", "figures", "safe_file_name", "start_dashboard", "write_report"]
