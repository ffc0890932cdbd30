#include "model/io/model_reader.hpp"
