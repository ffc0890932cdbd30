// Every path named in a document or comment must exist: readers follow them, and nothing else fails
// when a file moves.
//
// Checked: words with a slash that start with a folder of the root ("model/step/roofline.cpp",
// "tests/golden/*.txt", "model/io/gpu_reader" for a file with any ending; NAME stands for any
// name), names of C++ files alone ("roofline.cpp": anywhere in the project), and in documents every
// `code` span or link that ends like a source or a folder, also relative to the document's own
// folder. Not checked: paths outside the project ("../shared", "/usr"), and build outputs
// ("build/").
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/docs/repository_files.hpp"

namespace roofcast::test {
namespace {

/// Files of other projects that are cited by name only, and paths that could be ours.
const std::set<std::string, std::less<>> kOthersFiles{"llama.cpp", "kvCacheManager.cpp",
                                                      "docs/gguf.md", "docs/source/performance",
                                                      "docs/source/developer-guide"};

/// Placeholder for any name, as in "simulator/engine/policy_NAME.cpp".
constexpr std::string_view kPlaceholder = "NAME";

bool is_path_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_.*/-").find(c) != std::string_view::npos;
}

bool has_ending(std::string_view word, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return word.ends_with(ending); });
}

/// Whether `name` matches `pattern`, in which * stands for anything except a slash.
bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() != '*') {
    return !name.empty() && pattern.front() == name.front() &&
           matches(pattern.substr(1), name.substr(1));
  }
  for (std::size_t taken = 0; taken <= name.size(); ++taken) {
    if (matches(pattern.substr(1), name.substr(taken))) return true;
    if (taken < name.size() && name[taken] == '/') return false;
  }
  return false;
}

/// Runs of path characters. A run after a character that makes it part of something else (an
/// address, a variable, a flag) is not a path.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at < text.size()) {
    if (!is_path_character(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_path_character(text[end])) ++end;
    const bool is_part =
        at > 0 && std::string_view("$@~{}<>:\\").find(text[at - 1]) != std::string_view::npos;
    std::string word(text.substr(at, end - at));
    while (word.ends_with('.') || word.ends_with('-')) word.pop_back();
    if (!is_part && !word.empty()) words.push_back(std::move(word));
    at = end;
  }
  return words;
}

class Tree {
 public:
  Tree() : files_(repository_files()) {
    for (const std::string& file : files_) {
      known_.insert(file);
      known_.insert(file.substr(0, file.rfind('.')));  // "model/io/gpu_reader"
      names_.insert(file_name(file));
      for (std::string folder = folder_of(file); !folder.empty(); folder = folder_of(folder)) {
        known_.insert(folder);
        if (folder.find('/') == std::string::npos) top_.insert(folder);
      }
    }
  }

  const std::vector<std::string>& files() const { return files_; }

  bool has(std::string path) const {
    while (path.ends_with('/')) path.pop_back();
    if (const auto at = path.find(kPlaceholder); at != std::string::npos) {
      path.replace(at, kPlaceholder.size(), "*");
    }
    if (path.find('*') == std::string::npos) return known_.contains(path);
    return std::any_of(known_.begin(), known_.end(),
                       [&](const std::string& one) { return matches(path, one); });
  }

  /// Searches from the root, from `folder`, and from the folders around it.
  bool has_from(std::string folder, const std::string& path) const {
    for (; !folder.empty(); folder = folder_of(folder)) {
      if (has(folder + "/" + path)) return true;
    }
    return has(path);
  }

  /// A file of this name in `folder` or below it.
  bool has_below(const std::string& folder, const std::string& name) const {
    return std::any_of(files_.begin(), files_.end(), [&](const std::string& file) {
      return file.starts_with(folder) && matches(name, file_name(file));
    });
  }

  bool begins_at_root(std::string_view path) const {
    const auto slash = path.find('/');
    return slash != std::string_view::npos && top_.contains(std::string(path.substr(0, slash)));
  }

  bool has_name(const std::string& name) const { return names_.contains(name); }

 private:
  std::vector<std::string> files_;
  std::set<std::string> known_, names_, top_;
};

const Tree& tree() {
  static const Tree one;
  return one;
}

/// Whether a word of a comment or document, in a file of `folder`, is a path that does not exist.
bool is_stale(const std::string& word, const std::string& folder) {
  if (kOthersFiles.contains(word) || word.starts_with("python/sglang/")) return false;
  if (tree().begins_at_root(word)) return !tree().has_from(folder, word);
  if (word.find('/') != std::string::npos || word.find('*') != std::string::npos) return false;
  if (!has_ending(word, {".cpp", ".hpp", ".cu", ".cuh"}) || word.front() == '.') return false;
  if (word.find(kPlaceholder) != std::string::npos) return false;
  return !tree().has_name(word);
}

/// The same for a `code` span or link of a document. A path there may start in the document's own
/// folder, and a file name must exist in that folder, below it, or at the root.
bool is_stale_code(const std::string& word, const std::string& folder) {
  const bool is_folder = word.ends_with('/');
  const bool is_file = has_ending(word, {".cpp", ".hpp", ".cu", ".cuh", ".md", ".sql"});
  if (!is_folder && !is_file) return false;
  if (word.front() == '.' || word.front() == '/' || kOthersFiles.contains(word)) return false;
  if (word.starts_with("build/")) return false;
  if (tree().has_from(folder, word)) return false;
  return is_folder || word.find('/') != std::string::npos || !tree().has_below(folder, word);
}

/// The comment in a source line; empty if there is none.
std::string comment_of(const std::string& line, std::string_view opening) {
  for (auto at = line.find(opening); at != std::string::npos; at = line.find(opening, at + 1)) {
    if (at == 0 || line[at - 1] != ':') return line.substr(at);  // "https://"
  }
  return "";
}

/// How comments of this file start; empty if its comments are not checked.
std::string_view comment_opening(const std::string& path) {
  if (is_source(path) || path.ends_with(".js")) return "//";
  const std::string name = file_name(path);
  const bool is_sample = path.starts_with("tests/fuzz/corpus/");
  const bool is_script = !is_sample && name.find('.') == std::string::npos;
  const bool has_hashes = has_ending(name, {".cmake", ".sh", ".py", "CMakeLists.txt"});
  return has_hashes || (is_script && name != "LICENSE") ? "#" : "";
}

/// Contents of `code` spans and ](links) in a line of a document.
std::vector<std::string> code_in(const std::string& line) {
  std::vector<std::string> parts;
  const auto collect = [&](std::string_view open, char close) {
    for (auto at = line.find(open); at != std::string::npos;) {
      const auto begin = at + open.size();
      const auto end = line.find(close, begin);
      if (end == std::string::npos) return;
      parts.push_back(line.substr(begin, end - begin));
      at = line.find(open, end + 1);
    }
  };
  collect("`", '`');
  collect("](", ')');
  return parts;
}

/// Text outside and inside fences is read by different rules.
std::vector<std::string> stale_words_of_document(const std::string& path) {
  std::vector<std::string> stale;
  bool in_fence = false;
  for (const TextLine& line : lines_of(path)) {
    const auto add = [&](const std::string& word) {
      stale.push_back(path + ":" + std::to_string(line.number) + ": " + word);
    };
    if (line.text.starts_with("```")) in_fence = !in_fence;
    for (const std::string& word : words_of(line.text)) {
      if (is_stale(word, folder_of(path))) add(word);
    }
    if (in_fence) continue;
    for (const std::string& code : code_in(line.text)) {
      const bool is_word = std::all_of(code.begin(), code.end(), is_path_character);
      if (!code.empty() && is_word && !is_stale(code, folder_of(path)) &&
          is_stale_code(code, folder_of(path))) {
        add(code);
      }
    }
  }
  return stale;
}

std::vector<std::string> stale_words_of_comments(const std::string& path,
                                                 std::string_view opening) {
  std::vector<std::string> stale;
  for (const TextLine& line : lines_of(path)) {
    for (const std::string& word : words_of(comment_of(line.text, opening))) {
      if (!is_stale(word, folder_of(path))) continue;
      stale.push_back(path + ":" + std::to_string(line.number) + ": " + word);
    }
  }
  return stale;
}

TEST(Paths, InDocumentsExist) {
  int documents = 0;
  for (const std::string& path : tree().files()) {
    if (!path.ends_with(".md")) continue;
    ++documents;
    for (const std::string& stale : stale_words_of_document(path)) ADD_FAILURE() << stale;
  }
  EXPECT_GT(documents, 20);
}

TEST(Paths, InCommentsExist) {
  int sources = 0;
  for (const std::string& path : tree().files()) {
    const std::string_view opening = comment_opening(path);
    if (opening.empty()) continue;
    ++sources;
    for (const std::string& stale : stale_words_of_comments(path, opening)) ADD_FAILURE() << stale;
  }
  EXPECT_GT(sources, 1000);
}

TEST(Paths, OfFilesThatMovedAreFound) {
  EXPECT_TRUE(is_stale("model/step/no_such_file.cpp", "model/step"));
  EXPECT_TRUE(is_stale("model/no_such_room/", ""));
  EXPECT_TRUE(is_stale("tests/golden/no_such_*.txt", ""));
  EXPECT_TRUE(is_stale("no_such_file.hpp", "model/step"));
  EXPECT_FALSE(is_stale("model/step/roofline.cpp", "base"));
  EXPECT_FALSE(is_stale("model/io/gpu_reader", ""));
  EXPECT_FALSE(is_stale("roofline.hpp", "model/step"));
  EXPECT_FALSE(is_stale("csrc/flash_attn/flash_api.cpp", "model/step"));  // another project's
}

TEST(Paths, InCodeOfADocumentMayBeginInItsFolder) {
  EXPECT_FALSE(is_stale_code("cuda/rms_norm.cu", "kernels"));
  EXPECT_FALSE(is_stale_code("rms_norm.cu", "kernels"));
  EXPECT_FALSE(is_stale_code("build/release/bin/", ""));
  EXPECT_TRUE(is_stale_code("cuda/no_such_kernel.cu", "kernels"));
  EXPECT_TRUE(is_stale_code("rms_norm.cu", "planner"));
  EXPECT_TRUE(is_stale_code("no_such_folder/", "kernels"));
}

TEST(Paths, AreReadOutOfText) {
  EXPECT_EQ(words_of("see model/io/x.cpp, and (y.hpp)."),
            (std::vector<std::string>{"see", "model/io/x.cpp", "and", "y.hpp"}));
  EXPECT_EQ(words_of("https://a.b/model/x $HOME/model"), (std::vector<std::string>{"https"}));
  EXPECT_EQ(comment_of("int x;  // model/", "//"), "// model/");
  EXPECT_EQ(comment_of("\"https://a.b\"", "//"), "");
  EXPECT_TRUE(matches("tests/*.txt", "tests/a.txt"));
  EXPECT_FALSE(matches("tests/*.txt", "tests/a/b.txt"));
}

}  // namespace
}  // namespace roofcast::test
