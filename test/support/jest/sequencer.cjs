// jest's `testSequencer`: the files that take longest come first, so that no long one runs alone at the end. A fresh clone has
// no times yet, so the repository contains them: `npm test -- --weigh` updates them. Files of the whole product are slow until weighed.
const { readFileSync } = require('node:fs');
const { join, relative } = require('node:path');

const isWhole = (path) => /[/]test[/](?:browser|e2e)[/]/.test(path);

module.exports = class LongestFirst {
  constructor({ globalConfig: { rootDir } }) {
    /** In seconds. */
    const weights = JSON.parse(readFileSync(join(rootDir, 'test', 'weights.json'), 'utf8'));
    this.weightOf = ({ path }) => weights[relative(rootDir, path)] ?? (isWhole(path) ? 15 : 0);
  }

  sort(tests) {
    return [...tests].sort((a, b) => this.weightOf(b) - this.weightOf(a));
  }

  cacheResults() {}
};
