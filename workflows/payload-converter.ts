import { defaultPayloadConverter, type PayloadConverter } from '@temporalio/workflow';

/**
 * What cannot be read is nothing. Whoever may signal a workflow may send what no program reads; an error would stop the
 * workflow at that signal for good, and a signal says all it has to say by having come.
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
