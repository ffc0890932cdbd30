// Whether a description of an API is valid OpenAPI 3.1.
//   node openapi_check.mjs FILE
import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';

const validator = new Validator();
const result = await validator.validate(JSON.parse(readFileSync(process.argv[2], 'utf8')));
if (!result.valid || validator.version !== '3.1') {
  console.error(JSON.stringify(result.errors ?? validator.version, null, 2).slice(0, 4000));
  process.exit(1);
}
console.log('openapi: ok');
