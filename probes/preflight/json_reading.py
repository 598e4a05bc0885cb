"""Reading JSON into frozen dataclasses: every field checked, unknown ones refused."""

from typing import TypeVar

_Record = TypeVar("_Record")


def read_json(kind: type[_Record], text: str | bytes) -> _Record:
    """Returns the record that a JSON object describes, read as strictly as its class's `__pydantic_config__` says.

    Raises:
        ValueError: a field is missing, unknown or of the wrong type; names the first such field.
    """
    from pydantic import TypeAdapter, ValidationError  # slow to load, and most commands read no JSON

    try:
        return TypeAdapter(kind).validate_json(text)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, problem["loc"])) or kind.__name__
        raise ValueError(f"{where}: {problem['msg']}") from error
