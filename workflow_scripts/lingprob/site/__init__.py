"""Make HTML pages: the site of a run, its tables, and pages of models, audits and scorecards.

`papers` has the question of each paper, and `facts` the settings and catalog of a run. Rules import
these two modules. `models` collects the results of each model. `page` fills the templates, `cards`
shows scorecards, `study` has the front page of a user's own study, and `pages` builds the site.
"""

from pathlib import Path

TEMPLATES = Path(__file__).parent / "templates"
