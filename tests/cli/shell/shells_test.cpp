// The completion scripts in real shells, and the manual page as read by man(1).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

bool has(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

/// Output of `line`, with the program under test first on the PATH, limited to 60 s.
std::string output_of(const std::string& line) {
  const std::string whole =
      "export PATH=" ROOFCAST_PROGRAM_FOLDER ":\"$PATH\"; timeout 60 " + line + " 2>&1";
  std::string text;
  FILE* pipe = popen(whole.c_str(), "r");
  char buffer[4096];
  while (const std::size_t count = fread(buffer, 1, sizeof(buffer), pipe)) {
    text.append(buffer, count);
  }
  pclose(pipe);
  return text;
}

/// The script as a file, run by `shell`.
std::string run_script(const std::string& shell, const std::string& script) {
  const TemporaryFolder folder;
  std::ofstream("script") << script;
  std::ofstream("traffic.csv") << "";
  return output_of(shell + " script");
}

TEST(Shells, BashCompletes) {
  if (!has("bash")) GTEST_SKIP() << "needs bash";
  // $2 is the part that bash replaces: it cuts words at "=".
  const std::string text = run_script("bash --norc", R"(
source <(roofcast completion bash)
ask() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _roofcast "$1" "${COMP_WORDS[-1]#=}" "${COMP_WORDS[-2]}" && echo "$*:" "${COMPREPLY[@]}"
}
ask roofcast mem
ask roofcast memory --gpu-
ask roofcast memory --gpu h20
ask roofcast memory --gpu = h20
ask roofcast memory --output =
ask roofcast simulate --trace traf
ask roofcast measure --device cuda : 0 --thr
complete -p roofcast
)");
  EXPECT_THAT(text, HasSubstr("roofcast mem: memory\n"));
  EXPECT_THAT(text, HasSubstr("--gpu-: --gpu-memory-utilization\n"));
  EXPECT_THAT(text, HasSubstr("--gpu h20: h20 h200"));
  EXPECT_THAT(text,
              HasSubstr("--gpu = h20: h20 h200"));  // not "--gpu=h200": bash keeps what is before
  EXPECT_THAT(text, HasSubstr("--output =: table json"));
  EXPECT_THAT(text, HasSubstr("--trace traf: traffic.csv\n"));
  EXPECT_THAT(text, HasSubstr("--thr: --threads\n"));
  EXPECT_THAT(text, HasSubstr("complete -F _roofcast roofcast"));
}

TEST(Shells, ZshCompletes) {
  if (!has("zsh")) GTEST_SKIP() << "needs zsh";
  // A terminal of its own, as there is no asking zsh's completion without one.
  const std::string text = run_script("zsh -f", R"(
zmodload zsh/zpty
zpty inner 'PS1=ready; TERM=dumb zsh -f -i'
type() { zpty -w -n inner "$1"; zpty -r inner line "$2" && print -r -- "$line"; }
zpty -w inner 'autoload -U compinit; compinit -u -D; source <(roofcast completion zsh); print be''gin'
zpty -r inner line '*begin*'
type $'roofcast mem\t' '*memory *'
type $'\C-uroofcast memory --gpu-\t' '*--gpu-memory-utilization *'
type $'\C-uroofcast simulate --trace traf\t' '*traffic.csv *'
zpty -d inner
)");
  EXPECT_THAT(text, HasSubstr("memory "));
  EXPECT_THAT(text, HasSubstr("--gpu-memory-utilization "));
  EXPECT_THAT(text, HasSubstr("traffic.csv "));
}

TEST(Shells, FishCompletes) {
  if (!has("fish")) GTEST_SKIP() << "needs fish";
  const std::string text = run_script("fish --no-config", R"(
roofcast completion fish | source
for line in "roofcast mem" "roofcast memory --gpu-" "roofcast memory --gpu h20" "roofcast memory --gpu=h20" "roofcast simulate --trace traf" "roofcast completion "
    echo "[$line]" (complete -C $line | string replace -r '\t.*' '')
end
)");
  EXPECT_THAT(text, HasSubstr("[roofcast mem] memory\n"));
  EXPECT_THAT(text, HasSubstr("--gpu-] --gpu-memory-utilization\n"));
  EXPECT_THAT(text, HasSubstr("--gpu h20] h200"));
  EXPECT_THAT(text, HasSubstr("--gpu=h20] --gpu=h200"));
  EXPECT_THAT(text, HasSubstr("--trace traf] traffic.csv\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("bash"), HasSubstr("zsh"), HasSubstr("fish")));
}

TEST(Shells, ScriptsAreFreeOfErrors) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    if (!has(shell)) continue;
    const TemporaryFolder folder;
    std::ofstream("script") << run_command("completion " + shell).out;
    EXPECT_EQ(output_of(shell + " -n script"), "") << shell;
  }
}

TEST(ManualPage, NamesEveryCommandFlagAndExitCode) {
  const std::string page = run_command("man").out;
  for (const Command& command : commands()) {
    EXPECT_THAT(page, HasSubstr(".SS \"roofcast " + std::string(command.name) + "\""));
    EXPECT_THAT(page, HasSubstr(command.name));
  }
  for (const char* part : {"\\fB\\-\\-tensor\\-parallel\\-size\\fR", ".SH EXIT STATUS", ".SH FILES",
                           ".SH EXAMPLES", ".SS \"roofcast runs import\""}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
}

TEST(ManualPage, IsFreeOfRoffsWarnings) {
  const TemporaryFolder folder;
  std::ofstream("roofcast.1") << run_command("man").out;
  bool checked = false;
  if (has("groff")) {
    EXPECT_EQ(output_of("groff -man -Tutf8 -ww -z roofcast.1"), "");
    checked = true;
  }
  if (has("mandoc")) {
    // Without what it says of every page that man(1) shows and mdoc(7) would write otherwise.
    EXPECT_EQ(output_of("mandoc -T lint -W warning roofcast.1"), "");
    checked = true;
  }
  if (!checked) GTEST_SKIP() << "needs groff or mandoc";
}

TEST(ManualPage, ShowsTextAsItIs) {
  if (!has("groff")) GTEST_SKIP() << "needs groff";
  const TemporaryFolder folder;
  std::ofstream("roofcast.1") << run_command("man").out;
  const std::string text = output_of("groff -man -Tascii -P-c roofcast.1 | col -bx");
  EXPECT_THAT(text, HasSubstr("--gpu-memory-utilization SHARE"));
  EXPECT_THAT(text, HasSubstr("roofcast memory --model llama-3.1-70b"));
  EXPECT_THAT(text, Not(HasSubstr("\\f")));
}

}  // namespace
}  // namespace roofcast::test
