#include "cli/write_report.hpp"

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "reports/figures/chart_option.hpp"
#include "reports/figures/chart_renderer.hpp"
#include "reports/figures/drawn_series.hpp"
#include "reports/figures/png.hpp"
#include "reports/pages/html_page.hpp"
#include "reports/pages/report_document.hpp"

namespace roofcast {
namespace {

namespace fs = std::filesystem;

// PNG pixels per CSS pixel.
constexpr double kScale = 2;

struct Flagged {
  const char* flag;
  const std::string& path;
};

std::vector<Flagged> single_files(const ReportFiles& files) {
  return {{"--html", files.html}, {"--md", files.md}, {"--csv", files.csv}, {"--json", files.json}};
}

bool is_stdout(const std::string& path) { return path == "-"; }

void make_folder(const std::string& path, const char* flag) {
  std::error_code failure;
  fs::create_directories(path, failure);
  if (!fs::is_directory(path, failure)) {
    throw Error(std::string(flag) + ": " + path + " is not a folder and cannot be created");
  }
  check_writable((fs::path(path) / ".roofcast").string());
}

void write_form(const Report& report, const std::string& path, OutputFormat format,
                std::ostream& out) {
  if (path.empty()) return;
  std::ostringstream text;
  write(report, format, text);
  if (is_stdout(path)) {
    out << text.str();
  } else {
    write_whole(path, text.str());
  }
}

void write_pictures(const Report& report, const ReportFiles& files) {
  if (files.svg.empty() && files.png.empty()) return;
  ChartRenderer renderer;
  for (const ReportSection& section : report.sections) {
    for (const Figure& figure : section.figures) {
      if (!can_be_drawn(figure)) continue;
      const std::string svg =
          renderer.svg(chart_option(figure, ChartTitle::inside), chart_size(figure), "c");
      if (!files.svg.empty()) {
        write_whole((fs::path(files.svg) / (figure_id(figure) + ".svg")).string(), svg);
      }
      if (!files.png.empty()) {
        write_whole((fs::path(files.png) / (figure_id(figure) + ".png")).string(),
                    png_of(svg, kScale));
      }
    }
  }
}

}  // namespace

bool ReportFiles::any() const {
  return !html.empty() || !md.empty() || !csv.empty() || !json.empty() || !svg.empty() ||
         !png.empty();
}

void check_files(const ReportFiles& files, const std::vector<std::string>& read) {
  std::vector<std::string> taken = read;
  bool printed = false;
  for (const Flagged& file : single_files(files)) {
    if (file.path.empty()) continue;
    if (is_stdout(file.path)) {
      if (std::exchange(printed, true)) {
        throw UsageError(std::string(file.flag) + ": standard output takes only one format");
      }
      if (std::string(file.flag) == "--html") throw UsageError("--html: expected a file, not '-'");
      continue;
    }
    check_not_among(file.path, file.flag, taken);
    check_writable(file.path);
    taken.push_back(file.path);
  }
  if ((!files.svg.empty() || !files.png.empty()) && !has_charts()) {
    throw Error("this build cannot draw charts (ROOFCAST_CHARTS=OFF)");
  }
  if (!files.png.empty() && !has_png()) {
    throw Error("this build cannot write PNG: it was built without librsvg (--svg works)");
  }
  if (!files.svg.empty()) make_folder(files.svg, "--svg");
  if (!files.png.empty()) make_folder(files.png, "--png");
}

void write_report(const Report& report, const ReportFiles& files, std::ostream& out) {
  if (!files.html.empty()) write_whole(files.html, html_page(report));
  write_form(report, files.md, OutputFormat::md, out);
  write_form(report, files.csv, OutputFormat::csv, out);
  write_form(report, files.json, OutputFormat::json, out);
  write_pictures(report, files);
}

}  // namespace roofcast
