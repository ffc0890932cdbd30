// A command of the program: parse, call one function of the libraries, print.
#pragma once

#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "cli/terminal.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {

struct Usage;  // cli/options/arguments.hpp

/// Inputs and outputs of a command. Results go to `out`, everything else to `err`.
struct CommandContext {
  std::vector<std::string> arguments;  // after the command's name
  std::string command_line;            // as it could be typed again, for provenance
  std::ostream& out;
  std::ostream& err;
  Terminal terminal{};  // of `out`
  /// If set, parse() passes it the command's description and the command ends.
  std::function<void(const Usage&)> describe{};
};

inline constexpr int kExitDone = kCodeYes;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNo = kCodeNo;  // answered "no"

struct Command {
  const char* name;
  const char* help;  // one line
  int (*run)(CommandContext&);
};

/// All commands, in the order of `roofcast --help`.
std::span<const Command> commands();

int run_models(CommandContext&);
int run_gpus(CommandContext&);
int run_memory(CommandContext&);
int run_estimate(CommandContext&);
int run_staircase(CommandContext&);
int run_learn(CommandContext&);
int run_simulate(CommandContext&);
int run_doctor(CommandContext&);
int run_capacity(CommandContext&);
int run_plan(CommandContext&);
int run_whatif(CommandContext&);
int run_trace(CommandContext&);
int run_calibrate(CommandContext&);
int run_profile(CommandContext&);
int run_runs(CommandContext&);
int run_compare(CommandContext&);
int run_import(CommandContext&);  // as `runs import`
int run_measure(CommandContext&);
int run_validate(CommandContext&);
int run_fit(CommandContext&);
int run_report_command(CommandContext&);
int run_serve(CommandContext&);
int run_mcp(CommandContext&);
int run_completion(CommandContext&);
int run_man(CommandContext&);

/// Finds and runs the command; the only place where errors become messages and exit codes.
/// `terminal` describes `out`.
int run_program(int argc, const char* const* argv, std::ostream& out, std::ostream& err,
                const Terminal& terminal = {});

}  // namespace roofcast
