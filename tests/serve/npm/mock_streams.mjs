// How near streams of `roofcast serve --mock` come to the simulation of the same arrivals: a benchmark,
// not a test, because a busy machine delays them.
//   node mock_streams.mjs PROGRAM [STREAMS]
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [program, given] = process.argv.slice(2);
const streams = Number(given ?? 200);
const deployment = ['--model', 'llama-3.1-8b', '--gpu', 'h100'];
const server = spawn(program, ['serve', '--mock', '--port', '0', ...deployment], { stdio: ['ignore', 'pipe', 'ignore'] });
const url = new URL(await new Promise((found) => server.stdout.once('data', (text) =>
  found(/http:\S+/.exec(String(text))[0]))));
const agent = new http.Agent({ keepAlive: true, maxSockets: streams });
const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms));

// Pseudo-random, the same every time.
let state = 12345;
const random = () => (state = (state * 1103515245 + 12345) % 2 ** 31) / 2 ** 31;

function ask(input, output) {
  const body = JSON.stringify({ prompt: Array(input).fill(7), max_tokens: output, ignore_eos: true, stream: true });
  return new Promise((answered, failed) => {
    const sent = performance.now();
    const request = http.request({ host: url.hostname, port: url.port, path: '/v1/completions', method: 'POST', agent,
      headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) } }, (answer) => {
      let first, last, text = '';
      answer.on('data', (chunk) => {
        text = String(chunk);
        if (!text.includes('"text"')) return;
        first ??= performance.now();
        last = performance.now();
      });
      answer.on('end', () => answered({ sent, ttft: first - sent, tpot: (last - first) / (output - 1), input, output }));
    });
    request.on('error', failed);
    request.end(body);
  });
}

const warm = await ask(10, 2);  // the server has started its threads, and the client has compiled its code
await sleep(200);
const began = performance.now();
const asked = [];
for (let i = 0; i < streams; ++i) {
  asked.push(ask(100 + Math.floor(900 * random()), 100 + Math.floor(200 * random())));
  await sleep(10);  // about 100 a second: all of them run at once for most of the time
}
const measured = await Promise.all(asked);
const metrics = await (await fetch(new URL('/metrics', url))).text();
server.kill();

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const say = (name, real, model) => console.log(`${name}: ${real.toFixed(2)} ms, simulated ${model.toFixed(2)} ms: ` +
  `${(real - model >= 0 ? '+' : '')}${(real - model).toFixed(2)} ms, ${(100 * (real / model - 1)).toFixed(1)} %`);

// What the server's engine simulated for these very requests, and the first one above.
for (const [name, key, metric] of [['TTFT', 'ttft', 'time_to_first_token_seconds'],
  ['TPOT', 'tpot', 'request_time_per_output_token_seconds']]) {
  const of = (part) => Number(new RegExp(`^vllm:${metric}_${part}\\S* (\\S+)`, 'm').exec(metrics)[1]);
  const simulated = of('sum') / of('count') * 1e3;
  say(`${name} mean, this engine's`, mean([warm, ...measured].map((one) => one[key])), simulated);
}

// The same arrivals and lengths through the simulator.
const folder = mkdtempSync(join(tmpdir(), 'roofcast-'));
const trace = join(folder, 'trace.csv');
writeFileSync(trace, 'arrival_s,input_tokens,output_tokens\n' + measured.map((one) =>
  `${((one.sent - began) / 1e3).toFixed(6)},${one.input},${one.output}`).join('\n') + '\n');
const out = join(folder, 'requests.csv');
try {
  execFileSync(program, ['simulate', ...deployment, '--trace', trace, '--no-store', '--no-intervals', '--requests-out', out],
    { stdio: 'ignore' });
} catch (error) {
  if (error.status !== 3) throw error;
}
const simulated = JSON.parse(execFileSync(program, ['simulate', ...deployment, '--trace', trace, '--no-store',
  '--no-intervals', '-o', 'json'], { stdio: ['ignore', 'pipe', 'ignore'] }));

const quantile = (values, p) => values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.ceil(p * values.length) - 1)];
for (const [name, key] of [['TTFT', 'ttft'], ['TPOT', 'tpot']]) {
  for (const p of [0.5, 0.95]) {
    const real = quantile(measured.map((one) => one[key]), p), model = simulated[`${key}_s`][`p${p * 100}`] * 1e3;
    say(`${name} p${p * 100}, simulated again`, real, model);
  }
}
