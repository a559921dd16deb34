// jest's `testEnvironment`: the worker process as it is. jest's own gives each file built-ins of its own, which the objects that
// Node parses and clones are not made of.
module.exports = class ProcessEnvironment {
  global = {};

  async setup() {}

  async teardown() {}

  getVmContext() {
    return null;
  }
};
