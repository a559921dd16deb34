// jest's `runtime`: the module system that jest-circus asks to load a test file. This one uses Node's own loader. A test file and the
// product that it imports run in the worker itself, as they do outside of tests, and a worker evaluates each module once.
const { pathToFileURL } = require('node:url');

/** Where `globals.mjs` finds `describe`, `expect` and the others of the running file. */
const GLOBALS = Symbol.for('countersign.jest.globals');
/** Where jest-circus keeps its listeners, outside of its module. */
const LISTENERS = Symbol.for('EVENT_HANDLERS');

let files = 0;

class NodeRuntime {
  /** Gives each test file its own jest-circus, without tests and listeners of the file before. */
  requireInternalModule(path) {
    delete globalThis[LISTENERS];
    delete require.cache[path];
    // jest maps stacks by the files that jest transforms. Node maps those that Node loads (`--enable-source-maps`).
    Error.prepareStackTrace = undefined;
    return require(path);
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

  teardown() {}
}

module.exports = { __esModule: true, default: NodeRuntime };
