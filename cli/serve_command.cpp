// roofcast serve: the web page and its API, until Ctrl-C or SIGTERM.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "base/io/named_pipe.hpp"
#include "cli/mock_server.hpp"
#include "cli/options/arguments.hpp"
#include "cli/until_signal.hpp"
#include "planner/evaluate_all.hpp"
#include "planner/flags/flag_values.hpp"
#include "reports/store.hpp"
#include "roofcast/gpus.hpp"
#include "serve/access.hpp"
#include "serve/api.hpp"
#include "serve/http_server.hpp"
#include "serve/process_memory.hpp"
#include "serve/routes.hpp"

namespace roofcast {
namespace {

constexpr std::int64_t kMaxThreads = 256;
constexpr int kHeapsBeside = 2;  // in addition to those of running questions, for connections

/// The token itself, or the first line of the file named after '@'.
std::string token_of(const std::string& text) {
  if (!text.starts_with('@')) return text;
  const std::string path = text.substr(1);
  refuse_named_pipe(path);
  std::ifstream file(path);
  std::array<char, 4096> line{};  // a longer line is not a token
  if (!file || !file.getline(line.data(), line.size())) {
    throw Error(path + ": cannot be read; expected a token on its first line");
  }
  std::string token = line.data();
  while (!token.empty() && (token.back() == '\r' || token.back() == ' ')) token.pop_back();
  return token;
}

Usage serve_usage(ServeOptions& target, std::vector<std::string>& profiles) {
  Usage usage{.synopsis = "roofcast serve [--port N] [--store FILE] [--gpu FILE...] [options]",
              .example = "roofcast serve --port 8090 --store roofcast.db",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {}};
  usage.options.add_options()("host", po::value(&target.host)->value_name("ADDRESS"),
                              "address to listen on (default 127.0.0.1: this machine only)")(
      "port",
      converted(target.port, "--port",
                [](const std::string& text, const std::string& flag) {
                  const CountRule rule{
                      .what = "port", .examples = "8090, 0", .min = 0, .max = 65535};
                  return static_cast<int>(parse_count_by(rule, text, flag));
                })
          ->value_name("N"),
      "port (default 8090; 0: any free one)")("store", po::value(&target.store)->value_name("FILE"),
                                              "the SQLite store (default roofcast.db)")(
      "token",
      converted(target.token, "--token",
                [](const std::string& text, const std::string&) { return token_of(text); })
          ->value_name("T|@FILE"),
      "required of every client; mandatory if others can reach --host")(
      "max-requests",
      converted(target.api.max_requests, "--max-requests", parse_positive)->value_name("N"),
      "maximum requests per simulation (default 20000)")(
      "threads",
      converted(
          target.api.runs_at_once, "--threads",
          [](const std::string& text, const std::string& flag) {
            const CountRule rule{
                .what = "number of threads", .examples = "1, 8", .min = 1, .max = kMaxThreads};
            return static_cast<int>(parse_count_by(rule, text, flag));
          })
          ->value_name("N"),
      "questions answered in parallel (default: cores)")(
      "gpu", po::value(&profiles)->multitoken()->value_name("FILE"),
      "hardware profiles to offer in addition to the built-in ones");
  return usage;
}

/// Whether runs can be saved. An existing store must at least be readable; a missing one is created
/// when the first run is saved. SQLite writes a journal next to the file.
bool check_store(const std::string& path) {
  std::error_code ignored;
  if (path.empty()) throw UsageError("--store: expected a file name");
  const auto folder = std::filesystem::absolute(path).parent_path();
  if (std::filesystem::exists(path, ignored)) {
    const Store readable(path, Store::Mode::read);
    return access(path.c_str(), W_OK) == 0 && access(folder.c_str(), W_OK | X_OK) == 0;
  }
  if (!std::filesystem::is_directory(folder, ignored)) {
    throw Error(fmt::format("{}: its folder {} does not exist", path, folder.string()));
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    throw Error(fmt::format("{}: its folder {} cannot be written", path, folder.string()));
  }
  return true;
}

void check_access(const ServeOptions& options) {
  if (!options.token.empty()) check_token(options.token);
  if (options.token.empty() && !is_loopback(options.host)) {
    throw UsageError(
        "--host " + options.host +
        ": reachable by other machines, so --token is required (openssl rand -hex 16 makes one)");
  }
}

/// The profiles by name. Throws Error for one that cannot be read or whose name is taken.
std::vector<OfferedProfile> offered_profiles(const std::vector<std::string>& paths) {
  std::vector<std::string> taken;
  if (!paths.empty()) {
    for (const GpuFacts& gpu : list_gpus().gpus) taken.push_back(gpu.name);
  }
  std::vector<OfferedProfile> profiles;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_regular_file(path)) {
      throw Error(path + ": cannot be read; expected a hardware profile");
    }
    const std::string whole = std::filesystem::absolute(path).string();  // never read as a name
    const std::string name = describe_gpu(whole).gpu.name;
    if (std::ranges::find(taken, name) != taken.end()) {
      throw Error(fmt::format("{}: name: there is another GPU named {}", path, name));
    }
    taken.push_back(name);
    profiles.push_back({.name = name, .path = whole});
  }
  return profiles;
}

std::string address(const ServeOptions& options, int port) {
  const bool v6 = options.host.find(':') != std::string::npos;
  return fmt::format("http://{}{}{}:{}/", v6 ? "[" : "", options.host, v6 ? "]" : "", port);
}

/// One line as text; as JSON an object, for programs that use a free port with --port 0.
void say_where(std::ostream& out, OutputFormat format, const std::string& url) {
  if (format == OutputFormat::json || format == OutputFormat::jsonl) {
    out << Json{{"url", url}}.dump() << "\n" << std::flush;
  } else {
    out << "roofcast serves " << url << " (Ctrl-C stops it)\n" << std::flush;
  }
}

/// The GPU of --mock: `--gpu` takes a name there.
std::string gpu_of_mock(const std::vector<std::string>& gpus) {
  if (gpus.size() > 1) throw UsageError("--gpu: one GPU is expected with --mock");
  return gpus.empty() ? std::string() : gpus.front();
}

void refuse_without_mock(const MockCommandOptions& options) {
  if (!options.deployment.model.empty()) throw UsageError("--model: needs --mock");
  if (!options.served_name.empty()) throw UsageError("--served-model-name: needs --mock");
}

}  // namespace

int run_serve(CommandContext& context) {
  ServeOptions options;
  options.api.runs_at_once = available_threads();
  std::vector<std::string> profiles;
  MockCommandOptions mock;
  Usage usage = serve_usage(options, profiles);
  usage.unlisted.add(mock_options(mock));
  usage.more = "--mock: the simulated engine as an OpenAI-compatible endpoint";
  const auto common = parse(context, usage);
  if (!common) return kExitDone;
  check_access(options);
  if (mock.on) return run_mock(context, options, mock, gpu_of_mock(profiles));
  refuse_without_mock(mock);
  options.api.saves = check_store(options.store);
  options.api.profiles = offered_profiles(profiles);

  limit_heaps(kHeapsBeside + options.api.runs_at_once + options.api.searches_at_once);
  HttpServer server(options.connections);
  const int port = server.bind(options.host, options.port);
  Api api(options.api, options.store, !options.token.empty());
  add_routes(server, api, options);
  say_where(context.out, common->output, address(options, port));
  if (!options.api.saves) {
    context.err << options.store << ": is read-only, so runs are not saved\n" << std::flush;
  }
  if (!options.token.empty()) {
    context.err << "open this once: " << address(options, port) << "?token=...\n" << std::flush;
  }
  answer_until_signal(server, [&] { api.stop(); });
  std::error_code ignored;
  const bool kept = std::filesystem::exists(options.store, ignored);
  context.err << (kept ? "stopped; saved runs are in " + options.store : "stopped") << "\n";
  return kExitDone;
}

}  // namespace roofcast
