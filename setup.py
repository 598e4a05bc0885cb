"""Installs Flightpath's packages and builds `native/`; `make setup` calls it after the system's packages are there."""

import subprocess
from pathlib import Path

from setuptools import Command, find_packages, setup
from setuptools.command.build import build

PROJECT = Path(__file__).parent
FLOORS = (
    "flightpath",
    "native",
    "congestion",
    "results",
    "services",
    "controllers",
    "topologies",
    "probes",
    "scenarios",
)


class BuildNative(Command):
    """Builds the C programs in place: `native/build/`."""

    description = "build the C programs in native/"
    user_options = []  # noqa: RUF012 (setuptools' own way to say it)
    editable_mode = False

    def initialize_options(self) -> None:
        """Nothing to set."""

    def finalize_options(self) -> None:
        """Nothing to derive."""

    def run(self) -> None:
        """Calls make, which builds only what is out of date."""
        subprocess.run(["make", "--silent", "-C", "native"], cwd=PROJECT, check=True)

    def get_source_files(self) -> list[str]:
        """What a source distribution needs."""
        return [str(path.relative_to(PROJECT)) for path in (PROJECT / "native").glob("**/*.[ch]")] + ["native/Makefile"]

    def get_outputs(self) -> list[str]:
        """Nothing goes into a wheel: the programs are found beside the sources."""
        return []

    def get_output_mapping(self) -> dict[str, str]:
        """Nothing goes into a wheel."""
        return {}


class BuildWithNative(build):
    """The usual build, and the C programs."""

    sub_commands = [*build.sub_commands, ("build_native", None)]  # noqa: RUF012


setup(
    name="flightpath",
    version="0.1.0",
    description="An SDN emulation testbed for bulk transfers and loaded web services over one path or many",
    license="Apache-2.0",
    python_requires=">=3.11",
    packages=find_packages(include=[pattern for floor in FLOORS for pattern in (floor, f"{floor}.*")]),
    cmdclass={"build": BuildWithNative, "build_native": BuildNative},
    install_requires=[
        "os-ken>=3.1,<4",  # 4 lost its threads' events (controllers/openflow/library.py)
        "pyOpenSSL>=25",  # os-ken's eventlet imports it if it finds it, and Debian's does not fit a newer cryptography
        "networkx>=3",
        "prometheus-client>=0.20",
        "SQLAlchemy>=2",
        "alembic>=1.13",
        "psycopg[binary]>=3.2",
        "pydantic>=2.7",
        "starlette>=0.37",
        "matplotlib>=3.8",
        "scipy>=1.11",
        "Jinja2>=3.1",
        "rich>=13",
        "prometheus-client>=0.20",
        "paramiko>=5.1",  # the first with AES-GCM and a replaceable packet layer (preflight/ssh/packetizer.py)
        "cryptography>=50",  # deciphers into a buffer that is there; Debian's makes copies
        "asyncpg>=0.29",
        "uvicorn>=0.30",
        "uvloop>=0.19",
        "httptools>=0.6",
    ],
    entry_points={
        "console_scripts": ["preflight = probes.preflight.__main__:main"],
        "flightpath.congestion_commands": ["trace = scenarios.congestion.trace_command"],
        "flightpath.scenario_catalogues": ["flightpath = scenarios.framework.catalogue"],
    },
    extras_require={
        "test": [
            "pytest>=8",
            "pytest-timeout>=2",
            "pytest-xdist>=3.5",
            "hypothesis>=6",
            "ruff>=0.5",
            "import-linter>=2.1",
        ],
        "parquet": ["pandas>=2.2", "pyarrow>=16"],
        "browser": ["playwright>=1.45", "axe-playwright-python>=0.1.4"],
        "vm": ["virtme-ng>=1.30"],  # boots a stock kernel on this machine's own root (tests/vm)
    },
)
