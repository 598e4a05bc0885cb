"""Builds and installs Flightpath's packages; `make setup` calls it, and `pip wheel .` makes a wheel."""

from setuptools import find_packages, setup

FLOORS = (
    "flightpath",
    "native",
    "congestion",
    "results",
    "services",
    "controllers",
    "topologies",
    "probes",
    "experiments",
    "execution",
    "scenarios",
    "python_api",
    "labs",
    "museum",
)

setup(
    name="flightpath",
    version="0.1.0",
    description="An SDN emulation testbed for bulk transfers and loaded web services over one path or many",
    license="Apache-2.0",
    python_requires=">=3.11",
    packages=find_packages(
        include=[pattern for floor in FLOORS for pattern in (floor, f"{floor}.*")],
        exclude=["labs.solutions"],  # students may have the package
    ),
    # All other files of the packages go into a wheel too: templates, SQL, C sources, …
    package_data={"": ["**/*"]},
    exclude_package_data={
        "": ["*.pyc"],
        "native": ["build/*"],
        "results": ["runs/*", "reproduction/*"],
        "labs": ["solutions/*"],
    },
    install_requires=[
        "os-ken>=3.1,<4",  # 4 lost its threads' events (controllers/openflow/library.py)
        "pyOpenSSL>=25",  # os-ken's eventlet imports it if it finds it, and Debian's does not fit a newer cryptography
        "networkx>=3",
        "PyYAML>=6",
        "argcomplete>=3",
        "prometheus-client>=0.20",
        "SQLAlchemy>=2.1",
        "psycopg[binary]>=3.2",
        "pydantic>=2.7",
        "starlette>=0.37",
        "matplotlib>=3.8",
        "scipy>=1.11",
        "pandas>=3",  # the Python API's data frames; texts have a type of their own from 3 on
        "Jinja2>=3.1",
        "rich>=13",
        "paramiko>=5.1",  # the first with AES-GCM and a replaceable packet layer (preflight/ssh/packetizer.py)
        "cryptography>=50",  # deciphers into a buffer that is there; Debian's makes copies
        "asyncpg>=0.29",
        "uvicorn>=0.30",
        "uvloop>=0.19",
        "httptools>=0.6",
    ],
    entry_points={
        "console_scripts": [
            "flightpath = flightpath.cli:main",
            "preflight = probes.preflight.__main__:main",
        ],
        "flightpath.congestion_commands": ["trace = scenarios.congestion.trace_command"],
        "flightpath.collectors": ["preflight = probes.preflight.service.metrics:Profiles"],
        "flightpath.scenario_catalogues": ["flightpath = experiments.catalogue"],
    },
    extras_require={
        "test": [
            "pytest>=8",
            "pytest-timeout>=2",
            "pytest-xdist>=3.5",
            "hypothesis>=6",
            "distributed>=2026.3",
            "bokeh>=3.1",
            "ruff>=0.5",
            "import-linter>=2.1",
            "mypy>=1.18",
            "nbclient>=0.10",  # runs the notebook in examples/
            "ipykernel>=6.29",
            "grafana-foundation-sdk",  # Grafana's schema of a dashboard, by version (constraints.txt)
            "awscrt>=0.30",  # a test signs a request; users: the extra s3
            "setuptools>=70.1",  # a test builds a wheel without a network; older ones need the package wheel
        ],
        "parquet": ["pyarrow>=16"],
        "browser": ["playwright>=1.45", "axe-playwright-python>=0.1.4"],
        "docs": ["Sphinx>=8", "myst-parser>=4", "furo>=2024.8"],  # the documentation as pages
        "cluster": ["distributed>=2026.3", "bokeh>=3.1"],  # cells on many machines; bokeh draws Dask's own page
        "quic": ["aioquic==1.7.2"],  # `make quic` installs it in a folder of its own (services/quic/aioquic.py)
        "s3": ["awscrt>=0.30"],  # signs requests of preflight for S3 (probes/preflight/web/storage.py)
        "vm": ["virtme-ng>=1.30"],  # boots a stock kernel on this machine's own root (execution/vm)
    },
)
