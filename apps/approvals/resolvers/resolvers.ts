import * as z from 'zod';
import { AUTOMATIC_VERDICTS, type ResolverAnswer } from '../../../workflows/domain/access-request/automatic.ts';
import { jsonOf } from '../../../workflows/domain/json-answer.ts';
import type { Config } from '../../shared/config/config.ts';
import { secretText } from '../../shared/config/secret-text.ts';
import type { Clock } from '../../shared/clock.ts';
import { createSignedQuestion } from '../callbacks/signed-post.ts';

/** A verdict and a reason of 2,000 characters, each perhaps as an escape of twelve bytes, have room in it. */
const MAX_ANSWER_BYTES = 32 * 1024;

const answerSchema = z.strictObject({
  verdict: z.enum(AUTOMATIC_VERDICTS),
  reason: z.string().max(2_000).optional(),
});

/** What a resolver says; `failed` with what was wrong in its place. */
export interface Said {
  readonly verdict: ResolverAnswer['verdict'];
  readonly reason: string | undefined;
  /** For the log: why there is no answer. */
  readonly cause?: unknown;
}

/** Asks one resolver, once. Never rejects: whatever is no answer is a failure, and none of those is an approval. */
export type AskResolver = (question: { id: string; body: string }) => Promise<Said>;

/** The resolvers of the configuration. Throws `ERR_CONFIG_INVALID` for a secret that is none. */
export async function configuredResolvers(
  { approvals }: Pick<Config, 'approvals'>,
  clock: Clock,
): Promise<Map<string, AskResolver>> {
  const entries = Object.entries(approvals.resolvers).map(
    async ([name, { url, networks, timeoutSeconds, ...rest }]) => {
      const secret = await secretText(rest.secret, `approvals.resolvers.${name}.secret`);
      const limits = { timeoutMs: timeoutSeconds * 1_000, maxAnswerBytes: MAX_ANSWER_BYTES, clock };
      const post = createSignedQuestion({ secret, networks }, limits);
      const ask: AskResolver = async (question) => {
        try {
          return readAnswer(await post(url, question));
        } catch (cause) {
          return failed('it did not answer', cause);
        }
      };
      return [name, ask] as const;
    },
  );
  return new Map(await Promise.all(entries));
}

/** A resolver that is not configured any more, while requests still wait for it. */
export const NOT_CONFIGURED: Said = { verdict: 'failed', reason: 'it is not configured' };

function readAnswer({ status, ...answer }: { status: number; type: string | undefined; text: string }): Said {
  if (status !== 200) return failed(`it answered with status ${status}`);
  try {
    const { verdict, reason } = answerSchema.parse(jsonOf(answer));
    return { verdict, reason };
  } catch (cause) {
    return failed('its answer is not one', cause);
  }
}

const failed = (reason: string, cause?: unknown): Said => ({ verdict: 'failed', reason, cause });
