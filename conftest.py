# SPDX-License-Identifier: Apache-2.0
"""The options of the suite, and which plugins a run needs.

Every option begins with ``--wrc-`` (pytest-kind owns ``--kubeconfig`` and others), and each variable of the
Makefile is one of them.
"""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

pytest.register_assert_rewrite("fixtures")

ROOT = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare all options of the suite."""
    from fixtures.clusters.versions import DEFAULT_KUBERNETES, RELEASE_SERVER  # noqa: PLC0415  after the rewriting of assertions is set

    add = parser.getgroup("wrc", "Workload ResourceClaims conformance").addoption
    add(
        "--wrc-provider",
        choices=("kind", "local", "existing"),
        default="",
        help="where the cluster comes from: 'kind' starts a kind cluster; 'local' a control plane on loopback (no "
        "kubelet); 'existing' uses --wrc-kubeconfig and --wrc-context (default: kind where Docker works, else local)",
    )
    add(
        "--wrc-kubernetes",
        metavar="VERSION",
        default=DEFAULT_KUBERNETES,
        help="Kubernetes version that 'kind' or 'local' starts, such as v1.36.3 (default: %(default)s)",
    )
    add(
        "--wrc-binaries",
        metavar="FOLDER",
        type=Path,
        help="folder with kube-apiserver, kube-controller-manager and kube-scheduler of your own build; 'kind' also "
        "needs kubelet, kubeadm and kubectl there",
    )
    add(
        "--wrc-release-server",
        metavar="URL",
        default=RELEASE_SERVER,
        help="where released binaries are downloaded from (default: %(default)s)",
    )
    add(
        "--wrc-kubeconfig",
        metavar="FILE",
        type=Path,
        default=Path("~/.kube/config").expanduser(),
        help="kubeconfig for 'existing' (default: %(default)s)",
    )
    add(
        "--wrc-context",
        metavar="NAME",
        default="",
        help="context for 'existing'; must be named, the current context is never used by itself",
    )
    add(
        "--wrc-simulated-nodes",
        action="store_true",
        help="with 'existing': agree that Nodes which no kubelet serves are created (and removed)",
    )
    add(
        "--wrc-driver",
        choices=("reference", "upstream"),
        default="reference",
        help="DRA driver that serves the kubelets: 'reference' is the suite's own; 'upstream' the one that Kubernetes "
        "tests itself with, for 'kind' only: a second opinion on the suite (default: %(default)s)",
    )
    add(
        "--wrc-checks",
        metavar="WHICH",
        default="",
        help="run only these: requirement IDs or areas, separated by commas (WRC-RES-002,LIF), or an expression "
        "as for pytest -k",
    )
    add(
        "--wrc-rerun",
        metavar="VERDICTS",
        type=Path,
        help="run only the checks that were not conformant in this verdicts.json",
    )
    add(
        "--wrc-report",
        metavar="FOLDER",
        type=Path,
        help="report folder (default: reports/<time>-<version>-<provider>; reports/latest points to the last)",
    )
    add(
        "--wrc-keep",
        action="store_true",
        help="with 'existing': leave what the checks created, and say how to remove it; with 'kind': leave the "
        "cluster, and use it again in the next run",
    )
    add(
        "--wrc-kind-download",
        action="store_true",
        help="with 'kind': where there is neither kind nor Go, let pytest-kind download kind, without a checksum",
    )
    add(
        "--wrc-time-scale",
        metavar="FACTOR",
        type=float,
        default=1.0,
        help="multiply every time limit, for slow machines (default: %(default)s)",
    )
    add("--wrc-real-scale", action="store_true", help="run only the checks with hundreds of real Pods; takes minutes")
    add("--wrc-soak", action="store_true", help="quiet periods of 15 s instead of 3 s")
    add(
        "--wrc-shuffle",
        metavar="SEED",
        type=int,
        default=None,
        help="run the checks in an order made from SEED",
    )
    add(
        "--wrc-accept-known",
        action="store_true",
        help="exit with 0 if the only violations are known deviations of this version; the report says so",
    )
    add(
        "--wrc-lies",
        action="store_true",
        help="tests of the suite: run every check against every lie told about it, instead of the truth",
    )
    add(
        "--wrc-lies-once",
        action="store_true",
        help="with --wrc-lies: tell each lie to one parametrisation of a check only, and to each one a lie",
    )


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare what the plugins of the suite tell each other."""
    pluginmanager.add_hookspecs(Hooks)


class Hooks:
    """Hooks of the suite."""

    @pytest.hookspec
    def pytest_wrc_no_verdict(self, exit_code: int, reason: str) -> None:
        """The run cannot begin; ``reason`` says why."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the plugins of a run of ``conformance/``; tests of the suite get none of them."""
    config.addinivalue_line("markers", "requirement(id): the requirement of the catalogue that the check proves")
    config.addinivalue_line("markers", "slow: the check takes longest, so it is started first")
    config.addinivalue_line("markers", "alone: the check counts what all checks cause, so no other runs beside it")
    config.addinivalue_line("markers", "real_scale: hundreds of real Pods, run only with --wrc-real-scale")
    config.addinivalue_line("markers", "probe: the check may disturb others, so it is started after all of them")
    config.addinivalue_line(
        "markers", "breaks_invariant(id, reason): the check violates a standing invariant on purpose"
    )
    if not runs_conformance(config):
        return
    _choose_provider(config)
    _refuse_contradictions(config.option)
    _place_report(config)
    # Imported here so that `pytest tests` needs neither the Kubernetes client nor a cluster.
    from fixtures import own_control_plane, session  # noqa: PLC0415
    from verdicts import plugin, recorder  # noqa: PLC0415

    config.pluginmanager.register(session.Session(config), "wrc-session")
    config.pluginmanager.register(session, "wrc-fixtures")
    config.pluginmanager.register(own_control_plane, "wrc-control-plane")
    config.pluginmanager.register(recorder.Recorder(config), "wrc-recorder")
    if config.getoption("--wrc-lies"):
        from tests.lies import telling  # noqa: PLC0415

        config.pluginmanager.register(telling, "wrc-lies")
    if not hasattr(config, "workerinput"):
        controller = telling.Reckoning(config) if config.getoption("--wrc-lies") else plugin.Judge(config)
        config.pluginmanager.register(controller, "wrc-judge")


def _choose_provider(config: pytest.Config) -> None:
    option = config.option
    if not (option.wrc_provider or hasattr(config, "workerinput")):
        from fixtures.clusters.providers import default_provider  # noqa: PLC0415

        option.wrc_provider = default_provider()


def _refuse_contradictions(option: Any) -> None:
    if option.wrc_keep and option.wrc_provider == "local":
        raise pytest.UsageError(
            "--wrc-keep (KEEP=1) is for a kind or an existing cluster: a control plane that the run has started ends "
            "with it, and all its objects.\nWhat each check saw and left is in the folder 'evidence' of the report."
        )
    if option.wrc_driver == "upstream" and option.wrc_provider != "kind":
        raise pytest.UsageError(
            "--wrc-driver=upstream (DRIVER=upstream) runs Kubernetes' own test driver inside the nodes of a kind "
            f"cluster, and this run uses '{option.wrc_provider}'.\nAdd --wrc-provider=kind (PROVIDER=kind), which "
            "needs Docker: `docker version` says whether it works here."
        )


def _place_report(config: pytest.Config) -> None:
    """Decide where everything is written, before the plugins that write read their options."""
    option = config.option
    option.tbstyle = "no" if option.tbstyle == "auto" else option.tbstyle  # the report holds the tracebacks
    option.reportchars = ""
    if hasattr(config, "workerinput"):
        option.wrc_report = Path(config.workerinput["wrc_report"])
    elif option.wrc_report is None:
        option.wrc_report = ROOT / "reports" / f"{datetime.now():%Y-%m-%d-%H%M%S}-{_name_of_cluster(option)}"  # noqa: DTZ005
    option.wrc_report = option.wrc_report.absolute()
    if not option.wrc_lies and not option.collectonly:
        option.allure_report_dir = option.allure_report_dir or str(option.wrc_report / "allure-results")
        option.xmlpath = option.xmlpath or str(option.wrc_report / "junit.xml")


def _name_of_cluster(option: Any) -> str:
    if option.wrc_provider == "existing":
        return f"existing-{option.wrc_context}"
    return f"{option.wrc_binaries.name if option.wrc_binaries else option.wrc_kubernetes}-{option.wrc_provider}"


def runs_conformance(config: pytest.Config) -> bool:
    """Tell whether this is a run of the checks, as opposed to one of the suite's own tests."""
    paths = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return any(path.is_relative_to(ROOT / "conformance") for path in paths)
