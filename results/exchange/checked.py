"""The base of what is read from files and from other processes."""

from pydantic import BaseModel, ConfigDict


class Checked(BaseModel):
    """Base of what is read from a file: exactly these fields, exactly these types, and only finite numbers."""

    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, revalidate_instances="always", frozen=True
    )
