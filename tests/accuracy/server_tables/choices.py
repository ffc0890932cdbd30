"""What choices by predictions are worth, how sure they are, and how far versions differ."""
from server_tables.answers import share

HEAD = ["| set | choice of | on | questions | regret | largest | limit unmet | promises broken | "
        "pairs ordered right | Kendall |", "|---|---|---|---|---|---|---|---|---|---|"]
WORDS = {"layout": "layout, tokens per GPU", "gpu": "GPU and layout, tokens per GPU",
         "gpu_per_dollar": "GPU and layout, tokens per dollar"}


def line_of(answer, choice, saturated, gpu=""):
    """The set's line of these choices; None when there is none."""
    return next((line for line in answer["choices"] if (line["choice"], line["saturated"],
                                                        line["gpu"]) == (choice, saturated, gpu)),
                None)


def choice_rows(answers):
    rows = []
    for answer in answers:
        gpus = {line["gpu"] for line in answer["choices"] if line["gpu"]}
        for line in answer["choices"]:
            if line["choice"] == "layout" and not line["gpu"] and len(gpus) == 1:
                continue  # the same as that GPU's
            what = WORDS[line["choice"]] + (", saturated" if line["saturated"] else "")
            ordered = "-" if line["ordered"] is None else f"{100 * line['ordered']:.1f} % of {line['pairs']}"
            kendall = "-" if line["kendall"] is None else f"{line['kendall']:.2f}"
            rows.append(f"| {answer['inputs']['name']} | {what} | {line['gpu'] or 'all'} | "
                        f"{line['questions']} | {100 * line['regret']:.1f} % | "
                        f"{100 * line['largest_regret']:.0f} % | {line['unmet']} | "
                        f"{line['broken']} of {line['promised']} | {ordered} | {kendall} |")
    return rows


def price_sentence(answers):
    """The prices by which choices per dollar are made, and GPUs of these sets without any."""
    prices, gpus = {}, set()
    for answer in answers:
        prices.update(answer["inputs"].get("prices_usd_per_h", {}))
        if answer["choices"]:
            gpus |= {case["gpu"] for case in answer["cases"] if " + " not in case["gpu"]}
    listed = ", ".join(f"{price:.2f} $ for {gpu}" for gpu, price in
                       sorted(prices.items(), key=lambda one: (-one[1], one[0])) if gpu in gpus)
    without = " and ".join(sorted(gpus - set(prices)))
    return (f"Prices an hour are the profiles' (`hardware_profiles/`): {listed}." +
            (f" {without} without a price take no part in choices by the dollar." if without else ""))


VERSION_HEAD = ["| set | GPU | engine | half-year | settings | median | largest | predicted |",
                "|---|---|---|---|---|---|---|---|"]


def version_rows(answers):
    return [f"| {answer['inputs']['name']} | {line['gpu']} | {line['engine']} | "
            f"{line['half_year']} | {line['settings']} | {line['median']:.2f} | "
            f"{line['largest']:.2f} | {line['predicted']:.2f} |"
            for answer in answers for line in answer["versions"] if line["gpu"]]


SURE_HEAD = ["| predicted probability of being within 5 % of the best | choices | mean prediction | "
             "were within 5 % |", "|---|---|---|---|"]
BANDS = ((0.9, 1.01, "90 % and more"), (0.7, 0.9, "70 to 90 %"), (0.5, 0.7, "50 to 70 %"),
         (0, 0.5, "less than 50 %"))


def sure_choices(answers):
    """(how sure, whether within 5 % of the best measured) of each choice of a layout under a limit
    on TPOT that some layout is predicted to meet."""
    return [(one["probability"], one["regret"] <= 0.05)
            for answer in answers for one in answer["decisions"]
            if one["choice"] == "layout" and one["tpot_limit_s"] and one["promised"]
            and one["probability"] is not None]


def in_bands(choices):
    """The words of each band of how sure choices are, and its choices, where there are any."""
    for low, high, words in BANDS:
        some = [choice for choice in choices if low <= choice[0] < high]
        if some:
            yield words, some


def sure_rows(answers):
    return [f"| {words} | {len(some)} | {share([called for called, _ in some])} | "
            f"{share([held for _, held in some])} |"
            for words, some in in_bands(sure_choices(answers))]


def sure_sentence(answers):
    """How often choices of each set were right, by how sure they were."""
    sets = []
    for answer in answers:
        found = {words: f"{sum(held for _, held in some)} of {len(some)}"
                 for words, some in in_bands(sure_choices([answer]))}
        if found:
            sets.append(f"{answer['inputs']['name']} " +
                        ", ".join(found.get(words, "none") for _, _, words in BANDS))
    return ("Of single sets, called 90 % and more, 70 to 90, 50 to 70 and less: " + "; ".join(sets) +
            ".")
