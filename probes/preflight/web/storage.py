"""Storage that speaks S3: where a bucket is, and signatures of requests, by AWS's usual files and variables."""

import configparser
import os
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from flightpath.errors import FlightpathError, MissingCapability, UsageError
from probes.preflight.target import WebTarget
from probes.preflight.url import storage_target

_REGION = "us-east-1"
_VALID_S = 24 * 3600
"""Time for which a signature holds: the longest measurement."""

_CREDENTIALS_LIMIT_S = 10.0


def bucket_target(name: str, endpoint: str | None) -> WebTarget:
    """Returns the server of a bucket, by its endpoint (the option's, that of the environment, or Amazon's)."""
    settings = _settings()
    variables = os.environ
    region = variables.get("AWS_REGION") or variables.get("AWS_DEFAULT_REGION") or settings.get("region") or _REGION
    named = variables.get("AWS_ENDPOINT_URL_S3") or variables.get("AWS_ENDPOINT_URL") or settings.get("endpoint_url")
    return storage_target(name, endpoint or named or "", region)


class Signer:
    """Signs the paths of requests (AWS Signature Version 4, query parameters; the content is not signed).

    Args:
        credentials: a provider of `awscrt.auth`; by default its usual chain.
        date: time of the signature; by default now.
    """

    def __init__(self, target: WebTarget, credentials: Any = None, date: datetime | None = None) -> None:
        try:
            from awscrt import auth
        except ImportError:
            raise MissingCapability(
                "S3 needs the Python package awscrt, which signs the requests",
                f"{sys.executable} -m pip install awscrt",
            ) from None
        self._target, self._date = target, date
        self._credentials = credentials or auth.AwsCredentialsProvider.new_default_chain()

    def __call__(self, method: str, path: str) -> str:
        """Returns a path with its signature."""
        from awscrt import auth, exceptions, http

        request = http.HttpRequest(method, path, http.HttpHeaders([("host", self._target.authority)]))
        configuration = auth.AwsSigningConfig(
            algorithm=auth.AwsSigningAlgorithm.V4,
            signature_type=auth.AwsSignatureType.HTTP_REQUEST_QUERY_PARAMS,
            credentials_provider=self._credentials,
            region=self._target.region,
            service="s3",
            date=self._date,
            use_double_uri_encode=False,
            should_normalize_uri_path=False,
            signed_body_value=auth.AwsSignedBodyValue.UNSIGNED_PAYLOAD,
            expiration_in_seconds=_VALID_S,
        )
        try:
            return str(auth.aws_sign_request(request, configuration).result(_CREDENTIALS_LIMIT_S).path)
        except exceptions.AwsCrtError as error:
            raise NoCredentials(
                f"there are no credentials for {self._target.name}: {error.message}",
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or ~/.aws/credentials; what everybody may read has an "
                "https:// address",
            ) from error


class NoCredentials(FlightpathError):
    """This user has none for S3."""


def _settings() -> Mapping[str, str]:
    """Returns the settings of ~/.aws/config for the profile that AWS_PROFILE names."""
    path = Path(os.environ.get("AWS_CONFIG_FILE") or Path.home() / ".aws" / "config")
    profile = os.environ.get("AWS_PROFILE", "default")
    parser = configparser.RawConfigParser()
    try:
        parser.read(path, encoding="utf-8")
    except (configparser.Error, OSError, UnicodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    section = "default" if profile == "default" else f"profile {profile}"
    return dict(parser[section]) if parser.has_section(section) else {}
