// The tests of `npm run test:long`: they try at length the promises that `npm test` protects once.
import { project, run, withServers } from './jest.config.mjs';

export default { ...run, ...project, ...withServers, testMatch: ['<rootDir>/test/**/*.long.{ts,tsx}'] };
