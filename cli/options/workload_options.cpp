#include "cli/options/workload_options.hpp"

#include "cli/options/flag_options.hpp"

namespace roofcast {

po::options_description synthetic_options(WorkloadOptions& target) {
  return flag_options("Synthetic load", synthetic_flags(), target);
}

po::options_description load_shape_options(LoadShapeOptions& target) {
  return flag_options("Shape of the synthetic load", load_shape_flags(), target);
}

po::options_description trace_options(WorkloadOptions& target) {
  return flag_options("Trace", trace_flags(), target);
}

po::options_description trace_form_options(WorkloadOptions& target) {
  return flag_options("More trace options", trace_form_flags(), target);
}

po::options_description objective_options(WorkloadOptions& target) {
  return flag_options("Client and SLO", objective_flags(), target);
}

po::options_description cluster_options(ClusterOptions& target) {
  return flag_options("Cluster", cluster_flags(), target);
}

po::options_description pricing_options(PricingOptions& target) {
  return flag_options("Prices", pricing_flags(), target);
}

}  // namespace roofcast
