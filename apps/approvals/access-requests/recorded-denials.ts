import { request } from 'undici';
import * as z from 'zod';
import { MAX_MEMBERS } from '../../../workflows/domain/faithful-json.ts';
import { parseFaithful } from '../../shared/http/faithful-json.ts';
import type { Timing } from '../../shared/limits.ts';
import { Problem } from './problem.ts';

const answerSchema = z.union([
  z.looseObject({ binding_token: z.string() }),
  z.looseObject({ requestable: z.literal(false) }),
]);

interface RecordedDenialOptions extends Timing {
  /** Address of the PDP. */
  readonly pdp: string;
  readonly serviceToken: () => Promise<string>;
}

/**
 * Looks up, at the PDP, the denial of an evaluation: answers its binding token, which is then checked like any other.
 * Undefined when the PDP has none on record, or shows none: evaluation ids then bind nothing (ARAP-BND-24). Throws a
 * `Problem`: `not_requestable` for an evaluation that no request could cure, 503 while the PDP does not answer.
 * @see ARAP-SUB-13, ARAP-SUB-22, ARAP-BND-19
 */
export function createRecordedDenials(of: RecordedDenialOptions) {
  return async (evaluationId: string): Promise<string | undefined> => {
    const answer = await ask(`${of.pdp}/access/v1/denials/${encodeURIComponent(evaluationId)}`, of);
    if (answer.status === 404) return undefined;
    const found = answer.status === 200 ? answerSchema.safeParse(answer.body).data : undefined;
    if (found === undefined) throw unavailable();
    if ('binding_token' in found) return found.binding_token as string;
    throw new Problem('not_requestable', 'the evaluation was no denial that a request could cure');
  };
}

async function ask(
  url: string,
  { serviceToken, clock, limits }: RecordedDenialOptions,
): Promise<{ status: number; body: unknown }> {
  const headers = { authorization: `Bearer ${await serviceToken()}`, accept: 'application/json' };
  try {
    const signal = clock.signalAfter(limits.recordedDenialMs);
    const { statusCode, body } = await request(url, { headers, signal });
    if (statusCode === 200) return { status: statusCode, body: parseFaithful(await body.text(), MAX_MEMBERS.service) };
    await body.dump();
    return { status: statusCode, body: undefined };
  } catch {
    throw unavailable();
  }
}

const unavailable = () => new Problem(503, 'the policy decision point does not say what it has on record');
