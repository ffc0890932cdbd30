#include "calibrate/runtime/textbook_profile.hpp"

#include <algorithm>

#include "base/statistics.hpp"

namespace roofcast::runtime {

bool decodes_whole_batch(const TimedStep& step, const TextbookLoad& load) {
  return step.batch.prefills.empty() && step.batch.decode_sequences == load.batch;
}

TextbookProfile textbook_profile(const std::vector<std::vector<TimedStep>>& runs,
                                 const RunnableModel& model, const TextbookLoad& load,
                                 BytesPerSecond bandwidth) {
  TextbookProfile profile{.repeats = std::ssize(runs)};
  std::vector<double> prefills;
  std::vector<double> decodes;
  for (const std::vector<TimedStep>& steps : runs) {
    double prefill = 0;
    for (const TimedStep& step : steps) {
      if (!step.batch.prefills.empty()) {
        prefill += step.time.value;
      } else if (decodes_whole_batch(step, load)) {
        decodes.push_back(step.time.value);
      }
    }
    prefills.push_back(prefill);
  }
  std::sort(prefills.begin(), prefills.end());
  profile.prefill = Seconds{quantile(prefills, 0.5)};
  profile.prefill_p25 = Seconds{quantile(prefills, 0.25)};
  profile.prefill_p75 = Seconds{quantile(prefills, 0.75)};
  profile.decode_steps = static_cast<std::int64_t>(decodes.size());
  if (decodes.empty()) return profile;
  const Statistics statistics = summarise(std::span<const double>(decodes));
  profile.decode_step = Seconds{statistics.median};
  profile.decode_p10 = Seconds{statistics.p10};
  profile.decode_p25 = Seconds{statistics.lower_quartile};
  profile.decode_p75 = Seconds{statistics.upper_quartile};
  profile.decode_p90 = Seconds{statistics.p90};
  const double middle =
      static_cast<double>(load.input_tokens) + static_cast<double>(load.output_tokens) / 2;
  const double cached = static_cast<double>(load.batch) * attended_kv_bytes(model, middle);
  const double read = step_weight_bytes(model, load.batch) + cached;
  profile.decode_minimum = Seconds{read / bandwidth.value};
  profile.decode_efficiency = profile.decode_minimum.value / profile.decode_step.value;
  return profile;
}

}  // namespace roofcast::runtime
