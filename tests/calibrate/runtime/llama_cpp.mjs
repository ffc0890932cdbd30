// The probabilities of every next token by llama.cpp (npm's node-llama-cpp), as JSON: a list for each
// token of the prompt, with one number for each token of the vocabulary.
//   node llama_cpp.mjs FOLDER-WITH-NODE_MODULES MODEL.gguf TOKEN,TOKEN,...
import {pathToFileURL} from 'node:url'
const [, , folder, path, list] = process.argv
const {getLlama} = await import(
    pathToFileURL(`${folder}/node_modules/node-llama-cpp/dist/index.js`).href)
const llama = await getLlama({gpu: false, build: 'never', logLevel: 'error', maxThreads: 2})
const model = await llama.loadModel({modelPath: path, gpuLayers: 0})
const context = await model.createContext({contextSize: 256, threads: 2, flashAttention: false})
const tokens = list.split(',').map(Number)
const results = await context.getSequence().controlledEvaluate(
    tokens.map((token) => [token, {generateNext: {probabilities: true}}]))
const rows = results.map(({next}) => {
  const row = new Array(next.probabilities.size).fill(0)
  for (const [token, probability] of next.probabilities) row[token] = probability
  return row
})
process.stdout.write(JSON.stringify(rows), () => process.exit(0))
