#include "cli/estimate_document.hpp"
