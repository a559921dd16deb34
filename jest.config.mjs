// What `npm test` runs; test/run.mjs starts it. Node loads the tests and the product (test/support/jest).

export const project = {
  runtime: '<rootDir>/test/support/jest/runtime.cjs',
  testEnvironment: '<rootDir>/test/support/jest/environment.cjs',
  setupFilesAfterEnv: ['<rootDir>/test/support/standstill.ts'],
  transform: {},
};
/** Servers start when a test file first asks for one; these make their folder, and stop them after the last file. */
export const withServers = {
  globalSetup: '<rootDir>/test/support/jest/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/jest/global-teardown.mjs',
};
export const run = {
  // jest knows one limit for all projects. It is a net for what hangs, not a measure: the slowest tests start everything.
  testTimeout: 600_000,
  maxWorkers: 2,
  testSequencer: '<rootDir>/test/support/jest/sequencer.cjs',
};

const tests = (folders) => [`<rootDir>/test/${folders}/**/*.test.{ts,tsx}`];

export default {
  ...run,
  projects: [
    // They look at the repository, and run with `npm run check`.
    { ...project, displayName: 'sources', testMatch: tests('sources') },
    { ...project, displayName: 'unit', testMatch: tests('unit') },
    { ...project, ...withServers, displayName: 'parts', testMatch: tests('!(sources|unit|e2e|browser)') },
    { ...project, ...withServers, displayName: 'whole', testMatch: tests('{e2e,browser}') },
  ],
};
