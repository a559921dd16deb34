import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { packagePath } from '../../apps/shared/config/files.ts';
import type { CheckResult } from './groups.ts';
import type { Target } from './target.ts';

/** A target whose single evaluations are validated against the two schemas that AuthZEN publishes. */
export interface Validated {
  readonly target: Target;
  /** One entry for each evaluation that was answered so far. */
  results(): readonly CheckResult[];
}

const check = (name: 'request' | 'response') => {
  const file = packagePath('test', 'fixtures', 'authzen', `evaluation-${name}.schema.json`);
  return new Ajv2020({ strict: false }).compile(JSON.parse(readFileSync(file, 'utf8')) as object);
};
const isRequest = check('request');
const isResponse = check('response');

/** A refused request has no decision; a request that no schema allows must be refused. */
export function validated(target: Target): Validated {
  const results: CheckResult[] = [];
  return {
    results: () => results,
    target: {
      ...target,
      async post(endpoint, body, headers) {
        const answer = await target.post(endpoint, body, headers);
        if (endpoint !== 'evaluation' || answer.status !== 200) return answer;
        const misses = [
          ...(isRequest(body) ? [] : [`the request was answered although it does not fit: ${faultOf(isRequest)}`]),
          ...(isResponse(answer.body) ? [] : [`the response does not fit: ${faultOf(isResponse)}`]),
        ];
        results.push({ name: `exchange ${results.length + 1}`, misses });
        return answer;
      },
    },
  };
}

const faultOf = ({ errors }: typeof isRequest) => `${errors?.[0]?.instancePath ?? ''} ${errors?.[0]?.message ?? ''}`;
