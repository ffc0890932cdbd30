#include <iostream>

#include "cli/command.hpp"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  return roofcast::run_program(argc, argv, std::cout, std::cerr);
}
