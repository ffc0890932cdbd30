"""Tables of the sets to which nothing in the program is fitted, by engine, GPU and family of models."""
import re

from server_tables.answers import (COLUMNS, engine_of, family_of, gpu_of, judged_figure, share,
                                   summed, vendor_of)
from server_tables.documents import cells_of, row_of, rows_in, table_at

BLIND_HEAD = ["| engine | GPU | models | runs | TPOT or ITL | TTFT | E2E, rate or capacity | in the 80 % interval |",
              "|---|---|---|---|---|---|---|---|"]


def grouped(answers, key_of):
    groups = {}
    for answer in answers:
        for case in answer["cases"]:
            groups.setdefault(key_of(case), []).append(case)
    return sorted(groups.items())


def blind_row(key, cases):
    """The table's row of these cases, which have the same engine, GPU and family of models."""
    answered = [case for case in cases if case["answered"]]
    cells, covered = [], []
    for choices in COLUMNS:
        figures = [figure for case in answered if (figure := judged_figure(case, choices))]
        errors = [figure["relative_error"] for figure in figures]
        covered += [figure["covered"] for figure in figures]
        if errors:
            sizes = [abs(error) for error in errors]
            cells.append(f"{100 * summed(sizes, 'mape'):.1f} % (median {100 * summed(sizes, 'median'):.1f}, "
                         f"bias {100 * sum(errors) / len(errors):+.1f})")
        else:
            cells.append("-")
    runs = f"{len(cases)}" if len(answered) == len(cases) else f"{len(answered)} of {len(cases)}"
    return row_of([*key, runs, *cells, share(covered) if covered else "-"])


def blind_rows(answers):
    return [blind_row(key, cases) for key, cases in
            grouped(answers, lambda case: (engine_of(case), gpu_of(case), family_of(case)))]


LATE_HEAD = ["| engine | GPU | runs | TTFT of 99 in 100 | the mean, or median, of the same runs |",
             "|---|---|---|---|---|"]
# Before, InferenceX warmed servers up by one request, so that high percentiles count kernels that were
# compiled during the run (tests/accuracy/README.md).
WARM_FROM = "2026-01-21"


def late_rows(answers):
    """Errors of the 99th percentile of TTFT beside those of its middle."""
    rows = []
    for (engine, gpu), cases in grouped(answers, lambda case: (engine_of(case), gpu_of(case))):
        errors = []
        for case in cases:
            late = judged_figure(case, [("ttft_s", "p99")])
            middle = judged_figure(case, COLUMNS[1])
            is_warm = "date" not in case["labels"] or case["labels"]["date"] >= WARM_FROM
            if case["answered"] and late and middle and is_warm:
                errors.append((late["relative_error"], middle["relative_error"]))
        if errors:
            cells = [f"{100 * summed([abs(one) for one in some], 'mape'):.1f} % "
                     f"({100 * sum(some) / len(some):+.1f})" for some in zip(*errors)]
            rows.append(row_of([engine, gpu, f"{len(errors)}", *cells]))
    return rows


VERSIONS_HEAD = ["| set | engine, GPU, weights | version (runs): TPOT, TTFT |", "|---|---|---|"]


def errors_by_version(answer):
    """{(engine, GPU, weights): {version: {metric: line of the ledger}}} of an answer that was asked
    by VERSION_KEYS, as its medians or, where it has none of all runs, its means say."""
    found = {}
    judged = {case["labels"].get("judged_by", "mean") for case in answer["cases"]}
    for line in answer.get("ledger", []):
        key = line["key"].split(", ")
        if (line["by"] == "keys" and len(key) == 4 and line["statistic"] in judged
                and key[3].startswith(key[0])):
            versions = found.setdefault(tuple(key[:3]), {})
            versions.setdefault(key[3], {})[line["name"]] = line
    return found


def version_number(version):
    return [int(one) for one in re.findall(r"\d+", version)]


def version_error_rows(answers):
    rows = []
    for answer in answers:
        for key, versions in sorted(errors_by_version(answer).items()):
            words = []
            for version in sorted(versions, key=version_number):
                lines = versions[version]
                if "tpot_s" in lines and "ttft_s" in lines:
                    words.append(f"{version.split('-', 1)[1]} ({lines['tpot_s']['figures']}): " + ", ".join(
                        f"{100 * lines[name]['mape']:.1f}" for name in ("tpot_s", "ttft_s")))
            if words:
                weights = "as the checkpoint" if key[2] == "-" else key[2]
                rows.append(row_of([answer["inputs"]["name"], f"{key[0]}, {key[1]}, {weights}",
                                    "; ".join(words)]))
    return rows


HELD_HEAD = ["| engine | vendor | held of TPOT or ITL | of TTFT | of E2E, rates and capacities |",
             "|---|---|---|---|---|"]


def held_rows(answers):
    """What the intervals hold by engine and vendor of the GPU."""
    rows = []
    for (engine, vendor), cases in grouped(answers, lambda case: (engine_of(case), vendor_of(case))):
        cells = []
        for choices in COLUMNS:
            covered = [figure["covered"] for case in cases
                       if case["answered"] and (figure := judged_figure(case, choices))]
            cells.append(f"{share(covered)} of {len(covered)}" if covered else "-")
        rows.append(row_of([engine, vendor, *cells]))
    return rows


NOW_HEAD = ["| engine | GPU | models | runs | TPOT or ITL | TTFT | E2E, rate or capacity | in the interval |",
            "|---|---|---|---|---|---|---|---|"]


def mean_and_bias(cell):
    """"6.2 (+0.1)" of "6.2 % (median 4.8, bias +0.1)", "-" of "-"."""
    found = re.match(r"([\d.]+) % \(median [\d.]+, bias ([+-][\d.]+)\)", cell)
    return f"{found[1]} ({found[2]})" if found else "-"


def total_runs(cell):
    """32 of "32" and of "31 of 32"."""
    return int(cell.split(" ")[-1])


def earlier(cell):
    """A cell's figures without the last."""
    return ", ".join(cell.split(", ")[:-1])


def renew(document, rows, all_asked):
    """Puts these rows of --blind in the place of the last figures of the document's table with
    NOW_HEAD. A row or figure that it lacks begins with that of the table with BLIND_HEAD. Unless all
    sets were asked a row of fewer runs than the table's lacks a set's: it stays, and is returned."""
    blind_by_key = {tuple(cells_of(row)[:3]): cells_of(row) for row in rows_in(document, BLIND_HEAD)}
    known = {tuple(cells_of(row)[:3]): cells_of(row) for row in rows_in(document, NOW_HEAD)}
    partial = []
    for row in rows:
        new = cells_of(row)
        key = tuple(new[:3])
        old = known.get(key)
        if old and not all_asked and total_runs(new[3]) < total_runs(old[3]):
            partial.append(" ".join(key))
            continue
        before = blind_by_key.get(key, ["?"] * 8)
        at_first = [mean_and_bias(cell).split(" ")[0] for cell in before[4:7]] + [
            before[7].split(" ")[0]]
        kept = [old and earlier(cell) or first for cell, first in
                zip(old[4:8] if old else at_first, at_first)]
        last = [mean_and_bias(cell) for cell in new[4:7]] + [new[7].split(" ")[0]]
        known[key] = new[:4] + [now if first == "-" or (first, now) == ("?", "-") else
                                f"{first}, {now}" for first, now in zip(kept, last)]
    lines = document.read_text().splitlines()
    begin, end = table_at(lines, NOW_HEAD, document)
    lines[begin:end] = [row_of(known[key]) for key in sorted(known)]
    document.write_text("\n".join(lines) + "\n")
    return partial
