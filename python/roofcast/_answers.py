"""Answers: the JSON of a command with its fields as attributes, as pandas tables and as HTML."""

import html
import json
import os
import re
import tempfile


def _wrapped(value):
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return [_wrapped(one) for one in value]
    return value


class Record:
    """A JSON object: its keys as attributes and items, in their order. Times are in seconds, sizes in
    bytes: the key names the unit."""

    def __init__(self, values):
        self.__dict__["_values"] = values

    def __getattr__(self, name):
        values = self.__dict__.get("_values")
        if values is None or name not in values:
            raise AttributeError(f"{type(self).__name__} has no field '{name}'; it has "
                                 f"{', '.join(values or [])}")
        return _wrapped(values[name])

    def __setattr__(self, name, value):
        raise AttributeError("answers cannot be changed; to_dict() gives a copy")

    def __getitem__(self, name):
        return _wrapped(self._values[name])

    def __contains__(self, name):
        return name in self._values

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)

    def __dir__(self):
        return [*super().__dir__(), *self._values]

    def __eq__(self, other):
        return isinstance(other, Record) and self._values == other._values

    __hash__ = None

    def __reduce__(self):
        return Record, (self._values,)

    def keys(self):
        return self._values.keys()

    def to_dict(self):
        """A copy as plain dictionaries, lists and numbers."""
        return json.loads(json.dumps(self._values))

    def __repr__(self):
        fields = ", ".join(f"{key}={_short(value)}" for key, value in self._values.items())
        return f"{type(self).__name__}({fields})"


def _short(value):
    if isinstance(value, (dict, list)):
        return f"<{len(value)}>" if value else repr(value)
    return repr(value)


# What to_pandas() makes a table of, the first that the answer has: a list of records, or an object
# whose values are records.
_ROWS = {
    "ModelAnswer": ["models", "layers"],
    "GpuAnswer": ["gpus"],
    "MemoryAnswer": ["terms"],
    "EstimateAnswer": ["rows", "operators"],
    "StaircaseAnswer": ["flattened", "grid"],
    "SimulationAnswer": [],  # its latencies, by name
    "CapacityAnswer": ["rows", "points"],
    "PlanAnswer": ["ranked", "closest", "rejected"],
    "WhatIfAnswer": [],  # a row per variant and metric
    "ValidationAnswer": ["ledger", "cases"],
    "CalibrationAnswer": ["families"],
}


def _table_html(table):
    if not table["rows"]:
        return ""
    aligned = ["right" if right else "left" for right in table["right"]]
    head = "".join(f'<th style="text-align:{side}">{html.escape(title)}</th>'
                   for title, side in zip(table["columns"], aligned))
    body = "".join("<tr>" + "".join(f'<td style="text-align:{side}">{html.escape(cell)}</td>'
                                    for cell, side in zip(row, aligned)) + "</tr>"
                   for row in table["rows"])
    title = f"<caption>{html.escape(table['title'])}</caption>" if table["title"] else ""
    named = any(table["columns"])
    return f"<table>{title}{f'<thead><tr>{head}</tr></thead>' if named else ''}<tbody>{body}</tbody></table>"


_BAR = re.compile("[\u2588-\u258f]")  # eighths of a column, as the command draws bars


def _is_bars(section):
    return any(_BAR.search(line) for line in section["lines"])


def _section_html(section):
    heading = f"<h4>{html.escape(section['heading'])}</h4>" if section["heading"] else ""
    lines = [html.escape(line) for line in section["lines"]]
    if _is_bars(section):  # names, bars and values are columns
        body = "<pre>" + "\n".join(lines) + "</pre>"
    else:
        body = "".join(f"<p>{line}</p>" for line in lines)
    return heading + body + _table_html(section["table"])


class Answer(Record):
    """An answer. print() shows what the command prints, a notebook a page with figures."""

    def __init__(self, native):
        super().__init__(json.loads(native.json()))
        self.__dict__["_native"] = native

    @property
    def yes(self):
        """Whether the answer is yes: it fits, the SLO is met (exit code 0 of the command, not 3)."""
        return self._native.code == 0

    def svg(self):
        """The answer's figures as one SVG document; empty if it has none, or if this build cannot
        draw."""
        name = type(self).__name__.removesuffix("Answer")
        return self._native.svg(re.sub("(?<=[a-z])[A-Z]", lambda m: " " + m[0].lower(), name))

    def __str__(self):
        return self._native.text().rstrip("\n")

    def _repr_html_(self):
        figures = self.svg()
        sections = json.loads(self._native.sections())
        if figures:  # they show what the command draws as bars of letters
            sections = [one for one in sections if not _is_bars(one)]
        return figures + "".join(_section_html(one) for one in sections)

    def to_pandas(self):
        """The answer's table as a pandas.DataFrame, nested fields as columns with dots. Needs
        pandas."""
        import pandas

        if "variants" in self._values:
            return pandas.DataFrame([{"variant": _variant_name(variant), **metric}
                                     for variant in self._values["variants"]
                                     for metric in variant["metrics"]])
        for key in _ROWS[type(self).__name__]:
            rows = self._values.get(key)
            if isinstance(rows, list) and rows:
                return pandas.json_normalize(rows)
            if isinstance(rows, dict) and rows:
                return _frame_of(pandas, rows)
        latencies = {key: one for key, one in self._values.items()
                     if isinstance(one, dict) and "p95" in one}
        return _frame_of(pandas, latencies) if latencies else pandas.json_normalize([self._values])

    def __reduce__(self):
        raise TypeError(f"{type(self).__name__} cannot be pickled; pickle its to_dict()")


def _variant_name(variant):
    settings = variant["settings"]
    return ", ".join(f"{key}={value}" for key, value in settings.items()) or "baseline"


def _frame_of(pandas, groups):
    """An object of records as rows by its keys; of lists of records, with the key as a column."""
    if all(isinstance(one, list) for one in groups.values()):
        return pandas.concat([pandas.json_normalize(rows).assign(step=name)
                              for name, rows in groups.items()], ignore_index=True)
    records = {name: one for name, one in groups.items() if isinstance(one, dict)}
    return pandas.json_normalize(list(records.values())).set_index(pandas.Index(records))


def answer_class(name):
    return _CLASSES[name]


class SimulationAnswer(Answer):
    __doc__ = Answer.__doc__

    def requests(self):
        """One row per request as a pandas.DataFrame."""
        import pandas

        folder = tempfile.mkdtemp(prefix="roofcast-")
        path = os.path.join(folder, "requests.csv")
        try:
            self._native.write_requests(path)
            return pandas.read_csv(path)
        finally:
            if os.path.exists(path):
                os.remove(path)
            os.rmdir(folder)


_CLASSES = {name: type(name, (Answer,), {"__doc__": Answer.__doc__}) for name in _ROWS}
_CLASSES["SimulationAnswer"] = SimulationAnswer
