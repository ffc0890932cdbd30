// Rooms may include only rooms below them. CONTRIBUTING.md has the table of rooms and of what each
// may include; this test reads it and every #include "..." of the product.
//
// An entry of the table's last column is a whole room ("model/") or the files directly in a folder
// ("model/*.hpp"). A file belongs to the row with the longest matching prefix, and may always
// include its own row's files.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/docs/repository_files.hpp"

namespace roofcast::test {
namespace {

struct Room {
  std::string name{};                      // "model/step/"
  std::vector<std::string> may_include{};  // "model/curves/", "model/*.hpp"
};

struct Include {
  std::string file{};
  int line = 0;
  std::string header{};
};

/// The `code` spans in a cell of the table.
std::vector<std::string> codes_in(std::string_view cell) {
  std::vector<std::string> codes;
  while (true) {
    const auto begin = cell.find('`');
    const auto end = begin == std::string_view::npos ? begin : cell.find('`', begin + 1);
    if (end == std::string_view::npos) return codes;
    codes.emplace_back(cell.substr(begin + 1, end - begin - 1));
    cell.remove_prefix(end + 1);
  }
}

std::vector<std::string> cells_of(std::string_view row) {
  std::vector<std::string> cells;
  row.remove_prefix(1);  // the leading bar
  for (auto bar = row.find('|'); bar != std::string_view::npos; bar = row.find('|')) {
    cells.emplace_back(row.substr(0, bar));
    row.remove_prefix(bar + 1);
  }
  return cells;
}

/// The rows of the table that starts with "| room | holds | may include |".
std::vector<Room> read_rooms() {
  std::vector<Room> rooms;
  bool in_table = false;
  for (const TextLine& line : lines_of("CONTRIBUTING.md")) {
    if (line.text.starts_with("| room |")) {
      in_table = true;
    } else if (in_table && line.text.starts_with("| `")) {
      const std::vector<std::string> cells = cells_of(line.text);
      rooms.push_back({.name = codes_in(cells.at(0)).at(0), .may_include = codes_in(cells.at(2))});
    } else if (in_table && !line.text.starts_with("|")) {
      break;
    }
  }
  return rooms;
}

const std::vector<Room>& rooms() {
  static const std::vector<Room> read = read_rooms();
  return read;
}

/// The row that a file belongs to; null if there is none.
const Room* room_of(const std::string& path) {
  const Room* found = nullptr;
  for (const Room& room : rooms()) {
    const bool is_longer = found == nullptr || room.name.size() > found->name.size();
    if (path.starts_with(room.name) && is_longer) found = &room;
  }
  return found;
}

/// For "model/*.hpp" the folder whose files it names; else empty.
std::string folder_of_files(const std::string& entry) {
  constexpr std::string_view kFiles = "*.hpp";
  return entry.ends_with(kFiles) ? entry.substr(0, entry.size() - kFiles.size()) : "";
}

bool covers(const std::string& entry, const std::string& path) {
  const std::string folder = folder_of_files(entry);
  if (folder.empty()) return path.starts_with(entry);
  return path.starts_with(folder) && path.find('/', folder.size()) == std::string::npos;
}

bool may_include(const Room& room, const std::string& header) {
  return room_of(header) == &room ||
         std::any_of(room.may_include.begin(), room.may_include.end(),
                     [&](const std::string& entry) { return covers(entry, header); });
}

/// Includes of the product; tests, benchmarks and examples may include anything.
std::vector<Include> product_includes() {
  constexpr std::string_view kOpening = "#include \"";
  std::vector<Include> includes;
  for (const std::string& file : repository_files()) {
    if (!is_source(file) || file.starts_with("tests/") || file.starts_with("examples/")) continue;
    for (const TextLine& line : lines_of(file)) {
      if (!line.text.starts_with(kOpening)) continue;
      const auto end = line.text.find('"', kOpening.size());
      includes.push_back({.file = file,
                          .line = line.number,
                          .header = line.text.substr(kOpening.size(), end - kOpening.size())});
    }
  }
  return includes;
}

TEST(Includes, EveryFolderWithSourcesIsARoom) {
  ASSERT_GT(rooms().size(), 20u);
  std::set<std::string> files;
  for (const std::string& file : repository_files()) {
    if (!is_source(file) || file.starts_with("tests/") || file.starts_with("examples/")) continue;
    EXPECT_NE(room_of(file), nullptr) << file << ": CONTRIBUTING.md has no row for its folder";
    files.insert(file);
  }
  for (const Room& room : rooms()) {
    const auto first = files.lower_bound(room.name);
    EXPECT_TRUE(first != files.end() && first->starts_with(room.name))
        << room.name << ": a row of CONTRIBUTING.md without sources";
  }
}

TEST(Includes, TheTableHasNoCycles) {
  std::map<std::string, std::set<std::string>> arrows;
  for (const Room& room : rooms()) {
    for (const Room& other : rooms()) {
      if (&room == &other) continue;
      const bool reaches = std::any_of(
          room.may_include.begin(), room.may_include.end(), [&](const std::string& entry) {
            const std::string folder = folder_of_files(entry);
            return folder.empty() ? other.name.starts_with(entry) : other.name == folder;
          });
      if (reaches) arrows[room.name].insert(other.name);
    }
  }
  // Rooms that nothing left points to are taken away until none is left (Kahn, CACM 5(11), 1962).
  std::set<std::string> left;
  for (const Room& room : rooms()) left.insert(room.name);
  bool shrinks = true;
  while (shrinks) {
    shrinks = false;
    for (const std::string& name : std::set<std::string>(left)) {
      const bool is_used = std::any_of(left.begin(), left.end(), [&](const std::string& user) {
        return user != name && arrows[user].contains(name);
      });
      if (!is_used) shrinks = left.erase(name) > 0;
    }
  }
  EXPECT_TRUE(left.empty()) << "circle through " << *left.begin();
}

TEST(Includes, FollowTheTable) {
  const std::vector<Include> includes = product_includes();
  ASSERT_GT(includes.size(), 2000u);
  for (const Include& include : includes) {
    const Room* room = room_of(include.file);
    if (room == nullptr || room_of(include.header) == nullptr) continue;  // made by the build
    EXPECT_TRUE(may_include(*room, include.header))
        << include.file << ":" << include.line << ": " << room->name << " may not include "
        << include.header << " (CONTRIBUTING.md, Rooms)";
  }
}

TEST(Includes, EntriesCoverRoomsOrFilesOfAFolder) {
  EXPECT_TRUE(covers("model/", "model/step/roofline.hpp"));
  EXPECT_TRUE(covers("model/*.hpp", "model/deployment.hpp"));
  EXPECT_FALSE(covers("model/*.hpp", "model/step/roofline.hpp"));
  EXPECT_FALSE(covers("model/", "kernels/gemm.hpp"));
}

}  // namespace
}  // namespace roofcast::test
