// `@jest/globals` for files that Node loads (see ../typescript-hooks.mjs). Node loads a support file once for all test
// files, so each function goes to the one of the running test file.
import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

const GLOBALS = Symbol.for('countersign.jest.globals');

const current = (name) =>
  new Proxy(() => undefined, {
    apply: (_target, _this, args) => globalThis[GLOBALS][name](...args),
    get: (_target, key) => globalThis[GLOBALS][name][key],
  });

export const afterAll = current('afterAll');
export const afterEach = current('afterEach');
export const beforeAll = current('beforeAll');
export const beforeEach = current('beforeEach');
export const describe = current('describe');
export const expect = current('expect');
export const it = current('it');
export const test = current('test');

const mocks = new ModuleMocker(globalThis);
const timers = new ModernFakeTimers({ config: { fakeTimers: {}, rootDir: process.cwd() }, global: globalThis });

export const jest = {
  spyOn: mocks.spyOn.bind(mocks),
  restoreAllMocks: mocks.restoreAllMocks.bind(mocks),
  useFakeTimers: timers.useFakeTimers.bind(timers),
  useRealTimers: timers.useRealTimers.bind(timers),
  advanceTimersByTimeAsync: timers.advanceTimersByTimeAsync.bind(timers),
};
