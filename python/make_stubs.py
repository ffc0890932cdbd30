"""Writes the type stubs of the package from the tables in the extension module.

    python3 python/make_stubs.py FOLDER      FOLDER/roofcast is the package; writes its __init__.pyi
"""

import json
import keyword
import sys
from pathlib import Path

HEAD = '''"""Made by python/make_stubs.py from the tables of flags and answers."""

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, Optional, Union

__version__: str

class RoofcastError(RuntimeError): ...
class UsageError(RoofcastError, ValueError): ...

class Record:
    def __getattr__(self, name: str) -> Any: ...
    def __getitem__(self, name: str) -> Any: ...
    def __contains__(self, name: object) -> bool: ...
    def __iter__(self) -> Any: ...
    def __len__(self) -> int: ...
    def keys(self) -> Iterable[str]: ...
    def to_dict(self) -> dict[str, Any]: ...

class Answer(Record):
    @property
    def yes(self) -> bool: ...
    def svg(self) -> str: ...
    def to_pandas(self) -> Any: ...
    def _repr_html_(self) -> str: ...
'''

VALUE = "Union[str, int, float, PathLike[str]]"
FORMS = {"toggle": "bool", "on_off": "bool", "value": VALUE,
         "list": f"Union[{VALUE}, Iterable[{VALUE}], Mapping[str, Any]]"}


def is_name(key):
    return key.isidentifier() and not keyword.iskeyword(key)


class Stubs:
    def __init__(self):
        self.classes = []

    def type_of(self, schema, name):
        """The Python type of a JSON Schema; records become classes called `name`."""
        if "anyOf" in schema:
            types = [self.type_of(one, name) for one in schema["anyOf"]]
            return f"Union[{', '.join(dict.fromkeys(types))}]"
        kinds = schema.get("type")
        if isinstance(kinds, list):
            types = [self.type_of({**schema, "type": kind}, name) for kind in kinds]
            return f"Union[{', '.join(dict.fromkeys(types))}]"
        simple = {"boolean": "bool", "integer": "int", "number": "float", "string": "str", "null": "None"}
        if kinds in simple:
            return simple[kinds]
        if kinds == "array":
            return f"list[{self.type_of(schema.get('items', {}), name)}]"
        if kinds == "object" and schema.get("properties"):
            self.write(name, "Record", schema)
            return name
        return "Any" if kinds != "object" else "Record"

    def write(self, name, base, schema):
        optional = set(schema["properties"]) - set(schema.get("required", []))
        lines = []
        for key, member in schema["properties"].items():
            kind = self.type_of(member, f"{name}_{key.title().replace('_', '')}")
            if not is_name(key):
                continue
            text = member.get("description", "").replace('"""', "'''").replace("\\", "\\\\")
            kind = f"Optional[{kind}]" if key in optional else kind
            lines += ["    @property", f"    def {key}(self) -> {kind}:", f'        """{text} """']
        body = "\n".join(lines) or "    ..."
        if name == "SimulationAnswer":
            body += "\n    def requests(self) -> Any: ..."
        self.classes.append(f"class {name}({base}):\n{body}\n")

    def answer(self, question):
        schema, name = question["answer"], question["answer_class"]
        for one in schema.get("anyOf", [schema]):
            merged = {"type": "object", "properties": {}, "required": []}
            merged["properties"].update(one.get("properties", {}))
        if "anyOf" in schema:  # of one or of several: a field may be of either
            shared = [set(one.get("required", [])) for one in schema["anyOf"]]
            merged["properties"] = {}
            for one in schema["anyOf"]:
                merged["properties"].update(one.get("properties", {}))
            merged["required"] = sorted(set.intersection(*shared))
        else:
            merged = schema
        self.write(name, "Answer", merged)


def function(question, first):
    names = [one for one in question["arguments"] if is_name(one["name"])]
    lines = [f"def {question['name']}("]
    for one in names:
        if one["name"] == first:
            lines.append(f"    {first}: Optional[Union[{FORMS[one['form']]}, Mapping[str, Any]]] = None,")
    lines.append("    *,")
    for one in names:
        if one["name"] == first:
            continue
        kind = FORMS[one["form"]]
        lines.append(f"    {one['name']}: {kind}," if one["required"] else
                     f"    {one['name']}: Optional[{kind}] = None,")
    for one in names:
        for alias in one["aliases"]:
            if is_name(alias):
                lines.append(f"    {alias}: Optional[{FORMS[one['form']]}] = None,")
    lines.append("    progress: Union[None, bool, Callable[[int, int], Any]] = None,")
    lines.append(f") -> {question['answer_class']}:")
    lines.append(f'    """{question["summary"]}"""')
    return "\n".join(lines) + "\n"


def main(folder):
    sys.path.insert(0, str(folder))
    from roofcast import _POSITIONAL, _native

    questions = json.loads(_native.questions())
    stubs = Stubs()
    for question in questions:
        stubs.answer(question)
    functions = [function(one, _POSITIONAL.get(one["name"])) for one in questions]
    text = "\n".join([HEAD, *stubs.classes, *functions])
    (folder / "roofcast" / "__init__.pyi").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
