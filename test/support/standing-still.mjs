// Loaded into every process of a test. The machine may stand still for seconds at any moment, and its clock goes on. Afterwards
// every limit that was running has passed, before the answer that came meanwhile is read. So a timer is waited for in steps:
// whatever stood still loses one of them, and the answer is read before the next.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { promisify } from 'node:util';

const STEPS = 4;
/** In milliseconds. Shorter ones are pauses, and no limits. */
const SHORTEST_MS = 100;
const LONGEST_MS = 2 ** 31 - 1;
/** In milliseconds. How long a server leaves a connection open that nobody uses; Node's 5 s pass while a client is about to use it. */
const KEPT_OPEN_MS = 120_000;

const plainTimeout = globalThis.setTimeout;

function inSteps(callback, ms = 0, ...args) {
  if (!(ms >= SHORTEST_MS && ms <= LONGEST_MS)) return plainTimeout(callback, ms, ...args);
  let left = STEPS;
  const timer = plainTimeout(() => {
    left -= 1;
    if (left > 0) nextStep();
    else callback(...args);
  }, ms / STEPS);
  const nextStep = timer.refresh.bind(timer);
  timer.refresh = () => {
    left = STEPS;
    return nextStep();
  };
  return timer;
}

function signalAfter(ms) {
  const controller = new globalThis.AbortController();
  const passed = () =>
    controller.abort(new globalThis.DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  inSteps(passed, ms).unref();
  return controller.signal;
}

const promised = Object.getOwnPropertyDescriptor(plainTimeout, promisify.custom);
globalThis.setTimeout = Object.defineProperty(inSteps, promisify.custom, promised ?? {});
globalThis.AbortSignal = new Proxy(globalThis.AbortSignal, {
  get: (signals, name) => (name === 'timeout' ? signalAfter : Reflect.get(signals, name)),
});

const keepOpen = ({ server }) => {
  server.keepAliveTimeout = KEPT_OPEN_MS;
};
subscribe('http.server.request.start', keepOpen);

/** Has no more servers of this process keep their connections. */
export const keepNoMoreOpen = () => void unsubscribe('http.server.request.start', keepOpen);
