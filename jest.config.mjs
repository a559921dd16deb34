import { existsSync } from 'node:fs';

// jest runs ES modules behind Node's flag (`--experimental-vm-modules`): see test/run.mjs.

const project = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts', '.tsx'],
  transform: {
    '^.+\\.tsx?$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript', tsx: true },
          transform: { react: { runtime: 'automatic', importSource: 'preact' } },
        },
        module: { type: 'es6' },
      },
    ],
  },
};
/** Starts one Postgres for the whole run, and only when a project that needs it has files to run. */
const withServers = existsSync(new URL('./test/support/global-teardown.ts', import.meta.url))
  ? {
      globalSetup: '<rootDir>/test/support/global-setup.ts',
      globalTeardown: '<rootDir>/test/support/global-teardown.ts',
    }
  : {};

export default {
  maxWorkers: 2,
  coverageProvider: 'v8',
  collectCoverageFrom: ['{apps,activities,workflows}/**/*.{ts,tsx}'],
  projects: [
    { ...project, displayName: 'unit', testMatch: ['<rootDir>/test/unit/**/*.test.{ts,tsx}'], testTimeout: 30_000 },
    {
      ...project,
      ...withServers,
      displayName: 'parts',
      testMatch: ['<rootDir>/test/{stores,clients,activities,workflows,apps}/**/*.test.{ts,tsx}'],
      testTimeout: 60_000,
    },
    {
      ...project,
      ...withServers,
      displayName: 'whole',
      testMatch: ['<rootDir>/test/{e2e,browser}/**/*.test.{ts,tsx}'],
      testTimeout: 180_000,
    },
  ],
};
