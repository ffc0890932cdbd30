// How far questions are that are being answered, under names that their clients chose.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace roofcast {

/// Thread-safe.
class ProgressBoard {
 public:
  struct Count {
    std::string_view what{};  // is counted: "simulations"; a literal
    std::int64_t done = 0;
    std::int64_t total = 0;  // may grow
  };

  /// A question under way; its destructor takes it off the board.
  class Entry {
   public:
    Entry(ProgressBoard& board, std::string name);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    void show(const Count& count) const;

   private:
    ProgressBoard& board_;
    std::string name_;
    std::shared_ptr<Count> count_;
  };

  /// Nullopt if no question of that name is under way, or if it has not begun to count.
  std::optional<Count> of(const std::string& name) const;

  /// 1 to 40 letters, digits and '-'.
  static bool is_name(std::string_view text);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Count>> counts_;  // of one name the newest question's
};

}  // namespace roofcast
