#include "reports/document.hpp"
