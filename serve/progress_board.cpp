#include "serve/progress_board.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace roofcast {

ProgressBoard::Entry::Entry(ProgressBoard& board, std::string name)
    : board_(board), name_(std::move(name)), count_(std::make_shared<Count>()) {
  const std::scoped_lock lock(board_.mutex_);
  board_.counts_[name_] = count_;
}

ProgressBoard::Entry::~Entry() {
  const std::scoped_lock lock(board_.mutex_);
  const auto found = board_.counts_.find(name_);
  if (found != board_.counts_.end() && found->second == count_) board_.counts_.erase(found);
}

void ProgressBoard::Entry::show(const Count& count) const {
  const std::scoped_lock lock(board_.mutex_);
  *count_ = count;
}

std::optional<ProgressBoard::Count> ProgressBoard::of(const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  const auto found = counts_.find(name);
  if (found == counts_.end() || found->second->what.empty()) return std::nullopt;
  return *found->second;
}

bool ProgressBoard::is_name(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  return !text.empty() && text.size() <= kLongest &&
         std::ranges::all_of(
             text, [](unsigned char letter) { return std::isalnum(letter) != 0 || letter == '-'; });
}

}  // namespace roofcast
