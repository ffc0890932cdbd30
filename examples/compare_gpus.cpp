// The time of a decode step on several GPUs, with what it rests on; each answer as JSON, too.
//   compare_gpus MODEL GPU...
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>

#include "roofcast/estimate.hpp"

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::fputs("usage: compare_gpus MODEL GPU...\n", stderr);
    return 2;
  }
  for (int i = 2; i < argc; ++i) {
    roofcast::EstimateQuestion question{.batch = 32, .input_tokens = 1024, .output_tokens = 256};
    question.deployment.model = argv[1];
    question.deployment.gpu = argv[i];
    const roofcast::EstimateAnswer answer = roofcast::estimate(question);
    std::printf("%-12s %6.2f ms a decode step, +-%.0f %%\n", argv[i],
                1e3 * answer.decode_step.value, 100 * answer.decode_relative_uncertainty);
    const roofcast::Json json = roofcast::to_json(answer);
    if (roofcast::to_json(roofcast::estimate_answer_from_json(json)) != json) return 1;
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
