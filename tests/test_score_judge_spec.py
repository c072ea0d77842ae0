"""Judge specs: bundled ones load, faulty ones say which file and field."""

from __future__ import annotations

from pathlib import Path

import pytest

from score.errors import SpecError, UnknownJudge
from score.judge.spec import Limits, load_spec, moved, spec_names
from tests.builders import chat_judge

JUDGES = ["deepseek-v3.2", "embedding", "glm-5", "gpt-5", "gpt-5-mini", "lexical", "local-vllm"]
VALID = """
name = "mine"
engine = "openai"
model = "some-model"
base_url = "http://localhost:8000/v1"
rubric = "sonic-o1.jinja"
[scale]
min = 0
max = 10
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_bundled_judge_loads_under_its_own_name() -> None:
    assert spec_names() == JUDGES
    assert [load_spec(name).name for name in spec_names()] == spec_names()


def test_the_bundled_formulas_do_not_pass_for_language_models() -> None:
    assert [name for name in spec_names() if not load_spec(name).is_llm] == ["embedding", "lexical"]


def test_the_judge_of_sonic_o1_grades_in_whole_numbers_from_0_to_10() -> None:
    spec = load_spec("gpt-5-mini")
    assert (spec.scale.min, spec.scale.max, spec.scale.integer) == (0, 10, True)
    assert spec.rubric is not None
    assert spec.rubric.name == "sonic-o1"


@pytest.mark.parametrize("name", ["gpt-5", "glm-5", "deepseek-v3.2"])
def test_the_judges_of_omniassistbench_grade_from_0_to_5_and_look_at_seven_aspects(
    name: str,
) -> None:
    spec = load_spec(name)
    assert (spec.scale.min, spec.scale.max, spec.scale.integer) == (0, 5, True)
    assert spec.aspects == (
        *("question_understanding", "semantic_alignment", "polarity_consistency"),
        *("keypoint_coverage", "silence_protocol", "redundancy", "conversational_tone"),
    )


def test_a_price_that_is_not_in_the_spec_is_unknown() -> None:
    assert load_spec("gpt-5").prices is not None
    assert load_spec("glm-5").prices is None


def test_a_path_names_a_judge_of_ones_own(tmp_path: Path) -> None:
    assert load_spec(written(tmp_path, VALID)).name == "mine"


def test_a_rubric_beside_the_spec_comes_before_a_bundled_one(tmp_path: Path) -> None:
    rubric = "{# version: 9 #}\nGrade from {{ scale.low }} to {{ scale.high }}."
    (tmp_path / "sonic-o1.jinja").write_text(rubric, encoding="utf-8")
    spec = load_spec(written(tmp_path, VALID))
    assert spec.rubric is not None
    assert spec.rubric.version == "9"
    assert spec.rubric.system(spec.scale).startswith("Grade from 0 to 10.")


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownJudge, match=r"gpt-6.*deepseek-v3.2, embedding, glm-5"):
        load_spec("gpt-6")


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ('model = "some-model"', "", "model: this field is required"),
        (
            'model = "some-model"',
            "model = 5",
            "model: expected text that is not empty, fo",
        ),
        ('model = "some-model"', 'model = "m"\ntemprature = 1', "temprature: unknown field; known"),
        (
            'engine = "openai"',
            'engine = "grok"',
            "engine: expected one of openai, lexical",
        ),
        ("max = 10", 'max = "ten"', "scale.max: expected a number, found text"),
        ("max = 10", "", "scale.max: this field is required"),
        ("max = 10", "max = 10\nstep = 1", "scale.step: unknown field; known are: min, max"),
        ("max = 10", "max = -1", "scale: min 0 is not below max -1"),
        ("max = 10", "max = 9.5", "scale: an integer scale"),
        (
            'name = "mine"',
            'name = "mine"\nsamples = 0',
            "samples: expected a whole number, 1 or",
        ),
        ('name = "mine"', 'name = "a b"', "name: expected letters, digits"),
        ('rubric = "sonic-o1.jinja"', "", "rubric: a judge of engine openai needs one"),
        (
            'rubric = "sonic-o1.jinja"',
            'rubric = "no.jinja"',
            "bundled rubrics: omniassist.jinja, sonic",
        ),
        ('rubric = "sonic-o1.jinja"', "rubric = 3", "rubric: expected a file name"),
        ('base_url = "http://localhost:8000/v1"', "", "base_url: expected http"),
        ("[scale]", "[scale", "no valid TOML"),
        (
            "max = 10",
            'max = 10\n[sampling]\nseed = "a"',
            "sampling.seed: expected a whole number",
        ),
        ("[scale]", "sampling = 3\n[scale]", "sampling: expected a table, found a whole number"),
        ("[scale]", "extra_body = 3\n[scale]", "extra_body: expected a table"),
        ("[scale]", "revision = 2026-01-01\n[scale]", "revision: expected text, found a date"),
        ("[scale]", "timeout_s = 0\n[scale]", "timeout_s: expected a number of seconds, more than"),
        ("[scale]", 'api = "soap"\n[scale]', "api: expected one of chat, responses"),
        ("[scale]", "limits.requests_per_minute = 0\n[scale]", "per_minute: expected a number a m"),
        (
            "[scale]",
            'api = "responses"\nsampling.seed = 1\n[scale]',
            "sampling.seed: the responses API takes none",
        ),
        ("[scale]", "timeout_s = inf\n[scale]", "timeout_s: expected a finite number, found inf"),
        ("max = 10", "max = inf\ninteger = false", "scale.max: expected a finite number"),
        ("[scale]", "sampling.temperature = -5\n[scale]", "sampling.temperature: expected a num"),
        ("[scale]", "sampling.temperature = inf\n[scale]", "sampling.temperature: expected a fin"),
        ("[scale]", "sampling.top_p = 2\n[scale]", "sampling.top_p: expected a number from 0"),
        ("[scale]", "sampling.seed = -1\n[scale]", "sampling.seed: expected a whole number, 0"),
        ("[scale]", "sampling.max_tokens = 0\n[scale]", "sampling.max_tokens: expected a whole"),
        ("[scale]", "extra_body.from.day = 2026-01-01\n[scale]", "extra_body.from.day: found a da"),
        ("[scale]", "extra_body.temperature = 1\n[scale]", "rejudge itself writes this member"),
        ("[scale]", "extra_body.messages = []\n[scale]", "extra_body.messages: rejudge itself"),
        (
            "[scale]",
            'api = "responses"\nextra_body.input = "x"\n[scale]',
            "extra_body.input: rejudge itself",
        ),
        ("[scale]", "structured_output = 1\n[scale]", "structured_output: expected true or false"),
    ],
)
def test_a_faulty_spec_names_the_file_and_the_field(
    tmp_path: Path, old: str, new: str, found: str
) -> None:
    assert old in VALID
    path = written(tmp_path, VALID.replace(old, new))
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    assert found in str(caught.value)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        'api_key = "sk-secret-123"',
        'api_key_env = "sk-secret-123"',
        'base_url = "https://me:sk-secret-123@host/v1"',
        'base_url = "https://host/v1?key=sk-secret-123"',
    ],
)
def test_a_key_in_a_spec_is_refused_without_repeating_it(tmp_path: Path, line: str) -> None:
    text = VALID.replace('base_url = "http://localhost:8000/v1"', "")
    text = line + text if line.startswith("base_url") else line + VALID
    with pytest.raises(SpecError) as caught:
        load_spec(written(tmp_path, text))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("rubric", "line", "says"),
    [
        ("Grade.", 1, "the first line must give the version"),
        ("{# version: 1 #}\n{# aspects: a, score #}\nGrade.", 2, "aspects: found 'score'"),
        ("{# version: 1 #}\n{# aspects: a, a #}\nGrade.", 2, "aspects: found 'a'"),
        ("{# version: 1 #}\n\nGrade.\nFrom {{ scale.minimum }}", 4, "minimum"),
        ("{# version: 1 #}\n\nGrade.\n{% if scale.min %}never ended", 4, "Unexpected end of"),
        ("{# version: 1 #}\n\nGrade.\n{{ scale.min / 0 }}", 4, "division by zero"),
        ("{# version: 1 #}\n\nGrade.\n{{ scale.min ~ }}", 4, "unexpected"),
    ],
)
def test_a_fault_of_a_rubric_names_its_file_and_line(
    tmp_path: Path, rubric: str, line: int, says: str
) -> None:
    file = tmp_path / "sonic-o1.jinja"
    file.write_text(rubric, encoding="utf-8")
    with pytest.raises(SpecError, match=says) as caught:
        load_spec(written(tmp_path, VALID))
    assert str(caught.value).startswith(f"{file} line {line}: ")


@pytest.mark.parametrize("name", ["lexical", "Lexical", "gpt-5-mini"])
def test_no_judge_of_ones_own_passes_for_a_bundled_one(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, VALID.replace('"mine"', f'"{name}"'))
    with pytest.raises(SpecError, match=f"{name} is a bundled judge.*another name"):
        load_spec(path)


def test_the_signature_has_what_decides_a_verdict_and_nothing_else() -> None:
    spec = chat_judge()
    limits = Limits(requests_per_minute=3)
    elsewhere = chat_judge(
        "http://other:1/v1", concurrency=1, timeout_s=1.0, max_retries=0, limits=limits
    )
    assert spec.signature() == elsewhere.signature()
    assert spec.signature() != chat_judge(model="another").signature()
    assert spec.signature()["rubric"]["version"] == "1"


def test_an_address_given_beside_the_spec_is_checked_too() -> None:
    assert moved(chat_judge(), "http://node7:8000/v1").base_url == "http://node7:8000/v1"
    with pytest.raises(SpecError, match="base_url"):
        moved(chat_judge(), "node7:8000")


def test_a_mark_of_utf_8_at_the_beginning_of_a_file_is_passed_over(tmp_path: Path) -> None:
    rubric = "{# version: 9 #}\nGrade from {{ scale.low }} to {{ scale.high }}."
    (tmp_path / "sonic-o1.jinja").write_text(rubric, encoding="utf-8-sig")
    path = tmp_path / "marked.toml"
    path.write_text(VALID, encoding="utf-8-sig")
    spec = load_spec(path)
    assert spec.rubric is not None
    assert spec.rubric.text == rubric
