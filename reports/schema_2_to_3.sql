-- Upgrades a store from schema 2 to schema 3: predictions beside measured runs, as in schema.sql.
PRAGMA user_version = 3;

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
