-- Upgrades a store from schema 1 to schema 2: the tables of calibrations, as in schema.sql.
PRAGMA user_version = 2;

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
