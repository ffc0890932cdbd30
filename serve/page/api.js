// Requests to the server that delivered this page.

/// An error, with the server's own message, and its status if there was an answer.
export class Refusal extends Error {}

async function answered(response) {
  const body = await response.json().catch((error) => {
    if (error.name === "AbortError") throw error; // superseded: no caller waits for it
    throw new Refusal("the server's answer cannot be read");
  });
  if (!response.ok) {
    const refusal = new Refusal(body.error || `the server answered ${response.status}`);
    throw Object.assign(refusal, { status: response.status });
  }
  return body;
}

async function reached(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal("the server cannot be reached: is roofcast serve still running?");
  }
}

export async function get(path) {
  return answered(await reached(path));
}

/// {what, done, total} of a question under way; {} if it has not begun to count.
export function progressOf(watched) {
  return get("/api/progress/" + watched);
}

const RETRY_AFTER = 500; // ms
const RETRIES = 2; // the server itself lets a question wait 12 s before it says that it is busy

/// Not of a server that is stopping, whose status is the same.
const isBusy = (response) => response.headers.has("Retry-After");

/// Asks again while the server is busy, with this page's own figures perhaps, but not for ever.
/// `watched` is a name under which progressOf() finds the question.
export async function post(path, flags, signal, watched) {
  const headers = { "Content-Type": "application/json" };
  if (watched) headers["Roofcast-Progress"] = watched;
  const question = { method: "POST", headers, body: JSON.stringify(flags), signal };
  for (let tries = 0; ; ++tries) {
    const response = await reached(path, question);
    if (tries === RETRIES || !isBusy(response)) return answered(response);
    await new Promise((resolve) => setTimeout(resolve, RETRY_AFTER));
    signal?.throwIfAborted();
  }
}

/// Sends a file as it is.
export async function postFile(path, file) {
  const headers = { "Content-Type": "application/octet-stream" };
  return answered(await reached(path, { method: "POST", headers, body: file }));
}

const PATIENCE = 250; // ms that a superseded question may go on, so that a moving slider has answers

/// Calls `work(value, signal, superseded)` at once, one call at a time: of the values that come
/// meanwhile only the newest is next. `superseded()` says whether one is waiting; `signal` aborts a
/// call that keeps it waiting for long. `.give_up()` aborts, and drops what waits.
export function newestOf(work) {
  let waiting = null;
  let under_way = null;
  const superseded = () => waiting !== null;
  const abortLate = (call) => {
    const late = call.began + PATIENCE - performance.now();
    setTimeout(() => call === under_way && superseded() && call.abort(), Math.max(0, late));
  };
  const run = async () => {
    while (waiting) {
      const { value } = waiting;
      const own = new AbortController();
      under_way = { began: performance.now(), abort: () => own.abort() };
      waiting = null;
      try {
        await work(value, own.signal, superseded);
      } catch (error) {
        if (error.name !== "AbortError") throw error;
      } finally {
        under_way = null;
      }
    }
  };
  const ask = (value) => {
    waiting = { value };
    if (under_way) abortLate(under_way);
    else run();
  };
  ask.give_up = () => {
    waiting = null;
    if (under_way) under_way.abort();
  };
  return ask;
}
