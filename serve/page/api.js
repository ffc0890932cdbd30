// Requests to the server that delivered this page.

/// An error, with the server's own message.
export class Refusal extends Error {}

async function answered(response) {
  const body = await response.json().catch((error) => {
    if (error.name === "AbortError") throw error; // superseded: no caller waits for it
    throw new Refusal("the server's answer cannot be read");
  });
  if (!response.ok) throw new Refusal(body.error || `the server answered ${response.status}`);
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

export async function post(path, flags, signal) {
  const headers = { "Content-Type": "application/json" };
  return answered(
    await reached(path, { method: "POST", headers, body: JSON.stringify(flags), signal }),
  );
}

/// Calls `work(value, signal)` for the newest value only, once no other has come for `rest` ms; an
/// older call is aborted. `.give_up()` aborts the newest too.
export function newestOf(work, rest = 120) {
  let timer = 0;
  let under_way = null;
  const ask = (value) => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      if (under_way) under_way.abort();
      const own = new AbortController();
      under_way = own;
      try {
        await work(value, own.signal);
      } catch (error) {
        if (error.name !== "AbortError") throw error;
      }
    }, rest);
  };
  ask.give_up = () => {
    clearTimeout(timer);
    if (under_way) under_way.abort();
  };
  return ask;
}
