# SPDX-License-Identifier: Apache-2.0
"""How a check names what it proves."""

from collections.abc import Callable
from typing import TypeVar

import pytest

Check = TypeVar("Check", bound=Callable[..., None])


def requirement(requirement_id: str) -> Callable[[Check], Check]:
    """Mark a check as proof of a requirement of the catalogue; several marks are several requirements."""
    return pytest.mark.requirement(requirement_id)
