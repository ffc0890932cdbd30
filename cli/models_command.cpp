// roofcast models [NAME|PATH]: the catalogue, or one model in full.
#include <string>

#include "cli/options/arguments.hpp"
#include "cli/spelling.hpp"
#include "reports/answers/answer_documents.hpp"
#include "roofcast/models.hpp"

namespace roofcast {

int run_models(CommandContext& context) {
  std::string model;
  std::string weight_format;
  Usage usage{.synopsis = "roofcast models [NAME|PATH] [options]",
              .example = "roofcast models llama-3.1-70b",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {}};
  usage.options.add_options()("model", po::value(&model)->value_name("NAME|PATH"),
                              "catalogue name, model folder, config.json or .gguf")(
      "quantization", po::value(&weight_format)->value_name("FORMAT"),
      "weight format: fp8, int8, awq, ... (default: the checkpoint's)");
  usage.positional.add("model", 1);
  const auto common = parse(context, usage);
  if (!common) return kExitDone;

  if (model.empty()) {
    print(models_document(list_models()), common->output, context);
    return kExitDone;
  }
  ModelQuestion question{.model = model};
  if (!weight_format.empty()) question.weight_format = weight_format;
  print(model_document(describe_model(question)), common->output, context);
  return kExitDone;
}

}  // namespace roofcast
