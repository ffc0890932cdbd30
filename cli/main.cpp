#include <cstdlib>
#include <iostream>

#include "cli/command.hpp"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const roofcast::Terminal terminal = roofcast::terminal_of_output(
      std::getenv("COLUMNS"), std::getenv("NO_COLOR"), std::getenv("TERM"));
  return roofcast::run_program(argc, argv, std::cout, std::cerr, terminal);
}
