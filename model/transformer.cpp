#include "model/transformer.hpp"
