// OpenAI's own client against `roofcast serve --mock`.
//   node mock_client.mjs URL      URL ends in /v1
import assert from 'node:assert/strict';
import OpenAI, { APIError } from 'openai';

const client = new OpenAI({ baseURL: process.argv[2], apiKey: 'none' });
const model = (await client.models.list()).data[0].id;
const messages = [{ role: 'user', content: 'How long does a token take?' }];

const stream = await client.chat.completions.create({ model, messages, max_tokens: 12, stream: true,
  stream_options: { include_usage: true } });
let chunks = 0, usage, reason;
for await (const chunk of stream) {
  if (chunk.choices.length > 0) chunks += 1;
  reason = chunk.choices[0]?.finish_reason ?? reason;
  usage = chunk.usage ?? usage;
}
assert.equal(chunks, 13);  // the role, then a token each
assert.equal(reason, 'length');
assert.equal(usage.completion_tokens, 12);

const whole = await client.completions.create({ model, prompt: [1, 2, 3], max_tokens: 4 });
assert.deepEqual([whole.usage.prompt_tokens, whole.usage.completion_tokens], [3, 4]);

await assert.rejects(client.chat.completions.create({ model: 'none', messages }),
  (error) => error instanceof APIError && error.status === 404 && error.type === 'NotFoundError');
await assert.rejects(client.chat.completions.create({ model, messages, max_tokens: 100_000_000 }),
  (error) => error.status === 400 && /maximum context length/.test(error.message));
console.log('mock: ok');
