import type { Config } from '../shared/config/config.ts';

/** How long calls wait and how many may be open, as the configuration says. Durations in milliseconds. */
export const callOptions = ({ gateway, worker }: Config) => ({
  requestTtlMs: gateway.requestTtlSeconds * 1_000,
  firstPollMs: worker.resolutionPollMinSeconds * 1_000,
  taskOwner: gateway.taskOwner,
  maxOpenPerCaller: gateway.maxOpenPerCaller,
  maxOpenPerSubject: gateway.maxOpenPerSubject ?? gateway.maxOpenPerCaller,
  unreadMs: gateway.unreadOutcomeSeconds * 1_000,
});
