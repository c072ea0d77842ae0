"""Prompts: what is asked, in which order, under which names."""

from __future__ import annotations

import pytest

from bench.errors import BenchError, PromptError
from bench.item import Clip, TaskType
from bench.omniassist import OmniAssist
from bench.prompt import EarlierAnswer, NamedText, Prompt, Spoken
from bench.sonic_o1 import SonicO1
from bench.template import BUNDLED, known_names, load_template
from tests.trees import assistant_folder, sonic_tree, turn

SONIC = SonicO1("sonic-o1")
OMNI = OmniAssist("omniassist")


def texts(prompt: Prompt) -> dict[str, str]:
    parts = [part for message in prompt.messages for part in message.parts]
    return {part.name: part.text for part in parts if isinstance(part, NamedText)}


def test_every_item_is_asked_once_and_in_order(tmp_path):
    items = SONIC.load(sonic_tree(tmp_path, copies=2))
    prompts = SONIC.prompts(items)
    assert [one for prompt in prompts for one in prompt.items] == [item.id for item in items]
    for prompt in prompts:
        (message,) = prompt.messages
        assert message.role == "user"
        assert isinstance(message.parts[0], Clip)


def test_a_choice_names_its_question_and_options_and_the_five_fields(tmp_path):
    (item,) = SONIC.load(sonic_tree(tmp_path), [TaskType.CHOICE])
    (prompt,) = SONIC.prompts([item])
    named = texts(prompt)
    assert named["question"] == "What does the nurse hold?"
    assert named["option:B"] == "(B) A pen"
    assert [name for name in named if name.startswith("option:")][-1] == "option:E"
    for field in ("answer_letter", "answer_index", "rationale", "evidence_tags", "confidence"):
        assert f'"{field}"' in named["format"]


def test_the_questions_of_one_entry_share_a_prompt_and_know_the_absolute_bounds(tmp_path):
    questions = [
        {
            "question_id": f"00{n}",
            "question": f"When does event {n} begin?",
            "temporal_relation": "before",
            "anchor_event": "THE ANCHOR",
            "target_event": "THE TARGET",
            "answer": {"start_s": 130, "end_s": 140},
            "rationale_model": "",
            "requires_audio": False,
        }
        for n in (1, 2, 3)
    ]
    segment = {"start": 120.5, "end": 300}
    sonic_tree(tmp_path, localization={"questions": questions, "segment": segment}, copies=2)
    prompts = SONIC.prompts(SONIC.load(tmp_path, [TaskType.LOCALIZATION]))
    assert [len(prompt.items) for prompt in prompts] == [3, 3]
    named = texts(prompts[0])
    assert named["question:002"] == "When does event 2 begin?"
    assert "120.5" in named["instruction"]
    assert "300" in named["instruction"]
    whole = " ".join(named.values())
    assert "THE ANCHOR" not in whole
    assert "THE TARGET" not in whole
    for field in ("question_id", "start_s", "end_s", "confidence", "rationale_model"):
        assert f'"{field}"' in named["format"]


def test_summaries_name_the_fields_of_their_answer(tmp_path):
    tasks = [TaskType.SUMMARY, TaskType.EMPATHIC]
    plain, empathic = SONIC.prompts(SONIC.load(sonic_tree(tmp_path), tasks))
    for field in ("summary_detailed", "summary_short", "timeline", "glossary", "confidence"):
        assert f'"{field}"' in texts(plain)["instruction"]
    for field in ("summary_detailed_empathic", "confidence"):
        assert f'"{field}"' in texts(empathic)["instruction"]


def test_the_reference_is_in_no_prompt(tmp_path):
    items = SONIC.load(sonic_tree(tmp_path, choice={"rationale": "SECRET"}))
    assert all("SECRET" not in str(prompt) for prompt in SONIC.prompts(items))


def test_annotation_text_is_never_read_as_a_template(tmp_path):
    nasty = "{{ 7 * 7 }} {% for x in y %} {# note #} <b>&amp;"
    items = SONIC.load(sonic_tree(tmp_path, choice={"question": nasty}), [TaskType.CHOICE])
    assert texts(SONIC.prompts(items)[0])["question"] == nasty


def test_a_single_turn_is_the_instruction_and_the_clip_not_the_question(tmp_path):
    items = OMNI.load(assistant_folder(tmp_path))
    (prompt,) = OMNI.prompts(items)
    assert [message.role for message in prompt.messages] == ["system", "user"]
    assert "[KEEP QUIET]" in texts(prompt)["instruction"]
    asked = Spoken("How many cups are there?")  # a text only where the sound is not given
    assert prompt.messages[1].parts == (items[0].clip, asked)


def test_a_later_turn_holds_the_example_once_and_all_earlier_turns(tmp_path):
    rows = [turn("cake", n, example_video="cake-example" if n == 1 else "") for n in (1, 2, 3)]
    items = OMNI.load(assistant_folder(tmp_path, *rows))
    last = OMNI.prompts(items)[2]
    roles = [message.role for message in last.messages]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    opening = [part for part in last.messages[1].parts if isinstance(part, Clip)]
    assert opening == [items[0].example, items[0].clip]
    assert last.messages[2].parts == (EarlierAnswer("assistant/cake-seg1"),)
    assert last.messages[3].parts[0] == items[1].clip
    assert last.messages[4].parts == (EarlierAnswer("assistant/cake-seg2"),)
    assert last.messages[5].parts[0] == items[2].clip
    assert last.items == ("assistant/cake-seg3",)


def test_a_turn_without_its_earlier_turns_is_refused(tmp_path):
    items = OMNI.load(assistant_folder(tmp_path, turn("cake", 1), turn("cake", 2)))
    with pytest.raises(BenchError, match="turn 1 is not among the items"):
        OMNI.prompts(items[1:])


def test_every_bundled_template_has_a_version_and_a_known_name():
    for path in BUNDLED.glob("*/*.jinja"):
        assert load_template(path.parent.name, path.stem).version == f"{path.stem} 1"
        assert path.name in known_names()


# --- a user's own templates -------------------------------------------------------------------

CHOICE = (
    "{# version: mine 3 #}\n"
    '{% call part("question") %}{{ question }}{% endcall %}\n'
    "{% for option in options %}"
    '{% call part("option:" ~ option.letter) %}{{ option.text }}{% endcall %}'
    "{% endfor %}\n"
    "{{ clip() }}\n"
)


def choice_prompt(tmp_path, template: str | bytes, name: str = "choice.jinja") -> Prompt:
    folder = tmp_path / "prompts"
    folder.mkdir(exist_ok=True)
    data = template if isinstance(template, bytes) else template.encode()
    (folder / name).write_bytes(data)
    items = SONIC.load(sonic_tree(tmp_path / "tree"), [TaskType.CHOICE])
    return SONIC.prompts(items, folder)[0]


def test_a_users_template_replaces_ours_and_orders_the_parts_as_it_likes(tmp_path):
    parts = choice_prompt(tmp_path, CHOICE).messages[0].parts
    assert parts[0] == NamedText("What does the nurse hold?", "question")
    assert parts[1] == NamedText("A cup", "option:A")
    assert isinstance(parts[-1], Clip)


def test_templates_that_a_users_folder_lacks_stay_ours(tmp_path):
    folder = tmp_path / "prompts"
    folder.mkdir()
    (folder / "choice.jinja").write_text(CHOICE)
    items = SONIC.load(sonic_tree(tmp_path / "tree"), [TaskType.SUMMARY])
    assert SONIC.prompts(items, folder) == SONIC.prompts(items)


def test_a_users_folder_may_hold_files_to_include(tmp_path):
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "_tone.jinja").write_text("Be brief.")
    part = '{% call part("tone") %}{% include "_tone.jinja" %}{% endcall %}'
    assert texts(choice_prompt(tmp_path, CHOICE + part))["tone"] == "Be brief."


@pytest.mark.parametrize(
    ("template", "says"),
    [
        (CHOICE + "{{ anchor }}", r"choice\.jinja line 5: 'anchor' is undefined .*options"),
        (CHOICE + "{{ question.lenght }}", "line 5: .*lenght"),
        (CHOICE + "{% if %}", r"choice\.jinja line 5: "),
        (CHOICE + "{{ 1 / 0 }}", "line 5: division by zero"),
        (CHOICE + "Answer now.", "line 5: found text outside of a part: 'Answer now.'"),
        (CHOICE + "{{ clip() }}", "places the clip 2 times"),
        (CHOICE.replace("{{ clip() }}", ""), "places the clip 0 times"),
        (CHOICE.replace('"question"', '"q"'), "the part 'question' 0 times"),
        (CHOICE.replace("version", "edition"), "line 1: found no version"),
        (CHOICE + "{{ question.__class__ }}", "line 5: .*__class__.* unsafe"),
        (CHOICE + "{% include '../../secret.jinja' %}", "secret"),
        (CHOICE + "{% include '_none.jinja' %}", "line 5: .*_none"),
        (CHOICE + "{% include 'choice.jinja' %}", "recursion"),
        (CHOICE.encode() + b"\xff", "not UTF-8"),
    ],
)
def test_a_template_that_does_not_hold_names_file_and_line(tmp_path, template, says):
    with pytest.raises(PromptError, match=says):
        choice_prompt(tmp_path, template)


def test_a_template_cannot_reach_the_machine(tmp_path):
    (tmp_path / "secret.jinja").write_text("secret")
    escape = "{{ clip.__self__.__init__.__globals__ }}"
    with pytest.raises(PromptError, match="unsafe"):
        choice_prompt(tmp_path, CHOICE + escape)


def test_a_template_name_that_nothing_asks_for_is_answered_with_the_known_ones(tmp_path):
    with pytest.raises(PromptError, match=r"choise\.jinja, which no prompt .*choice\.jinja"):
        choice_prompt(tmp_path, CHOICE, "choise.jinja")


def test_an_empty_or_missing_folder_of_templates_is_refused(tmp_path):
    items = SONIC.load(sonic_tree(tmp_path / "tree"))
    with pytest.raises(PromptError, match="is not a folder"):
        SONIC.prompts(items, tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(PromptError, match="holds no templates"):
        SONIC.prompts(items, tmp_path / "empty")
