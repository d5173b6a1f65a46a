import pytest

from gramian.app.verb import as_arguments, docstring, parameters_of
from gramian.app.verbs import verb, verbs
from gramian.models.kernel_pca import fits as exact_kernel
from gramian.models.pca import fits as linear_fit


def test_only_what_was_given_is_repeated():
    assert as_arguments({}) == []
    given = {"n_components": 0.9, "center": False, "scale": None, "drop": ("a", "b,c")}
    shown = ["--n-components", "0.9", "--no-center", "--scale", "none", "--drop", 'a,"b,c"']
    assert as_arguments(given) == shown


def test_every_option_has_a_help_one_name_and_the_words_of_its_docstring():
    help = "auto, " + verb("fit").options["solver"].help
    assert all(name in help for name in (*linear_fit.SOLVERS, *exact_kernel.KERNEL_SOLVERS))
    for one in (option for name in verbs().values() for option in name.options.values()):
        assert one.help.endswith("."), one
        assert one.name == one.name.lower()
    help = verb("fit").options["ddof"].help
    first = docstring("gramian.models.pca.estimator:PCA")["ddof"]
    assert help == f"PCA: {first[0].lower()}{first[1:]}"


def test_texts_become_values_of_python():
    options = verb("fit").options
    for name, text, value in (
        ("n_components", "10", 10),
        ("n_components", "0.95", 0.95),
        ("n_components", "parallel", "parallel"),
        ("scale", "none", None),
        ("gamma", "median", "median"),
        ("gamma", "2", 2.0),
        ("kernel", "none", "none"),
    ):
        assert options[name].value(text) == value


def test_a_repeated_list_adds_and_commas_separate(gramian, folder):
    """Each pair of command lines reads the same columns."""
    (folder / "marks.csv").write_text("name,kind,a,b,c\nr,u,1,-,2\ns,v,.,3,5\nt,w,4,9,1\nq,u,6,2,9\n")
    for repeated, together in (
        ("--drop kind --drop c", "--drop kind,c"),
        ("--label kind --label c", "--label kind,c"),
        ("--columns a --columns b --columns c", "--columns a,b,c"),
    ):
        said = [
            gramian.works(f"fit marks.csv {options} --missing mean --json").json
            for options in (f"{repeated} --na-values - --na-values .", f"{together} --na-values -,.")
        ]
        assert all(said[0][name] == said[1][name] for name in ("data", "components"))
    (folder / "names.txt").write_text("a\nb\n")
    gramian.refuses(
        "fit marks.csv --columns @names.txt --columns c",
        2,
        "columns='@names.txt' names all columns. Add the others to that file",
    )


def test_short_help_with_options_in_groups(gramian):
    for command in ("", "fit", "kernels", "kernels audit"):
        assert gramian(f"{command} -h").out == gramian(f"{command} --help").out != ""
    groups = ("Arguments:", "Reading the data:", "The method:", "Output:", "Limits and hardware:")
    lines = gramian("fit -h").out.splitlines()
    places = [lines.index(group) for group in groups]
    assert places == sorted(places)
    where = {line.split()[0]: place for place, line in enumerate(lines) if line.startswith("  --")}
    for option, group in (("--drop", 1), ("--scale", 2), ("--report", 3), ("--random-state", 4)):
        assert where[option] > places[group]
        assert group == 4 or where[option] < places[group + 1]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("gramian tran", ["transform"]),
        ("gramian fit a.csv --sca", ["--scale"]),
        ("gramian fit fl", []),  # the shell completes names of files
        ("gramian fit a.csv --labels-from fl", []),
    ],
)
def test_a_shell_completes_commands_and_options(line, expected, gramian, monkeypatch):
    monkeypatch.setenv("_GRAMIAN_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
    assert gramian().out.split() == expected


def test_the_completion_of_a_shell_falls_back_to_files(gramian, monkeypatch):
    assert "--install-completion" in gramian("--help").out
    monkeypatch.setenv("_GRAMIAN_COMPLETE", "source_bash")
    assert "complete -o default -F" in gramian().out


def test_annotations_that_are_text_are_refused():
    def verb_of_text(data: "str", *, n_components: "int" = 2) -> None: ...

    with pytest.raises(TypeError, match="must not import annotations from __future__"):
        parameters_of(verb_of_text)
