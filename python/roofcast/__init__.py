"""Whether a model fits on a GPU, what a token costs, whether the SLO is met, what to buy.

    import roofcast
    answer = roofcast.memory(model="llama-3.1-70b", gpu="h200", tp=2, max_model_len="16k")
    print(answer.fits, answer.kv_tokens)

Every function takes the flags of the command of its name as keyword arguments, `_` for `-`, and their
aliases; values are numbers, strings as on the command line ("16k", "lognormal:800:0.9"), True or
False, and lists. `None` is the same as not given. Answers have the fields of `roofcast COMMAND -o json`
as attributes.
"""

import inspect as _inspect
import json as _json
import keyword as _keyword
import math as _math
import os as _os

from . import _native
from ._answers import Answer, Record, answer_class as _answer_class
from ._native import RoofcastError, UsageError, __version__
from ._progress import progress_of as _progress_of


def _value(value):
    """A keyword's value as JSON has it."""
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, _os.PathLike):
        return _os.fspath(value)
    if hasattr(value, "item"):  # a number of numpy
        return value.item()
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return [_value(one) for one in value]
    return value


def _word(value):
    """A value as the command line has it: True is "true"."""
    value = _value(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _varied(value):
    """{"gpu": ["l40s", "h200"]} as `--vary` and `--search` write it."""
    if not isinstance(value, dict):
        return value
    texts = []
    for key, values in value.items():
        several = isinstance(values, (list, tuple, set, frozenset, range))
        listed = ",".join(map(_word, values)) if several else _word(values)
        texts.append(f"{key}={listed}")
    return texts


def _arguments(name, given):
    """The keyword arguments of a call as a JSON object."""
    arguments = {}
    for key, value in given.items():
        if value is None:
            continue
        if key == "scenario" and isinstance(value, dict):
            try:
                value = _json.dumps(value, allow_nan=False)
            except (TypeError, ValueError) as error:
                raise UsageError(f"{name}: scenario: {error} (an infinite rate is \"inf\")") from None
        elif isinstance(value, dict):
            value = _varied(value)
        value = _value(value)
        if isinstance(value, float) and value == _math.inf:
            value = "inf"  # of request_rate: all at once, as on the command line
        arguments[key] = value
    for key, value in arguments.items():
        if value == [] and key == _POSITIONAL.get(name):
            raise UsageError(f"{name}: {key} is empty; expected at least one")
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, float) and not _math.isfinite(one):
                raise UsageError(f"{name}: {key} is {one}; expected a finite number")
    try:
        return _json.dumps(arguments, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name}: {error}; expected numbers, strings, booleans or lists") from None


def _parameter(argument):
    kind = _inspect.Parameter.KEYWORD_ONLY
    if argument["required"]:
        return _inspect.Parameter(argument["name"], kind)
    return _inspect.Parameter(argument["name"], kind, default=None)


def _signature(question, first):
    """The signature that help() and editors show: the question's positional, then the rest."""
    positional = [] if first is None else [
        _inspect.Parameter(first, _inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)]
    named = [_parameter(one) for one in question["arguments"]
             if one["name"] != first and not _keyword.iskeyword(one["name"])]
    progress = _inspect.Parameter("progress", _inspect.Parameter.KEYWORD_ONLY, default=None)
    return _inspect.Signature(positional + named + [progress],
                              return_annotation=_answer_class(question["answer_class"]))


def _documentation(question):
    lines = [question["summary"], "", "Arguments:"]
    for one in question["arguments"]:
        others = f" (also {', '.join(one['aliases'])})" if one["aliases"] else ""
        lines.append(f"    {one['name']}: {one['help']}{others}")
    lines += ["    progress: False: none; a function of (done, total); default: tqdm where it is "
              "installed"]
    return "\n".join(lines)


# The argument that may be given without its name, as commands take it.
_POSITIONAL = {"models": "model", "gpus": "gpu", "simulate": "scenario", "capacity": "scenario",
               "plan": "scenario", "what_if": "scenario", "validate": "file", "calibrate": "device",
               "memory": "model", "estimate": "model"}


def _function(question):
    name = question["name"]
    first = _POSITIONAL.get(name)
    made = _answer_class(question["answer_class"])

    def asked(*positional, progress=None, **arguments):
        if len(positional) > (0 if first is None else 1):
            raise TypeError(f"{name}() takes {'no' if first is None else 'one'} positional "
                            f"argument{'s' if first is None else ''}; name the others")
        if positional:
            if first in arguments:
                raise TypeError(f"{name}() got {first} twice")
            arguments[first] = positional[0]
        with _progress_of(name, progress) as shown:
            native = _native.ask(name, _arguments(name, arguments), shown.update, shown.tell)
        return made(native)

    asked.__name__ = asked.__qualname__ = name
    asked.__doc__ = _documentation(question)
    asked.__signature__ = _signature(question, first)
    return asked


for _question in _json.loads(_native.questions()):
    globals()[_question["name"]] = _function(_question)
del _question

__all__ = ["Answer", "Record", "RoofcastError", "UsageError", "__version__", "calibrate", "capacity",
           "estimate", "gpus", "memory", "models", "plan", "simulate", "staircase", "validate",
           "what_if"]
