/** Requests that one form decides. Each has its own vote over its own digest. */
export const MAX_BATCH = 50;
