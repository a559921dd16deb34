// `npm run test:postgres`: the tests of a database that fails, those that take long or need a disk of their own as well, and
// the whole of the model held against the functions of the database.
import config from './jest.config.mjs';

const [, parts] = config.projects;

export default {
  ...config,
  projects: undefined,
  ...parts,
  testMatch: [
    '<rootDir>/test/postgres/**/*.{test,long}.ts',
    '<rootDir>/test/e2e/postgres.test.ts',
    '<rootDir>/test/stores/protocol-model.test.ts',
  ],
};
