// Numbers as the command line shows them (base/numbers.cpp): digits, separators, one unit.

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
export const GIB = 1024 ** 3;

function separated(digits) {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

export function fixed(value, decimals) {
  if (!Number.isFinite(value)) return value < 0 ? "-inf" : "inf";
  const [whole, fraction] = Math.abs(value).toFixed(decimals).split(".");
  const text = separated(whole) + (fraction ? "." + fraction : "");
  const isZero = /^[0.,]*$/.test(text);
  return (value < 0 && !isZero ? "-" : "") + text;
}

export const count = (value) => fixed(value, 0);
export const percent = (share, decimals = 1) => fixed(share * 100, decimals) + " %";
export const gib = (bytes) => fixed(bytes / GIB, 2) + " GiB";

/// Two decimals, below 0.1 two significant digits (planner/scenario/cost.cpp, printed_amount).
export function amount(value) {
  const size = Math.abs(value);
  const little = size > 0 && size < 0.0995;
  return fixed(value, little ? Math.min(9, 1 - Math.floor(Math.log10(size))) : 2);
}

export const dollars = (value) => "$" + amount(value);

function showsBelow(value, decimals, limit) {
  const scale = 10 ** decimals;
  return Math.round(value * scale) < limit * scale;
}

function twoUnits(seconds, big, small, bigName, smallName) {
  const smalls = Math.round(seconds / small);
  const ratio = big / small;
  const rest = String(smalls % ratio).padStart(2, "0");
  return `${count(Math.floor(smalls / ratio))} ${bigName} ${rest} ${smallName}`;
}

export function time(seconds) {
  if (seconds === null || seconds === undefined) return "none";
  if (seconds === 0) return "0 s";
  if (showsBelow(seconds * 1e9, 0, 1000)) return fixed(seconds * 1e9, 0) + " ns";
  if (showsBelow(seconds * 1e6, 1, 1000)) return fixed(seconds * 1e6, 1) + " us";
  if (showsBelow(seconds * 1e3, 1, 1000)) return fixed(seconds * 1e3, 1) + " ms";
  if (showsBelow(seconds, 2, 100)) return fixed(seconds, 2) + " s";
  if (showsBelow(seconds, 1, 2 * MINUTE)) return fixed(seconds, 1) + " s";
  if (showsBelow(seconds, 0, HOUR)) return twoUnits(seconds, MINUTE, 1, "min", "s");
  if (showsBelow(seconds / MINUTE, 0, DAY / MINUTE)) {
    return twoUnits(seconds, HOUR, MINUTE, "h", "min");
  }
  return twoUnits(seconds, DAY, HOUR, "d", "h");
}

/// "32.7-40.3 ms": both ends in the unit in which `like` is shown.
export function timeRange(low, high, like) {
  const unit = time(like).split(" ");
  const units = { ns: [1e-9, 0], us: [1e-6, 1], ms: [1e-3, 1], s: [1, 2] };
  if (unit.length > 2 || !units[unit[1]]) return time(low) + "-" + time(high);
  const [seconds, decimals] = units[unit[1]];
  return `${fixed(low / seconds, decimals)}-${fixed(high / seconds, decimals)} ${unit[1]}`;
}

/// As a probability: nothing is certain.
export function probability(share) {
  if (share > 0.999) return "over 99.9 %";
  if (share < 0.001) return "under 0.1 %";
  return percent(share);
}
