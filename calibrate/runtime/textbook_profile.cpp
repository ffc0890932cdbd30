#include "calibrate/runtime/textbook_profile.hpp"

#include "calibrate/statistics.hpp"

namespace roofcast::runtime {

TextbookProfile textbook_profile(const std::vector<TimedStep>& steps, const RunnableModel& model,
                                 const TextbookLoad& load, BytesPerSecond bandwidth) {
  TextbookProfile profile;
  std::vector<double> decodes;
  for (const TimedStep& step : steps) {
    if (step.batch.prefills.empty()) {
      decodes.push_back(step.time.value);
    } else {
      profile.prefill += step.time;
    }
  }
  profile.decode_steps = static_cast<std::int64_t>(decodes.size());
  if (decodes.empty()) return profile;
  const Statistics statistics = summarise(std::span<const double>(decodes));
  profile.decode_step = Seconds{statistics.median};
  profile.decode_p10 = Seconds{statistics.p10};
  profile.decode_p90 = Seconds{statistics.p90};
  // All experts when any: a batch of some size touches nearly all of them.
  const double middle =
      static_cast<double>(load.input_tokens) + static_cast<double>(load.output_tokens) / 2;
  const double cached = static_cast<double>(load.batch) * middle * kv_bytes_per_token(model);
  const double embedding = static_cast<double>(model.hidden) * model.vocabulary *
                           static_cast<double>(kernels::size_of(model.element));
  const double read = weight_bytes(model) - embedding + cached;
  profile.decode_minimum = Seconds{read / bandwidth.value};
  profile.decode_efficiency = profile.decode_minimum.value / profile.decode_step.value;
  return profile;
}

}  // namespace roofcast::runtime
