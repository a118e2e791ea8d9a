"""What bench/losses has found, as a table: means, intervals, and paired tests that heed that halves overlap and that many
comparisons are made."""
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy.stats import t as student

RESULTS = Path(__file__).resolve().parent / "results" / "evidence.jsonl"
HALVES = 10
PLACES = (1, 5, 10)
OURS = "topwolf"
METHODS = (OURS, "topwolf max_hinge", "topwolf softmax", "LinearSVC", "LogisticRegression", "LIBLINEAR -s 4", "RidgeClassifier")
BEGIN, END = "<!-- bench/losses --table -->", "<!-- end -->"


def lines_of(path):
    return [json.loads(text) for text in path.read_text().splitlines()] if path.exists() else []


def finished(path):
    """(set, half, method) of every line."""
    return {(found["set"], found["half"], found["method"]) for found in lines_of(path)}


def corrected_deviation(values, ratio):
    """Nadeau and Bengio's standard error of a mean over J random splits whose rows overlap: s^2 (1/J + n_test/n_train)."""
    return float(np.sqrt(np.var(values, ddof=1) * (1.0 / len(values) + ratio)))


def half_interval(values, ratio, level=0.95):
    return corrected_deviation(values, ratio) * float(student.ppf(0.5 + level / 2, len(values) - 1))


def p_value(differences, ratio):
    """Two-sided, that the mean of paired differences is 0."""
    deviation, mean = corrected_deviation(differences, ratio), float(np.mean(differences))
    if deviation == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    return float(2.0 * student.sf(abs(mean) / deviation, len(differences) - 1))


def holm(p_values):
    """Holm's correction for their number, in their order."""
    order = np.argsort(p_values, kind="stable")
    out, least = np.empty(len(p_values)), 0.0
    for place, at in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - place) * p_values[at]))
        out[at] = least
    return out.tolist()


def complete_halves(lines):
    """set: the halves that every method has been through, with their lines by method."""
    by_set = defaultdict(lambda: defaultdict(dict))
    for found in lines:
        by_set[found["set"]][found["half"]][found["method"]] = found
    return {
        name: {half: methods for half, methods in sorted(halves.items()) if set(METHODS) <= set(methods)}
        for name, halves in by_set.items()
    }


def cells_of(halves, k, method):
    """Errors at k and at 1 of the models chosen for k, by half."""
    chosen = [methods[method]["chosen"][str(k)]["test"] for methods in halves.values()]
    return np.array([errors[PLACES.index(k)] for errors in chosen]), np.array([errors[0] for errors in chosen])


def evidence_table(path, order):
    """Header, rows and notes. A set is in it once two halves, without which there is no interval, are complete."""
    lines = lines_of(path)
    sets = {name: halves for name, halves in complete_halves(lines).items() if len(halves) > 1}
    entries, tests = [], []
    for name in sorted(sets, key=list(order).index):
        halves = sets[name]
        ratio = next(iter(halves.values()))[OURS]["rows"]
        ratio = ratio[1] / ratio[0]
        for k in (k for k in PLACES if str(k) in next(iter(halves.values()))[OURS]["chosen"]):
            own = cells_of(halves, k, OURS)[0]
            for method in METHODS:
                at_k, at_1 = cells_of(halves, k, method)
                took = np.mean([methods[method]["cpu_seconds"] for methods in halves.values()])
                entries.append((name, len(halves), k, method, at_k, at_1, ratio, took))
                if method != OURS:
                    tests.append(p_value(at_k - own, ratio))
    corrected = iter(holm(tests))
    rows = []
    for name, count, k, method, at_k, at_1, ratio, took in entries:
        p = "" if method == OURS else f"{next(corrected):.2g}"
        rows.append([name, count, f"top-{k}", method, f"{100 * at_k.mean():.2f} ± {100 * half_interval(at_k, ratio):.2f}", f"{100 * at_1.mean():.2f}", p, f"{took:.0f}"])
    header = ["set", "halves", "error", "method", "test error, %", "top-1 of the same model, %", "p", "CPU s"]
    return header, rows, notes_of(lines, sets, len(tests))


def short_table(rows):
    """The same with a row for each set and k and a column for each method: errors, top-1 errors in brackets, and a star
    where the paired test tells the method from topwolf."""
    out = {}
    for name, count, k, method, error, top1, p, _ in rows:
        star = "*" if p and float(p) < 0.05 else ""
        out.setdefault((name, count, k), []).append(f"{error.split()[0]}{star}" + ("" if k == "top-1" else f" ({top1})"))
    return ["set", "halves", "error, %", *METHODS], [[*key, *cells] for key, cells in out.items()]


def notes_of(lines, sets, tests):
    def joined(key):
        return "; ".join(sorted({found[key] for found in lines if found["set"] in sets}))

    if not sets:
        return ["No set is complete yet."]
    counts = ", ".join(f"{name} on {len(halves)}" for name, halves in sets.items())
    return [
        f"It rests on these halves of the {HALVES} that are planned: {counts}. `p` is that of a paired test against `topwolf` "
        f"(two-sided; Nadeau and Bengio's correction for halves that overlap, Holm's for {tests} comparisons); ± is a 95 % "
        "interval with the first of these corrections. C, and for `topwolf` the loss, were chosen by five folds in the training "
        "half, for each k by itself; CPU s is what all that took for all k together, on one thread.",
        f"Commit {joined('commit')}; {joined('machine')}; {joined('compiler')}.",
    ]


def replace_table(path, header, rows, notes):
    """Between the two marks in a page."""
    text = path.read_text()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    made = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)] if rows else []
    made += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    path.write_text("\n".join([text[:begin], "", *made, *([""] if rows else []), "\n\n".join(notes), "", text[end:]]))
