"""What is optimised, called for one trial: a Python function, or a program; `uhebo.cli.reading` reads their values."""

import contextlib
import importlib
import operator
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache, partial
from pathlib import Path
from subprocess import DEVNULL, Popen, TimeoutExpired
from typing import IO, Any

from optuna.exceptions import TrialPruned

from uhebo.checks import number as checked_number
from uhebo.cli.output import say
from uhebo.cli.reading import Reading
from uhebo.errors import CannotEvaluate, EvaluationFailed, InvalidInputError
from uhebo.objective import InTwoParts, TrialGetter, call, check_objective, plain

Params = Mapping[str, Any]

FUNCTION = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")
TAIL_BYTES = 65_536
"""Bytes at the end of a program's output that are searched for the value."""
GRACE_S = 2.0
"""Seconds that a program has to end before it is killed."""


def objective_of(target: Sequence[str], timeout: float | None, own_group: bool = True) -> InTwoParts:
    """`module:function`, or a program with its arguments."""
    if timeout is not None:
        checked_number("--timeout", timeout, above=0, also=" of seconds")
    if is_function(target):
        return _function(target[0], timeout)
    return _program(list(target), timeout, own_group)


def is_function(target: Sequence[str]) -> bool:
    """Whether it is `module:function` and no program."""
    return len(target) == 1 and FUNCTION.fullmatch(target[0]) is not None and shutil.which(target[0]) is None


def objective_apart(target: Sequence[str]) -> tuple[InTwoParts, Callable[[], object]]:
    """For a worker: an objective that is imported by the process that evaluates it, and what imports it there.

    A program is started in that process's group, and so ends with it.
    """
    prepare = partial(_objective_there, tuple(target), None, own_group=False)

    def evaluate(number: int, params: Params, trial: TrialGetter | None) -> Any:
        return prepare().evaluate(number, params, trial)

    reading = Reading()
    return InTwoParts(evaluate, reading.value if is_function(target) else reading.printed), prepare


def evaluate_there(target: tuple[str, ...], timeout: float | None, folder: str, *, number: int, params: Params) -> Any:
    """The first part of an evaluation, on an executor: in the folder where it was asked for, if there is such."""
    if Path(folder).is_dir() and folder not in sys.path:
        sys.path.insert(0, folder)
    return plain(_objective_there(target, timeout).evaluate(number, params, None))


@cache
def _objective_there(target: tuple[str, ...], timeout: float | None, own_group: bool = True) -> InTwoParts:
    return objective_of(target, timeout, own_group)


def imported(target: str) -> Callable[..., Any]:
    """The function that `module:function` names."""
    module, _, path = target.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = importlib.import_module(module)
    except Exception as error:
        hint = f"; write {module.removesuffix('.py')}:{path}" if module.endswith(".py") else ""
        raise InvalidInputError(f"importing {module} failed: {type(error).__name__}: {error}{hint}") from error
    try:
        function: Callable[..., Any] = operator.attrgetter(path)(found)
    except AttributeError as error:
        raise InvalidInputError(f"module {module} has no {path!r}; check the name") from error
    if not callable(function):
        raise InvalidInputError(f"{target} is {type(function).__name__}; expected a function that returns a number")
    return function


def _function(target: str, timeout: float | None) -> InTwoParts:
    function = imported(target)
    if timeout is not None and not hasattr(signal, "setitimer"):
        raise InvalidInputError("--timeout for a function needs Unix; run it as a program instead")

    def evaluate(number: int, params: Params, trial: TrialGetter | None) -> Any:  # noqa: ARG001
        try:
            # Our own output stays pure.
            with contextlib.redirect_stdout(sys.stderr), _alarm(timeout) if timeout else contextlib.nullcontext():
                return call(function, params, trial)
        except (EvaluationFailed, CannotEvaluate, TrialPruned):
            raise
        except (Exception, SystemExit) as error:
            raise EvaluationFailed(f"{type(error).__name__}: {error}") from error

    return InTwoParts(evaluate, Reading().value)


@contextlib.contextmanager
def raising(number: int, error: BaseException) -> Iterator[None]:
    """Raise the error when this signal arrives."""

    def stop(*_: Any) -> None:
        raise error

    before = signal.signal(number, stop)
    try:
        yield
    finally:
        signal.signal(number, before)


@contextlib.contextmanager
def _alarm(timeout: float) -> Iterator[None]:
    """Raise `EvaluationFailed` in the function when its time is over."""
    with raising(signal.SIGALRM, EvaluationFailed(f"no value after {timeout:g} s")):
        signal.setitimer(signal.ITIMER_REAL, timeout)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def _program(command: list[str], timeout: float | None, own_group: bool) -> InTwoParts:
    program = shutil.which(command[0])
    if program is None:
        there = Path(command[0]).is_file()
        remedy = f"make it executable: chmod +x {command[0]}" if there else "check the name, or give module:function"
        raise InvalidInputError(f"{command[0]} is not a program that can be run; {remedy}")

    def run(number: int, params: Params, trial: TrialGetter | None) -> str:  # noqa: ARG001
        arguments = [program, *(_filled(part, params) for part in command[1:])]
        values = {variable: str(params[name]) for name, variable in environment_names(list(params)).items()}
        environment = {**os.environ, **values, "UHEBO_TRIAL": str(number)}
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            try:
                process = Popen(
                    arguments, stdin=DEVNULL, stdout=out, stderr=err, env=environment, start_new_session=own_group
                )
            except OSError as error:  # no #! line, say: every trial would fail in the same way
                raise CannotEvaluate(f"{program} cannot be started: {error.strerror}; check its #! line") from error
            try:
                code = process.wait(timeout)
            except TimeoutExpired as error:
                raise EvaluationFailed(f"no value after {timeout:g} s") from error
            finally:
                _end(process, own_group)
            if code:
                said = [line for line in _tail(err).split("\n") if line.strip()] or ["no message"]
                raise EvaluationFailed(f"exit code {code}: {said[-1]}")
            return _tail(out)

    return InTwoParts(run, Reading().printed)


def check_placeholders(target: Sequence[str], names: Sequence[str]) -> None:
    """Refuse {dept} where there is a parameter depth; say of any other that it is passed as it is."""
    if is_function(target):
        return
    found = [name for part in target[1:] for name in re.findall(r"\{([^\W\d]\w*)\}", part)]
    for name in dict.fromkeys(each for each in found if each not in names):
        listed = ", ".join(f"{{{each}}}" for each in names)
        if get_close_matches(name.lower(), [each.lower() for each in names], n=1, cutoff=0.7):
            raise InvalidInputError(f"there is no parameter for {{{name}}} in the program's arguments; write {listed}")
        say(f"note: {{{name}}} is no parameter and is passed as it is; parameters are {listed}")


def check_function(target: Sequence[str], names: Sequence[str], optional: Collection[str] = ()) -> None:
    """Refuse a function whose arguments are not the parameters; `optional` are not always there."""
    if is_function(target):
        check_objective(imported(target[0]), names, optional, target[0])


def environment_names(names: Sequence[str]) -> dict[str, str]:
    """Parameter -> UHEBO_PARAM_<NAME>: upper case, with _ for whatever is not a letter or digit."""
    variables = {name: "UHEBO_PARAM_" + re.sub(r"\W", "_", name.upper()) for name in names}
    owners = {variable: name for name, variable in variables.items()}
    for name, variable in variables.items():
        if owners[variable] != name:
            raise CannotEvaluate(f"parameters {name!r} and {owners[variable]!r} would both be {variable}; rename one")
    return variables


def _filled(argument: str, params: Params) -> str:
    """The argument with {name} replaced for every parameter; other braces stay."""
    return re.sub(r"\{([^{}]+)\}", lambda m: str(params[m[1]]) if m[1] in params else m[0], argument)


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - TAIL_BYTES))
    return file.read().decode("utf-8", "replace")


def _end(process: Popen[bytes], own_group: bool) -> None:
    """End a program that still runs, and what it started: first politely."""
    if process.poll() is not None:
        return
    for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            own_group = own_group and hasattr(os, "killpg")
            os.killpg(process.pid, number) if own_group else process.send_signal(number)
        with contextlib.suppress(TimeoutExpired):
            process.wait(GRACE_S)
            return
