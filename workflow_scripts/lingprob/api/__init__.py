"""One call to a number: what rules do with files, for a notebook or a shell, on the same functions.

`import lingprob` imports none of this until a name of it is used.
"""

from __future__ import annotations
