import { defaultPayloadConverter, type PayloadConverter } from '@temporalio/workflow';

/**
 * An unreadable payload counts as none. A client that may signal a workflow may send a payload that no program reads. An error
 * would stop the workflow at that signal for good, and the arrival of a signal is all that it says.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: (value) => defaultPayloadConverter.toPayload(value),
  fromPayload(payload) {
    try {
      return defaultPayloadConverter.fromPayload(payload);
    } catch {
      return undefined as never;
    }
  },
};
