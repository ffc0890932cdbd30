"""Files of `plan --emit` against what the projects that read them demand.

    python3 tests/planner/launch/check_targets.py PROGRAM
    python3 tests/planner/launch/check_targets.py PROGRAM [kserve=CRD.yaml] [llm-d=values.schema.json]
        [dynamo=CRD.yaml] [compose=compose-spec.json]

The first compares with targets.schema.json: the constraints of those schemas on the keys that are
written, with their sources. The second with the schemas themselves, which are not part of this project:
fetch them, and name them here. Exit code 77: not run, with the reason.

kserve/kserve: config/crd/full/llmisvc/serving.kserve.io_llminferenceservices.yaml
llm-d-incubation/llm-d-modelservice: charts/llm-d-modelservice/values.schema.json
ai-dynamo/dynamo: deploy/operator/config/crd/bases/nvidia.com_dynamographdeployments.yaml
compose-spec/compose-spec: schema/compose-spec.json
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

for needed in ("jsonschema", "yaml"):
    if importlib.util.find_spec(needed) is None:
        print(f"targets: Skipped\n{needed} is not installed (Debian: python3-{needed})")
        sys.exit(77)

import jsonschema  # noqa: E402
import yaml  # noqa: E402

PROGRAM = Path(sys.argv[1]).resolve()
OWN = json.loads((Path(__file__).parent / "targets.schema.json").read_text(encoding="utf-8"))
SCHEMAS = dict(argument.split("=", 1) for argument in sys.argv[2:])
LOAD = ["plan", "--model", "llama-3.1-8b", "--request-rate", "5", "--num-prompts", "20",
        "--output-len", "16", "--top", "1", "--no-store", "--slo", "p95:ttft:500ms", "p95:tpot:40ms"]
SHAPES = {"one pool": ["--gpu", "h100", "--search", "tp=2", "--search", "max_num_seqs=64"],
          "two pools": ["--gpu", "h100", "--search", "tp=1", "--search", "pools=1:2", "--max-replicas", "3"],
          "AMD": ["--gpu", "mi300x", "--objective", "gpus", "--search", "tp=1"]}
CANNOT = {("compose", "two pools"), ("dynamo", "AMD")}


def strict(schema):
    """Controllers drop keys that they do not know: here they are mistakes."""
    if isinstance(schema, dict):
        schema = {key: strict(value) for key, value in schema.items()}
        if "properties" in schema and "type" in schema and not schema.get(
                "x-kubernetes-preserve-unknown-fields"):
            schema.setdefault("additionalProperties", False)
        if schema.pop("x-kubernetes-int-or-string", False):
            schema.pop("type", None)
        schema.pop("format", None)
    elif isinstance(schema, list):
        schema = [strict(value) for value in schema]
    return schema


def schema_for(target, document):
    if target not in SCHEMAS:
        return {"$ref": f"#/targets/{target}", **OWN}
    text = Path(SCHEMAS[target]).read_text(encoding="utf-8")
    if target == "llm-d":
        schema = json.loads(text)
        # References to definitions of Kubernetes that are not at hand accept anything.
        return json.loads(json.dumps(schema).replace('"$ref": "https://', '"description": "https://'))
    if target == "compose":
        return json.loads(text)
    version = document["apiVersion"].split("/")[1]
    found = [one for one in yaml.safe_load(text)["spec"]["versions"] if one["name"] == version]
    schema = strict(found[0]["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"] = {"type": "object"}
    return schema


def emitted(target, search):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.yaml"
        done = subprocess.run([PROGRAM, *LOAD, *search, "--emit", f"{target}={out}"], text=True,
                              capture_output=True)
        if done.returncode != 0 or not out.exists():
            sys.exit(f"{target}: {done.stderr}")
        return yaml.safe_load(out.read_text(encoding="utf-8"))


def repeated_names(document):
    """Names that Dynamo's CRD refuses: two components whose names are equal but for case."""
    names = [one["name"].lower() for one in document.get("spec", {}).get("components", [])]
    return sorted({name for name in names if names.count(name) > 1})


failed = False
for target in SCHEMAS or OWN["targets"]:
    for shape, search in SHAPES.items():
        if (target, shape) in CANNOT:
            continue
        document = emitted(target, search)
        validator = jsonschema.Draft7Validator if target in SCHEMAS else jsonschema.Draft202012Validator
        mistakes = list(validator(schema_for(target, document)).iter_errors(document))
        for mistake in mistakes:
            print(f"{target}, {shape}: {'/'.join(map(str, mistake.path))}: {mistake.message[:300]}")
        repeated = repeated_names(document) if target == "dynamo" else []
        for name in repeated:
            print(f"{target}, {shape}: two components are called {name}")
        failed = failed or bool(mistakes or repeated)
        print(f"{target}, {shape}: {'invalid' if mistakes or repeated else 'ok'}")
sys.exit(1 if failed else 0)
