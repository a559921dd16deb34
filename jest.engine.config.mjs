// `npm run test:engine`: the tests of an engine that works against calls, those that take long as well.
import config from './jest.config.mjs';

const [, parts] = config.projects;

export default {
  ...config,
  projects: undefined,
  ...parts,
  testMatch: ['<rootDir>/test/engine/**/*.{test,long}.ts', '<rootDir>/test/replay/**/*.test.ts'],
};
