#include "simulator/workload/generate_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/wording.hpp"
#include "simulator/workload/length_sampler.hpp"
#include "simulator/workload/shared_prefix.hpp"

namespace roofcast {
namespace {

void check(const Sessions& sessions) {
  if (sessions.max_session_tokens >= 0) return;
  throw Error(fmt::format("sessions.max_session_tokens is {}, expected 0 (no limit) or more",
                          sessions.max_session_tokens));
}

/// Samplers of everything that varies between turns.
struct TurnSamplers {
  LengthSampler turns;
  ThinkTimeSampler think_times;
  LengthSampler first_questions;
  LengthPairSampler later;  // later questions, and the answers of all turns
};

TurnSamplers make_samplers(const SyntheticWorkload& spec, std::uint64_t seed,
                           const std::vector<LengthTable>& tables) {
  const Sessions& sessions = *spec.sessions;
  return {.turns = LengthSampler(sessions.turns, seed, "session_turns", tables),
          .think_times = ThinkTimeSampler(sessions.think_time, seed),
          .first_questions = LengthSampler(sessions.first_input.value_or(spec.input), seed,
                                           "first_input_lengths", tables),
          .later = LengthPairSampler(spec.input, spec.output, seed, tables)};
}

/// The session being drawn.
struct OpenSession {
  std::int64_t number = 0;
  Nanoseconds arrival = 0;
  ContentSpan system_prompt{};  // 0 tokens: none
};

/// Adds a turn's prompt to the workload's contents.
void add_contents(Workload& workload, Request& request, const OpenSession& session) {
  request.contents_begin = static_cast<std::uint32_t>(workload.contents.size());
  if (session.system_prompt.tokens > 0) workload.contents.push_back(session.system_prompt);
  workload.contents.push_back({.content = session_content(session.number),
                               .tokens = request.input_tokens - session.system_prompt.tokens});
  request.contents_count =
      static_cast<std::uint32_t>(workload.contents.size()) - request.contents_begin;
  request.output_continues_prompt = true;
}

/// Appends the session's turns; false if the token limit ended it early.
bool draw_session(Workload& workload, const OpenSession& session, TurnSamplers& samplers,
                  std::int64_t max_tokens, bool own_first_question) {
  const std::int64_t turns = samplers.turns.draw();
  std::int64_t history = session.system_prompt.tokens;
  RequestId previous = kNoRequest;
  Nanoseconds paused = 0;
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    const LengthPairSampler::Pair drawn = samplers.later.draw();
    const bool first = turn == 0;
    const std::int64_t question =
        first && own_first_question ? samplers.first_questions.draw() : drawn.input;
    const Nanoseconds arrival = first ? session.arrival : samplers.think_times.draw();
    if (!first) paused += arrival;
    if (paused > kLongestSpan) {
      throw Error(
          "sessions.think_time: the pauses of a session add up to over ten years, expected fewer "
          "turns or shorter pauses");
    }
    if (!first && history + question + drawn.output > max_tokens) return false;
    if (std::ssize(workload.requests) >= kMaxRequests) {
      throw Error(fmt::format("sessions: more than {} turns in all", kMaxRequests));
    }
    Request request{.arrival = arrival,
                    .input_tokens = history + question,
                    .output_tokens = drawn.output,
                    .follows = previous};
    add_contents(workload, request, session);
    previous = static_cast<RequestId>(workload.requests.size());
    workload.requests.push_back(request);
    history = request.input_tokens + request.output_tokens;
  }
  return true;
}

}  // namespace

void draw_sessions(Workload& workload, const SyntheticWorkload& spec, const Arrivals& arrivals,
                   std::uint64_t seed, const std::vector<LengthTable>& tables) {
  const Sessions& sessions = *spec.sessions;
  check(sessions);
  const std::int64_t max_tokens =
      sessions.max_session_tokens > 0 ? sessions.max_session_tokens : kMaxTokens;
  TurnSamplers samplers = make_samplers(spec, seed, tables);
  std::optional<PrefixPlan> prefixes;
  if (spec.shared_prefix) {
    prefixes.emplace(*spec.shared_prefix, std::ssize(arrivals.times), seed, tables);
  }
  std::int64_t ended_early = 0;
  for (std::int64_t i = 0; i < std::ssize(arrivals.times); ++i) {
    const OpenSession session{
        .number = i,
        .arrival = arrivals.times[static_cast<std::size_t>(i)],
        .system_prompt =
            prefixes ? prefixes->system_prompts()[prefixes->system_prompt_of(i)] : ContentSpan{}};
    if (!draw_session(workload, session, samplers, max_tokens, sessions.first_input.has_value())) {
      ++ended_early;
    }
  }
  note_clamped(samplers.turns, "turn", workload.notes);
  note_clamped(samplers.first_questions, "first input", workload.notes);
  samplers.later.add_notes(workload.notes);
  if (ended_early > 0) {
    workload.notes.push_back(
        counted(ended_early, "session") +
        fmt::format(" ended early: the next turn would have exceeded {} tokens", max_tokens));
  }
}

}  // namespace roofcast
