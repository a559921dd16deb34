// `npm run test:postgres`: the tests of a database that fails, at length, and
// the whole of the model held against the functions of the database.
import config from './jest.config.mjs';

const [, parts] = config.projects;

export default {
  ...config,
  projects: undefined,
  ...parts,
  testMatch: [
    '<rootDir>/test/postgres/**/*.test.ts',
    '<rootDir>/test/e2e/postgres.test.ts',
    '<rootDir>/test/stores/protocol-model.test.ts',
  ],
};
