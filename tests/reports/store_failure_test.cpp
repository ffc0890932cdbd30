// The store in hostile conditions: other programs' files, locks, full disks, and processes that die
// during a transaction.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>

#include "reports/store.hpp"
#include "tests/reports/store_fixture.hpp"

namespace roofcast {
namespace {

using test::message_of;
using test::open_store;
using test::run_of;
using test::runs_in;
using testing::HasSubstr;

constexpr const char* kNotStored = "; the run was not stored, the store is unchanged";

class StoreFailure : public test::StoreTest {
 protected:
  void write_file(const std::string& text, const std::string& name = "store.db") const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  std::string open_message(Store::Mode mode = Store::Mode::write) const {
    return message_of([&] { open_store(path(), mode); });
  }
};

// ---- files that are not ours

TEST_F(StoreFailure, NamesAFileThatIsNoDatabase) {
  const std::string text = "arrival,input,output\n" + std::string(4096, 'x');
  write_file(text);
  EXPECT_EQ(open_message(Store::Mode::read), path() + ": not a SQLite database");
  EXPECT_EQ(open_message(Store::Mode::write), path() + ": not a SQLite database");
  EXPECT_EQ(std::filesystem::file_size(path()), text.size());
}

TEST_F(StoreFailure, LeavesAnotherProgramsDatabaseAlone) {
  SQLite::Database other(path(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  other.exec("CREATE TABLE songs (title TEXT)");
  EXPECT_EQ(open_message(),
            path() + ": a SQLite database of another program (1 tables, views and indexes)");
  other.exec("PRAGMA application_id = 77");
  EXPECT_THAT(open_message(Store::Mode::read), HasSubstr("of another program"));
  EXPECT_EQ(other.execAndGet("SELECT count(*) FROM sqlite_master").getInt(), 1);
}

TEST_F(StoreFailure, SaysWhenTheStoreIsNewer) {
  Store(path(), Store::Mode::write).add(run_of(1));
  SQLite::Database(path(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 8");
  EXPECT_EQ(open_message(),
            path() + ": written by a newer roofcast (schema 8, this version reads up to 7)");
  EXPECT_EQ(open_message(Store::Mode::read), open_message(Store::Mode::write));
}

TEST_F(StoreFailure, RefusesAVersionThatNeverWas) {
  open_store(path());
  SQLite::Database(path(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 0");
  EXPECT_EQ(open_message(), path() + ": unknown schema 0 (known: 1 to 7)");
}

TEST_F(StoreFailure, SaysWhenTheStoreIsDamaged) {
  Store(path(), Store::Mode::write).add(run_of(1000));
  std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096);  // from the second page on; the first tells what the file is
  file << std::string(std::filesystem::file_size(path()) - 4096, '\xA5');
  file.close();
  const Store store(path(), Store::Mode::read);
  EXPECT_THAT(message_of([&] { store.runs(); }), HasSubstr(path() + ": damaged ("));
}

// ---- places that cannot hold a store

TEST_F(StoreFailure, NamesWhatIsMissing) {
  EXPECT_EQ(open_message(Store::Mode::read), path() + ": no such store");
  const std::string deep = path("no/such/store.db");
  EXPECT_EQ(message_of([&] { open_store(deep); }),
            deep + ": its folder " + path("no/such") + " does not exist");
  EXPECT_EQ(message_of([] { open_store(""); }), "the store has an empty file name");
}

TEST_F(StoreFailure, RefusesFoldersAndDevices) {
  EXPECT_EQ(message_of([&] { open_store(folder_); }), folder_.string() + ": not a file");
  EXPECT_EQ(message_of([] { open_store("/dev/full"); }), "/dev/full: not a file");
}

/// Runs `work` in a child process and returns its status as waitpid reports it; `work` returns the
/// exit code. Limits and permissions set there end with the child.
int status_of_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    int code = 99;
    try {
      code = work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

/// The child's exit code: 0 if `call` throws an Error that contains `expected`.
int complains(const std::string& expected, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    if (std::string(error.what()).find(expected) != std::string::npos) return 0;
    std::fprintf(stderr, "expected '%s', not '%s'\n", expected.c_str(), error.what());
    return 1;
  }
  std::fprintf(stderr, "expected '%s', but nothing failed\n", expected.c_str());
  return 2;
}

TEST_F(StoreFailure, SaysWhenTheFileIsReadOnly) {
  Store(path(), Store::Mode::write).add(run_of(1));
  namespace fs = std::filesystem;
  const auto readable = fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read;
  fs::permissions(path(), readable);
  const int status = status_of_child([&] {
    constexpr uid_t kNobody = 65534;  // root may write anywhere
    if (geteuid() == 0 && setuid(kNobody) != 0) return 98;
    if (runs_in(path()) != 1) return 97;
    return complains(path() + ": cannot be written (read-only)", [&] { open_store(path()); });
  });
  EXPECT_EQ(status, 0);
}

// ---- locks

TEST_F(StoreFailure, SaysWhenAnotherProgramHoldsTheStore) {
  Store store(path(), Store::Mode::write, std::chrono::milliseconds(20));
  SQLite::Database other(path(), SQLite::OPEN_READWRITE);
  {
    const SQLite::Transaction lock(other, SQLite::TransactionBehavior::EXCLUSIVE);
    EXPECT_EQ(message_of([&] { store.add(run_of(1)); }),
              path() + ": in use by another program (waited 20 ms)" + kNotStored);
    EXPECT_EQ(message_of([&] { store.runs(); }),
              path() + ": in use by another program (waited 20 ms)");
  }
  EXPECT_EQ(store.add(run_of(1)), 1);
}

// ---- runs that fail while being stored

TEST_F(StoreFailure, ARunThatFailsHalfWayLeavesNothing) {
  Store store(path(), Store::Mode::write);
  store.add(run_of(5, "before"));
  Run broken = run_of(5);
  broken.requests[4].index = 3;  // a second request 3: the key forbids it
  EXPECT_THAT(message_of([&] { store.add(broken); }), HasSubstr(kNotStored));

  ASSERT_EQ(store.runs().size(), 1u);
  SQLite::Database database(path());
  EXPECT_EQ(database.execAndGet("SELECT count(*) FROM requests").getInt(), 5);
  EXPECT_EQ(database.execAndGet("SELECT count(*) FROM metrics").getInt(), 3);
  EXPECT_EQ(store.add(run_of(1, "after")), 2);
}

TEST_F(StoreFailure, NegativeCountsAreRefused) {
  Store store(path(), Store::Mode::write);
  Run broken = run_of(1);
  broken.requests[0].output_tokens = -1;
  EXPECT_THAT(message_of([&] { store.add(broken); }), HasSubstr("CHECK constraint failed"));
  EXPECT_TRUE(store.runs().empty());
}

/// Mounts a file system of 1 MiB at `folder`, visible to this process only; false if not permitted.
bool mount_small_disk(const std::filesystem::path& folder) {
  const int own_users = geteuid() == 0 ? 0 : CLONE_NEWUSER;
  if (unshare(CLONE_NEWNS | own_users) != 0) return false;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  return mount("none", folder.c_str(), "tmpfs", 0, "size=1m") == 0;
}

TEST_F(StoreFailure, AFullDiskLosesNothing) {
  constexpr int kNoSmallDisk = 77;
  const int status = status_of_child([&] {
    if (!mount_small_disk(folder_)) return kNoSmallDisk;
    Store store(path(), Store::Mode::write);
    store.add(run_of(10));
    const int code = complains(path() + ": no space left on its disk" + kNotStored,
                               [&] { store.add(run_of(100'000)); });
    if (code != 0) return code;
    if (std::filesystem::exists(path() + "-journal")) return 5;  // nothing left to repair
    if (runs_in(path()) != 1) return 3;
    return store.add(run_of(10)) == 2 ? 0 : 4;  // and there is room again
  });
  if (WEXITSTATUS(status) == kNoSmallDisk) GTEST_SKIP() << "needs the right to mount a small disk";
  EXPECT_EQ(status, 0);
}

TEST_F(StoreFailure, AFileThatMayNotGrowLosesNothing) {
  Store(path(), Store::Mode::write).add(run_of(10));
  const auto size = std::filesystem::file_size(path());
  const int status = status_of_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = size + 65536, .rlim_max = size + 65536};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 98;
    Store store(path(), Store::Mode::write);
    return complains(kNotStored, [&] { store.add(run_of(100'000)); });
  });
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(std::filesystem::exists(path() + "-journal"));
  EXPECT_EQ(std::filesystem::file_size(path()), size);
  EXPECT_EQ(runs_in(path()), 1u);
}

TEST_F(StoreFailure, AProgramKilledWhileItWritesLosesNothing) {
  Store(path(), Store::Mode::write).add(run_of(10));
  const auto size = std::filesystem::file_size(path());
  const int status = status_of_child([&] {
    // The kernel kills the child in the write that makes the file too long, so always in the
    // middle of the transaction.
    std::signal(SIGXFSZ, SIG_DFL);
    const rlimit limit{.rlim_cur = size + 65536, .rlim_max = size + 65536};
    const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || setrlimit(RLIMIT_CORE, &no_core) != 0) return 98;
    Store(path(), Store::Mode::write).add(run_of(100'000));
    return 0;
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(WTERMSIG(status), SIGXFSZ);
  // It had started to write, and left the journal that SQLite needs to roll back.
  ASSERT_GT(std::filesystem::file_size(path()), size);
  ASSERT_TRUE(std::filesystem::exists(path() + "-journal"));

  EXPECT_EQ(runs_in(path()), 1u);  // a reader alone brings it back
  EXPECT_EQ(std::filesystem::file_size(path()), size);
  EXPECT_EQ(Store(path(), Store::Mode::write).add(run_of(10)), 2);
}

}  // namespace
}  // namespace roofcast
