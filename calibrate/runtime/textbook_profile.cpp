#include "calibrate/runtime/textbook_profile.hpp"

#include "base/statistics.hpp"

namespace roofcast::runtime {

bool decodes_whole_batch(const TimedStep& step, const TextbookLoad& load) {
  return step.batch.prefills.empty() && step.batch.decode_sequences == load.batch;
}

TextbookProfile textbook_profile(const std::vector<TimedStep>& steps, const RunnableModel& model,
                                 const TextbookLoad& load, BytesPerSecond bandwidth) {
  TextbookProfile profile;
  std::vector<double> decodes;
  for (const TimedStep& step : steps) {
    if (!step.batch.prefills.empty()) {
      profile.prefill += step.time;
    } else if (decodes_whole_batch(step, load)) {
      decodes.push_back(step.time.value);
    }
  }
  profile.decode_steps = static_cast<std::int64_t>(decodes.size());
  if (decodes.empty()) return profile;
  const Statistics statistics = summarise(std::span<const double>(decodes));
  profile.decode_step = Seconds{statistics.median};
  profile.decode_p10 = Seconds{statistics.p10};
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
