// Globals that charts.js needs where there is no browser, and polyfills for ES5.
var global = this;
var console = { log: function () {}, warn: function () {}, error: function () {} };
function setTimeout() {
  return 0;
}
function clearTimeout() {}

function ascending(left, right) {
  return left - right;
}
function sort(compare) {
  var numbers = Array.prototype.slice.call(this);
  numbers.sort(compare || ascending);
  this.set(numbers);
  return this;
}
var kinds = [Float64Array, Float32Array, Uint32Array, Int32Array, Uint16Array, Uint8Array];
kinds.forEach(function (kind) {
  kind.prototype.sort = sort;
});
