"""Make HTML pages: the site of a run, its tables, and pages of models, audits and scorecards.

Rules import `papers` (the question of each paper) and `facts` (the settings and catalog of a run).
"""

from pathlib import Path

TEMPLATES = Path(__file__).parent / "templates"
