"""`semf completion SHELL`: a script that completes commands, options and names, made from the parser itself."""

from __future__ import annotations

import argparse
import shlex
import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

from semf_core.datasets import DATASETS
from semf_core.model import preset_names
from semf_core.sets import SETS
from semf_core.solvers import SOLVERS
from semf_core.studies import builtin_names

SHELLS = ("bash", "zsh", "fish")


class Word(NamedTuple):
    """An option (or, with the empty spelling, the positional arguments) of a command and the values that may follow."""

    spelling: str
    help: str
    values: tuple[str, ...] = ()
    files: bool = False
    takes_value: bool = True


def add_command(commands: Any, parser: argparse.ArgumentParser) -> None:
    """The command that prints the completion script of a shell."""
    completion = commands.add_parser("completion", help="print a script that completes semf's words in a shell")
    completion.add_argument("shell", choices=SHELLS, help="the shell that is to read it")
    completion.set_defaults(command=lambda options: print(script(parser, options.shell)))


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The completion script for one of SHELLS."""
    table = {name: (text, list(_words(command))) for name, text, command in commands_of(parser)}
    return "\n".join(_fish(table) if shell == "fish" else _bash(table, zsh=shell == "zsh"))


Table = dict[str, tuple[str, list[Word]]]


def commands_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Name, help and parser of every command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            texts = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                yield name, texts.get(name, ""), command


def _words(command: argparse.ArgumentParser) -> Iterator[Word]:
    names = {
        "preset": preset_names(),
        "solver": tuple(SOLVERS.names()),
        "x": tuple(SETS.names()),
        "y": tuple(SETS.names()),
        "data": tuple(DATASETS.names()),
        "study": builtin_names(),
    }
    for action in command._actions:
        place = action.metavar if isinstance(action.metavar, str) else ""
        values = tuple(value for value in map(str, action.choices or names.get(action.dest, ())) if " " not in value)
        files = any(word in place for word in ("FILE", "OUT", "CSV"))
        help_text = textwrap.shorten((action.help or "").replace("%%", "%"), 70, placeholder=" …")
        for spelling in action.option_strings or [""]:
            yield Word(spelling, help_text, values, files, action.nargs != 0)


def _bash(table: Table, zsh: bool) -> Iterator[str]:
    """One function that looks at the command and at the option before the cursor; zsh runs it through bashcompinit."""
    if zsh:
        yield "autoload -U +X compinit && compinit && autoload -U +X bashcompinit && bashcompinit"
    yield "_semf() {"
    yield '    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} option="" words="" i'
    # The last option before the cursor: --x and --y take several values.
    yield "    for ((i = COMP_CWORD - 1; i > 1; i--)); do"
    yield "        case ${COMP_WORDS[i]} in -*) option=${COMP_WORDS[i]}; break;; esac"
    yield "    done"
    yield '    case "$word" in -*) option="";; esac'
    yield '    [ "$COMP_CWORD" -eq 1 ] && command=""'
    yield '    case "$command:$option" in'
    yield f"        :*) words={shlex.quote(' '.join([*table, '--help', '--version']))};;"
    for name, (_, words) in table.items():
        for word in words:
            if word.spelling and (word.values or word.files):
                yield f"        {name}:{word.spelling}) words={shlex.quote(' '.join(word.values))};;"
        first = [word.spelling for word in words if word.spelling]
        first += [value for word in words if not word.spelling for value in word.values]
        yield f"        {name}:*) words={shlex.quote(' '.join(first))};;"
    yield "    esac"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$word"))'
    yield "}"
    yield "complete -o default -F _semf semf  # where no word fits, a file may"


def _fish(table: Table) -> Iterator[str]:
    """One line a word; fish shows the help beside it."""
    yield "complete -c semf -f"
    yield "complete -c semf -n __fish_use_subcommand -l version -d 'the version'"
    for name, (text, words) in table.items():
        yield f"complete -c semf -n __fish_use_subcommand -a {name} -d {shlex.quote(text)}"
        inside = f"complete -c semf -n '__fish_seen_subcommand_from {name}'"
        for word in words:
            line = inside
            if word.spelling:
                line += f" -{'l' if word.spelling.startswith('--') else 's'} {word.spelling.lstrip('-')}"
                line += f" -d {shlex.quote(word.help)}" + (" -r" if word.takes_value else "")
            if word.values:
                line += f" -a {shlex.quote(' '.join(word.values))}"
            yield line + (" -F" if word.files else "")
