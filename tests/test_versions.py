# SPDX-License-Identifier: Apache-2.0
"""The one table of what differs between Kubernetes minors."""

import pytest

from fixtures.clusters.versions import MINORS, is_known, minor_of, row_for


@pytest.mark.parametrize(
    ("version", "minor"), [("v1.37.2", "1.37"), ("1.36.3", "1.36"), ("v1.38.0-alpha.1", "1.38"), ("1.37", "1.37")]
)
def test_the_minor_is_read_from_a_version(version, minor):
    """With or without v, with or without patch and pre-release."""
    assert minor_of(version) == minor


def test_each_minor_has_its_own_api_version_and_gates():
    """1.36 needs one gate more than 1.37, which no longer knows it."""
    assert row_for("v1.36.3").scheduling_version == "v1alpha2"
    assert "GangScheduling" in row_for("v1.36.3").feature_gates
    assert row_for("v1.37.2").scheduling_version == "v1beta1"
    assert "GangScheduling" not in row_for("v1.37.2").feature_gates


def test_a_newer_minor_gets_the_newest_row():
    """It can be judged at all, and is marked as unknown."""
    assert row_for("v1.40.0") == MINORS[-1]
    assert not is_known("v1.40.0")
    assert is_known("v1.37.9")


@pytest.mark.parametrize("version", ["v1.35.4", "1.9.0"])
def test_an_older_minor_is_refused(version):
    """The feature began in 1.36."""
    with pytest.raises(ValueError, match=r"older than 1\.36"):
        row_for(version)


def test_what_is_no_version_is_refused_with_an_example():
    """The message shows what a version looks like."""
    with pytest.raises(ValueError, match=r"one looks like v1\.37\.2"):
        minor_of("latest")
