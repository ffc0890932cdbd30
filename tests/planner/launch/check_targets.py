"""Files of `plan --emit` against the schemas of the projects that read them, which are not part of this
project: fetch them, and name them here.

    python3 tests/planner/launch/check_targets.py PROGRAM [kserve=CRD.yaml] [llm-d=values.schema.json]
        [dynamo=CRD.yaml] [compose=compose-spec.json]

kserve/kserve: config/crd/full/llmisvc/serving.kserve.io_llminferenceservices.yaml
llm-d-incubation/llm-d-modelservice: charts/llm-d-modelservice/values.schema.json
ai-dynamo/dynamo: deploy/operator/config/crd/bases/nvidia.com_dynamographdeployments.yaml
compose-spec/compose-spec: schema/compose-spec.json
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema
import yaml

PROGRAM = Path(sys.argv[1]).resolve()
SCHEMAS = dict(argument.split("=", 1) for argument in sys.argv[2:])
LOAD = ["plan", "--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", "5", "--num-prompts", "20",
        "--output-len", "16", "--max-replicas", "1", "--top", "1", "--no-store", "--slo",
        "p95:ttft:500ms", "p95:tpot:40ms"]
SHAPES = {"one pool": ["--search", "tp=2", "--search", "max_num_seqs=64"],
          "two pools": ["--search", "tp=1", "--search", "pools=1:2"]}


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


failed = False
for target in SCHEMAS:
    for shape, search in SHAPES.items():
        if target == "compose" and shape == "two pools":
            continue
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out.yaml"
            subprocess.run([PROGRAM, *LOAD, *search, "--emit", f"{target}={out}"], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            document = yaml.safe_load(out.read_text(encoding="utf-8"))
        mistakes = list(jsonschema.Draft7Validator(schema_for(target, document)).iter_errors(document))
        for mistake in mistakes:
            print(f"{target}, {shape}: {'/'.join(map(str, mistake.path))}: {mistake.message[:300]}")
        failed = failed or bool(mistakes)
        print(f"{target}, {shape}: {'invalid' if mistakes else 'ok'}")
sys.exit(1 if failed else 0)
