// roofcast doctor: what this machine has (devices, libraries, profiles, the store) and lacks.
#include <string>

#include "cli/default_store.hpp"
#include "cli/options/arguments.hpp"
#include "cli/spelling.hpp"
#include "reports/answers/answer_documents.hpp"
#include "reports/figures/chart_renderer.hpp"
#include "reports/figures/png.hpp"
#include "roofcast/doctor.hpp"

namespace roofcast {

int run_doctor(CommandContext& context) {
  DoctorQuestion question{.store = kDefaultStore, .charts = has_charts(), .png = has_png()};
  Usage usage{.synopsis = "roofcast doctor [--store FILE] [options]",
              .example = "roofcast doctor",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {}};
  usage.options.add_options()("store", po::value(&question.store)->value_name("FILE"),
                              "the SQLite store to look at (default roofcast.db)");
  const auto common = parse(context, usage);
  if (!common) return kExitDone;
  const DoctorAnswer answer = doctor(question);
  print(doctor_document(answer), common->output, context);
  return code_of(is_yes(answer));
}

}  // namespace roofcast
