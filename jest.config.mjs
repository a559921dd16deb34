// The configuration of `npm test`; test/run.mjs starts jest. Node loads the tests and the product (test/support/jest).

export const project = {
  runtime: '<rootDir>/test/support/jest/runtime.cjs',
  testEnvironment: '<rootDir>/test/support/jest/environment.cjs',
  transform: {},
};
/** A server starts when a test file first asks for one. These two make the folder of the servers, and stop them after the last file. */
export const withServers = {
  globalSetup: '<rootDir>/test/support/jest/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/jest/global-teardown.mjs',
};
export const run = {
  // jest has one limit for all projects. It catches tests that hang and measures nothing: the slowest tests start everything.
  testTimeout: 600_000,
  // More than processors, since tests wait for servers and browsers most of their time.
  maxWorkers: 4,
  testSequencer: '<rootDir>/test/support/jest/sequencer.cjs',
};

const tests = (folders) => [`<rootDir>/test/${folders}/**/*.test.{ts,tsx}`];

export default {
  ...run,
  projects: [
    // These check the repository, and run with `npm run check`.
    { ...project, displayName: 'sources', testMatch: tests('sources') },
    { ...project, displayName: 'unit', testMatch: tests('unit') },
    { ...project, ...withServers, displayName: 'parts', testMatch: tests('!(sources|unit|e2e|browser)') },
    { ...project, ...withServers, displayName: 'whole', testMatch: tests('{e2e,browser}') },
  ],
};
