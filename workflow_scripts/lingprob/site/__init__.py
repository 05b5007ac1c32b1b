"""The report as a small site: a front page, a page a paper, the models, and the methods.

`papers` says what each paper asks, `cards` what its scorecard shows, `charts` draws what a reader
can point at, `methods` tells what went in; `pages` puts them into the templates beside it.
"""
