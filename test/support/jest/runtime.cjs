// jest's `runtime`: the module system that jest-circus asks to load a test file. This one uses Node's own loader. A test file and the
// product that it imports run in the worker itself, as they do outside of tests, and a worker evaluates each module once.
const hooks = require('node:async_hooks');
const { pathToFileURL } = require('node:url');

/** Where `globals.mjs` finds `describe`, `expect` and the others of the running file. */
const GLOBALS = Symbol.for('countersign.jest.globals');
/** Where jest-circus keeps its listeners, outside of its module. */
const LISTENERS = Symbol.for('EVENT_HANDLERS');

let files = 0;

/** Loads a module, and answers it with the stores for asynchronous contexts that it made. */
function requireWithStores(path) {
  const { AsyncLocalStorage } = hooks;
  const stores = [];
  hooks.AsyncLocalStorage = class extends AsyncLocalStorage {
    constructor(...args) {
      super(...args);
      stores.push(this);
    }
  };
  try {
    return { exports: require(path), stores };
  } finally {
    hooks.AsyncLocalStorage = AsyncLocalStorage;
  }
}

class NodeRuntime {
  #stores = [];

  /** Gives each test file its own jest-circus, without tests and listeners of the file before. */
  requireInternalModule(path) {
    delete globalThis[LISTENERS];
    delete require.cache[path];
    // jest maps stacks by the files that jest transforms. Node maps those that Node loads (`--enable-source-maps`).
    Error.prepareStackTrace = undefined;
    const { exports, stores } = requireWithStores(path);
    this.#stores.push(...stores);
    return exports;
  }

  requireModule(path) {
    return require(path);
  }

  setGlobalsForRuntime(globals) {
    globalThis[GLOBALS] = globals;
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  /** The query has Node evaluate the test file itself again, should one worker run it twice. */
  unstable_importModule(path) {
    files += 1;
    return import(`${pathToFileURL(path).href}?run=${files}`);
  }

  getSourceMaps() {
    return null;
  }

  getAllCoverageInfoCopy() {
    return undefined;
  }

  enterTestCode() {}

  leaveTestCode() {}

  /** Each store in use adds to the cost of every promise. Those of a hundred files would take most of a worker's time. */
  teardown() {
    for (const store of this.#stores) store.disable();
  }
}

module.exports = { __esModule: true, default: NodeRuntime };
