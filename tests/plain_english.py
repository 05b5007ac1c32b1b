"""Patterns of odd English, and a search for them in documents, docstrings, comments and messages.

    python tests/plain_english.py [FILE ...]

prints each place and the number of places by pattern. Without files it reads the whole project.
"""

import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROSE = (".md", ".rst", ".yaml", ".yml", ".html", ".toml", ".cff", ".ipynb")
CODE = (".py", ".smk", "Snakefile")
GENERATED = ("docs/architectures.md", "docs/settings.md", "config.yaml")
# Constants that quote odd English or list words.
QUOTED = {"PATTERNS", "ODD", "GOOD", "FUNCTION_WORDS", "CLAUSES"}
UNITS = (
    "bits?|rows?|points?|jobs?|passes|tokens?|figures?|lines?|files?|pages?|columns?|pairs?|"
    "panels?|sentences|words|models|tables?|words?|items?|times"
)
OF = (
    "byte|sentence|model|pair|word|token|job|paper|file|data set|suite|row|subject|reader|"
    "paradigm|text|passage|judgment|line|second|item|family|target|corpus|phenomenon|bin|study"
)
VERBS = (
    "is|are|was|were|has|have|had|does|do|did|may|can|will|would|must|cannot|takes?|gives?|makes?|"
    "says?|goes|go|stays?|comes?|exceeds?|lies|reads|loads|writes|shows|keeps?|becomes?|gets?|"
    "begins?|allows?|depends?"
)
PATTERNS = {
    "'what' as a noun (name the thing)": (
        r"\b[Ww]hat\b(?!:| (?:to|is wrong|went wrong)\b)(?![^.!]*\?)"
    ),
    "'where' for if or when": (
        r"(?<!place )(?<!places )(?<!folder )(?<!position )(?<!point )(?<!know )(?<!see )"
        r"(?<!line )(?<!row )(?<!file )(?<!says )(?<!say )(?<!# )"
        r"\b[Ww]here\b(?!:| to\b| =)(?![^.!]*\?)"
    ),
    "'a X a Y' for one X per Y": rf"\b(?:{UNITS}) (?:an?|each) (?:{OF})\b",
    "ours, yours, theirs, of one's own": r"\b(?:[Oo]urs|[Yy]ours|[Tt]heirs|[Oo]ne's own)\b(?!:)",
    "'holds' for contains": r"\bholds?\b(?! out\b)",
    "'stands' for is or appears": r"\b[Ss]tands?\b(?!-| alone| for\b)",
    "a final ', too'": r", too\b(?=[.:;)\n]|$)",
    "', for' and ', as' for because": (
        r", (?:for (?:it|they|its|their|there|that|these|such|no|this|those|nothing)|"
        r"as (?:it is|they are|there|no|nothing))\b"
    ),
    "beside": r"\b[Bb]eside\b",
    "'blank' for space": r"\b[Bb]lanks?\b",
    "'less' for minus": r"\bless (?:the|its|their|that|of)\b",
    # A semicolon between the parts of a list is good English.
    "a semicolon that joins sentences": (
        rf"(?<!&\w\w)(?<!&\w\w\w)(?<!&\w\w\w\w);\s+(?!and |or |else )[^.;:()]*?\b(?:{VERBS})\b"
    ),
    "mend, anew, likewise, nobody, to be had, so many": (
        r"\b(?:[Mm]end(?:s|ed|ing)?|[Aa]new|[Ll]ikewise|[Nn]obody|to be had|[Ss]o many)\b"
    ),
    "a number without its leading zero": r"(?<![\w.\])}%/*-])-?\.\d+\b(?!\.\d)",
}
COMPILED = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}


def docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield the docstrings of a module, its classes and functions."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield first.value


def messages(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield the strings of a module that are long enough for a sentence, docstrings included."""
    quoted = {
        id(part)
        for node in tree.body
        if isinstance(node, ast.Assign) and QUOTED & {ast.unparse(one) for one in node.targets}
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in quoted:
            text = str(node.value)
            if len(text) > 20 and text.count(" ") >= 3 and not re.search(r"[\\^$]\w?[(\[]", text):
                yield node


def python_texts(source: str, is_test: bool) -> Iterator[tuple[int, str]]:
    """Yield line numbers and texts of comments, docstrings and messages of Python source.

    The other strings of a test are its data, which may be odd.
    """
    tree = ast.parse(source)
    for node in docstrings(tree) if is_test else messages(tree):
        yield node.lineno, str(node.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line numbers and texts of one file."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from python_texts(source, "tests" in path.parts or path.name.startswith("test_"))
    elif path.name.endswith(CODE):
        for number, line in enumerate(source.splitlines(), 1):
            if found := re.search(r'(?:^|\s)#\s?(.*)|"""(.*)"""', line):
                yield number, found[1] or found[2] or ""
    else:
        if path.suffix == ".md":
            source = re.sub(
                r"^```.*?^```", lambda m: "\n" * m[0].count("\n"), source, flags=re.M | re.S
            )
        if path.name == "equivalent_mutants.yaml":  # quotes code
            source = re.sub(r"^  (?:line|change): .*(?:\n    .*)*", "", source, flags=re.M)
        if path.suffix == ".ipynb":
            cells = json.loads(source)["cells"]
            source = "\n".join(
                "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
            )
        yield 1, source


def places(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the line number, the pattern and the words around each odd place of one file."""
    for first, text in texts(path):
        plain = re.sub(r"``?[^`]*``?", lambda m: "`" + " " * (len(m[0]) - 2) + "`", text)
        plain = re.sub(r"\{[{%]?[^{}]*[%}]?\}", lambda m: " " * len(m[0]), plain)
        plain = re.sub(r"“[^”]*”", lambda m: "“" + " " * (len(m[0]) - 2) + "”", plain)
        for name, pattern in COMPILED.items():
            for found in pattern.finditer(plain):
                around = text[max(found.start() - 40, 0) : found.end() + 30].replace("\n", " ")
                yield first + text.count("\n", 0, found.start()), name, around


def project_files() -> list[Path]:
    """Return the project's files that the rules of English are for."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    return [
        ROOT / name for name in listed if name.endswith((*PROSE, *CODE)) and name not in GENERATED
    ]


def main(arguments: list[str]) -> None:
    """Print the odd places of files, or of the whole project."""
    counts: Counter[str] = Counter()
    for path in [Path(name).resolve() for name in arguments] or project_files():
        for line, name, around in places(path):
            counts[name] += 1
            print(f"{path.relative_to(ROOT)}:{line}: {name}: {around}")
    for name, n in counts.most_common():
        print(f"{n:6} {name}")
    print(f"{counts.total():6} in all")


if __name__ == "__main__":
    main(sys.argv[1:])
