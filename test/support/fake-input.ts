import { createSealedStates } from '../../apps/gateway/extensions/sealed-state.ts';
import type { RequestCatalogs, RequestForms, ToSubmit } from '../../workflows/domain/ports.ts';
import type { RequestForm } from '../../workflows/domain/submission-input/request-form.ts';
import { SEALING_SECRETS } from './gated-calls.ts';
import { systemTime } from './time.ts';

/** A fake gateway's knowledge of calls whose requests need input. */
export class FakeInput {
  /** By the address of their schemas. */
  forms: Readonly<Record<string, RequestForm>> = {};
  /** The open call that an identical one joins. */
  joined: ({ taskId: string } & ToSubmit) | undefined;
  readonly ports = {
    requestForms: { at: async (schemaUrl: string) => this.forms[schemaUrl] } satisfies RequestForms,
    requestCatalogs: { at: async () => undefined, look: async () => undefined } satisfies RequestCatalogs,
    sealedStates: createSealedStates(SEALING_SECRETS.sealingKeys, systemTime.clock),
    sessionSeals: createSealedStates(SEALING_SECRETS.sealingKeys, systemTime.clock),
  };
}
