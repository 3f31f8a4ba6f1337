"""A comparison of the trust models, for people to look at: terminal table, plot, page and files.

Importing this is cheap: matplotlib is loaded only when something is drawn.
"""

from parties.report.files import ReportPaths, write_all
from parties.report.page import render_page
from parties.report.plot import render_svg, require_matplotlib
from parties.report.table import comparison_table, print_comparison

__all__ = [
    "ReportPaths",
    "comparison_table",
    "print_comparison",
    "render_page",
    "render_svg",
    "require_matplotlib",
    "write_all",
]
