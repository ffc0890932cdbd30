// The store of every command that is given no other. Where it cannot be written, simulations are
// answered all the same.
#pragma once

#include <iosfwd>
#include <string>

#include "cli/options/arguments.hpp"

namespace roofcast {

inline constexpr const char* kDefaultStore = "roofcast.db";

/// False if `path` is the default store and cannot be written in this folder, which it says on
/// `err`. True for any other path: opening it says what is wrong.
bool can_be_kept_in(const std::string& path, std::ostream& err);

/// Where a command stores what it finds.
struct StoreOptions {
  bool on = true;
  std::string path = kDefaultStore;
  bool keep_requests = false;
};

struct StoreHelp {
  const char* path = "the SQLite store (default roofcast.db)";
  const char* off = "do not store the run";
};

/// --store and --no-store. `target` must outlive the parse.
void add_store_options(po::options_description& options, StoreOptions& target, StoreHelp help = {});

/// --keep-requests.
void add_keep_requests(po::options_description& options, StoreOptions& target,
                       const char* help = "store every request too");

/// Throws UsageError if requests are to be kept but nothing is stored.
void check(const StoreOptions& options);

/// Whether there is a store to be opened; if it cannot be, says so on `err` (can_be_kept_in).
bool can_store(const StoreOptions& options, std::ostream& err);

}  // namespace roofcast
