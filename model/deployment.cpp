#include "model/deployment.hpp"
