#include <boost/program_options/errors.hpp>
#include <exception>
#include <new>
#include <ostream>
#include <string_view>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "cli/command.hpp"
#include "cli/options/from_command.hpp"
#include "cli/spelling.hpp"
#include "embedded_licences.hpp"

namespace roofcast {
namespace {

constexpr Command kCommands[] = {
    {"models", "models: parameters, weights, KV bytes per token", run_models},
    {"gpus", "GPUs: peaks, bandwidth, memory, with the source of each number", run_gpus},
    {"memory", "whether a model fits: GPU memory term by term, KV blocks, largest batch",
     run_memory},
    {"estimate", "what a token costs: prefill and decode time from the roofline", run_estimate},
    {"staircase", "what a KV cache saves: generation with and without it", run_staircase},
    {"learn", "learn LLM inference by guessing: KV cache, roofline, batches; a glossary",
     run_learn},
    {"simulate", "whether the SLO is met: a trace or synthetic load through the engine's scheduler",
     run_simulate},
    {"capacity",
     "the highest load within the SLO, its uncertainty, what limits it, loss of a replica",
     run_capacity},
    {"plan", "the cheapest deployment that meets the SLO: GPUs, replicas, configuration", run_plan},
    {"whatif", "the effect of changes: knobs varied, with significance of differences", run_whatif},
    {"trace", "write a synthetic workload as a trace file", run_trace},
    {"calibrate", "time this machine's kernels and write its hardware profile", run_calibrate},
    {"profile", "import kernel timings by others as a hardware profile", run_profile},
    {"measure", "run a real model with random weights on this machine: prefill, decode, a trace",
     run_measure},
    {"validate", "accuracy: predictions against measured runs, metric by metric", run_validate},
    {"fit", "fit an engine's host overhead to measured runs", run_fit},
    {"runs", "list the runs in the store", run_runs},
    {"report", "report on a run, a plan, all validations or a GPU as a page with charts",
     run_report_command},
    {"compare", "compare runs of the store, metric by metric", run_compare},
    {"serve", "web page: choose a deployment, move sliders, save and compare runs", run_serve},
    {"doctor", "what this machine has: devices, libraries, profiles, the store", run_doctor},
    {"mcp", "tools for agents over standard input and output (Model Context Protocol)", run_mcp},
    {"completion", "shell completion for bash, zsh and fish", run_completion},
    {"man", "the manual page: every command and flag", run_man},
};

/// A newcomer's question, with a line that runs as it stands.
struct Question {
  const char* asked;
  const char* command;
};

constexpr Question kQuestions[] = {
    {"Does my model fit?", "roofcast memory --model llama-3.1-70b --gpu h200 --tp 2"},
    {"How fast is a token, and what limits it?",
     "roofcast estimate --model llama-3.1-8b --gpu h100 --batch 32"},
    {"Does it hold my load?",
     "roofcast simulate --model llama-3.1-8b --gpu h100 --request-rate 10 --slo p95:ttft:500ms"},
    {"How much load does it carry?",
     "roofcast capacity --model llama-3.1-8b --gpu h100 --slo p95:ttft:500ms"},
    {"How many users does it carry at once?",
     "roofcast capacity --model llama-3.1-8b --gpu h100 --max-concurrency 32 --slo p95:tpot:20ms"},
    {"What should I rent for this load?",
     "roofcast plan --model llama-3.1-8b --gpu h100,l40s --request-rate 10 --slo p95:ttft:1s"},
    {"What if I change something?",
     "roofcast whatif --model llama-3.1-8b --gpu h100 --request-rate 5 --vary gpu=l40s,a100"},
    {"Why is it so?", "roofcast learn"},
    {"All of it in the browser, with sliders", "roofcast serve"},
};

void print_help(std::ostream& out) {
  out << "roofcast " << kVersion
      << ": whether a model fits on a GPU, what a token costs, whether the SLO is met\n\n"
         "usage: roofcast COMMAND [options]      roofcast COMMAND --help      roofcast "
         "--licenses\n\n";
  out << "Begin with a question:\n";
  for (const Question& question : kQuestions) {
    out << "  " << question.asked << "\n    " << question.command << "\n";
  }
  out << "\nCommands:\n";
  for (const Command& command : kCommands) {
    out << "  " << command.name << std::string(12 - std::string(command.name).size(), ' ')
        << command.help << "\n";
  }
  out << "\nexit codes: 0 success, 1 failure, 2 usage error, 3 the answer is \"no\" (does not fit, "
         "SLO not met)\n";
}

const Command& find_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (name == command.name) return command;
    names.emplace_back(command.name);
  }
  throw UsageError("unknown command '" + name + "'" + did_you_mean(name, names) +
                   " (roofcast --help lists them)");
}

/// The command line as it could be typed again, with secrets of a server's command line removed.
std::string whole_line(int argc, const char* const* argv) {
  std::string line;
  bool is_line = false;  // a server's command line, after --from-cmd
  for (int i = 0; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const bool names_line =
        argument.starts_with("--from-cmd") || argument.starts_with("--from_cmd");
    const std::string shown =
        is_line || names_line ? without_secrets(argument) : std::string(argument);
    line += i == 0 ? "roofcast" : " " + shell_quoted(shown);
    is_line = names_line;
  }
  return line;
}

int dispatch(int argc, const char* const* argv, std::ostream& out, std::ostream& err,
             const Terminal& terminal) {
  const std::string first = argc > 1 ? argv[1] : "--help";
  if (first == "--help" || first == "-h" || first == "help") {
    print_help(argc > 1 ? out : err);
    return argc > 1 ? kExitDone : kExitUsage;
  }
  if (first == "--version" || first == "-V") {
    out << "roofcast " << kVersion << "\n";
    return kExitDone;
  }
  if (first == "--licenses") {
    out << embedded_licences().front().text;
    return kExitDone;
  }
  const Command& command = find_command(first);
  CommandContext context{{argv + 2, argv + argc}, whole_line(argc, argv), out, err, terminal};
  return command.run(context);
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

int run_program(int argc, const char* const* argv, std::ostream& out, std::ostream& err,
                const Terminal& terminal) {
  try {
    const int code = dispatch(argc, argv, out, err, terminal);
    out.flush();
    if (!out) throw Error("cannot write to standard output");
    return code;
  } catch (const UsageError& error) {
    err << "roofcast: " << with_flags(error.what()) << "\n";
    return kExitUsage;
  } catch (const boost::program_options::error& error) {
    err << "roofcast: " << with_flags(error.what()) << "\n";
    return kExitUsage;
  } catch (const std::bad_alloc&) {
    err << "roofcast: out of memory; try a smaller workload\n";
    return kExitFailed;
  } catch (const std::exception& error) {
    err << "roofcast: " << with_flags(error.what()) << "\n";
    return kExitFailed;
  }
}

}  // namespace roofcast
