"""Results of experiment software, written by hand as the programs document their files."""

import json
from pathlib import Path

import pandas as pd
import pytest

from lingprob.api.cli import main
from lingprob.errors import LingprobError
from lingprob.io.lab_exports import import_export

PCIBEX_HEAD = """# Results on Thursday November 11 2021 19:04:21 UTC.
# USER AGENT: Mozilla/5.0 (X11; Linux x86_64)
# Design number was non-random = 3
#
# Columns below this comment are as follows:
# 1. Results reception time.
# 2. MD5 hash of participant's IP address.
# 3. Controller name.
# 4. Order number of item.
# 5. Inner element number.
# 6. Label.
# 7. Latin Square Group.
# 8. PennElementType.
# 9. PennElementName.
# 10. Parameter.
# 11. Value.
# 12. EventTime.
# 13. Comments.
1,{who},PennController,0,0,intro,NULL,PennController,0,_Trial_,Start,1636657350373,NULL
# 13. group.
# 14. item.
# 15. condition.
# 16. Comments.
1,{who},PennController,1,0,{label},NULL,PennController,1,_Trial_,Start,1636657350,B,3,{c},NULL
"""
READ = """# 16. Reading time.
# 17. Newline?.
# 18. Sentence (or sentence MD5).
# 19. Comments.
"""


def pcibex_reading(who: str, condition: str, words: list[str], label: str = "main") -> str:
    sentence = "%20".join(words).replace(",", "%2C")
    rows = [
        f"1,{who},PennController,1,0,{label},NULL,Controller-DashedSentence,DashedSentence,{n},"
        f"{word.replace(',', '%2C')},16366,B,3,{condition},{300 + n},false,{sentence},Any more\n"
        for n, word in enumerate(words, start=1)
    ]
    head = PCIBEX_HEAD.format(who=who, c=condition, label=label)
    return head + READ + "".join(rows)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_pcibex_reading_times_of_two_conditions(tmp_path):
    path = written(
        tmp_path / "results.csv",
        pcibex_reading("a1", "sg", ["The", "cat,", "sleeps."])
        + pcibex_reading("b2", "pl", ["The", "cats,", "sleep."])
        + pcibex_reading("c3", "sg", ["The", "cat,", "sleeps."])
        + pcibex_reading("c3", "sg", ["Try", "it."], label="main_practice"),
    )
    table, notes = import_export(path, "reading_times", rows={"Label": ["main"]})
    assert table.columns.tolist() == [
        "subject_id", "passage_id", "word_index", "word", "rt_ms", "item", "condition",
    ]  # fmt: skip
    assert table["passage_id"].unique().tolist() == ["3/sg", "3/pl"]
    assert table["word"].tolist()[:3] == ["The", "cat,", "sleeps."]
    assert table["word_index"].tolist() == [0, 1, 2] * 3
    assert table["rt_ms"].tolist() == [301, 302, 303] * 3
    assert notes[:-1] == [
        f"{path}: 19 rows of PCIbex",
        "7 rows are left out because of Label",
        "3 rows are left out because of pennelementtype",
    ]
    with pytest.raises(LingprobError, match=r"'passage_id': another word than other readers have"):
        import_export(path, "reading_times")


def test_pcibex_without_items_numbers_the_sentences(tmp_path):
    text = pcibex_reading("a", "x", ["It", "r&auml;ins."])
    text += pcibex_reading("b", "x", ["<i>It</i>", "snows."])
    text = text.replace("# 14. item.", "# 14. list.")
    table, _ = import_export(written(tmp_path / "r.csv", text), "reading_times")
    assert table["passage_id"].unique().tolist() == ["sentence 1", "sentence 2"]
    assert table["word"].tolist() == ["It", "räins.", "It", "snows."]


def test_two_participants_at_one_address_are_refused(tmp_path):
    text = pcibex_reading("same", "x", ["It", "rains."])
    text += text.replace(",B,3,", ",C,3,")
    with pytest.raises(LingprobError, match=r"column 'md5_hash': a second time.*participant="):
        import_export(written(tmp_path / "r.csv", text), "reading_times")
    path = written(tmp_path / "r.csv", text.replace("# 13. group.", "# 13. id."))
    assert import_export(path, "reading_times")[0]["subject_id"].tolist() == ["B", "B", "C", "C"]


def pcibex_answers(rows: list[tuple[str, str, str, str]]) -> str:
    """Answers: who, type, value and sentence."""
    head = PCIBEX_HEAD.partition("# 13. group.")[0].format(who="a")
    head += "# 13. item.\n# 14. sentence.\n# 15. Comments.\n"
    return head + "".join(
        f"1,{who},PennController,{n},0,main,NULL,{kind},judge,Choice,{value},1636,"
        f"{n},{sentence.replace(',', '%2C')},NULL\n"
        for n, (who, kind, value, sentence) in enumerate(rows)
    )


def test_pcibex_ratings_have_their_sentences(tmp_path):
    sentences = ("Well, he ran.", "He run.", "Ran he.")
    kinds = ["Scale", "Selector", "DropDown", "Controller-Question", "Controller-RateJudgment"]
    rows = [
        (kind, kind, value, sentence)
        for kind in kinds
        for value, sentence in zip("714", sentences, strict=True)
    ]
    text = pcibex_answers(rows)
    table, notes = import_export(written(tmp_path / "results.csv", text), "ratings")
    assert table["rating"].tolist() == [7, 1, 4] * 5
    assert table["sentence"][0] == "Well, he ran."
    assert notes[1:-1] == ["1 rows are left out because of pennelementtype"]


def test_answers_that_are_no_numbers_need_a_meaning(tmp_path):
    rows = [("a", "Key", "F", "He ran."), ("a", "Key", "J", "He run.")]
    path = written(tmp_path / "results.csv", pcibex_answers(rows))
    with pytest.raises(LingprobError, match=r"not a number: 'F' .*--value F=1"):
        import_export(path, "ratings")
    table, _ = import_export(path, "ratings", values={"F": "1", "J": "0"})
    assert table["rating"].tolist() == [1, 0]


def test_a_forced_choice_is_two_ratings(tmp_path):
    rows = "a,1,He ran.,He run.,good\n" * 20 + "b,1,He ran.,He run.,He run.\nb,2,It is.,It are.,\n"
    path = written(tmp_path / "choices.csv", f"participant,item,good,bad,choice\n{rows}")
    table, notes = import_export(path, "ratings")
    assert table["sentence"].tolist() == ["He ran.", "He run."] * 21
    assert table["rating"].tolist() == [1, 0] * 20 + [0, 1]
    assert table["grammatical"].tolist() == ["True", "False"] * 21
    assert table["item"].tolist() == ["1/good", "1/bad"] * 21
    assert notes[1:-1] == ["2 rows are left out because of an empty choice"]
    for pair, answer in (("It is.,It are.", "left"), ("It is.,It is.", "It is.")):
        other = written(tmp_path / "other.csv", f"{path.read_text()}c,2,{pair},{answer}\n")
        with pytest.raises(LingprobError, match=rf"'choice': another answer: '{answer}'"):
            import_export(other, "ratings")
    written(path, path.read_text().replace("choice", "chosen"))
    with pytest.raises(LingprobError, match="no column for `rating` among"):
        import_export(path, "ratings")


IBEX = """# Columns below this comment are as follows:
# 1. Time results were received.
# 2. MD5 hash of participant's IP address.
# 3. Controller name.
# 4. Item number.
# 5. Element number.
# 6. Type.
# 7. Group.
"""


def test_ibex_farm_reading_times_and_judgments(tmp_path):
    text = f"""{IBEX}# 8. Word number.
# 9. Word.
# 10. Reading time.
# 11. Newline?.
# 12. Sentence (or sentence MD5).
5,h,DashedSentence,4,0,long,7,1,He%2C,310,false,He%2C too.
5,h,DashedSentence,4,0,long,7,2,too.,290,false,He%2C too.
{IBEX}# 8. Sentence (or sentence MD5).
5,h,AcceptabilityJudgment,5,0,long,8,She ran.
# 8. Question (NULL if none).
# 9. Answer.
# 10. Whether or not answer was correct (NULL if N/A).
# 11. Time taken to answer.
5,h,AcceptabilityJudgment,5,0,long,8,NULL,6,NULL,900
"""
    path = written(tmp_path / "results", text)
    times, _ = import_export(path, "reading_times")
    assert times[["passage_id", "word_index", "word", "rt_ms"]].to_numpy().tolist() == [
        ["7", 0, "He,", 310.0], ["7", 1, "too.", 290.0],
    ]  # fmt: skip
    ratings, notes = import_export(path, "ratings")
    assert ratings.iloc[0].to_dict() == {
        "participant": "h", "item": "8", "condition": "long", "sentence": "She ran.", "rating": 6,
    }  # fmt: skip
    assert notes[1:-1] == ["3 rows are left out because of an empty answer"]


def test_participants_at_one_address_keep_their_sentences(tmp_path):
    text = IBEX + "# 8. Sentence (or sentence MD5).\n# 9. Answer.\n"
    judged = (5, "h", "She ran.", 6), (7, "h", "She run.", 2), (5, "g", "She sat.", 3)
    for time, who, sentence, answer in judged:
        text += f"{time},{who},AcceptabilityJudgment,5,0,long,8,{sentence},NULL\n"
        text += f"{time},{who},AcceptabilityJudgment,5,0,long,8,NULL,{answer}\n"
    table, _ = import_export(written(tmp_path / "results", text), "ratings")
    assert table[["sentence", "rating"]].to_numpy().tolist() == [[*row[2:]] for row in judged]


def test_grouped_ibex_lines_have_own_names(tmp_path):
    columns = ["Time results were received", "MD5 hash of participant's IP address",
               "Controller name", "Item number", "Element number", "Type", "Group"]  # fmt: skip
    forms = [[*columns, "Sentence (or sentence MD5)"], [*columns, "Question", "Answer"]]
    text = "# The lines below this comment are in groups of 2.\n"
    for number, names in enumerate(forms, start=1):
        text += f"#\n# Line {number}:\n"
        text += "".join(f"#     Col. {n}: {name}.\n" for n, name in enumerate(names, start=1))
    for item, sentence, answer in ((1, "He ran.", 5), (2, "He run.", 2)):
        text += f"9,h,AcceptabilityJudgment,{item},0,t,NULL,{sentence}\n"
        text += f"9,h,AcceptabilityJudgment,{item},0,t,NULL,NULL,{answer}\n"
    table, _ = import_export(written(tmp_path / "r.txt", text), "ratings")
    assert table[["sentence", "rating"]].to_numpy().tolist() == [["He ran.", 5], ["He run.", 2]]


def test_unencoded_commas_are_named_by_line(tmp_path):
    text = pcibex_reading("a", "x", ["It", "rains."]).replace(",301,false,", ",301,0,false,")
    with pytest.raises(LingprobError, match=r"line 29: 20 fields, .* name 19 columns"):
        import_export(written(tmp_path / "r.csv", text), "reading_times")


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        ('"No" he said.', '"No" he said.'),
        ('"Stop!" "Why?"', '"Stop!" "Why?"'),
        ('"Stop!"', '"Stop!"'),
        ('She left%2C "really".', 'She left, "really".'),
        ('"He said ""no"" to her."', 'He said "no" to her.'),
        ('"He left, too."', "He left, too."),
        ('"""No"" he said."', '"No" he said.'),
    ],
)
def test_quotation_marks_of_pcibex_are_text(tmp_path, field, sentence):
    text = pcibex_answers([("a", "Scale", "5", "It rained.")]).replace("It rained.", field)
    table, _ = import_export(written(tmp_path / "r.csv", text), "ratings")
    assert table["sentence"].tolist() == [sentence]


TRIALS = [
    {"trial_type": "html-button-response", "trial_index": 0, "subject": "s1", "stimulus": None,
     "response": 0, "rt": 90},
    {"trial_type": "self-paced-reading", "trial_index": 1, "subject": "s1", "item": 4,
     "spr_words": ["He", "ran."], "spr_rts": [310.5, 290], "spr_sentence": "He ran.", "rt": None},
    {"trial_type": "survey-likert", "trial_index": 2, "subject": "s1", "sentence": "He ran.",
     "response": {"Q0": 4}, "rt": 2000},
]  # fmt: skip


@pytest.mark.parametrize("form", ["json", "lines", "csv"])
def test_jspsych_in_each_of_its_forms(tmp_path, form):
    path = tmp_path / f"data.{'csv' if form == 'csv' else 'json'}"
    if form == "csv":
        frame = pd.DataFrame(TRIALS, dtype=object)
        for column in ("spr_words", "spr_rts", "response"):
            frame[column] = [json.dumps(value) if isinstance(value, list | dict) else value
                             for value in frame[column]]  # fmt: skip
        frame.to_csv(path, index=False)
    else:
        parts = [TRIALS] if form == "json" else [TRIALS[:2], TRIALS[2:]]
        written(path, "\n".join(map(json.dumps, parts)))
    times, notes = import_export(path, "reading_times")
    assert times[["subject_id", "passage_id", "word", "rt_ms"]].to_numpy().tolist() == [
        ["s1", "4", "He", 310.5], ["s1", "4", "ran.", 290],
    ]  # fmt: skip
    assert notes[0] == f"{path}: 3 rows of jsPsych"
    ratings, notes = import_export(path, "ratings", rows={"trial_type": ["survey-likert"]})
    assert ratings.iloc[0].to_dict() == {"participant": "s1", "sentence": "He ran.", "rating": 4}
    assert notes[1] == "2 rows are left out because of trial_type"


def test_jspsych_answers_without_lists_are_named(tmp_path):
    path, trial = tmp_path / "data.json", TRIALS[1]
    for rts in ([310.5], "310.5,290", None):
        wrong = {**trial, "spr_rts": rts} if rts else {**trial, "spr_words": "He, ran."}
        written(path, json.dumps([trial, wrong]))
        with pytest.raises(LingprobError, match=r"data row 2, column 'spr_rts': not one time per"):
            import_export(path, "reading_times")
    written(path, json.dumps([{**TRIALS[2], "response": "{Q0: 4}"}]))
    with pytest.raises(LingprobError, match=r"column 'response': no JSON object: '{Q0: 4}'"):
        import_export(path, "ratings")
    written(path, json.dumps([{**TRIALS[2], "response": {"Q0": None, "Q1": 3}}]))
    table, notes = import_export(path, "ratings")
    assert table["rating"].tolist() == [3]
    assert notes[1] == "1 rows are left out because of an empty response"
    written(path, json.dumps([{**TRIALS[2], "response": "inf"}]))
    with pytest.raises(LingprobError, match=r"not a number: 'inf'"):
        import_export(path, "ratings")


def test_sentences_of_browsers_lose_their_html(tmp_path):
    shown = ["<p style='x'>He <b>ran</b>.<br>Away &amp; out.</p>", "1 < 2 & 3 > 2"]
    texts = {"stimulus": shown[0]}, {"stimulus": "Is it good?", "sentence": shown[1]}
    rows = [{"trial_type": "html-slider-response", "trial_index": n, "subject": "s1", "response": n,
             **text} for n, text in enumerate(texts)]  # fmt: skip
    table, _ = import_export(written(tmp_path / "data.json", json.dumps(rows)), "ratings")
    assert table["sentence"].tolist() == ["He ran. Away & out.", "1 < 2 & 3 > 2"]


def test_two_columns_of_one_name_are_told_apart(tmp_path):
    """PCIbex logged the item twice. A table has Item and item, whose equal values do no harm."""
    text = pcibex_reading("a", "x", ["He", "ran."]).replace("# 13. group", "# 13. item")
    path = written(tmp_path / "r.csv", text)
    with pytest.raises(LingprobError, match=r"two columns are named 'item'.*item=item__2\."):
        import_export(path, "reading_times")
    table, notes = import_export(path, "reading_times", columns={"item": "item__2"})
    assert table["passage_id"].tolist() == ["3", "3"]
    assert "item," in notes[-1]
    path = written(tmp_path / "t.csv", "participant,Item,item,sentence,rating\na,1,1,He ran.,2\n")
    table, _ = import_export(path, "ratings")
    assert table["item"].tolist() == ["1"]


def test_null_is_a_word(tmp_path):
    text = pcibex_reading("a", "x", ["The", "null", "NULL"])
    table, _ = import_export(written(tmp_path / "r.csv", text), "reading_times")
    assert table["word"].tolist() == ["The", "null", "NULL"]


def test_gorilla_ends_with_a_line_of_its_own(tmp_path):
    path = written(
        tmp_path / "data_exp_1.csv",
        "\ufeffEvent Index,Participant Private ID,Zone Type,Reaction Time,Response,"
        "Spreadsheet: Sentence,Spreadsheet: ItemNo\n"
        "1,5001,response_rating_scale_likert,812.4,6,He ran.,1\n"
        "2,5001,continue_button,10,,,\n"
        "3,5002,response_rating_scale_likert,700,2,He ran.,1\n"
        "4,5003,response_rating_scale_likert,700,NA,He ran.,1\n"
        "END OF FILE,,,,,,\n",
    )
    table, notes = import_export(path, "ratings")
    assert table.to_numpy().tolist() == [["5001", "1", "He ran.", 6], ["5002", "1", "He ran.", 2]]
    assert notes[:-1] == [
        f"{path}: 4 rows of Gorilla",
        "1 rows are left out because of an empty sentence",
        "1 rows are left out because of an empty response",
    ]
    assert notes[-1] == "columns that are not read: event_index, zone_type"


def test_opensesame_words_counted_from_zero(tmp_path):
    path = written(
        tmp_path / "subject-1.csv",
        '"subject_nr","response_time","response","word","word_number","Trial"\n'
        '"1","301","","He","0","A"\n"1","302","","ran.","1","A"\n"1","NA","","now.","2","A"\n',
    )
    table, _ = import_export(path, "reading_times", columns={"item": "Trial"})
    assert table["passage_id"].tolist() == ["A", "A"]
    assert table["word_index"].tolist() == [0, 1]
    with pytest.raises(LingprobError, match=r"no column for `sentence` among those of OpenSesame"):
        import_export(path, "ratings")
    with pytest.raises(LingprobError, match=r"column 'item': no item"):
        import_export(path, "reading_times")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--column", "item=Nr"], r"no columns \['nr'\]"),
        (["--rows", "label=test"], r"no columns \['label'\]"),
        (["--rows", "participant=z"], r"no ratings in it.*2 rows are left out because of part"),
    ],
)
def test_wrong_names_of_the_command_are_named(tmp_path, capsys, options, said):
    path = written(tmp_path / "r.csv", "participant,sentence,rating\na,He ran.,6\nb,He ran.,=5\n")
    with pytest.raises(SystemExit, match=said):
        main(["import", str(path), "--as", "ratings", *options])


def test_the_command_says_what_it_drops(tmp_path, capsys):
    path = written(
        tmp_path / "r.csv",
        "subject,text,answer,list\na,He ran.,yes,a=1+\nb,He ran.,no,a=1+\nb,He ran.,,2\n",
    )
    output = tmp_path / "ratings.csv"
    with pytest.raises(SystemExit) as end:
        main(["import", str(path), "--as", "ratings", "--column", "rating=answer",
              "--rows", "list=a=1+", "--rows", "list=2", "--value", "yes=1", "--value", "no=0",
              "--output", str(output)])  # fmt: skip
    assert end.value.code == 0
    assert pd.read_csv(output).to_numpy().tolist() == [["a", "He ran.", 1], ["b", "He ran.", 0]]
    assert "1 rows are left out because of an empty answer" in capsys.readouterr().err


def test_guarded_tables_have_no_formulas(tmp_path):
    path = written(tmp_path / "t.csv", '=a,b\n=1+1,-3.5\n-x,+4\n@y,He - ran.\n"\t=z",- \n+x,1\n')
    output = tmp_path / "guarded.csv"
    with pytest.raises(SystemExit):
        main(["guard", str(path), "--output", str(output)])
    assert output.read_text() == "'=a,b\n'=1+1,-3.5\n'-x,+4\n'@y,He - ran.\n'\t=z,'- \n'+x,1\n"
