// roofcast profile import: kernel tables that others measured, as a hardware profile.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <utility>

#include "base/dates.hpp"
#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/version.hpp"
#include "calibrate/tables/aiconfigurator.hpp"
#include "calibrate/tables/import_profile.hpp"
#include "calibrate/tables/llmservingsim.hpp"
#include "cli/calibrate/profile_document.hpp"
#include "cli/options/arguments.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/model_reader.hpp"

namespace roofcast {
namespace {

namespace fs = std::filesystem;

bool is_table(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".csv") || name.ends_with(".csv.gz");
}

/// The N of a profiler's folder tpN; 0 for any other.
std::int64_t tensor_parallel_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  constexpr std::size_t kMaxDigits = 4;
  if (!name.starts_with("tp") || name.size() == 2 || name.size() > 2 + kMaxDigits) return 0;
  const std::string digits = name.substr(2);
  const bool number = std::all_of(digits.begin(), digits.end(),
                                  [](unsigned char c) { return c >= '0' && c <= '9'; });
  return number ? std::stoll(digits) : 0;
}

bool is_profiler_folder(const fs::path& folder) {
  return tensor_parallel_of(folder) > 0 && fs::exists(folder.parent_path() / "meta.yaml");
}

/// Tables below `path` and profiler's folders, each once, in order of name.
std::vector<fs::path> sources_at(const std::string& path) {
  if (!fs::exists(path)) throw Error(path + ": no such file or folder");
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> found;
  const fs::path top = fs::canonical(path);
  if (is_profiler_folder(top)) return {top};
  for (const auto& entry : fs::recursive_directory_iterator(top)) {
    if (entry.is_directory() && is_profiler_folder(entry.path())) found.push_back(entry.path());
    const bool own = is_profiler_folder(entry.path().parent_path());
    if (entry.is_regular_file() && is_table(entry.path()) && !own) found.push_back(entry.path());
  }
  if (found.empty()) throw Error(path + ": no .csv, .csv.gz or profiler's folder in it");
  std::sort(found.begin(), found.end());
  return found;
}

/// The profiled model as one rank of `tensor` runs it on this GPU.
Deployment profiled(const ProfilerMeta& meta, std::int64_t tensor, const Gpu& gpu) {
  Deployment deployment{.model = load_model(meta.model), .gpu = gpu};
  deployment.parallel.tensor = static_cast<int>(tensor);
  check_parallelism(deployment.model, deployment.parallel);
  deployment.engine = resolve_engine("vllm-" + meta.vllm_version, {}, deployment.model,
                                     deployment.gpu, deployment.parallel);
  return deployment;
}

void read_source(const fs::path& path, const Gpu& gpu, ImportedRows& rows) {
  if (!fs::is_directory(path)) return read_aiconfigurator(path.string(), rows);
  const ProfilerMeta meta = read_profiler_meta((path.parent_path() / "meta.yaml").string());
  read_llmservingsim(path.string(), meta, profiled(meta, tensor_parallel_of(path), gpu), rows);
}

/// A table of another GPU would be believed like this one's own.
void check_devices(const ImportedRows& rows, const Gpu& gpu, std::ostream& err) {
  for (const auto& [device, count] : rows.devices) {
    std::string name;
    try {
      name = load_gpu(device).gpu.name;
    } catch (const Error&) {
      err << fmt::format("roofcast: the tables name {}, which is no known GPU; taken for {}\n",
                         device, gpu.display_name);
      continue;
    }
    if (name != gpu.name) {
      throw Error(
          fmt::format("{} rows were measured on {}, not on {}", count, device, gpu.display_name));
    }
  }
}

struct Flags {
  std::vector<std::string> words;
  std::string gpu;
  std::string out;
};

Usage usage_of(Flags& flags) {
  Usage usage{
      .synopsis = "roofcast profile import PATH... --gpu NAME [options]",
      .example = "roofcast profile import RTX4090/ --gpu rtx-4090 --out rtx-4090-vllm.json",
      .options = option_group(
          "Options (PATH: aiconfigurator's CSV tables or LLMServingSim's profiler folders)"),
      .unlisted = option_group(""),
      .positional = {},
      .subcommands = {"import"}};
  usage.options.add_options()("gpu", po::value(&flags.gpu)->required()->value_name("NAME|FILE"),
                              "the GPU of the tables: its facts are kept")(
      "out", po::value(&flags.out)->value_name("FILE"),
      "the profile (default: the GPU's name + -imported.json)");
  usage.unlisted.add_options()("words", po::value(&flags.words)->value_name("PATH"),
                               "import, and the paths");
  usage.positional.add("words", -1);
  return usage;
}

std::vector<std::string> paths_of(const Flags& flags) {
  if (flags.words.empty() || flags.words.front() != "import") {
    throw UsageError("profile: expected 'import' and the paths of kernel tables");
  }
  if (flags.words.size() < 2) throw UsageError("profile import: expected the paths of tables");
  return {flags.words.begin() + 1, flags.words.end()};
}

}  // namespace

int run_profile(CommandContext& context) {
  Flags flags;
  const auto common = parse(context, usage_of(flags));
  if (!common) return kExitDone;
  const std::vector<std::string> paths = paths_of(flags);
  const Gpu known = load_gpu(flags.gpu).gpu;

  ProfileImport import;
  import.out = flags.out.empty() ? known.name + "-imported.json" : flags.out;
  if (!is_profile_path(import.out)) {
    throw UsageError(fmt::format(
        "--out: '{}' reads like the name of a GPU; a profile ends in .json", import.out));
  }
  for (const std::string& path : paths) {
    for (const fs::path& source : sources_at(path)) import.files.push_back(source.string());
  }
  check_not_among(import.out, "--out", import.files);
  check_writable(import.out);
  for (const std::string& file : import.files) read_source(file, known, import.rows);
  check_devices(import.rows, known, context.err);
  import.gpu = import_profile(import.rows, known,
                              {.date = utc_now(), .tool = std::string("roofcast ") + kVersion});
  const std::string text = write_gpu(import.gpu);
  parse_profile(text, import.out);  // and it can be read
  write_whole(import.out, text);
  write(import_document(import), common->output, context.out);
  return kExitDone;
}

}  // namespace roofcast
