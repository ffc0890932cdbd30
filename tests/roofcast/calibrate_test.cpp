#include "roofcast/calibrate.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/calibrate/fake_backend.hpp"
#include "tests/roofcast/read_back.hpp"
#include "tests/support/temporary_folder.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Calibrates a device that is made up, at most `points` of it.
CalibrationAnswer calibrated(const TemporaryFolder& folder, int points) {
  CalibrateOptions options;
  options.extent = ExtentKind::quick;
  options.model = "gpt2";
  options.out = folder.path() + "/profile.json";
  options.store_path = folder.path() + "/store.db";
  FakeBackend backend;
  std::int64_t looks = 0;
  // Every look at the clock takes a microsecond beside the device's own time.
  const CalibrateHooks hooks{
      .now_s = [&] { return backend.elapsed_s() + 1e-6 * static_cast<double>(++looks); },
      .go_on = [&](int done, int) { return done < points; },
      .tell = [](const std::string&) {}};
  return answer_of(run_calibration(backend, options, hooks));
}

TEST(CalibrationAnswer, ReadsBackAsItWasWritten) {
  const TemporaryFolder folder;
  const CalibrationAnswer answer = calibrated(folder, 1'000'000);
  ASSERT_TRUE(answer.finished);
  EXPECT_THAT(answer.fault, IsEmpty());
  const CalibrationAnswer read =
      read_back(answer, calibration_answer_from_json, calibration_answer_schema());
  EXPECT_EQ(read.inputs.model, "gpt2");
  EXPECT_EQ(read.gpu, "fake-accelerator-80gb");
  EXPECT_FALSE(read.known_gpu);
  EXPECT_GT(read.points, 0);
  ASSERT_THAT(read.ceilings.gemm, Not(IsEmpty()));
  // The fake multiplies at 400 TFLOP/s at most.
  for (const auto& [format, rate] : read.ceilings.gemm) EXPECT_LE(rate.value, 400e12) << format;
  ASSERT_THAT(read.families, Not(IsEmpty()));
  EXPECT_GT(read.families[0].judged, 0U);
  EXPECT_THAT(read.incomplete, IsEmpty());
}

TEST(CalibrationAnswer, IsUnfinishedWhenItWasCancelled) {
  const TemporaryFolder folder;
  const CalibrationAnswer answer = calibrated(folder, 40);
  EXPECT_FALSE(answer.finished);
  EXPECT_GT(answer.stored_points, 0);
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/profile.json"));
}

TEST(CalibrationAnswer, OfAnUnknownDeviceIsAnError) {
  CalibrationQuestion question;
  question.device = "abacus";
  EXPECT_THAT(complaint([&] { calibrate(question); }), HasSubstr("abacus"));
}

}  // namespace
}  // namespace roofcast::test
