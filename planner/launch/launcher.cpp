#include "planner/launch/launcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"
#include "planner/launch/shell_text.hpp"

namespace roofcast {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kExpected =
    "expected vllm serve, python -m vllm.entrypoints.openai.api_server, python -m "
    "sglang.launch_server, sglang serve, trtllm-serve, python -m "
    "atom.entrypoints.openai_server, or docker run of one of their images";

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Number of leading `words` that match the program; 0 if they do not.
std::size_t match(const std::array<std::string_view, 2>& program,
                  std::span<const std::string> words) {
  if (base_name(words[0]) != program[0]) return 0;
  if (program[1].empty()) return 1;
  return words.size() > 1 && words[1] == program[1] ? 2 : 0;
}

/// The same for the first program of the engine that matches.
std::size_t matched_words(ServeEngine engine, std::span<const std::string> words) {
  for (const auto& program : serve_flags(engine).programs) {
    if (const std::size_t taken = match(program, words)) return taken;
  }
  return 0;
}

// ---- containers

/// Options of `docker run` without a value; all other options with one dash or two take one.
bool is_bare_option(std::string_view word) {
  constexpr std::array<std::string_view, 9> kBare = {
      "--rm",   "--detach",    "--interactive", "--tty",  "--privileged",
      "--init", "--read-only", "--publish-all", "--quiet"};
  if (std::find(kBare.begin(), kBare.end(), word) != kBare.end()) return true;
  if (word.starts_with("--")) return word.find('=') != std::string_view::npos;
  return word.find_first_not_of("ditqP", 1) == std::string_view::npos;
}

struct Container {
  std::string image{};
  std::string entrypoint{};
  Words command{};
  Words environment{};
};

/// The container that `docker run` or `podman run` starts; nullopt for other commands.
std::optional<Container> container_of(const Words& words) {
  const auto is_runtime = [](const std::string& word) {
    return base_name(word) == "docker" || base_name(word) == "podman" ||
           base_name(word) == "nerdctl";
  };
  const auto runtime = std::find_if(words.begin(), words.end(), is_runtime);
  if (runtime == words.end() || std::next(runtime) == words.end()) return std::nullopt;
  if (*std::next(runtime) != "run") return std::nullopt;
  Container container;
  auto at = runtime + 2;
  for (; at != words.end() && at->starts_with('-'); ++at) {
    const std::size_t equals = at->find('=');
    const std::string name = at->substr(0, equals);
    const bool bare = is_bare_option(*at);
    if (!bare && std::next(at) == words.end()) break;
    const std::string value =
        bare ? (equals == std::string::npos ? "" : at->substr(equals + 1)) : *++at;
    if (name == "-e" || name == "--env") container.environment.push_back(value);
    if (name == "--entrypoint") container.entrypoint = value;
  }
  if (at == words.end()) return std::nullopt;
  container.image = *at;
  container.command.assign(std::next(at), words.end());
  if (!container.entrypoint.empty()) {
    container.command.insert(container.command.begin(), container.entrypoint);
  }
  return container;
}

/// The engine of an image, by the last part of its name: "vllm-openai" of
/// vllm/vllm-openai:v0.11.0.
std::optional<ServeEngine> engine_of_image(const std::string& name) {
  const std::string without_tag = name.substr(0, name.find(':', name.rfind('/') + 1));
  for (const ServeEngine engine : kServeEngines) {
    if (without_tag.find(serve_flags(engine).image_part) != std::string::npos) return engine;
  }
  return std::nullopt;
}

// ---- the search

class LaunchFinder {
 public:
  void search(const std::string& text, int depth) {
    constexpr int kDeepest = 4;  // bash -c "bash -c ..."
    if (depth > kDeepest) return;
    ShellScript script = read_shell(text);
    files_.merge(script.files);
    for (const ShellCommand& command : script.commands) look_at(command, depth);
  }

  Launch result() {
    if (found_.empty()) {
      throw UsageError(fmt::format("the command starts no engine ({})", kExpected));
    }
    if (found_.size() > 1) {
      throw UsageError(fmt::format("the command starts {} servers, expected one", found_.size()));
    }
    Launch launch = std::move(found_.front());
    if (launch.version.empty()) launch.version = installed_[launch.engine];
    launch.environment.insert(launch.environment.begin(), exported_.begin(), exported_.end());
    launch.files = std::move(files_);
    return launch;
  }

 private:
  void look_at(const ShellCommand& command, int depth) {
    const Words& words = command.words;
    Words variables;
    for (const auto& [name, value] : command.assignments) {
      variables.push_back(fmt::format("{}={}", name, value));
    }
    if (words.empty()) {
      if (command.exports) exported_.insert(exported_.end(), variables.begin(), variables.end());
      return;
    }
    note_versions(words);
    const auto container = container_of(words);
    if (!container) {
      run(words, {.environment = variables}, depth);
      return;
    }
    const std::optional<ServeEngine> engine = engine_of_image(container->image);
    Launch launch{.environment = container->environment};
    if (engine) {
      const std::size_t tag = container->image.find(':', container->image.rfind('/') + 1);
      const std::string release =
          tag == std::string::npos ? "" : release_of(container->image.substr(tag + 1));
      if (release.find('.') != std::string::npos) launch.version = release;
    }
    const std::size_t before = found_.size();
    run(container->command, launch, depth);
    if (found_.size() > before || !engine || !serve_flags(*engine).image_serves) return;
    launch.engine = *engine;
    launch.arguments = container->command;
    found_.push_back(std::move(launch));
  }

  /// Handles a command, or the one that it wraps.
  void run(const Words& words, Launch launch, int depth) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (is_shell_command(words, i)) {
        const std::size_t before = found_.size();
        search(words[i], depth + 1);
        for (std::size_t j = before; j < found_.size(); ++j) join(found_[j], launch);
        return;
      }
      const std::span<const std::string> rest(words.begin() + static_cast<std::ptrdiff_t>(i),
                                              words.end());
      for (const ServeEngine engine : kServeEngines) {
        const std::size_t taken = matched_words(engine, rest);
        if (taken == 0) continue;
        launch.engine = engine;
        launch.arguments.assign(rest.begin() + static_cast<std::ptrdiff_t>(taken), rest.end());
        add_wrapper_variables(words, i, launch);
        found_.push_back(std::move(launch));
        return;
      }
    }
  }

  static void join(Launch& found, const Launch& outer) {
    if (found.version.empty()) found.version = outer.version;
    found.environment.insert(found.environment.begin(), outer.environment.begin(),
                             outer.environment.end());
  }

  /// bash -c 'COMMAND', at COMMAND.
  static bool is_shell_command(const Words& words, std::size_t at) {
    if (at < 2) return false;
    const std::string_view shell = base_name(words[at - 2]);
    const std::string& flag = words[at - 1];
    return (shell == "bash" || shell == "sh" || shell == "zsh") && flag.starts_with("-") &&
           flag.ends_with("c");
  }

  /// env A=b, mpirun -x A=b and the like.
  static void add_wrapper_variables(const Words& words, std::size_t end, Launch& launch) {
    for (std::size_t i = 0; i < end; ++i) {
      if (words[i].starts_with("-")) continue;
      if (words[i].find('=') != std::string::npos) launch.environment.push_back(words[i]);
    }
  }

  /// pip install vllm==0.11.0
  void note_versions(const Words& words) {
    for (const std::string& word : words) {
      const std::size_t equals = word.find("==");
      if (equals == std::string::npos) continue;
      const std::string package = word.substr(0, word.find_first_of("[="));
      const std::string version = release_of(std::string_view(word).substr(equals + 2));
      for (const ServeEngine engine : kServeEngines) {
        const auto& packages = serve_flags(engine).packages;
        if (std::ranges::find(packages, package) != packages.end()) installed_[engine] = version;
      }
    }
  }

  std::vector<Launch> found_{};
  Words exported_{};
  std::map<ServeEngine, std::string> installed_{};
  std::map<std::string, std::string> files_{};
};

}  // namespace

Launch find_launch(const std::string& script) {
  LaunchFinder finder;
  finder.search(script, 0);
  return finder.result();
}

}  // namespace roofcast
