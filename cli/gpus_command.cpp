// roofcast gpus [NAME|FILE]: the hardware profiles, or one in full; or files to start your own
// from.
#include <string>

#include "base/error.hpp"
#include "cli/options/arguments.hpp"
#include "cli/spelling.hpp"
#include "planner/scenario/prices.hpp"
#include "reports/answers/answer_documents.hpp"
#include "roofcast/gpus.hpp"

namespace roofcast {

int run_gpus(CommandContext& context) {
  std::string gpu;
  Usage usage{.synopsis = "roofcast gpus [NAME|FILE] [options]",
              .example = "roofcast gpus h200",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {}};
  usage.options.add_options()("gpu", po::value(&gpu)->value_name("NAME|FILE"),
                              "GPU name in any usual spelling, or a profile file");
  usage.positional.add("gpu", 1);
  bool as_profile = false;
  bool as_prices = false;
  usage.options.add_options()("as-profile", po::bool_switch(&as_profile),
                              "print the profile as a file to change and use: --gpu ./my-gpu.json");
  usage.options.add_options()("as-prices", po::bool_switch(&as_prices),
                              "print a price table to change and use: --prices ./prices.json");
  std::string prices;
  usage.options.add_options()("prices", po::value(&prices)->value_name("FILE"),
                              "print a price table's prices: rented by kind, and owned");
  const auto common = parse(context, usage);
  if (!common) return kExitDone;
  if (as_prices && (as_profile || !gpu.empty())) {
    throw UsageError(
        "--as-prices: prints the prices of all GPUs, so it cannot be combined with a GPU or "
        "--as-profile");
  }
  if (!prices.empty()) {
    if (as_prices || as_profile || !gpu.empty()) {
      throw UsageError("--prices: prints all prices of a table, so it is given alone");
    }
    if (common->output == OutputFormat::json || common->output == OutputFormat::jsonl) {
      throw UsageError("--output: the price table is JSON itself; expected table, csv or md");
    }
    print(prices_document(price_table(prices)), common->output, context);
    return kExitDone;
  }
  if (as_profile && gpu.empty()) {
    throw UsageError("--as-profile: names no GPU, expected one (roofcast gpus h200 --as-profile)");
  }
  if ((as_profile || as_prices) && common->output != OutputFormat::table &&
      common->output != OutputFormat::json) {
    throw UsageError("--output: --as-profile and --as-prices print a JSON file, expected json");
  }
  if (as_prices) context.out << built_in_price_table();
  if (as_profile) context.out << profile_text(gpu);
  if (as_prices || as_profile) return kExitDone;
  print(gpu.empty() ? gpus_document(list_gpus()) : gpu_document(describe_gpu(gpu)), common->output,
        context);
  return kExitDone;
}

}  // namespace roofcast
