// jest's `testEnvironment`: the unchanged worker process. jest's default gives each file its own built-ins, and objects that Node
// parses or clones are not instances of them.
module.exports = class ProcessEnvironment {
  global = {};

  async setup() {}

  async teardown() {}

  getVmContext() {
    return null;
  }
};
