// One slot and one token per request: the engine is a single server with known waiting times.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/random/exponential_distribution.hpp>
#include <cmath>

#include "simulator/random.hpp"
#include "tests/simulator/support.hpp"
#include "tests/support/trials.hpp"

namespace roofcast::test {
namespace {

enum class Service { constant, exponential };  // of one second on average

constexpr const char* kTooManyRequests = "millions of requests take minutes under the sanitisers";

constexpr double kTokensPerSecond = 1e6;  // of a prompt: lengths stand for service times

/// Poisson arrivals at `load` requests per second.
Workload queueing_workload(std::int64_t requests, double load, Service service,
                           std::uint64_t seed) {
  RandomStream arrivals = random_stream(seed, "arrivals");
  RandomStream services = random_stream(seed, "services");
  boost::random::exponential_distribution<double> exponential;
  Workload workload;
  workload.requests.reserve(static_cast<std::size_t>(requests));
  Nanoseconds now = 0;
  for (std::int64_t i = 0; i < requests; ++i) {
    now += to_nanoseconds(Seconds{exponential(arrivals) / load});
    const double seconds = service == Service::constant ? 1.0 : exponential(services);
    const auto tokens = static_cast<std::int64_t>(std::llround(seconds * kTokensPerSecond));
    workload.requests.push_back(
        {.arrival = now, .input_tokens = std::max<std::int64_t>(1, tokens), .output_tokens = 1});
  }
  return workload;
}

SimulationResult serve(const Workload& workload) {
  const FakeStepTime step_time([](const StepBatch& batch) {
    return Seconds{static_cast<double>(batch.prefills.front().new_tokens) / kTokensPerSecond};
  });
  Engine engine = plain_engine();
  engine.max_num_seqs = 1;
  engine.max_num_batched_tokens = 1'000'000'000;
  return simulate(replica_of(engine, step_time, 2, 1'000'000'000), workload, {});
}

double mean_wait(double load, Service service) {
  constexpr int kRuns = 4;
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
    sum += serve(queueing_workload(1'000'000, load, service, seed)).queue.mean;
  }
  return sum / kRuns;
}

// The wait of each request follows from the one before: Lindley 1952, equation 1.
void expect_lindley(Service service, double load) {
  const Workload workload = queueing_workload(100'000, load, service, 7);
  const SimulationResult result = serve(workload);
  Nanoseconds wait = 0;
  for (std::size_t i = 0; i < result.requests.size(); ++i) {
    const RequestRecord& record = result.requests[i];
    ASSERT_EQ(record.scheduled - record.queued, wait) << "request " << i;
    if (i + 1 == result.requests.size()) break;
    const Nanoseconds gap = result.requests[i + 1].request.arrival - record.request.arrival;
    wait = std::max<Nanoseconds>(0, wait + (record.finished - record.scheduled) - gap);
  }
}

TEST(Queueing, EveryWaitFollowsFromTheOneBefore) {
  for (const double load : {0.3, 0.8, 0.99, 1.2}) {
    if (kSanitised && load != 0.99) continue;
    SCOPED_TRACE(load);
    ASSERT_NO_FATAL_FAILURE(expect_lindley(Service::constant, load));
    ASSERT_NO_FATAL_FAILURE(expect_lindley(Service::exponential, load));
  }
}

TEST(Queueing, ConstantServiceWaitsAsPollaczekAndKhinchineSay) {
  if (kSanitised) GTEST_SKIP() << kTooManyRequests;
  // M/D/1: rho / (2 (1 - rho)) services, 0.5 at rho = 0.5. The wait's variance is
  // rho / (3 (1 - rho)) + rho^2 / (4 (1 - rho)^2) = 0.583 and its correlation time about
  // 2 rho / (1 - rho)^2 = 4 services, so over 4 * 10^6 requests the mean is known to
  // sqrt(2 * 4 * 0.583 / 4e6) = 0.0011, 0.22 %: one percent is more than four of these.
  EXPECT_NEAR(mean_wait(0.5, Service::constant), 0.5, 0.01 * 0.5);
}

TEST(Queueing, ExponentialServiceWaitsAsTheMm1Queue) {
  if (kSanitised) GTEST_SKIP() << kTooManyRequests;
  // M/M/1: rho / (1 - rho) services, 1 at rho = 0.5. The mean of n waits has the variance
  // rho (2 + 5 rho - 4 rho^2 + rho^3) / (1 - rho)^4 / n (Daley 1968) = 29 / n: over 4 * 10^6
  // requests 0.27 %, of which one percent is more than three.
  EXPECT_NEAR(mean_wait(0.5, Service::exponential), 1.0, 0.01);
}

}  // namespace
}  // namespace roofcast::test
