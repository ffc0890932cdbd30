-- Upgrades a store from schema 4 to schema 5: views for SQL queries, as in schema.sql.
PRAGMA user_version = 5;

-- The existing view with columns appended.
DROP VIEW run_summary;
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
