// roofcast learn [STEP]: the lesson, guess by guess on a terminal, else with its answers; `learn
// glossary` explains terms, `learn sampling` shows temperature, top-k and top-p.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "cli/learn/lesson_session.hpp"
#include "cli/options/flag_options.hpp"
#include "cli/options/option_groups.hpp"
#include "cli/spelling.hpp"
#include "reports/document.hpp"
#include "reports/figures/figure_table.hpp"
#include "reports/pages/figures/lesson_figures.hpp"
#include "roofcast/question_flags.hpp"

namespace roofcast {
namespace {

constexpr const char* kTeachBack = "teach-back";
constexpr std::array<std::string_view, 1> kOwnCommands = {"glossary"};

/// For whom text is laid out.
struct Layout {
  OutputFormat format = OutputFormat::table;
  std::size_t width = 96;  // columns of a line of a terminal
};

Layout layout_for(const CommandContext& context, OutputFormat format) {
  constexpr std::size_t kIndent = 2;
  constexpr std::size_t kMinWidth = 40;
  Layout layout{.format = format};
  const std::size_t columns = context.terminal.width;
  if (columns > 0) layout.width = std::clamp(columns - kIndent, kMinWidth, layout.width);
  return layout;
}

/// A paragraph as lines of a section: broken for a terminal, whole for other formats.
void add_paragraph(const std::string& text, const Layout& layout, std::vector<std::string>& lines) {
  if (layout.format != OutputFormat::table) return lines.push_back(text);
  if (!lines.empty()) lines.emplace_back();
  for (std::string& line : wrapped(text, layout.width)) lines.push_back(std::move(line));
}

// ---- the lesson

void add_step(const LessonStep& step, const std::vector<Figure>& figures, const Layout& layout,
              Document& document) {
  Section section{.heading = step.title, .lines = {}, .table = {}};
  const auto add = [&](const std::string& text) { add_paragraph(text, layout, section.lines); };
  for (const std::string& text : step.text) add(text);
  if (step.ask) {
    add("Guess: " + step.ask->prompt);
    add("Answer: " + answer_words(*step.ask) + ".");
  }
  for (const std::string& text : step.reveal) add(text);
  for (const Figure& figure : figures) {
    if (std::ranges::find(step.figures, figure.key) == step.figures.end()) continue;
    const bool is_first = section.table.columns.empty();
    if (!is_first) {
      document.sections.push_back(
          std::exchange(section, {.heading = figure.title, .lines = {}, .table = {}}));
    }
    section.table = figure_table(figure);
    section.table.title = is_first ? figure.title : "";
  }
  document.sections.push_back(std::move(section));
}

void add_teach_back(const LessonAnswer& answer, const Layout& layout, Document& document) {
  Section section{.heading = "Teach it back", .lines = {}, .table = {}};
  for (const TeachBack& part : answer.teach_back) {
    add_paragraph(part.question, layout, section.lines);
    if (layout.format == OutputFormat::table) {
      for (const std::string& line : wrapped(part.answer, layout.width - 2)) {
        section.lines.push_back("  " + line);
      }
    } else {
      section.lines.push_back(part.answer);
    }
  }
  document.sections.push_back(std::move(section));
}

Document lesson_document(const LessonAnswer& answer, const Layout& layout) {
  Document document{.machine = to_json(answer), .sections = {}};
  Section head{.heading = answer.headline, .lines = {}, .table = {}};
  for (const std::string& note : answer.notes) add_paragraph(note, layout, head.lines);
  document.sections.push_back(std::move(head));
  const std::vector<Figure> figures = lesson_figures(answer);
  for (const LessonStep& step : answer.steps) add_step(step, figures, layout, document);
  if (!answer.teach_back.empty()) add_teach_back(answer, layout, document);
  return document;
}

/// ", did you mean 'slo'?", but not for a short word of which hardly a letter is right.
std::string suggested_step(const std::string& key, const std::vector<std::string>& keys) {
  constexpr std::size_t kShort = 4;
  if (key.size() >= kShort) return did_you_mean(key, keys);
  std::vector<std::string> alike;
  for (const std::string& one : keys) {
    if (one.front() == key.front()) alike.push_back(one);
  }
  return alike.empty() ? "" : did_you_mean(key, alike);
}

/// Only the step of that key, or the questions at the end.
LessonAnswer only(LessonAnswer answer, const std::string& key) {
  if (key == kTeachBack) {
    answer.steps.clear();
    return answer;
  }
  if (const LessonStep* step = find_step(answer, key)) {
    answer.steps = std::vector<LessonStep>{*step};
    answer.teach_back.clear();
    return answer;
  }
  const std::vector<std::string> keys = lesson_step_keys();
  if (std::ranges::find(kOwnCommands, key) != kOwnCommands.end()) {
    throw UsageError(
        fmt::format("learn: '{}' is a command of its own: roofcast learn {}", key, key));
  }
  throw UsageError(fmt::format("learn: no step '{}'{} (steps: {}; or glossary, sampling)", key,
                               suggested_step(key, keys), fmt::join(keys, ", ")));
}

/// " --model gpt2 --gpu l4": what the command names, so that another one asks for the same.
std::string chosen_machine(const DeploymentOptions& deployment) {
  std::string flags;
  if (!deployment.model.empty()) flags += " --model " + deployment.model;
  if (!deployment.gpu.empty()) flags += " --gpu " + deployment.gpu;
  return flags;
}

/// A person sits at both ends.
bool is_conversation(const CommandContext& context, OutputFormat format) {
  return format == OutputFormat::table && &context.out == &std::cout && isatty(STDIN_FILENO) == 1 &&
         isatty(STDOUT_FILENO) == 1;
}

// ---- glossary and sampling

int run_glossary(CommandContext& context) {
  std::vector<std::string> words;
  Usage usage{.synopsis = "roofcast learn glossary [TERM]",
              .example = "roofcast learn glossary ridge point",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {}};
  usage.options.add_options()("term", po::value(&words)->value_name("TERM"),
                              "a term or a part of it (default: all terms)");
  usage.positional.add("term", -1);
  const auto common = parse(context, usage);
  if (!common) return kExitDone;
  const std::string sought = fmt::format("{}", fmt::join(words, " "));
  std::vector<GlossaryTerm> terms = glossary();
  if (!sought.empty()) {
    const GlossaryTerm* exact = find_term(sought);
    terms = exact ? std::vector<GlossaryTerm>{*exact} : terms_with(sought);
  }
  if (terms.empty()) {
    std::vector<std::string> names;
    for (const GlossaryTerm& term : glossary()) names.push_back(term.term);
    throw UsageError(
        fmt::format("learn glossary: no term '{}'{} (roofcast learn glossary lists "
                    "them)",
                    sought, did_you_mean(sought, names)));
  }
  const Layout layout = layout_for(context, common->output);
  Document document{.machine = to_json(glossary_answer(terms)), .sections = {}};
  for (const GlossaryTerm& term : terms) {
    Section section{.heading = term.term, .lines = {}, .table = {}};
    for (const std::string& text : {term.meaning, "See: " + term.where}) {
      if (common->output != OutputFormat::table) {
        section.lines.push_back(text);
        continue;
      }
      for (std::string& line : wrapped(text, layout.width))
        section.lines.push_back(std::move(line));
    }
    document.sections.push_back(std::move(section));
  }
  print(std::move(document), common->output, context);
  return kExitDone;
}

int run_sampling(CommandContext& context) {
  SamplingQuestion question;
  Usage usage{.synopsis = "roofcast learn sampling [--temperature T] [--top-k K] [--top-p P]",
              .example = "roofcast learn sampling --temperature 0.7 --top-p 0.9",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {}};
  add_flags(usage.options, sampling_flags(), question);
  const auto common = parse(context, usage);
  if (!common) return kExitDone;
  const SamplingAnswer answer = sampling(question);
  Figure figure = sampling_figure(answer);
  figure.series.erase(
      figure.series.begin());  // bars of what is set, beside the model's own numbers
  print({.machine = to_json(answer),
         .sections = {{.heading = figure.title,
                       .lines = {figure.caption},
                       .table = common->output == OutputFormat::table ? table_with_bars(figure)
                                                                      : figure.table}}},
        common->output, context);
  return kExitDone;
}

}  // namespace

int run_learn(CommandContext& context) {
  std::vector<std::string>& arguments = context.arguments;
  const std::string first = arguments.empty() ? "" : arguments.front();
  if (first == "glossary" || first == "sampling") {
    arguments.erase(arguments.begin());
    return first == "glossary" ? run_glossary(context) : run_sampling(context);
  }
  LessonQuestion question;
  std::string step;
  Usage usage{
      .synopsis = "roofcast learn [STEP] [--model M --gpu G]; roofcast learn glossary [TERM]",
      .example = "roofcast learn --model llama-3.1-8b --gpu h100",
      .options = option_group("Options"),
      .unlisted = scheduler_options(question.deployment),
      .positional = {},
      .subcommands = {"glossary", "sampling"}};
  usage.options.add_options()("step", po::value(&step)->value_name("STEP"),
                              "only this step: shape, cause, roofline ...; teach-back");
  add_flags(usage.options, lesson_flags(), question);
  usage.options.add(machine_options(question.deployment)).add(engine_options(question.deployment));
  usage.unlisted.add(more_machine_options(question.deployment));
  usage.positional.add("step", 1);
  const auto common = parse(context, usage);
  if (!common) return kExitDone;

  refuse_idle_flags(question);
  LessonAnswer answer = learn(question);
  if (!step.empty()) answer = only(std::move(answer), step);
  if (is_conversation(context, common->output)) {
    hold_lesson(answer, {.again = chosen_machine(question.deployment)}, std::cin, context.out);
  } else {
    print(lesson_document(answer, layout_for(context, common->output)), common->output, context);
  }
  return kExitDone;
}

}  // namespace roofcast
