#include "model/engine.hpp"
