import { isGrpcDeadlineError } from '@temporalio/client';

/** As the outbox does, asks the engine once more when its answer did not come in time: a machine may stand still. */
export const askedAgain =
  <Args extends readonly unknown[], Answer>(ask: (...args: Args) => Promise<Answer>) =>
  (...args: Args): Promise<Answer> =>
    ask(...args).catch((error: unknown) => {
      if (!isGrpcDeadlineError(error)) throw error;
      return ask(...args);
    });
