// A search that is killed at any moment and restarted.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "tests/planner/search/run_process.hpp"

namespace roofcast {
namespace {

using test::run_process;

// 8 rounds of 16 questions of 4 ms each: half a second if nothing is stored yet.
constexpr const char* kMilliseconds = "4";
constexpr int kQuestions = 128;

/// Starts the search on `store` and kills it `after` its first round has been answered. Returns
/// whether it was still running then.
bool killed(const std::string& store, std::chrono::milliseconds after) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execl(ROOFCAST_SYNTHETIC_PLAN, ROOFCAST_SYNTHETIC_PLAN, "1", store.c_str(), kMilliseconds,
          nullptr);
    _exit(1);
  }
  close(ends[1]);
  char first = 0;
  EXPECT_EQ(read(ends[0], &first, 1), 1);
  std::this_thread::sleep_for(after);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  close(ends[0]);
  return WIFSIGNALED(status);
}

std::string searched(const std::string& store) {
  const auto result = run_process(std::string(ROOFCAST_SYNTHETIC_PLAN) + " 1 '" + store + "' " +
                                  kMilliseconds + " 2>'" + store + ".said'");
  EXPECT_EQ(result.status, 0);
  return result.output;
}

/// Number of questions that the last search on the store had to evaluate.
int evaluated(const std::string& store) {
  return std::stoi(run_process("cat '" + store + ".said'").output);
}

TEST(Interruption, ASearchThatIsKilledTenTimesComesToTheSameAnswer) {
  // In memory where that is possible: what is killed is the program, not the machine, and a disk
  // would take most of the time.
  const std::filesystem::path memory = "/dev/shm";
  const auto folder =
      (std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path()) /
      ("roofcast_killed_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string undisturbed = folder / "undisturbed.db";
  const std::string disturbed = folder / "disturbed.db";
  const std::string expected = searched(undisturbed);
  EXPECT_EQ(evaluated(undisturbed), kQuestions);

  std::minstd_rand random(7);
  for (int i = 0; i < 10; ++i) {
    const std::chrono::milliseconds after(random() % 30);  // ten of them: 300 ms at most, of 500
    EXPECT_TRUE(killed(disturbed, after)) << "the search was over before it could be killed";
  }
  EXPECT_EQ(searched(disturbed), expected);
  EXPECT_LT(evaluated(disturbed), kQuestions);  // it went on where it had been
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace roofcast
