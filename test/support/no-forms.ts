import type { RequestForms } from '../../workflows/domain/ports.ts';

/** An access request service whose requests need values that no form can ask for. */
export const NO_FORMS: RequestForms = { at: async () => undefined };
