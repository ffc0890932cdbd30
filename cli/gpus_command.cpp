// roofcast gpus [NAME|FILE]: the hardware profiles, or one in full.
#include <string>

#include "cli/options/arguments.hpp"
#include "cli/spelling.hpp"
#include "reports/pages/answer_documents.hpp"
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
  const auto common = parse(context, usage);
  if (!common) return kExitDone;
  print(gpu.empty() ? gpus_document(list_gpus()) : gpu_document(describe_gpu(gpu)), common->output,
        context);
  return kExitDone;
}

}  // namespace roofcast
