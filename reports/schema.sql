-- The store of roofcast: one SQLite file, one row of `runs` per run. SI units, named in the column.
-- Comments inside statements are kept in the file: `sqlite3 FILE .schema` shows them.
PRAGMA application_id = 1380336468;  -- "RFCT" in ASCII: this file is a roofcast store
PRAGMA user_version = 7;             -- version of this schema

CREATE TABLE runs (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,  -- never reused, not even after a deletion
  kind          TEXT NOT NULL,  -- what made it: 'simulate', 'measured' ... (reports/store.md lists them)
  created_at    TEXT NOT NULL,  -- ISO 8601, UTC: '2026-01-31T12:00:00Z'
  tool_version  TEXT NOT NULL,  -- of roofcast
  command_line  TEXT NOT NULL,  -- as it can be run again
  model         TEXT NOT NULL,  -- name of the model: 'llama-3.1-70b'
  gpu           TEXT NOT NULL,  -- name of the hardware profile: 'h200-sxm'
  engine        TEXT NOT NULL,  -- serving engine and its version: 'vllm-0.19'
  scenario_json TEXT NOT NULL,  -- the complete input as parsed; JSON
  profile_hash  TEXT NOT NULL,  -- of the hardware profile's text
  seed          TEXT NOT NULL,  -- unsigned 64-bit, in decimal digits: SQLite's integers are signed
  summary       TEXT NOT NULL   -- one line for a list
);
CREATE INDEX runs_by_gpu_and_model ON runs (gpu, model);

CREATE TABLE metrics (
  run_id    INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  name      TEXT NOT NULL,  -- with its unit: 'ttft_s', 'output_tokens_per_s', 'preemptions'
  statistic TEXT NOT NULL,  -- 'mean', 'p95' ... of a distribution; 'value' for a single number
  value     REAL NOT NULL,  -- in the unit that the name ends with
  PRIMARY KEY (run_id, name, statistic)
) WITHOUT ROWID;
CREATE INDEX metrics_by_name ON metrics (name, statistic, value);

-- Only for runs that were asked to keep their requests. Times are seconds since the first arrival
-- of the run; NULL if the event did not happen (a rejected request is never scheduled).
CREATE TABLE requests (
  run_id        INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  request_index INTEGER NOT NULL,  -- from 0, in order of arrival
  arrival_s     REAL NOT NULL,     -- arrival in the workload
  sent_s        REAL,              -- when it left the client: later than its arrival only if
                                   -- concurrency is limited
  scheduled_s   REAL,              -- start of its first engine step
  first_token_s REAL,              -- end of its prefill
  finished_s    REAL,              -- last token
  input_tokens  INTEGER NOT NULL CHECK (input_tokens >= 0),
  output_tokens INTEGER NOT NULL CHECK (output_tokens >= 0),
  preemptions   INTEGER NOT NULL CHECK (preemptions >= 0),
  slo_class     TEXT NOT NULL,     -- '' where the scenario names no classes
  PRIMARY KEY (run_id, request_index)
) WITHOUT ROWID;

-- Calibrations: what was timed on a device, with every sample. Rows are added during the run, so
-- that an interrupted one keeps what it measured; `runs` has one row of kind 'calibrate' for each.
CREATE TABLE calibrations (
  run_id     INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
  device     TEXT NOT NULL,  -- as the device reports its name: 'NVIDIA H200'
  identity   TEXT NOT NULL,  -- a GPU's UUID; a CPU's model and the cores in use
  conditions TEXT NOT NULL,  -- protocol and versions: samples of equal conditions may be mixed
  complete   INTEGER NOT NULL CHECK (complete IN (0, 1))  -- 0: interrupted, or still running
);
CREATE INDEX calibrations_by_identity ON calibrations (identity);

-- One operator at one size, timed once.
CREATE TABLE timed_points (
  run_id      INTEGER NOT NULL REFERENCES calibrations (run_id) ON DELETE CASCADE,
  point_index INTEGER NOT NULL,  -- from 0, in time order
  name        TEXT NOT NULL,     -- operator, shape, kernel and size: equal names, equal work
  family      TEXT NOT NULL,     -- 'gemm', 'decode_attention', ..., 'copy', 'sentinel'
  kernel      TEXT NOT NULL,     -- source: 'cuBLASLt 13.1'
  x           REAL NOT NULL,     -- tokens, sequences or bytes, by family (model/curves/measured_curve.hpp)
  y           REAL NOT NULL,     -- tokens of context; 0 for families with one axis
  calls       INTEGER NOT NULL CHECK (calls > 0),  -- back-to-back launches per sample
  median_s    REAL NOT NULL,     -- of one call, over the samples that were kept
  p10_s       REAL NOT NULL,
  p90_s       REAL NOT NULL,
  bimodal     INTEGER NOT NULL CHECK (bimodal IN (0, 1)),    -- p90 above 1.15 p10
  throttled   INTEGER NOT NULL CHECK (throttled IN (0, 1)),  -- clock low in every sample
  PRIMARY KEY (run_id, point_index)
) WITHOUT ROWID;
CREATE INDEX timed_points_by_name ON timed_points (name);

CREATE TABLE samples (
  run_id       INTEGER NOT NULL,
  point_index  INTEGER NOT NULL,
  sample_index INTEGER NOT NULL,  -- from 0, in time order
  call_s       REAL NOT NULL,     -- time of one call
  clock_hz     REAL,              -- during the sample; NULL if the device does not report it
  call_energy_j REAL,             -- of one call; NULL if the device does not report it
  dropped      INTEGER NOT NULL CHECK (dropped IN (0, 1)),  -- clock was throttled
  PRIMARY KEY (run_id, point_index, sample_index),
  FOREIGN KEY (run_id, point_index) REFERENCES timed_points (run_id, point_index) ON DELETE CASCADE
) WITHOUT ROWID;

-- One row per run with the most requested figures; NULL if the run does not have it.
CREATE VIEW run_summary AS
SELECT
  runs.id AS run_id, kind, created_at, model, gpu, engine,
  max(CASE WHEN name = 'requests_completed' THEN value END) AS requests_completed,
  max(CASE WHEN name = 'request_rate_per_s' THEN value END) AS request_rate_per_s,
  max(CASE WHEN name = 'output_tokens_per_s' THEN value END) AS output_tokens_per_s,
  max(CASE WHEN name = 'goodput_per_s' THEN value END) AS goodput_per_s,
  max(CASE WHEN name = 'preemptions' THEN value END) AS preemptions,
  max(CASE WHEN name = 'ttft_s' AND statistic = 'p50' THEN value END) AS ttft_p50_s,
  max(CASE WHEN name = 'ttft_s' AND statistic = 'p95' THEN value END) AS ttft_p95_s,
  max(CASE WHEN name = 'ttft_s' AND statistic = 'p99' THEN value END) AS ttft_p99_s,
  max(CASE WHEN name = 'tpot_s' AND statistic = 'p50' THEN value END) AS tpot_p50_s,
  max(CASE WHEN name = 'tpot_s' AND statistic = 'p95' THEN value END) AS tpot_p95_s,
  max(CASE WHEN name = 'tpot_s' AND statistic = 'p99' THEN value END) AS tpot_p99_s,
  max(CASE WHEN name = 'e2e_s' AND statistic = 'p95' THEN value END) AS e2e_p95_s,
  summary,
  CAST(strftime('%s', created_at) AS INTEGER) AS created_epoch_s,  -- seconds since 1970, UTC
  tool_version,
  max(CASE WHEN name = 'slo_met' THEN value END) AS slo_met,  -- 1 or 0
  max(CASE WHEN name = 'cost_usd_per_h' AND statistic = 'value' THEN value END) AS cost_usd_per_h,
  max(CASE WHEN name = 'cost_usd_per_million_output_tokens' AND statistic = 'value'
           THEN value END) AS cost_usd_per_million_output_tokens
FROM runs LEFT JOIN metrics ON metrics.run_id = runs.id
GROUP BY runs.id;

-- Latencies of each stored request, from when it left the client. TPOT is one value per request,
-- (last - first token) / (n - 1), and NULL for a single token.
CREATE VIEW request_latencies AS
SELECT
  run_id, request_index, slo_class, input_tokens, output_tokens,
  scheduled_s - coalesce(sent_s, arrival_s) AS queue_s,
  first_token_s - coalesce(sent_s, arrival_s) AS ttft_s,
  CASE WHEN output_tokens > 1
       THEN (finished_s - first_token_s) / (output_tokens - 1) END AS tpot_s,
  finished_s - coalesce(sent_s, arrival_s) AS e2e_s
FROM requests;

-- A prediction and the measured run that it is compared with: both are rows of `runs`, of kinds
-- 'validate' and 'measured', and their figures are rows of `metrics` with the same names.
CREATE TABLE validations (
  run_id          INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
  measured_run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  case_name       TEXT NOT NULL,
  case_group      TEXT NOT NULL,  -- the user's own label, or ''
  source          TEXT NOT NULL   -- where the measurement is from, as the user states it, or ''
);
CREATE INDEX validations_by_measured_run ON validations (measured_run_id);

-- A predicted figure with its causes of error 1.28 standard deviations off in either direction:
-- should contain 80 of 100 measured values.
CREATE TABLE intervals (
  run_id    INTEGER NOT NULL REFERENCES validations (run_id) ON DELETE CASCADE,
  name      TEXT NOT NULL,
  statistic TEXT NOT NULL,
  low       REAL NOT NULL,
  high      REAL NOT NULL,
  PRIMARY KEY (run_id, name, statistic)
) WITHOUT ROWID;

-- Every figure that both have; relative_error is predicted / measured - 1, NULL if 0 was measured.
CREATE VIEW validation_errors AS
SELECT
  v.run_id, v.measured_run_id, v.case_name, v.case_group, r.engine, r.gpu, r.model,
  i.name, i.statistic, m.value AS measured, p.value AS predicted, i.low, i.high,
  p.value / nullif(m.value, 0) - 1 AS relative_error,
  m.value BETWEEN i.low AND i.high AS covered
FROM validations AS v
JOIN runs AS r ON r.id = v.run_id
JOIN intervals AS i ON i.run_id = v.run_id
JOIN metrics AS p ON p.run_id = v.run_id AND p.name = i.name AND p.statistic = i.statistic
JOIN metrics AS m
  ON m.run_id = v.measured_run_id AND m.name = i.name AND m.statistic = i.statistic;

-- Plans: what `roofcast plan` searched for and chose. `runs` has one row of kind 'plan' for each.
CREATE TABLE plans (
  run_id      INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
  complete    INTEGER NOT NULL CHECK (complete IN (0, 1)),  -- 0: interrupted, or still running
  answer_json TEXT NOT NULL  -- as the command prints it; '' until complete
);

-- Answers of the commands whose reports need more than figures: which runs an answer made, in its
-- order. A what-if leaves one run a variant, a capacity one.
CREATE TABLE answers (
  run_id       INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
  first_run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,  -- of the same answer
  answer_json  TEXT NOT NULL  -- as the command prints it; '' but for the answer's first run
);
CREATE INDEX answers_by_first_run ON answers (first_run_id);

-- Candidates that plans simulated, each at one load. Rows are added while a plan runs, so that an
-- interrupted one keeps what it simulated; later plans reuse them.
CREATE TABLE evaluations (
  key          TEXT PRIMARY KEY,  -- of version and question: FNV-1a 64, hex
  run_id       INTEGER NOT NULL REFERENCES plans (run_id) ON DELETE CASCADE,  -- simulated it first
  tool_version TEXT NOT NULL,  -- of roofcast: another version may answer differently
  question     TEXT NOT NULL,  -- everything that decides the answer, or a hash of it
  answer       TEXT NOT NULL
);
CREATE INDEX evaluations_by_run ON evaluations (run_id);

-- Names that users gave runs.
CREATE TABLE run_names (
  run_id INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
  name   TEXT NOT NULL
);

-- Request traces that were given to the page, which questions name.
CREATE TABLE traces (
  name       TEXT PRIMARY KEY,  -- of the file that was given: 'chat.csv'
  created_at TEXT NOT NULL,     -- ISO 8601, UTC
  requests   INTEGER NOT NULL CHECK (requests > 0),
  duration_s REAL NOT NULL,     -- from the first arrival to the last
  content    BLOB NOT NULL      -- the file, plain or gzip-compressed
);

-- The newest run of each kind, model, GPU and engine.
CREATE VIEW latest_runs AS
SELECT * FROM run_summary
WHERE run_id IN (SELECT max(id) FROM runs GROUP BY kind, model, gpu, engine);

-- Every figure with its run's model, GPU and engine, and its time in seconds since 1970 (UTC).
CREATE VIEW run_metrics AS
SELECT
  metrics.run_id, CAST(strftime('%s', runs.created_at) AS INTEGER) AS created_epoch_s,
  runs.kind, runs.model, runs.gpu, runs.engine, metrics.name, metrics.statistic, metrics.value
FROM metrics JOIN runs ON runs.id = metrics.run_id;

-- Over all runs of a GPU, predicted and measured separately, by their kind. Means are over the
-- runs' p95 values, each run counting once.
CREATE VIEW gpu_summary AS
SELECT
  gpu, kind, count(*) AS runs,
  min(ttft_p95_s) AS least_ttft_p95_s, avg(ttft_p95_s) AS mean_ttft_p95_s,
  max(ttft_p95_s) AS most_ttft_p95_s,
  min(tpot_p95_s) AS least_tpot_p95_s, avg(tpot_p95_s) AS mean_tpot_p95_s,
  max(tpot_p95_s) AS most_tpot_p95_s,
  max(output_tokens_per_s) AS most_output_tokens_per_s,
  min(cost_usd_per_million_output_tokens) AS least_cost_usd_per_million_output_tokens
FROM run_summary GROUP BY gpu, kind;

-- Errors of predictions by engine and figure: bias is the mean relative_error, coverage the share
-- of figures whose interval contains the measured value.
CREATE VIEW error_by_engine AS
SELECT
  engine, name, statistic, count(*) AS figures, avg(relative_error) AS bias,
  avg(abs(relative_error)) AS mean_absolute_error, max(abs(relative_error)) AS largest_error,
  avg(covered) AS coverage
FROM validation_errors GROUP BY engine, name, statistic;
