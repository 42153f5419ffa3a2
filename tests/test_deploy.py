"""Test the deployment files without a container engine or cluster; `make rehearse` runs the steps of the Dockerfile."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from rolecall.core.config import Config

DEPLOY = Path(__file__).parents[1] / "deploy"
CHART = DEPLOY / "helm" / "rolecall"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
TEMPLATES = sorted((CHART / "templates").iterdir())
SETTINGS = {f"ROLECALL_{field.upper()}" for field in Config.__struct_fields__}
OURS = ("migrate", "api", "worker")


def test_only_settings_that_exist_are_set() -> None:
    texts = [path.read_text() for path in DEPLOY.rglob("*") if path.is_file()]
    named = set(re.findall(r"\bROLECALL_[A-Z_]+\b", "\n".join(texts)))

    assert named - SETTINGS == {"ROLECALL_HOST"}  # compose.yaml uses this variable for the proxy.


@pytest.mark.parametrize("name", OURS)
def test_containers_run_with_least_privilege(name: str) -> None:
    service = COMPOSE["services"][name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_nothing_starts_before_the_migrations_are_done() -> None:
    services = COMPOSE["services"]

    assert services["migrate"]["depends_on"] == {"db": {"condition": "service_healthy"}}
    for name in ("api", "worker"):
        assert services[name]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    assert services["api"]["deploy"]["replicas"] == 2


def test_every_volume_and_file_of_compose_exists() -> None:
    mounts = [mount for service in COMPOSE["services"].values() for mount in service.get("volumes", [])]
    sources = {mount.partition(":")[0] for mount in mounts}

    assert {source for source in sources if not source.startswith(".")} == set(COMPOSE["volumes"])
    assert all((DEPLOY / source).is_file() for source in sources if source.startswith("."))


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_units_are_valid(tmp_path: Path) -> None:
    for unit in (DEPLOY / "systemd").iterdir():
        # The program and its user do not exist on the test machine.
        text = unit.read_text().replace("/opt/rolecall/bin/rolecall", "/bin/true")
        (tmp_path / unit.name.replace("@", "@8001")).write_text(re.sub(r"^(User|Group)=.*\n", "", text, flags=re.M))

    said = subprocess.run(
        ["systemd-analyze", "verify", *map(str, tmp_path.iterdir())], capture_output=True, text=True, check=False
    )

    assert (said.returncode, said.stderr) == (0, "")


def test_chart_defines_every_value_it_uses() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["apiVersion"] == "v2"

    asked = {path for file in TEMPLATES for path in re.findall(r"\.Values\.([\w.]+)", file.read_text())}

    assert {path for path in asked if not has(values, path)} == set()


def has(values: Any, path: str) -> bool:
    for name in path.split("."):
        if name not in values:
            return False
        values = values[name]
    return True


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.name)
def test_template_blocks_are_balanced(file: Path) -> None:
    text = file.read_text()

    assert len(re.findall(r"\{\{-? *(?:if|with|range|define)\b", text)) == len(re.findall(r"\{\{-? *end\b", text))


@pytest.mark.parametrize("file", [file for file in TEMPLATES if file.suffix == ".yaml"], ids=lambda file: file.name)
def test_templates_render_to_objects(file: Path) -> None:
    objects = list(yaml.safe_load_all(rendered(file.read_text())))

    assert all({"apiVersion", "kind", "metadata"} <= each.keys() for each in objects)
    for container in [one for each in objects for one in containers(each)]:
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert {"name", "image", "args", "env", "volumeMounts"} <= container.keys()


def containers(each: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = each.get("spec", {}).get("template", {}).get("spec", {}).get("containers", [])
    return found


def rendered(text: str) -> str:
    """Render a template roughly as Helm would: take every branch and replace every value with `x`."""
    parts = dict(re.findall(r'define "([\w.]+)" -\}\}\n(.*?)\{\{- end \}\}\n(?=\n|$)', (CHART / "templates/_pod.tpl").read_text(), re.S))  # fmt: skip # noqa: E501

    def included(found: re.Match[str]) -> str:
        return "\n" + "\n".join(" " * int(found[2]) + line for line in parts[found[1]].rstrip().splitlines())

    text = re.sub(r'\{\{- include "([\w.]+)" \. \| nindent (\d+) \}\}', included, text)
    text = re.sub(r"\{\{- toYaml [^}]*\}\}", "{}", text)
    text = re.sub(r"^ *\{\{-? *(?:if|with|range|else|end)\b[^}]*\}\}\n", "", text, flags=re.M)
    return re.sub(r"\{\{[^}]*\}\}", "x", text)


@pytest.mark.parametrize("file", sorted((DEPLOY / "several-hosts").iterdir()), ids=lambda file: file.name)
def test_deployment_page_quotes_each_file_of_several_hosts(file: Path) -> None:
    page = (DEPLOY.parent / "docs/deployment.md").read_text()
    quoted = re.search(rf"^`{re.escape(file.name)}`:\n\n```[a-z]+\n(.*?)```$", page, re.MULTILINE | re.DOTALL)

    assert quoted
    assert quoted[1] == file.read_text()
