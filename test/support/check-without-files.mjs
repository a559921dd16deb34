// Opens files until the system refuses one, and checks the arguments of a call. Then it closes them, and checks again. Prints both answers.
import { closeSync, openSync } from 'node:fs';
import { limitsOf } from '../../apps/shared/limits.ts';
import { createArgumentChecks } from '../../apps/shared/schemas/schema-check.ts';

const { check } = createArgumentChecks(limitsOf({ timeLimitFactor: 100 }));
const inputSchema = { type: 'object', properties: { a: { type: 'string', pattern: '^a$' } } };
const call = [{ definition: { inputSchema } }, { a: 'b' }];

const open = [];
try {
  for (;;) open.push(openSync('/dev/null'));
} catch {
  // No more.
}
const without = await check(...call);
for (const one of open) closeSync(one);
console.log(JSON.stringify([without, await check(...call)]));
