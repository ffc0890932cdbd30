#include "cli/staircase_document.hpp"
