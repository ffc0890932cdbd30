"""What other predictors say of the open loop on H100, beside Roofcast on the same runs."""
import csv
import json

from server_tables.answers import HERE, judged_figure, summed

DATA = HERE / "../../../shared/data/measured"
RUNS = DATA / "vllm_h100_open_loop.json"  # by folder, in ms
PREDICTED = DATA / "vllm_h100_open_loop_peer_predictions.csv"
MANIFEST = "vllm_h100_open_loop"
WHOLE_RUN = "-1"  # of the stages
HEAD = ["| predictor | runs | E2E | TTFT | ITL | Roofcast on these runs: E2E | TTFT | ITL |",
        "|---|---|---|---|---|---|---|---|"]
METRICS = (("e2e_mean", "e2e_s"), ("ttft_mean", "ttft_s"), ("itl_mean", "itl_s"))


def is_there():
    return RUNS.exists() and PREDICTED.exists()


def measured_by_folder():
    return {run["folder"]: run["stages"][WHOLE_RUN] for run in json.loads(RUNS.read_text())}


def case_of(stage, cases):
    """The case that was measured in this run: the manifest has its figures to five digits."""
    def is_same(case, key, name):
        figure = judged_figure(case, [(name, "middle")])
        return figure and abs(stage[key] / 1000 / figure["measured"] - 1) < 1e-3
    return next((case for case in cases
                 if all(is_same(case, key, name) for key, name in METRICS)), None)


def peer_rows(answer):
    """Mean absolute errors of each predictor over the runs of the manifest that it predicts."""
    folders = {folder: (stage, case) for folder, stage in measured_by_folder().items()
               if (case := case_of(stage, answer["cases"]))}
    by_peer = {}
    with PREDICTED.open() as file:
        for row in csv.DictReader(file):
            if row["stage"] == WHOLE_RUN and row["folder"] in folders:
                by_peer.setdefault(row["simulator"], []).append(row)

    def mean(errors):
        return f"{100 * summed([abs(one) for one in errors], 'mape'):.1f} %"

    rows = []
    for peer, predictions in sorted(by_peer.items(), key=lambda one: (-len(one[1]), one[0])):
        theirs = [mean([float(row[key]) / folders[row["folder"]][0][key] - 1 for row in predictions])
                  for key, _ in METRICS]
        ours = [mean([judged_figure(folders[row["folder"]][1], [(name, "middle")])["relative_error"]
                      for row in predictions]) for _, name in METRICS]
        rows.append(f"| {peer} | {len(predictions)} | {' | '.join(theirs)} | {' | '.join(ours)} |")
    return rows
