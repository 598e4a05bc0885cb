# Flightpath, ready to run: `docker build -t flightpath .`, then
#
#   docker run --rm -v "$PWD/results:/results" flightpath run dtn_window         in virtual time, without privileges
#   docker run --rm --privileged -v "$PWD/results:/results" flightpath run mptcp_load --clock real
#   docker run --rm -it --privileged flightpath mn --topo dtn_pair               Mininet's command line
#
# On arm64 there is no virtual-time kernel (User-Mode Linux is for x86-64), so only --privileged measures there.

FROM debian:trixie-slim AS base
ENV DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8 FLIGHTPATH_CACHE=/opt/flightpath-cache
RUN apt-get -qq update && apt-get -qq install -y --no-install-recommends make git ca-certificates > /dev/null \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/flightpath

# The virtual-time kernel needs few files, so that other changes do not build it anew. It takes minutes.
FROM base AS kernel
ARG TARGETARCH=amd64
COPY Makefile setup.py pyproject.toml constraints.txt packages.txt packages-uml.txt ./
COPY requirements requirements
COPY scripts scripts
COPY flightpath flightpath
COPY execution/__init__.py execution/__main__.py execution/
COPY execution/uml execution/uml
RUN mkdir -p "$FLIGHTPATH_CACHE" && if [ "$TARGETARCH" = amd64 ]; then apt-get -qq update && make uml-kernel; fi

FROM base
COPY . .
RUN apt-get -qq update && make setup-real && rm -rf /var/lib/apt/lists/* /root/.cache
COPY --from=kernel /opt/flightpath-cache /opt/flightpath-cache
ARG TARGETARCH=amd64
RUN if [ "$TARGETARCH" = amd64 ]; then make classes; fi
RUN git config --system --add safe.directory /opt/flightpath \
    && useradd --create-home flightpath && mkdir /results && chown flightpath /results
# Root in the container may make namespaces with --privileged; an ordinary user needs nothing for virtual time.
WORKDIR /results
VOLUME /results
EXPOSE 8700
ENTRYPOINT ["flightpath"]
CMD ["--help"]
