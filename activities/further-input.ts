import type { Ended, InputRequired } from '../workflows/activity-ports.ts';
import type { AccessRequestOffer } from '../workflows/domain/authzen/evaluation.ts';
import { additionsOf, type Additions } from '../workflows/domain/submission-input/answers.ts';
import { formDigest, questionsOf } from '../workflows/domain/submission-input/request-form.ts';
import type { ActivityDeps } from './deps.ts';
import { randomText } from '../apps/shared/random-text.ts';
import { sha256 } from '../apps/shared/sha256.ts';
import type { StoredCall } from './stores/stored-call.ts';
import { untilDeadline } from './wait.ts';

/** A form that is another one each time its answers are there is not asked about a fourth time. */
const MAX_ROUNDS = 3;
const KEY_BYTES = 16;

/** What the next access request is given beside the call; nothing where it needs nothing. */
interface Given {
  readonly kind: 'given';
  readonly additions: Additions | undefined;
}

/**
 * What a further access request needs of the requester: what was said for the first one, where it needs the same; else what was
 * said in this generation. What nobody said is asked within the task, and then the call waits. A call that cannot be asked is denied:
 * an incomplete request is not made.
 * @see SEP-2848, Collecting submission input (APPR-094); ARAP-FRM-03, ARAP-FRM-04
 */
export function createFurtherInput({ store, requestForms, settings }: ActivityDeps) {
  return async (call: StoredCall, offer: AccessRequestOffer): Promise<Given | InputRequired | Ended> => {
    const { requestSchemaUrl: schemaUrl, requestCatalogsUrl: catalogsUrl } = offer;
    const { input } = call.binding;
    if (schemaUrl === undefined) return { kind: 'given', additions: undefined };
    // What was never held against a catalog is no value of one; what was, is by the service once more.
    const isChosen = catalogsUrl === undefined || input?.isFromCatalogs === true;
    if (schemaUrl === input?.schemaUrl && isChosen) return { kind: 'given', additions: input.additions };
    // Within a task there is one form for everything, and a choice takes several.
    const form = catalogsUrl === undefined ? await requestForms.at(schemaUrl) : undefined;
    if (form === undefined) {
      await store.end(call.gatedCallId, 'denied', 'input_missing', 're-evaluation');
      return { kind: 'ended' };
    }
    const digest = formDigest(form, sha256);
    // Where nothing has to be said, nobody is held up for what might be.
    const additions = additionsOf(form, await store.givenInput(call, digest));
    if (additions !== undefined) return { kind: 'given', additions };
    const state = await store.askInput(call, {
      // Never a key of a question that comes before a task, nor one that was given out before.
      questions: questionsOf(form).map((part, n) => ({ key: `input-${n + 1}-${randomText(KEY_BYTES)}`, form: part })),
      formDigest: digest,
      maxGenerations: settings.maxGenerations,
      maxRounds: MAX_ROUNDS,
    });
    return state === 'input_required' ? { kind: 'input_required', waitMs: untilDeadline(call) } : { kind: 'ended' };
  };
}
