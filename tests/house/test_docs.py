"""The pages say what is so: paths that exist, names that are there, options as declared."""

import re
from collections.abc import Iterator
from pathlib import Path

from airflow_provider_pyhudi.reference import described, operators_page
from pyhudi.config.option import declared
from pyhudi.config.reference import options_page
from tests.support.source_tree import ENGINE, PROVIDER, ROOT, shipped

DOCS = ROOT / "docs"
PLACES = (ROOT, ROOT / "spark_jobs", ENGINE, PROVIDER, ROOT / "tests")
"""Where a path of a page may begin."""

NOT_OURS = (".hoodie", "/", "~", "http")
"""How paths begin that are no files of the repository: those of tables and of users."""

PATH = re.compile(r"`([\w.<>*-]*/[\w./<>*-]*|[\w-]+\.(?:py|md|toml|avsc))`")
PROOF = re.compile(r"`(tests/[\w./]+)(?:::(\w+))?`")


def test_every_path_of_a_page_exists() -> None:
    lost = [
        f"{page.relative_to(ROOT)}: {path}"
        for page in _pages()
        for path in PATH.findall(page.read_text(encoding="utf-8"))
        if not path.startswith(NOT_OURS) and "<" not in path and not _exists(page, path)
    ]
    assert not lost, (
        f"these pages name files that are not there: {lost}. A page that sends a reader astray is "
        "worse than none; mend the page with the move"
    )


def test_every_link_of_a_page_leads_somewhere() -> None:
    lost = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in _pages()
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
        if not target.startswith("http") and not (page.parent / target).exists()
    ]
    assert not lost, f"these links lead nowhere: {lost}"


def test_every_name_that_a_page_gives_with_a_path_is_in_that_file() -> None:
    """As in: the commit point, `transaction/transaction.py`, `Transaction.complete`."""
    lost = []
    for page in _pages():
        text = page.read_text(encoding="utf-8")
        for path, name in re.findall(r"`([\w./-]+\.py)`, `([A-Za-z_][\w.]*)`(?! *\()", text):
            file = _find(page, path)
            if file and not name.endswith((".py", ".md")) and not _defines(file, name):
                lost.append(f"{page.relative_to(ROOT)}: {name} in {path}")
    assert not lost, f"these pages look for a name where it is not: {lost}"


def test_the_map_of_the_readme_is_the_tree() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    chapter = readme.partition("## Where things are")[2]
    places, top = set(), ""
    for line in chapter.partition("```text\n")[2].partition("```")[0].splitlines():
        names = re.findall(r"([\w/]+)/(?: |$)", line[:28])
        assert names, f"this line of the map names no folder: {line}"
        top = top if line.startswith(" ") else f"{names[0]}/"
        places |= {f"{top}{name}" if line.startswith(" ") else name for name in names}
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    outer = {
        folder.name
        for folder in ROOT.iterdir()
        if f"{folder.name}/" not in ignored and not folder.name.startswith(".")
        if any(folder.rglob("*.py")) or folder == DOCS
    }
    inner = {
        f"{folder.relative_to(ROOT)}/{found.name}"
        for folder in (ENGINE, PROVIDER)
        for found in folder.iterdir()
        if (found / "__init__.py").is_file()
    }
    wanted = outer | inner | {"spark_jobs/pyhudi"}
    assert places == wanted, (
        f"README.md's map lacks {sorted(wanted - places)} and has {sorted(places - wanted)}"
    )


def test_every_word_of_the_glossary_is_told_once_with_its_module() -> None:
    glossary = (DOCS / "where.md").read_text(encoding="utf-8").partition("\n## Where")[0]
    rows = [row for row in _rows(glossary) if len(row) == 3]
    assert len(rows) == len(_rows(glossary)) > 40, "the glossary's rows have three cells"
    words = [word for word, _, _ in rows]
    assert words == sorted(set(words), key=str.lower), "words come once, in alphabetical order"
    lost = [
        word for word, _, place in rows if not (ROOT / "spark_jobs" / place.strip("`")).exists()
    ]
    assert not lost, f"docs/where.md sends to modules that are not there for {lost}"


def test_every_invariant_names_tests_that_exist() -> None:
    lost, unproven = [], []
    for invariant, _, tests in _rows((DOCS / "invariants.md").read_text(encoding="utf-8")):
        named = PROOF.findall(tests)
        if not named:
            unproven.append(invariant)
        lost += [
            f"{path}::{name}" if name else path for path, name in named if not _proves(path, name)
        ]
    assert not unproven, f"these invariants name no test that would notice: {unproven}"
    assert not lost, (
        f"docs/invariants.md names tests that are not there: {lost}. An invariant that nothing "
        "checks is a wish; name the test that breaks when it does"
    )


def test_the_page_of_options_says_what_is_declared() -> None:
    page = (DOCS / "options.md").read_text(encoding="utf-8")
    assert page == options_page(), (
        "docs/options.md is not what the declarations say: run "
        "PYTHONPATH=spark_jobs python -m pyhudi.config.reference > docs/options.md"
    )


def test_the_page_of_operators_says_what_the_docstrings_say() -> None:
    page = (DOCS / "operators.md").read_text(encoding="utf-8")
    assert page == operators_page(), (
        "docs/operators.md is not what the docstrings say: run "
        "python -m airflow_provider_pyhudi.reference > docs/operators.md"
    )


def test_every_argument_of_an_operator_or_sensor_is_told_of() -> None:
    silent, unknown = [], []
    taken = {each.name: each.taken for each in described()}
    for each in described():
        told = {argument.name for argument in each.arguments}
        silent += [f"{each.name}({name}=)" for name in each.taken if name not in told]
        unknown += [
            f"{each.name}({name}=)" for name in told - {*each.taken, *taken.get(each.base, ())}
        ]
    assert described()
    assert not silent, f"no :param of the docstring says what these are for: {silent}"
    assert not unknown, f"the docstring tells of arguments that are not there: {unknown}"


def test_the_page_of_options_leaves_none_out() -> None:
    missing = sorted(key for key in declared() if f"| `{key}` |" not in options_page())
    assert not missing, (
        f"these options are on no page: {missing}. Name their module in pyhudi/config/reference.py"
    )


def test_the_architecture_names_every_package() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    told = {path.rstrip("/") for path in re.findall(r"`([\w/]+)`", page)}
    missing = sorted(set(_packages()) - told)
    assert not missing, (
        f"docs/architecture.md does not say what these are for: {missing}. A package is named by "
        "its path below pyhudi or the provider, as code: `logfile/avro/`"
    )


def _packages() -> Iterator[str]:
    """The packages of the engine and the provider, by their path within these."""
    for module in shipped():
        if module.is_package and "." in module.name:
            yield module.name.partition(".")[2].replace(".", "/")


def _pages() -> Iterator[Path]:
    yield from sorted(DOCS.rglob("*.md"))
    yield ROOT / "README.md"
    yield ROOT / "CHANGELOG.md"


def _rows(page: str) -> list[list[str]]:
    """The rows of a page's table, without its head."""
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows[1:]]


def _proves(path: str, name: str) -> bool:
    """Whether a test file, a test in it, or a folder with tests is there."""
    place = ROOT / path
    if name:
        return place.is_file() and _defines(place, name)
    return place.is_file() or (place.is_dir() and any(place.rglob("*.py")))


def _find(page: Path, path: str) -> Path | None:
    places = (page.parent, *PLACES)
    return next((place / path for place in places if (place / path).exists()), None)


def _exists(page: Path, path: str) -> bool:
    if "*" in path:
        return any(any(place.glob(path)) for place in PLACES)
    return _find(page, path) is not None or any(ROOT.glob(f"spark_jobs/pyhudi/*/{path}"))


def _defines(file: Path, dotted: str) -> bool:
    text = file.read_text(encoding="utf-8")
    return all(
        re.search(rf"^\s*(?:(?:async )?def|class) {name}\b|^\s*{name}\b *[:=]", text, re.MULTILINE)
        for name in dotted.split(".")
    )
