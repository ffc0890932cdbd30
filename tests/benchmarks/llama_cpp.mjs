// Times llama.cpp on this CPU (npm's node-llama-cpp): milliseconds, the best of a few runs, as JSON.
//   node llama_cpp.mjs FOLDER-WITH-NODE_MODULES MODEL.gguf THREADS prefill|decode TOKENS RUNS
import {pathToFileURL} from 'node:url'
const [, , folder, path, threads, kind, tokens, runs] = process.argv
const {getLlama} = await import(
    pathToFileURL(`${folder}/node_modules/node-llama-cpp/dist/index.js`).href)
const llama = await getLlama({gpu: false, build: 'never', logLevel: 'error', maxThreads: +threads})
const model = await llama.loadModel({modelPath: path, gpuLayers: 0})
const token = (i) => i * 7919 % 31000 + 5
const all = (count) => Array.from({length: count}, (_, i) => token(i))
const open = async () => {
  const context = await model.createContext({
      contextSize: +tokens + 64 + +runs, batchSize: 2048, threads: +threads, sequences: 1})
  return {context, sequence: context.getSequence()}
}
const next = async (sequence, list) => {
  const begin = performance.now()
  await sequence.controlledEvaluate(list.map(
      (x, i) => i === list.length - 1 ? [x, {generateNext: {token: true}}] : x))
  return performance.now() - begin
}
const times = []
if (kind === 'prefill') {
  for (let run = 0; run < +runs; ++run) {
    const {context, sequence} = await open()
    times.push(await next(sequence, all(+tokens)))
    await context.dispose()
  }
} else {
  const {sequence} = await open()
  await sequence.evaluateWithoutGeneratingNewTokens(all(+tokens))
  for (let run = 0; run < +runs; ++run) times.push(await next(sequence, [token(run)]))
}
process.stdout.write(JSON.stringify(times), () => process.exit(0))
