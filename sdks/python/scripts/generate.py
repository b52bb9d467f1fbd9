"""Writes the models and operations of the API document: python scripts/generate.py [FOLDER]"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent.parent
HEADER = "# Generated from schemas/openapi.json by `cargo xtask sdks --write`. Do not edit."
JSON = "application/json"
TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE / "src/guildhall_client"
    with tempfile.TemporaryDirectory() as temporary:
        document = Path(temporary) / "openapi.json"
        subprocess.run(["node", PACKAGE.parent / "document.mjs", document], check=True)
        write_models(document, folder / "models.py")
        write_operations(json.loads(document.read_text()), folder / "operations.py")


def write_models(document: Path, output: Path) -> None:
    options = {
        "--input": str(document),
        "--input-file-type": "openapi",
        "--output": str(output),
        # Dictionaries, not objects: an event keeps properties that this version does not know.
        "--output-model-type": "typing.TypedDict",
        "--target-python-version": "3.10",
        "--openapi-scopes": "schemas",
        "--enum-field-as-literal": "all",
        "--formatters": "builtin",
        "--custom-file-header": HEADER,
    }
    flags = ["--use-schema-description", "--use-union-operator", "--disable-timestamp"]
    arguments = [argument for option in options.items() for argument in option]
    subprocess.run([sys.executable, "-m", "datamodel_code_generator", *arguments, *flags], check=True)


def write_operations(document: dict[str, Any], output: Path) -> None:
    lines = [
        HEADER,
        "from __future__ import annotations",
        "",
        "from collections.abc import Mapping",
        "from typing import Any, Literal",
        "",
        "from . import models",
        "from ._url import quote",
        "",
        "",
        "class Operations:",
        '    """The operations of the API, one method each."""',
        "",
        "    async def _call(",
        "        self,",
        "        method: str,",
        "        path: str,",
        "        *,",
        "        query: Mapping[str, object] | None = None,",
        "        headers: Mapping[str, str | None] | None = None,",
        "        body: object = None,",
        "    ) -> Any:",
        "        raise NotImplementedError",
    ]
    for path, item in document["paths"].items():
        for method, operation in item.items():
            result = result_type(operation["responses"])
            if result:
                lines += ["", *method_lines(method.upper(), path, operation, result)]
    output.write_text("\n".join(lines) + "\n")


def result_type(responses: dict[str, Any]) -> str | None:
    """Returns the type of a success; none if it is not JSON, as for streams and redirects."""
    contents = [response.get("content", {}) for status, response in responses.items() if status.startswith("2")]
    schemas = [content[JSON]["schema"] for content in contents if JSON in content]
    return type_of(schemas[0]) if schemas else None


def method_lines(method: str, path: str, operation: dict[str, Any], result: str) -> list[str]:
    parameters = operation.get("parameters", [])
    inside = [parameter for parameter in parameters if parameter["in"] == "path"]
    arguments = ["self", *(f"{snake(parameter['name'])}: {type_of(parameter['schema'])}" for parameter in inside)]
    body = operation.get("requestBody")
    has_bytes = body is not None and JSON not in body["content"]
    if has_bytes:
        kinds = ", ".join(repr(kind) for kind in body["content"])
        arguments += ["body: bytes", f"content_type: Literal[{kinds}]"]
    elif body:
        arguments.append(f"body: {type_of(body['content'][JSON]['schema'])}")
    options = [parameter for parameter in parameters if parameter["in"] in ("query", "header")]
    if options:
        arguments += ["*", *(option_argument(parameter) for parameter in options)]
    filled = re.sub(r"{(\w+)}", lambda match: f"{{quote({snake(match[1])})}}", path)
    call = [repr(method), f"f{filled!r}" if inside else repr(path)]
    content_type = ["'Content-Type': content_type"] if has_bytes else []
    for name, pairs in [("query", entries(options, "query")), ("headers", content_type + entries(options, "header"))]:
        if pairs:
            call.append(f"{name}={{{', '.join(pairs)}}}")
    if body:
        call.append("body=body")
    return [
        f"    async def {snake(operation['operationId'])}(",
        *(f"        {argument}," for argument in arguments),
        f"    ) -> {result}:",
        f"        {docstring(operation['summary'])}",
        f"        return await self._call({', '.join(call)})",
    ]


def option_argument(parameter: dict[str, Any]) -> str:
    name, kind = snake(parameter["name"]), type_of(parameter["schema"])
    return f"{name}: {kind}" if parameter.get("required") else f"{name}: {kind} | None = None"


def entries(parameters: list[dict[str, Any]], place: str) -> list[str]:
    return [f"{p['name']!r}: {snake(p['name'])}" for p in parameters if p["in"] == place]


def type_of(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return f"models.{schema['$ref'].rsplit('/', 1)[1]}"
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    known = [TYPES[kind] for kind in kinds if kind in TYPES]
    return known[0] if known else "Any"


def docstring(text: str) -> str:
    return '"""' + text.replace('"', "'") + '"""'


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").lower()


main()
