# SPDX-License-Identifier: Apache-2.0
"""The two kinds of entries in ``spec.resourceClaims``; most checks run once for each."""

import pytest

NAMED_AND_TEMPLATE = pytest.mark.parametrize("kind", ["named", "template"])
