"""Shell completion: what a shell offers at the cursor."""

import subprocess

import pytest

import semf_core
from semf_core.command_line.cli import main
from semf_core.model import preset_names
from semf_core.sets import SETS
from semf_core.solvers import SOLVERS
from semf_core.studies import builtin_names


def script(capsys, shell):
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["st"], {"store", "study", "study-export", "study-import", "studies"}),
        (["run", "--preset", ""], set(preset_names())),
        (["run", "--preset", "swimmer-groups", "--solver", ""], set(SOLVERS.names())),
        (["run", "--x", "nonnegative", ""], set(SETS.names())),
        (["run", "--pres"], {"--preset"}),
        (["study", "--quick", "dict"], {name for name in builtin_names() if name.startswith("dict")}),
    ],
)
def test_bash_offers(capsys, words, offered):
    ask = 'COMP_WORDS=(semf "$@"); COMP_CWORD=$#; _semf; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script(capsys, "bash") + "\n" + ask, "bash", *words], capture_output=True, text=True)
    assert set(done.stdout.split()) == offered, done.stderr


def test_zsh_and_fish_know_the_same_words(capsys):
    bash = script(capsys, "bash")
    assert script(capsys, "zsh").endswith(bash)
    fish = script(capsys, "fish")
    for word in ("-a study -d", "-l preset", "swimmer-groups", "online-dictionary", "orthogonal_to"):
        assert word in fish


def test_the_version(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0 and capsys.readouterr().out == f"semf {semf_core.__version__}\n"
