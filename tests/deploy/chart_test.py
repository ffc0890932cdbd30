"""Renders the Helm chart with Go's template engine (render_chart.go) under several values and looks at what it
would put into a cluster. Exit code 77 without Go or PyYAML; Helm itself is not needed."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
go = shutil.which("go")
try:
    import yaml
except ImportError:
    yaml = None
if not go or not yaml:
    print("skipped: needs Go and Python's yaml")
    sys.exit(SKIPPED)

HERE = Path(__file__).resolve().parent
CHART = HERE.parents[1] / "deploy" / "chart"
defaults = yaml.safe_load((CHART / "values.yaml").read_text())
about = yaml.safe_load((CHART / "Chart.yaml").read_text())
work = tempfile.TemporaryDirectory()
environment = {**os.environ, "GOCACHE": os.environ.get("GOCACHE", work.name + "/cache"), "GO111MODULE": "off"}
program = work.name + "/render"
subprocess.run([go, "build", "-o", program, HERE / "render_chart.go"], check=True, env=environment)


def merged(base, changes):
    if not isinstance(base, dict) or not isinstance(changes, dict):
        return changes
    return {**base, **{key: merged(base.get(key), value) for key, value in changes.items()}}


def render(changes, release="plans"):
    context = {
        "Values": merged(defaults, changes),
        "Chart": {"Name": about["name"], "AppVersion": str(about["appVersion"])},
        "Release": {"Name": release},
    }
    done = subprocess.run([program, CHART / "templates"], input=json.dumps(context), capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr
    return {one["kind"]: one for one in yaml.safe_load_all(done.stdout) if one}, ""


def check(condition, what):
    if not condition:
        sys.exit(f"chart: FAILED: {what}")


def container_of(objects):
    return objects["Deployment"]["spec"]["template"]["spec"]["containers"][0]


nothing, error = render({})
check(nothing is None and "tokenSecret" in error, f"without a token: {error}")

usual, error = render({"tokenSecret": "secret"})
check(usual is not None, error)
check(set(usual) == {"Deployment", "Service", "PersistentVolumeClaim"}, f"kinds: {set(usual)}")
pod = usual["Deployment"]["spec"]["template"]
check(usual["Deployment"]["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items(), "pod labels")
check(usual["Service"]["spec"]["selector"].items() <= pod["metadata"]["labels"].items(), "the service selects no pod")
ports = {port["name"] for port in container_of(usual)["ports"]}
check(usual["Service"]["spec"]["ports"][0]["targetPort"] in ports, "the service's port")
volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
check({mount["name"] for mount in container_of(usual)["volumeMounts"]} == set(volumes), "volumes")
claim = volumes["data"]["persistentVolumeClaim"]["claimName"]
check(claim == usual["PersistentVolumeClaim"]["metadata"]["name"] == "plans-" + about["name"], f"claim: {claim}")
check(volumes["token"]["secret"]["secretName"] == "secret", "secret")
check(container_of(usual)["image"] == f"roofcast:{about['appVersion']}", container_of(usual)["image"])
check(pod["spec"]["securityContext"]["runAsNonRoot"] is True, "runs as root")
check(container_of(usual)["resources"] == defaults["resources"], "resources")

mock, error = render({
    "tokenSecret": "secret", "mock": {"enabled": True, "args": ["--tp", "2"]}, "image": {"tag": "1.2"},
    "nodeSelector": {"zone": "a"}, "tolerations": [{"operator": "Exists"}]})
check(mock is not None, error)
check(set(mock) == {"Deployment", "Service"}, f"kinds of the mock: {set(mock)}")
arguments = container_of(mock)["args"]
check(arguments[-7:] == ["--mock", "--model", "llama-3.1-8b", "--gpu", "h100", "--tp", "2"], f"{arguments}")
check(container_of(mock)["image"] == "roofcast:1.2", "tag")
spec = mock["Deployment"]["spec"]["template"]["spec"]
check(spec["nodeSelector"] == {"zone": "a"} and spec["tolerations"] == [{"operator": "Exists"}], "placement")
check("emptyDir" in {**spec["volumes"][0]}, "the mock keeps nothing")

longest, error = render({"tokenSecret": "secret"}, release="r" * 60)
name = longest["Service"]["metadata"]["name"]
check(len(name) <= 63 and not name.endswith("-"), f"name of {len(name)} letters: {name}")
print("chart: ok")
