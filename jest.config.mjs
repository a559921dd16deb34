// jest runs ES modules behind Node's flag (`--experimental-vm-modules`): see test/run.mjs.

const project = {
  testEnvironment: 'node',
  setupFilesAfterEnv: ['<rootDir>/test/support/standstill.ts'],
  extensionsToTreatAsEsm: ['.ts', '.tsx'],
  transform: {
    '^.+\\.tsx?$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript', tsx: true },
          // `development` has each element carry its place in the sources, by which tests know what they pressed.
          transform: { react: { runtime: 'automatic', importSource: 'preact', development: true } },
        },
        module: { type: 'es6' },
      },
    ],
  },
};
/** Servers start when a test file first asks for one; these make their folder, and stop them after the last file. */
const withServers = {
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
};

export default {
  // jest knows one limit for all projects. It is a net for what hangs, not a measure: the slowest tests start everything.
  testTimeout: 600_000,
  maxWorkers: 2,
  // Of every test file with ES modules some memory stays behind; a worker that holds much of it is slowed down many times.
  workerIdleMemoryLimit: '768MB',
  coverageProvider: 'v8',
  collectCoverageFrom: ['{apps,activities,workflows}/**/*.{ts,tsx}'],
  projects: [
    { ...project, displayName: 'unit', testMatch: ['<rootDir>/test/unit/**/*.test.{ts,tsx}'] },
    {
      ...project,
      ...withServers,
      displayName: 'parts',
      testMatch: ['<rootDir>/test/!(unit|e2e|browser)/**/*.test.{ts,tsx}'],
    },
    {
      ...project,
      ...withServers,
      displayName: 'whole',
      testMatch: ['<rootDir>/test/{e2e,browser}/**/*.test.{ts,tsx}'],
    },
  ],
};
