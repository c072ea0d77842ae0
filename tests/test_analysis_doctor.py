"""What ``rejudge doctor`` finds, and that it finds it without loading what it looks for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from analysis.doctor import Finding, State, describe, examine
from rejudge import cli


def found(name: str, environ: dict[str, str], folder: Path) -> Finding:
    return next(finding for finding in examine(environ, folder) if finding.name == name)


def command(folder: Path, name: str, script: str) -> None:
    """Put a command of this name into ``folder``."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_gpus_are_those_that_the_driver_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command(
        tmp_path,
        "nvidia-smi",
        "echo 'NVIDIA A40, 46068 MiB, 550.54'; echo 'NVIDIA A40, 46068 MiB, 550.54'",
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    gpus = [f for f in examine({}, tmp_path) if f.section == "GPU"]
    assert [f.found for f in gpus] == ["NVIDIA A40, 46068 MiB, 550.54"] * 2


@pytest.mark.parametrize(
    ("script", "said"), [(None, "no nvidia-smi"), ("exit 9", "nvidia-smi failed"), (":", "none")]
)
def test_a_machine_without_gpus_is_told_what_still_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, said: str
) -> None:
    if script is not None:
        command(tmp_path, "nvidia-smi", script)
    monkeypatch.setenv("PATH", str(tmp_path))
    gpu = found("GPU", {}, tmp_path)
    assert gpu.state is State.MISSING
    assert said in gpu.found
    assert "scoring need none" in gpu.brings


def test_slurm_commands_are_looked_up_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command(tmp_path, "sbatch", ":")
    monkeypatch.setenv("PATH", str(tmp_path))
    slurm = [f.found for f in examine({"SLURM_JOB_ID": "17"}, tmp_path) if f.section == "SLURM"]
    assert slurm == ["inside job 17", "sbatch", "not on PATH: srun, squeue, scontrol, sacct"]


def test_keys_are_named_and_never_shown(tmp_path: Path) -> None:
    text = describe(examine({"OPENAI_API_KEY": "sk-very-secret"}, tmp_path))
    assert "very-secret" not in text
    assert found("OPENAI_API_KEY", {"OPENAI_API_KEY": "sk-very-secret"}, tmp_path).found == "set"
    assert found("OPENAI_API_KEY", {}, tmp_path).remedy == "export OPENAI_API_KEY=…"


def test_only_keys_that_a_bundled_card_or_judge_uses_are_asked_for(tmp_path: Path) -> None:
    keys = {f.name: f.brings for f in examine({}, tmp_path) if f.section == "API keys"}
    assert keys["OPENAI_API_KEY"] == "model gpt-4o, judge gpt-5, judge gpt-5-mini"
    assert keys["ZAI_API_KEY"] == "judge glm-5"
    assert keys["DASHSCOPE_API_KEY"] == "model qwen3.5-omni-plus"
    assert not any(name.startswith("HF_") for name in keys)


def test_what_an_extra_lacks_comes_with_what_installs_it(tmp_path: Path) -> None:
    findings = {f.name: f for f in examine({}, tmp_path) if f.section.startswith("extra: ")}
    assert findings["pytest"].state is State.PRESENT
    for finding in findings.values():
        if finding.state is not State.PRESENT:
            extra = finding.section.removeprefix("extra: ")
            assert finding.remedy == f"pip install 'rejudge[{extra}]'"


def test_doctor_imports_nothing_heavy() -> None:
    heavy = "torch ray vllm transformers sentence_transformers polars av decord librosa"
    script = (
        "import sys; from click.testing import CliRunner; from rejudge import cli;"
        "assert CliRunner().invoke(cli, ['doctor']).exit_code == 0;"
        f"print([name for name in {heavy.split()} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_findings_are_printed_for_machines_too() -> None:
    done = CliRunner().invoke(cli, ["doctor", "--json"])
    findings = json.loads(done.stdout)["findings"]
    python = next(finding for finding in findings if finding["name"] == "Python")
    assert python["state"] == "ok"
    assert python["found"].startswith(f"{sys.version_info.major}.{sys.version_info.minor}")
