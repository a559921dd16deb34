// `npm run test:engine`: the tests of this folder, those that take long as well.
import { fileURLToPath } from 'node:url';
import config from '../../jest.config.mjs';

const [, parts] = config.projects;

export default {
  ...config,
  rootDir: fileURLToPath(new URL('../..', import.meta.url)),
  projects: undefined,
  ...parts,
  testMatch: ['<rootDir>/test/engine/**/*.{test,long}.ts', '<rootDir>/test/replay/**/*.test.ts'],
};
