"""The Python package, as a user has it: answers beside the program's, errors, tables, interruption.

    PYTHONPATH=build/release/python ROOFCAST=build/release/bin/roofcast python3 tests/python/roofcast_test.py
"""

import functools
import importlib.util
import inspect
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

import roofcast
from roofcast import _progress

PROGRAM = os.environ["ROOFCAST"]
HAS_PANDAS = importlib.util.find_spec("pandas") is not None

LOAD = {"model": "llama-3.1-8b", "gpu": "h100", "request_rate": 4, "num_prompts": 200, "input_len": 500,
        "output_len": 100, "slo": ["p95:ttft:500ms", "p95:tpot:50ms"]}


def program(command, **arguments):
    """The program's JSON for the same arguments."""
    words = [PROGRAM, command, "-o", "json"]
    if command in ("simulate", "capacity", "plan", "whatif", "validate"):
        words.append("--no-store")
    for name, value in arguments.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        elif isinstance(value, list):
            words += [flag, *map(str, value)]
        else:
            words += [flag, str(value)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode in (0, 3), done.stderr
    return json.loads(done.stdout)


class Answers(unittest.TestCase):
    def test_are_the_programs_to_the_digit(self):
        cases = {
            "memory": {"model": "llama-3.1-70b", "gpu": "h200", "tp": 2, "max_model_len": "16k"},
            "estimate": {"model": "llama-3.1-8b", "gpu": "h100", "batch": 32, "isl": "1k", "osl": 256},
            "staircase": {"prompt": 50, "generate": 20, "model": "llama-3.1-8b", "gpu": "h100"},
            "capacity": {**LOAD, "max_num_seqs": 64},
            "plan": {**LOAD, "gpu": "h100,l40s", "search": ["tp=1,2"]},
        }
        for name, arguments in cases.items():
            with self.subTest(name):
                answer = getattr(roofcast, name)(**arguments)
                self.assertEqual(answer.to_dict(), program(name, **arguments))

    def test_of_a_simulation_have_intervals_as_the_command_has_and_none_if_not_wanted(self):
        self.assertEqual(roofcast.simulate(**LOAD).to_dict(), program("simulate", **LOAD))
        large = {**LOAD, "num_prompts": 20_001}  # more than the command finds intervals for unasked
        self.assertNotIn("intervals", roofcast.simulate(**large))
        self.assertNotIn("intervals", roofcast.simulate(**LOAD, intervals=False))
        self.assertEqual(roofcast.simulate(**LOAD, intervals=False).to_dict(),
                         program("simulate", **LOAD, no_intervals=True))

    def test_take_lists_for_what_the_command_line_separates_by_commas(self):
        question = {"model": "llama-3.1-8b", "isl": 100, "osl": 10}
        listed = roofcast.estimate(gpu="h100", batch=[1, 2, 4], **question).to_dict()
        self.assertEqual(listed, program("estimate", gpu="h100", batch="1,2,4", **question))
        priced = {**LOAD, "search": ["tp=1"], "num_prompts": 50}
        self.assertEqual(roofcast.plan(**{**priced, "gpu": ["h100", "l40s"]}).to_dict(),
                         roofcast.plan(**{**priced, "gpu": "h100,l40s"}).to_dict())

    def test_of_capacity_compare_gpus(self):
        several = {**LOAD, "gpu": "h100,l40s", "tp": "1,2"}
        answer = roofcast.capacity(**several)
        self.assertEqual(answer.to_dict(), program("capacity", **several))
        self.assertEqual(len(answer.rows), 4)

    def test_of_what_if_take_a_dict_of_values(self):
        load = {key: LOAD[key] for key in LOAD if key != "slo"}
        answer = roofcast.what_if(**load, vary={"gpu": ["l40s", "h200"]}, seeds=2)
        self.assertEqual(answer.to_dict(), program("whatif", **load, vary=["gpu=l40s,h200"], seeds=2))

    def test_have_fields_as_attributes_and_say_which_they_have(self):
        answer = roofcast.memory(model="llama-3.1-8b", gpu="h100")
        self.assertIs(answer.fits, True)
        self.assertEqual(answer.terms[0].name, answer.to_dict()["terms"][0]["name"])
        self.assertIn("kv_tokens", dir(answer))
        with self.assertRaisesRegex(AttributeError, "no field 'kv_tokenz'.*kv_tokens"):
            answer.kv_tokenz
        with self.assertRaisesRegex(AttributeError, "cannot be changed"):
            answer.fits = False

    def test_say_yes_where_the_program_exits_with_0_and_no_where_with_3(self):
        self.assertTrue(roofcast.memory(model="llama-3.1-8b", gpu="h100").yes)
        self.assertFalse(roofcast.memory(model="llama-3.1-70b", gpu="l40s").yes)

    def test_print_what_the_command_prints(self):
        arguments = ["memory", "--model", "llama-3.1-8b", "--gpu", "h100"]
        printed = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True).stdout
        self.assertEqual(str(roofcast.memory(model="llama-3.1-8b", gpu="h100")), printed.rstrip("\n"))

    def test_list_models_and_gpus(self):
        self.assertEqual(roofcast.models().to_dict(), program("models"))
        self.assertEqual(roofcast.gpus("h200").to_dict(), program("gpus", gpu="h200"))

    def test_take_a_scenario_as_a_file_and_as_a_dict(self):
        scenario = {"model": "llama-3.1-8b", "gpu": "h100",
                    "workload": {"type": "synthetic", "request_rate": 2, "num_prompts": 50,
                                 "input_len": 100, "output_len": 20}}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "scenario.json"
            path.write_text(json.dumps(scenario), encoding="utf-8")
            of_file = roofcast.simulate(path)
            of_dict = roofcast.simulate(scenario)
        self.assertEqual(of_file.ttft_s, of_dict.ttft_s)
        self.assertEqual(of_file.workload.requests, 50)


class Mistakes(unittest.TestCase):
    def test_in_files_name_the_file(self):
        with self.assertRaisesRegex(roofcast.RoofcastError, "no-such-manifest.json"):
            roofcast.validate("no-such-manifest.json")

    def test_in_a_name_are_told_with_the_nearest(self):
        with self.assertRaisesRegex(roofcast.UsageError,
                                    "^unknown key 'reqest_rate', did you mean 'request_rate'\\?$"):
            roofcast.simulate(model="llama-3.1-8b", gpu="h100", reqest_rate=1)

    def test_have_the_programs_line_with_keys_for_flags(self):
        arguments = {"model": "llama-3.1-8b", "gpu": "h100", "batch": 0}
        done = subprocess.run([PROGRAM, "estimate", "--model", "llama-3.1-8b", "--gpu", "h100",
                               "--batch", "0"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        line = done.stderr.strip().removeprefix("roofcast: ")
        with self.assertRaises(roofcast.UsageError) as raised:
            roofcast.estimate(**arguments)
        self.assertEqual("--" + str(raised.exception), line)

    def test_of_usage_are_value_errors_and_all_are_roofcast_errors(self):
        self.assertTrue(issubclass(roofcast.UsageError, ValueError))
        self.assertTrue(issubclass(roofcast.UsageError, roofcast.RoofcastError))
        with self.assertRaises(roofcast.RoofcastError):
            roofcast.memory(model="no-such-model", gpu="h100")

    def test_of_numbers_that_are_not_finite_name_the_argument(self):
        for wrong in (float("-inf"), float("nan")):
            with self.assertRaisesRegex(roofcast.UsageError,
                                        f"^simulate: request_rate is {wrong}; expected a finite number$"):
                roofcast.simulate(**{**LOAD, "request_rate": wrong})
        with self.assertRaisesRegex(roofcast.UsageError, "^simulate: scenario: .*JSON"):
            roofcast.simulate({"model": "llama-3.1-8b", "workload": {"request_rate": float("nan")}})

    def test_an_infinite_rate_is_all_at_once_and_no_other_number_may_be_infinite(self):
        answer = roofcast.simulate(**{**LOAD, "request_rate": float("inf")})
        self.assertIn("all at once", answer["workload"]["description"])
        with self.assertRaisesRegex(roofcast.UsageError, "'inf' is not"):
            roofcast.simulate(**{**LOAD, "num_prompts": float("inf")})

    def test_of_nothing_to_compare_are_told(self):
        with self.assertRaisesRegex(roofcast.UsageError, "^validate: file is empty; expected at least one$"):
            roofcast.validate([])

    def test_in_types_name_the_argument(self):
        with self.assertRaisesRegex(roofcast.UsageError, "max_num_seqs"):
            roofcast.memory(model="llama-3.1-8b", gpu="h100", max_num_seqs=[1, 2])
        with self.assertRaisesRegex(roofcast.UsageError, "explain: expected true or false"):
            roofcast.simulate(**LOAD, explain="yes")
        with self.assertRaisesRegex(roofcast.UsageError, "simulate: .*not JSON serializable"):
            roofcast.simulate(**LOAD, seed=object())

    def test_leave_none_out(self):
        answer = roofcast.memory(model="llama-3.1-8b", gpu="h100", max_num_seqs=None)
        self.assertEqual(answer.to_dict(), program("memory", model="llama-3.1-8b", gpu="h100"))


@unittest.skipUnless(HAS_PANDAS, "pandas is not installed")
class Tables(unittest.TestCase):
    def test_have_a_row_per_term_metric_and_variant(self):
        memory = roofcast.memory(model="llama-3.1-8b", gpu="h100")
        frame = memory.to_pandas()
        self.assertEqual(list(frame["name"]), [term.name for term in memory.terms])
        simulation = roofcast.simulate(**LOAD)
        frame = simulation.to_pandas()
        self.assertAlmostEqual(frame.loc["ttft_s", "p95"], simulation.ttft_s.p95)
        frame = roofcast.what_if(**LOAD, vary="tp=2,4", seeds=1).to_pandas()
        metrics = len(frame) // 3  # of the baseline and two variants
        self.assertEqual(len(frame), 3 * metrics)
        self.assertEqual(list(dict.fromkeys(frame["variant"])), ["baseline", "tp=2", "tp=4"])

    def test_of_requests_have_one_row_each(self):
        simulation = roofcast.simulate(**LOAD)
        requests = simulation.requests()
        self.assertEqual(len(requests), LOAD["num_prompts"])
        with self.assertRaisesRegex(AttributeError, "no field 'requests'"):
            roofcast.memory(model="llama-3.1-8b", gpu="h100").requests()


class Notebooks(unittest.TestCase):
    def test_show_tables_and_figures(self):
        page = roofcast.memory(model="llama-3.1-8b", gpu="h100")._repr_html_()
        self.assertIn("<table>", page)
        self.assertIn("weights.", page)
        drawn = roofcast.memory(model="llama-3.1-8b", gpu="h100").svg()
        if not drawn:
            self.skipTest("this build cannot draw (ROOFCAST_CHARTS=OFF)")
        self.assertTrue(drawn.lstrip().startswith("<svg"))
        self.assertIn("<svg", page)
        self.assertIn("<svg", roofcast.simulate(**LOAD)._repr_html_())

    def test_do_not_repeat_figures_as_bars_of_letters(self):
        answer = roofcast.what_if(**LOAD, vary={"max_num_seqs": [64]})
        self.assertIn("█", str(answer))
        with mock.patch.object(type(answer), "svg", lambda self: "<svg></svg>"):
            self.assertNotIn("█", answer._repr_html_())
        with mock.patch.object(type(answer), "svg", lambda self: ""):  # bars below one another
            self.assertRegex(answer._repr_html_(), "<pre>baseline +█+")

    @unittest.skipUnless(importlib.util.find_spec("tqdm"), "tqdm is not installed")
    def test_keep_a_full_bar_of_what_is_done(self):
        from tqdm import tqdm

        shown = io.StringIO()
        with mock.patch.object(_progress, "_DELAY_S", 0):
            with _progress._Bar("plan", functools.partial(tqdm, file=shown), leaves=True) as bar:
                bar.update(3, 10)
                bar.update(0, 1)  # a last stage that does not report its end
        self.assertIn(" 1/1 ", shown.getvalue().rstrip("\n").split("\r")[-1])

    def test_escape_what_names_hold(self):
        with self.assertRaises(roofcast.RoofcastError) as raised:
            roofcast.memory(model="<script>", gpu="h100")
        self.assertIn("<script>", str(raised.exception))  # text, not a page


class Work(unittest.TestCase):
    LONG = {**LOAD, "num_prompts": 3_000_000, "request_rate": 20}

    @classmethod
    def setUpClass(cls):
        # A shell's background jobs ignore SIGINT, and Python then leaves it ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def test_reports_its_progress(self):
        seen = []
        roofcast.simulate(**{**LOAD, "num_prompts": 200_000, "request_rate": 20},
                          progress=lambda done, total: seen.append((done, total)))
        self.assertTrue(seen)
        self.assertTrue(all(done <= total for done, total in seen))

    def test_ends_with_an_exception_of_the_progress(self):
        def refuse(done, total):
            raise LookupError("enough")

        with self.assertRaisesRegex(LookupError, "enough"):
            roofcast.simulate(**self.LONG, progress=refuse)

    def test_ends_with_ctrl_c(self):
        timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            roofcast.simulate(**self.LONG)
        timer.join()

    def test_of_every_long_question_ends_with_ctrl_c(self):
        small = {key: LOAD[key] for key in LOAD if key not in ("num_prompts", "request_rate")}
        manifest = {"schema_version": 1, "cases": [
            {"name": f"{rate} a second",
             "scenario": {"model": "llama-3.1-8b", "gpu": "h100",
                          "workload": {"type": "synthetic", "request_rate": rate, "num_prompts": 300_000,
                                       "input_len": 500, "output_len": 100}},
             "measured": {"ttft_s": {"mean": 0.1}}} for rate in range(5, 20)]}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "manifest.json"
            path.write_text(json.dumps(manifest), encoding="utf-8")
            questions = {
                "capacity": lambda: roofcast.capacity(**small, request_rate=20, num_prompts=500_000),
                "plan": lambda: roofcast.plan(**{**small, "gpu": "any"}, request_rate=200,
                                              num_prompts=200_000, search=["tp=1,2,4", "max_num_seqs=64,256"]),
                "what_if": lambda: roofcast.what_if(**small, request_rate=20, num_prompts=300_000,
                                                    vary={"max_num_seqs": [32, 64, 128, 256]}),
                "validate": lambda: roofcast.validate(path),
                "intervals": lambda: roofcast.simulate(**small, request_rate=20, num_prompts=200_000,
                                                       intervals=True),
                "calibrate": lambda: roofcast.calibrate("cpu", full=True, out=str(Path(folder) / "p.json"),
                                                        store=str(Path(folder) / "c.db")),
            }
            for name, ask in questions.items():
                with self.subTest(name):
                    timer = threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT))
                    timer.start()
                    with self.assertRaises(KeyboardInterrupt):
                        ask()
                    timer.join()

    def test_leaves_other_threads_running(self):
        counted = []
        going = threading.Event()
        going.set()

        def count():
            while going.is_set():
                counted.append(1)
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        before = len(counted)
        roofcast.simulate(**{**LOAD, "num_prompts": 500_000, "request_rate": 20})
        during = len(counted) - before
        going.clear()
        thread.join()
        self.assertGreater(during, 20)  # held by the interpreter's lock there would be none


class Package(unittest.TestCase):
    def test_names_every_flag_in_signatures_and_stubs(self):
        parameters = inspect.signature(roofcast.simulate).parameters
        self.assertIn("max_num_seqs", parameters)
        stubs = (Path(roofcast.__file__).parent / "__init__.pyi").read_text(encoding="utf-8")
        compile(stubs, "__init__.pyi", "exec")
        for name in ("max_num_seqs: Optional", "class SimulationAnswer(Answer)", "def what_if(",
                     "def kv_tokens(self) -> int"):
            self.assertIn(name, stubs)

    def test_carries_the_program(self):
        version = subprocess.run([sys.executable, "-m", "roofcast", "--version"], capture_output=True,
                                 text=True)
        self.assertEqual(version.stdout, subprocess.run([PROGRAM, "--version"], capture_output=True,
                                                        text=True).stdout)
        no = subprocess.run([sys.executable, "-m", "roofcast", "memory", "--model", "llama-3.1-70b",
                             "--gpu", "l40s"], capture_output=True, text=True)
        self.assertEqual(no.returncode, 3)


if __name__ == "__main__":
    unittest.main()
