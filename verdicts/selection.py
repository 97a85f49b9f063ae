# SPDX-License-Identifier: Apache-2.0
"""Which checks run: by requirement, by area, by pytest expression, or those that were not conformant before."""

import importlib.util
import re
import sys
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType

import pytest
from _pytest.mark.expression import Expression

from verdicts import document
from verdicts.catalogue import Catalogue

ROOT = Path(__file__).parent.parent
_LOOKS_LIKE_ID = re.compile(r"WRC-[\w-]+", re.IGNORECASE)


def requirements_of(item: pytest.Item) -> list[str]:
    """Return the requirements that a check proves."""
    return [mark.args[0] for mark in item.iter_markers("requirement")]


def requirements_of_node(node_id: str) -> list[str]:
    """Return the requirements of a check known by its node id only, as where its worker process crashed."""
    path, _, function = node_id.partition("::")
    marks = getattr(_module(ROOT / path), function.partition("[")[0]).pytestmark
    return [mark.args[0] for mark in marks if mark.name == "requirement"]


def prepare(config: pytest.Config, catalogue: Catalogue) -> None:
    """Refuse a selection that cannot be meant.

    Raises:
        pytest.UsageError: a requirement ID that the catalogue does not have, an expression that is none, or an
            unreadable verdicts.json.
    """
    which = config.getoption("--wrc-checks")
    for word in _words(which):
        if _LOOKS_LIKE_ID.fullmatch(word) and word.upper() not in catalogue:
            near = get_close_matches(word.upper(), [one.id for one in catalogue], n=3)
            raise pytest.UsageError(f"There is no requirement {word}. {_advice(near, catalogue)}")
    if not _is_selection(which, catalogue):
        _refuse_malformed(which, catalogue)
    rerun = config.getoption("--wrc-rerun")
    if rerun:
        try:
            document.read(rerun)
        except (OSError, ValueError) as error:
            raise pytest.UsageError(
                f"Nothing to run again: {error}\nName the verdicts.json of an earlier run: LAST=<its folder> for make."
            ) from error


def hand_over_expression(config: pytest.Config, catalogue: Catalogue) -> None:
    """Give an expression to pytest as its -k; in each process, for workers know the command line only."""
    which = config.getoption("--wrc-checks")
    if which and not _is_selection(which, catalogue):
        config.option.keyword = which


def choose(items: list[pytest.Item], catalogue: Catalogue, config: pytest.Config) -> list[pytest.Item]:
    """Return the checks that the options ask for."""
    which, rerun = config.getoption("--wrc-checks"), config.getoption("--wrc-rerun")
    real_scale = config.getoption("--wrc-real-scale")
    items = [item for item in items if bool(item.get_closest_marker("real_scale")) == real_scale]
    if rerun:
        again = set(document.not_conformant_checks(document.read(rerun)))
        items = [item for item in items if item.nodeid in again]
    if which and _is_selection(which, catalogue):
        wanted = {word.upper() for word in _words(which)}
        items = [item for item in items if wanted & _names(item)]
    return items


def _names(item: pytest.Item) -> set[str]:
    """Return everything by which a check can be asked for: requirement IDs and areas."""
    ids = requirements_of(item)
    return {*ids, *(one.split("-")[1] for one in ids)}


def _is_selection(which: str, catalogue: Catalogue) -> bool:
    return all(word.upper() in catalogue or word.upper() in catalogue.areas for word in _words(which))


def _words(which: str) -> list[str]:
    return [word for word in re.split(r"[,\s]+", which) if word]


def _advice(near: list[str], catalogue: Catalogue) -> str:
    if near:
        return f"Did you mean {' or '.join(near)}?"
    return f"IDs look like WRC-RES-002; the areas are {', '.join(catalogue.areas)}."


def _refuse_malformed(expression: str, catalogue: Catalogue) -> None:
    """Refuse it here: a worker process would end in a fault that shows pytest's inside."""
    try:
        Expression.compile(expression)
    except SyntaxError as error:
        raise pytest.UsageError(
            f"{expression!r} is neither a list of requirements and areas nor an expression for pytest -k: {error.msg}\n"
            f"{_advice([], catalogue)}"
        ) from error


def _module(path: Path) -> ModuleType:
    for module in tuple(sys.modules.values()):
        if getattr(module, "__file__", None) == str(path):
            return module
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(str(path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
