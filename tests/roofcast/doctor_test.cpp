#include "roofcast/doctor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/error.hpp"
#include "reports/store.hpp"
#include "tests/support/temporary_folder.hpp"

namespace roofcast {
namespace {

using testing::HasSubstr;

const Finding& finding_of(const DoctorAnswer& answer, const std::string& subject) {
  const auto found = std::ranges::find(answer.findings, subject, &Finding::subject);
  if (found == answer.findings.end()) throw Error("no finding of " + subject);
  return *found;
}

TEST(Doctor, NamesTheProcessorProfilesAndWhatIsMissing) {
  const DoctorAnswer answer = doctor({.charts = true, .png = false});
  EXPECT_EQ(finding_of(answer, "processor").state, FindingState::good);
  EXPECT_THAT(finding_of(answer, "profiles").found, HasSubstr("built in"));
  EXPECT_EQ(finding_of(answer, "pictures").state, FindingState::missing);
  EXPECT_THAT(*finding_of(answer, "pictures").advice, HasSubstr("librsvg"));
  EXPECT_NE(finding_of(answer, "GPU").state, FindingState::broken);
  EXPECT_TRUE(is_yes(answer));
}

TEST(Doctor, LooksAtTheStoreWithoutMakingOne) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/runs.db";
  const DoctorAnswer none = doctor({.store = path});
  EXPECT_THAT(finding_of(none, "store").found, HasSubstr("not there yet"));
  EXPECT_FALSE(std::ifstream(path).good());
  { const Store made(path, Store::Mode::write); }
  EXPECT_EQ(finding_of(doctor({.store = path}), "store").found, path + ": 0 runs");
}

TEST(Doctor, CallsAStoreBrokenThatIsNone) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/runs.db";
  std::ofstream(path) << "these are words, not a database, and more than a page's header";
  const DoctorAnswer answer = doctor({.store = path});
  EXPECT_EQ(finding_of(answer, "store").state, FindingState::broken);
  EXPECT_FALSE(is_yes(answer));
}

TEST(Doctor, JsonIsReadBack) {
  const DoctorAnswer answer = doctor({});
  const Json json = to_json(answer);
  EXPECT_EQ(to_json(doctor_answer_from_json(json)), json);
  EXPECT_EQ(json["command"], "doctor");
}

}  // namespace
}  // namespace roofcast
