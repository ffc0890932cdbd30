// The official client talks to `roofcast mcp`: sizes, simulates, plans and compares.
//   node mcp_client.mjs PROGRAM STORE
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const [program, store] = process.argv.slice(2);
const client = new Client({ name: 'roofcast-test', version: '1' });
await client.connect(new StdioClientTransport({ command: program, args: ['mcp', '--store', store] }));
assert.equal(client.getServerVersion().name, 'roofcast');

const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name),
  ['models', 'gpus', 'memory', 'estimate', 'simulate', 'capacity', 'plan', 'whatif', 'compare', 'runs']);

async function said(name, args) {
  const answer = await client.callTool({ name, arguments: args });
  assert.equal(answer.isError, false, `${name}: ${answer.content[0].text}`);
  return answer.content[0].text;
}
const load = { model: 'llama-3.1-8b', request_rate: 4, num_prompts: 100, input_len: 500, output_len: 50,
  slo: ['p95:ttft:500ms', 'p95:tpot:50ms'] };
assert.match(await said('gpus', { gpu: 'h100' }), /TB\/s/);
assert.match(await said('memory', { model: 'llama-3.1-8b', gpu: 'h100' }), /KV blocks hold [\d,]+ tokens/);
assert.match(await said('estimate', { model: 'llama-3.1-8b', gpu: 'h100', batch: 8 }), /decode step/);
assert.match(await said('simulate', { ...load, gpu: 'h100' }), /The SLO is met/);
assert.match(await said('plan', { ...load, gpu: 'h100,l40s', search: ['tp=1'] }), /vllm serve/);
assert.match(await said('runs', {}), /simulate/);
assert.match(await said('compare', { runs: [1, 2] }), /TTFT p95 /);

const wrong = await client.callTool({ name: 'memory', arguments: { model: 'llama-3.1-8b', gpuu: 'h100' } });
assert.equal(wrong.isError, true);
assert.match(wrong.content[0].text, /did you mean 'gpu'/);
await client.close();
console.log('mcp: ok');
